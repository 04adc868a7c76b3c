import type { Message, ToolPart } from "@opencode-ai/sdk/v2";
import { estimateTokenCount } from "tokenx";
import { expect } from "vitest";
import { TASKS, WITH_LIMITS } from "../../scripts/requirements/specifications.ts";
import { readOptions } from "../../src/options.ts";
import { planFork } from "../../src/services/engine/launch/fork-plan.ts";
import type { HostMessage } from "../../src/services/host/host.ts";
import { toForkedMessage, withText } from "../../src/services/host/opencode-messages.ts";
import { formatMessage } from "../../src/services/text/transcript.ts";
import { refused } from "../fakes/fake-host.ts";
import { PARENT, type Stage } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { atOnce } from "../fakes/watched.ts";
import { scenario } from "./scenario.ts";

const FORK = { description: "go on", prompt: "Go on from here.", agent: "general", fork: true };

/** Gives the parent a conversation: texts of user and assistant in turn, or tool results. */
const converse = (stage: Stage, ...texts: (string | { toolResult: string })[]) => {
  stage.host.at(PARENT).messages = texts.map((given, index) => {
    const message: HostMessage & { toolResult?: boolean } = {
      id: `msg_${String(index).padStart(3, "0")}`,
      role: index % 2 === 0 ? "user" : "assistant",
      createdAt: index,
      promptID: undefined,
      completedAt: index,
      finish: "stop",
      error: undefined,
      isSummary: false,
      text: typeof given === "string" ? given : given.toolResult,
    };
    return typeof given === "string" ? message : { ...message, toolResult: true };
  });
};

/** Of two such messages one is too much for a fork. */
const LONG = "word ".repeat(60_000);

const launchFork = async (stage: Stage): Promise<string> => {
  const whole = await stage.callWhole("task", FORK);
  await settled();
  return String(whole.metadata?.sessionId);
};

scenario(TASKS, "Background Task Creation", "Launch forked background task", async (stage) => {
  converse(stage, "an old question", LONG, "one more", LONG, "What is this?", { toolResult: "x".repeat(5_000) });
  const id = await launchFork(stage);
  expect(stage.host.calls).toContain("fork");
  const texts = stage.host.at(id).messages.map(({ text }) => text);
  expect(texts[0]).toBe("one more");
  expect(texts[3]).toContain("5000 characters originally");
  expect(stage.task(id)).toMatchObject({ isForked: true, status: "running" });
});

const exclusive = async (stage: Stage) => {
  const id = await stage.complete("12");
  const made = stage.host.sessionIDs().length;
  const both = { resume: id, description: "both", agent: "general", prompt: "more", fork: true };
  const asked: unknown[] = [];
  const ask = async (request: unknown) => void asked.push(request);
  await expect(stage.call("task", both, { ask })).rejects.toThrow(/fork and resume are mutually exclusive/);
  expect(asked).toEqual([]);
  expect(stage.host.sessionIDs()).toHaveLength(made);
  expect(stage.task(id)).toMatchObject({ status: "completed", resumeCount: 0 });
};

scenario(TASKS, "Background Task Creation", "Validate mutually exclusive modes", exclusive);

const INHERITANCE = "Fork Context Inheritance";

scenario(TASKS, INHERITANCE, "Launch forked background task", async (stage) => {
  const recent = ["What is this?", "A shop.", "And the tests?"];
  converse(stage, "an old question", LONG, "one more", LONG, ...recent, { toolResult: "y".repeat(2_000) }, "now", "…");
  const before = structuredClone(stage.host.at(PARENT).messages);
  const whole = await atOnce(stage.callWhole("task", FORK, { messageID: "msg_009" }));
  const id = String(whole.metadata?.sessionId);
  expect(whole.output).toContain(id);
  expect(stage.task(id)).toMatchObject({ isForked: true, status: "running", agent: "general" });
  await settled();
  const child = stage.host.at(id);
  expect(child.forkOf).toBe(PARENT);
  const cut = `${"y".repeat(1_500)}\n[Truncated: 2000 characters originally]`;
  const texts = child.messages.map(({ text }) => text);
  expect(texts.slice(0, 7)).toEqual(["one more", LONG, ...recent, cut, "now"]);
  expect(child.prompts.map(({ noReply = false }) => noReply)).toEqual([true, false]);
  expect(child.prompts[0]?.parts[0]?.text).toContain("may be truncated");
  expect(child.prompts[1]).toMatchObject({ agent: "general", model: { modelID: "m1" } });
  // The parent's conversation is never changed.
  expect(stage.host.at(PARENT).messages).toEqual(before);
});

