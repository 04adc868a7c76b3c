import { expect, test } from "vitest";
import { readMessages } from "../../board/details/messages.ts";

test("texts, thoughts and tool calls are read; what the page does not show is left out", () => {
  const messages = readMessages([
    {
      info: { id: "m1", role: "user", time: { created: 5 } },
      parts: [{ id: "p1", type: "text", text: "Go", synthetic: true }],
    },
    {
      info: {
        id: "m2",
        role: "assistant",
        agent: "docs",
        modelID: "m",
        error: { name: "APIError", data: { message: "overloaded" } },
      },
      parts: [
        { id: "p2", type: "step-start" },
        { id: "p3", type: "reasoning", text: "Hm" },
        { id: "p4", type: "tool", tool: "bash", state: { status: "error", input: { command: "ls" }, error: "denied" } },
      ],
    },
    { info: { id: "m3", role: "assistant" }, parts: [{ type: "step-finish" }] },
  ]);
  expect(messages).toEqual([
    {
      id: "m1",
      role: "user",
      agent: "",
      model: "",
      at: 5,
      error: "",
      parts: [{ kind: "text", id: "p1", text: "Go", isForModel: true }],
    },
    {
      id: "m2",
      role: "assistant",
      agent: "docs",
      model: "m",
      at: undefined,
      error: "overloaded",
      parts: [
        { kind: "reasoning", id: "p3", text: "Hm" },
        {
          kind: "tool",
          id: "p4",
          tool: "bash",
          title: "ls",
          status: "error",
          input: '{\n  "command": "ls"\n}',
          output: "denied",
        },
      ],
    },
  ]);
});

test("a text of megabytes is cut, and says so", () => {
  const text = "x".repeat(1_000_000);
  const [message] = readMessages([{ info: {}, parts: [{ type: "text", text }] }]);
  const [part] = message?.parts ?? [];
  expect(part?.kind === "text" && part.text.length).toBeLessThan(20_100);
  expect(part?.kind === "text" && part.text).toContain("980000 characters more");
});
