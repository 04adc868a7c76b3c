import { describe, expect, test } from "vitest";
import { createDisk } from "../../fakes/disk.ts";
import { createStage, PARENT, type Stage, stageWithResult, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";
import { watched } from "../../fakes/watched.ts";

/** A blocking read, watched. */
const block = (stage: Stage, taskId: string, args: { timeout?: number; callID?: string; abort?: AbortSignal } = {}) => {
  const { timeout, ...caller } = args;
  const read = { text: undefined as string | undefined };
  const wait = async () => {
    const limit = timeout === undefined ? {} : { timeout };
    read.text = await stage.call("output", { task_id: taskId, block: true, ...limit }, caller);
  };
  void wait();
  return read;
};

const stored = (callID: string) =>
  ({ type: "toolCall", sessionID: PARENT, callID, tool: "asyncagents_output", stage: "stored" }) as const;

test("a blocking read answers with the result when the run ends", async () => {
  const { stage, id } = await stageWithTask();
  const read = block(stage, id);
  await stage.clock.advance(30_000);
  expect(read.text).toBeUndefined();
  await stage.finish(id, "12 files");
  expect(read.text).toContain("12 files");
  expect(stage.task(id).resultRetrievedAt).toBeDefined();
});

test("a blocking read that begins while the notice is being made delivers the end, and the notice does not", async () => {
  const { stage, id } = await stageWithTask();
  const held = stage.host.holdNext("session");
  await stage.finish(id, "12 files");
  const read = block(stage, id, { callID: "call_1" });
  await settled();
  expect(read.text).toContain("12 files");
  held.release();
  stage.host.emit(stored("call_1"));
  await stage.clock.advance(60_000);
  expect(stage.notices()).toEqual([]);
});

test("if the answer of such a read does not arrive, the notice is sent after all", async () => {
  const { stage, id } = await stageWithTask();
  const held = stage.host.holdNext("session");
  await stage.finish(id, "12 files");
  block(stage, id, { callID: "call_1" });
  await settled();
  held.release();
  await stage.clock.advance(60_000);
  expect(stage.notices()).toHaveLength(1);
});

test("a blocking read waits on while the task waits for a person", async () => {
  const { stage, id } = await stageWithTask();
  const read = block(stage, id, { timeout: 600_000 });
  await stage.ask(id, "x");
  await stage.clock.advance(300_000);
  expect(read.text).toBeUndefined();
  stage.reply(id);
  await stage.finish(id, "12 files");
  expect(read.text).toContain("12 files");
});

test.each([
  ["asyncagents_output", { block: true }],
  ["elisha_task_output", { wait: true }],
])(
  "when the plugin is disposed of, %s says that nothing is lost, and the next process delivers the end",
  async (tool, wait) => {
    const disk = createDisk();
    const { stage, id } = await stageWithTask({ openStore: disk.boot, toolsets: ["tasks", "elisha"] });
    const read = watched(stage.call(tool, { task_id: id, ...wait }, { callID: "call_1" }));
    await settled();
    stage.engine.stop();
    await settled();
    expect(String(read.fault)).toContain(`OpenCode is closing. Nothing is lost: ${id} will continue`);
    await stage.restart();
    await stage.clock.advance(30_000);
    stage.host.finish(id, "12 files");
    await stage.clock.advance(30_000);
    expect(stage.notices()).toHaveLength(1);
    stage.engine.stop();
    disk.remove();
  },
);

test("a task that ended before a wait for it begins is not waited for", async () => {
  const { stage, id } = await stageWithResult("12 files");
  await stage.clock.advance(10_000);
  const { signal } = new AbortController();
  const wait = { taskIds: [id], sessionID: PARENT, callID: "call_1", signal, timeoutMs: undefined };
  expect(await stage.engine.wait(wait)).toBe("ended");
});

test.each([
  ["after 60 s unless told otherwise", undefined, 60_000],
  ["after the given time", 1_500, 1_500],
])("a blocking read gives up with the status %s, and the task goes on", async (_, timeout, after) => {
  const { stage, id } = await stageWithTask();
  const read = block(stage, id, timeout === undefined ? {} : { timeout });
  await stage.clock.advance(after - 1);
  expect(read.text).toBeUndefined();
  await stage.clock.advance(1);
  expect(read.text).toMatch(/Status: running .*\n(.*\n)*Still running after a wait of/);
  await stage.finish(id, "12 files");
  expect(stage.notices()).toHaveLength(1);
});

test("a blocking read ends at once when the caller's turn is aborted", async () => {
  const { stage, id } = await stageWithTask();
  const turn = new AbortController();
  const read = block(stage, id, { abort: turn.signal });
  await settled();
  turn.abort();
  await settled();
  expect(read.text).toContain("Status: running");
  expect(stage.task(id).status).toBe("running");
});

describe("a run's end is delivered once", () => {
  test("by the blocking read whose answer is stored, and then by no notice", async () => {
    const { stage, id } = await stageWithTask();
    const read = block(stage, id, { callID: "call_1" });
    await settled();
    await stage.finish(id, "12 files");
    expect(read.text).toContain("12 files");
    stage.host.emit(stored("call_1"));
    await stage.clock.advance(600_000);
    expect(stage.notices()).toEqual([]);
    expect(stage.host.toasts).toEqual([]);
  });

  test("by a notice, when the answer of the blocking read never reached the conversation", async () => {
    const { stage, id } = await stageWithTask();
    block(stage, id, { callID: "call_1" });
    await settled();
    await stage.finish(id, "12 files");
    expect(stage.notices()).toEqual([]);
    stage.host.emit({ ...stored("call_1"), stage: "failed" });
    await settled();
    expect(stage.notices()).toHaveLength(1);
  });

  test("by a notice, when nothing is heard of the answer", async () => {
    const { stage, id } = await stageWithTask();
    block(stage, id, { callID: "call_1" });
    await settled();
    stage.host.finish(id, "12 files");
    await stage.clock.advance(9_999);
    expect(stage.notices()).toEqual([]);
    await stage.clock.advance(1);
    expect(stage.notices()).toHaveLength(1);
  });

  test("each of its own, though two sessions' calls have the same id", async () => {
    const stage = createStage();
    stage.host.addSession("ses_other");
    const mine = await stage.launch();
    const theirs = await stage.launch({}, { sessionID: "ses_other" });
    block(stage, mine, { callID: "call_0" });
    void stage.call("output", { task_id: theirs, block: true }, { sessionID: "ses_other", callID: "call_0" });
    await settled();
    stage.host.finish(mine, "12");
    await stage.finish(theirs, "13");
    stage.host.emit(stored("call_0"));
    stage.host.emit({ ...stored("call_0"), sessionID: "ses_other", stage: "failed" });
    await settled();
    expect(stage.notices()).toEqual([]);
    expect(stage.notices("ses_other")).toHaveLength(1);
  });

  test("by the read that waits for it, though another, of an end long delivered, is settled late", async () => {
    const { stage, id } = await stageWithResult("12");
    block(stage, id, { callID: "call_old" });
    await settled();
    await stage.call("task", { resume: id, prompt: "more" });
    block(stage, id, { callID: "call_new" });
    await settled();
    stage.host.emit(stored("call_old"));
    await stage.finish(id, "13");
    stage.host.emit(stored("call_new"));
    await stage.clock.advance(60_000);
    expect(stage.notices()).toHaveLength(1);
  });
});

test("of two calls that the host gave no id, one that goes does not take the other's place: the end is delivered once", async () => {
  const { stage, id } = await stageWithTask();
  const [short, long] = [block(stage, id, { timeout: 1_000 }), block(stage, id)];
  await stage.clock.advance(2_000);
  expect(short.text).toContain("Status: running");
  stage.host.finish(id, "12 files");
  await stage.clock.advance(60_000);
  expect(long.text).toContain("12 files");
  expect(stage.notices()).toEqual([]);
});

test("an end that a call without an id has seen is delivered by a notice where the call is aborted", async () => {
  const stage = createStage();
  const [first] = [await stage.launch({ batch_id: "b" }), await stage.launch({ batch_id: "b" })];
  const turn = new AbortController();
  const read = watched(stage.call("output", { batch_id: "b", block: true }, { abort: turn.signal }));
  await settled();
  await stage.finish(first, "12 files");
  expect([read.value, stage.notices()]).toEqual([undefined, []]);
  turn.abort();
  await stage.clock.advance(60_000);
  expect(stage.notices()).toHaveLength(1);
});

test("a result whose output is not stored yet keeps no timer when the process ends", async () => {
  const { stage, id } = await stageWithTask();
  const read = block(stage, id, { callID: "call_1" });
  await stage.finish(id, "12 files");
  expect(read.text).toContain("12 files");
  stage.engine.stop();
  expect(stage.clock.pending()).toBe(0);
});

test("a call that the host reports late as begun has returned all the same: its result is delivered once", async () => {
  const { stage, id } = await stageWithTask();
  const read = block(stage, id, { callID: "call_1" });
  await stage.finish(id, "12 files");
  expect(read.text).toContain("12 files");
  stage.host.emit({ ...stored("call_1"), stage: "begun" });
  await settled();
  stage.host.emit(stored("call_1"));
  await stage.clock.advance(60_000);
  expect(stage.notices()).toEqual([]);
});