scenario(WITH_LIMITS, INHERITANCE, "Fork with context truncation", async (stage) => {
  converse(stage, "read it", { toolResult: "z".repeat(4_000) }, "and this", { toolResult: "short" });
  const { messages } = stage.host.at(await launchFork(stage));
  expect(messages[1]?.text).toBe(`${"z".repeat(1_500)}\n[Truncated: 4000 characters originally]`);
  expect(messages[3]?.text).toBe("short");
});

scenario(WITH_LIMITS, INHERITANCE, "Fork with context truncation: its call stays as it is", async () => {
  const state = { status: "completed", title: "a.ts", metadata: {}, time: { start: 1, end: 2 } } as const;
  const call: ToolPart = {
    ...{ id: "prt_1", sessionID: "ses_1", messageID: "msg_1", type: "tool", callID: "call_1", tool: "read" },
    state: { ...state, input: { filePath: "a.ts" }, output: "z".repeat(4_000) },
  };
  const message = toForkedMessage({ info: { id: "msg_1", role: "assistant" } as Message, parts: [call] });
  const { cuts } = planFork([message], readOptions({}).options.fork);
  const output = `${"z".repeat(1_500)}\n[Truncated: 4000 characters originally]`;
  expect(cuts.map(({ part }) => withText(part))).toEqual([{ ...call, state: { ...call.state, output } }]);
});

scenario(WITH_LIMITS, INHERITANCE, "Fork with token limit enforcement", async (stage) => {
  const long = "word ".repeat(20_000);
  const turns = (...asked: string[]) => asked.flatMap((question) => [question, long]);
  converse(stage, ...turns("1", "2", "3", "4", "5", "6", "7"), "8", "newest");
  const id = await launchFork(stage);
  const texts = stage.host.at(id).messages.map(({ text }) => text);
  const kept = [...turns("4", "5", "6", "7"), "8", "newest"];
  expect(texts.slice(0, kept.length)).toEqual(kept);
  const tokens = (some: string[]) => some.reduce((sum, text) => sum + estimateTokenCount(text), 0);
  expect(tokens(kept)).toBeLessThanOrEqual(100_000);
  expect(tokens([...turns("3"), ...kept])).toBeGreaterThan(100_000);
  expect(stage.host.at(id).prompts[0]?.parts[0]?.text).toMatch(/The oldest \d+ messages are left out/);
});

scenario(TASKS, INHERITANCE, "Reject fork with resume", exclusive);

const indicated = async (stage: Stage) => {
  const forked = await launchFork(stage);
  const plain = await stage.launch();
  const list = await stage.call("list");
  expect(list).toContain(`${forked} (forked)`);
  expect(list).not.toContain(`${plain} (forked)`);
};

scenario(TASKS, INHERITANCE, "Fork indicator in task list", indicated);
scenario(TASKS, "Task List Resume Indicator", "Show forked indicator", indicated);

scenario(["superagents-task"], INHERITANCE, "Fork context role label format", async (stage) => {
  converse(stage, "What is this?", "A shop.");
  stage.host.failNext("fork", refused);
  const answer = await stage.call("task", FORK);
  expect(answer).toContain("could not fork this conversation");
  expect(stage.logged.join("\n")).toContain("the host could not fork");
  const id = /ses_\w+/.exec(answer)?.[0] ?? "";
  const preamble = stage.host.at(id).prompts[0]?.parts[0]?.text ?? "";
  expect(preamble).toContain("User:\n> What is this?");
  expect(preamble).toContain("Agent:\n> A shop.");
  expect(preamble).toContain("may be truncated");
  expect(stage.task(id).isForked).toBe(true);
});

scenario(["superagents-task"], INHERITANCE, "Fork context tool call display", async () => {
  const call = (params: unknown) =>
    formatMessage({ id: "m", role: "assistant", parts: [{ kind: "tool", name: "read", params, result: "12" }] }, false);
  expect(call({ path: "a.ts" })).toBe('Agent:\n[Tool: read] {"path":"a.ts"}');
  const long = { path: "x".repeat(300) };
  expect(call(long)).toBe(`Agent:\n[Tool: read] ${JSON.stringify(long).slice(0, 200)}…`);
});

scenario(TASKS, "Fork Preamble Injection", "Preamble content", async (stage) => {
  const id = await launchFork(stage);
  const [preamble, launch] = stage.host.at(id).prompts;
  expect(preamble?.noReply).toBe(true);
  expect(preamble?.parts.map(({ synthetic }) => synthetic)).toEqual([true]);
  expect(preamble?.parts[0]?.text).toMatch(/context may be truncated/);
  expect(preamble?.parts[0]?.text).toMatch(/Read files again if you need their complete content/);
  expect(launch?.noReply ?? false).toBe(false);
});
