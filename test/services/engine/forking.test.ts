import { expect, test } from "vitest";
import { refused, unavailable } from "../../fakes/fake-host.ts";
import { createStage, PARENT, stageWithTask } from "../../fakes/stage.ts";

test.each(["fork", "forkedMessages", "updateSession", "storeMessage"] as const)(
  "when %s fails, nothing half made is left, and the child gets the conversation as text",
  async (call) => {
    const stage = createStage();
    stage.host.failNext(call, refused);
    const id = await stage.launch({ fork: true });
    expect(stage.task(id)).toMatchObject({ isForked: true, status: "running" });
    expect(stage.host.at(id)).toMatchObject({ parentID: PARENT, forkOf: undefined });
    expect(stage.host.sessionIDs()).toEqual([PARENT, id]);
  },
);

test("a fork that fails is said to the agent, and logged", async () => {
  const stage = createStage();
  stage.host.failNext("fork", refused);
  const answer = await stage.call("task", { description: "go on", prompt: "Go on.", agent: "general", fork: true });
  expect(answer).toContain("could not fork this conversation");
  expect(stage.logged.join("\n")).toContain("the host could not fork");
});

test("when it can be made in neither way, the launch is refused, and nothing is left", async () => {
  const stage = createStage();
  stage.host.failNext("fork", unavailable);
  stage.host.failNext("conversation", unavailable);
  await expect(stage.launch({ fork: true })).rejects.toThrow(/created no session for the task.*connection refused/);
  expect(stage.host.sessionIDs()).toEqual([PARENT]);
  expect(stage.store.list({})).toEqual([]);
});

test("a conversation as text shows what its agent called, up to the message that launches", async () => {
  const stage = createStage();
  stage.host.failNext("fork", refused);
  const read = { kind: "tool", name: "read", params: { path: "a.ts" }, result: "12 lines" } as const;
  Object.assign(stage.host, {
    conversation: async () => ({
      ok: true,
      value: [
        { id: "msg_1", role: "user", parts: [{ kind: "text", text: "Count." }] },
        { id: "msg_2", role: "assistant", parts: [{ kind: "text", text: "Let me look." }, read] },
        { id: "msg_turn", role: "assistant", parts: [{ kind: "text", text: "I launch one." }] },
      ],
    }),
  });
  const id = await stage.launch({ fork: true });
  const text = stage.host.at(id).prompts[0]?.parts[0]?.text;
  expect(text).toContain('User:\n> Count.\n\nAgent:\n> Let me look.\n[Tool: read] {"path":"a.ts"}\n</conversation>');
});

test("a forked task is completed, delivered and resumed like any other", async () => {
  const { stage, id } = await stageWithTask({}, { fork: true });
  await stage.finish(id, "12");
  expect(stage.notices()).toHaveLength(1);
  await stage.call("task", { resume: id, prompt: "more" });
  expect(await stage.call("list")).toContain(`${id} (resumed) (forked)`);
});
