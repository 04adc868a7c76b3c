import { expect } from "vitest";
import type { HostMessage } from "../../src/services/host/messages.ts";
import { formatMessage } from "../../src/services/text/transcript.ts";
import { refused } from "../fakes/fake-host.ts";
import { PARENT, type Stage } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { ALL, scenario } from "./scenario.ts";

/** The two that say word for word how much a fork inherits. */
const WITH_LIMITS = ["superagents-task", "background-task"] as const;

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

const launchFork = async (stage: Stage): Promise<string> => {
  const whole = await stage.callWhole("task", FORK);
  await settled();
  return String(whole.metadata?.sessionId);
};

scenario(ALL, "Background Task Creation", "Launch forked background task", async (stage) => {
  converse(stage, "What is this?", { toolResult: "x".repeat(5_000) });
  const id = await launchFork(stage);
  expect(stage.host.calls).toContain("fork");
  expect(stage.host.at(id).messages[1]?.text).toContain("5000 characters originally");
  expect(stage.task(id)).toMatchObject({ isForked: true, status: "running" });
});

const exclusive = async (stage: Stage) => {
  const id = await stage.complete("12");
  const made = stage.host.sessionIDs().length;
  await expect(stage.call("task", { resume: id, prompt: "more", fork: true })).rejects.toThrow(
    /fork and resume are mutually exclusive/,
  );
  expect(stage.host.sessionIDs()).toHaveLength(made);
  expect(stage.task(id)).toMatchObject({ status: "completed", resumeCount: 0 });
};

scenario(ALL, "Background Task Creation", "Validate mutually exclusive modes", exclusive);

const INHERITANCE = "Fork Context Inheritance";

scenario(ALL, INHERITANCE, "Launch forked background task", async (stage) => {
  converse(stage, "What is this?", "A shop.", "And the tests?", { toolResult: "y".repeat(2_000) });
  const before = structuredClone(stage.host.at(PARENT).messages);
  const whole = await stage.callWhole("task", FORK, { messageID: "msg_003" });
  const id = String(whole.metadata?.sessionId);
  expect(whole.output).toContain(id);
  expect(stage.task(id)).toMatchObject({ isForked: true, status: "running", agent: "general" });
  await settled();
  const child = stage.host.at(id);
  expect(child.forkOf).toBe(PARENT);
  const texts = child.messages.map(({ text }) => text);
  expect(texts.slice(0, 3)).toEqual(["What is this?", "A shop.", "And the tests?"]);
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

scenario(WITH_LIMITS, INHERITANCE, "Fork with token limit enforcement", async (stage) => {
  const long = "word ".repeat(30_000);
  converse(stage, "first", long, "second", long, "third", long, "fourth", long, "fifth", "newest");
  const id = await launchFork(stage);
  const texts = stage.host.at(id).messages.map(({ text }) => text.slice(0, 20));
  expect(texts).not.toContain("first");
  expect(texts).toContain("fifth");
  expect(texts).toContain("newest");
  expect(stage.host.at(id).prompts[0]?.parts[0]?.text).toMatch(/The oldest \d+ messages are left out/);
});

scenario(ALL, INHERITANCE, "Reject fork with resume", exclusive);

const indicated = async (stage: Stage) => {
  const forked = await launchFork(stage);
  const plain = await stage.launch();
  const list = await stage.call("list");
  expect(list).toContain(`${forked} (forked)`);
  expect(list).not.toContain(`${plain} (forked)`);
};

scenario(ALL, INHERITANCE, "Fork indicator in task list", indicated);
scenario(ALL, "Task List Resume Indicator", "Show forked indicator", indicated);

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

scenario(ALL, "Fork Preamble Injection", "Preamble content", async (stage) => {
  const id = await launchFork(stage);
  const [preamble, launch] = stage.host.at(id).prompts;
  expect(preamble?.noReply).toBe(true);
  expect(preamble?.parts[0]?.text).toMatch(/context may be truncated/);
  expect(preamble?.parts[0]?.text).toMatch(/Read files again if you need their complete content/);
  expect(launch?.noReply ?? false).toBe(false);
});
