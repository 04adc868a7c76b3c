import { expect, test } from "vitest";
import { statePath } from "../../../src/machines/chart.ts";
import { LEASE_MS } from "../../../src/services/store/ownership.ts";
import { START, scriptTask } from "../store/scripted-task.ts";
import { composeNotice, PARENT, PARENT_READY, testRuntime } from "./test-runtime.ts";

/** A runtime that composes notices, and what is lost to the process that it shares its store with. */
const setUp = () => {
  const world = testRuntime({ perform: composeNotice });
  const lost: string[] = [];
  world.bus.on("tasksLost", (tasks) => void lost.push(...tasks.map(({ sessionID }) => sessionID)));
  return { ...world, lost };
};

test("an event that a task at rest refuses leaves it free for any process", () => {
  const { store, other, runtime } = setUp();
  store.commit(scriptTask("ses_1").whole());
  runtime.send("ses_1", { type: "STOPPED", at: START });
  expect(runtime.snapshotOf("ses_1")).toBeUndefined();
  expect(other.isOwnedElsewhere("ses_1")).toBe(false);
  expect(other.claim("ses_1")).toBe(true);
});

test("a task at rest that another process has claimed is not brought back here", () => {
  const { store, other, runtime, begun } = setUp();
  const story = scriptTask("ses_1");
  store.commit(story.whole());
  expect(other.claim("ses_1")).toBe(true);
  runtime.send("ses_1", { type: "RESULT_READ", at: START });
  expect(begun).not.toContain("ses_1");
  expect(other.get("ses_1")).toEqual(story.record());
  other.release("ses_1");
  runtime.send("ses_1", { type: "RESULT_READ", at: START });
  expect(begun).toContain("ses_1");
  expect(other.get("ses_1")?.task.resultRetrievedAt).toBe(new Date(START).toISOString());
});

test("a task at rest that accepts an event lives again", () => {
  const { store, other, runtime } = setUp();
  store.commit(scriptTask("ses_1").whole());
  runtime.send("ses_1", { type: "RESUME", at: START, messageID: "msg_2", partID: "prt_2", prompt: "more" });
  expect(runtime.snapshotOf("ses_1")?.value.lifecycle).toBe("resumed");
  expect(other.isOwnedElsewhere("ses_1")).toBe(true);
});

test("of tasks that another process takes over, it is said which they are, and none of them lives here any more", () => {
  const { store, runtime, lost } = setUp();
  const [ended, live] = [scriptTask("ses_ended"), scriptTask("ses_live")];
  for (const chapter of [live.launch(), ended.launch(), ended.answer()]) store.commit(chapter);
  for (const { record } of [ended, live]) runtime.restore(record());
  store.heartbeat = () => ["ses_ended", "ses_live", "ses_unknown"];
  runtime.heartbeat();
  expect(lost).toEqual(["ses_ended", "ses_live"]);
  expect(runtime.liveTasks()).toEqual([]);
});

test("a process that cannot store a step of a task, since another process removed it, drops all that were removed", () => {
  const { other, runtime, restore, lost } = setUp();
  restore("ses_1", "ses_2", "ses_3");
  other.remove(["ses_1", "ses_2"]);
  runtime.send("ses_1", { type: "HOST_IDLE", at: START });
  expect(lost).toEqual(["ses_1", "ses_2"]);
  expect(runtime.liveTasks().map(({ context }) => context.facts.sessionID)).toEqual(["ses_3"]);
});

test("a notice of a task that another process removes before it is composed is neither sent nor kept", () => {
  const { clock, memory, other, asked, restore, answer, inOutbox } = setUp();
  restore("ses_1");
  answer("ses_1");
  other.remove(["ses_1"]);
  inOutbox(PARENT_READY);
  expect(asked).toContain("composeNotice");
  expect(asked).not.toContain("sendNotice");
  expect(memory.boot(clock).adopt(START + 60_000, () => true).prompts).toEqual([]);
});

test("an end whose notice was to carry a task that another process removes is composed again, and delivered alone", () => {
  const { clock, memory, other, sent, restore, answer, inOutbox } = setUp();
  restore("ses_1", "ses_2");
  for (const id of ["ses_1", "ses_2"]) answer(id);
  other.remove(["ses_1"]);
  inOutbox(PARENT_READY);
  expect(sent).toEqual([]);
  inOutbox(PARENT_READY);
  expect(sent).toEqual([[{ taskId: "ses_2", run: 0 }]]);
  // Whoever takes over finds the prompt, so that nothing of it is delivered a second time.
  const prompts = memory.boot(clock).adopt(START + 60_000, () => true).prompts;
  expect(prompts.flatMap(({ prompts }) => prompts.map(({ runs }) => runs))).toEqual(sent);
});

test("a notice of two tasks that is stored is sent again although one of them was lost meanwhile", async () => {
  const { clock, store, runtime, sent, restore, answer, inOutbox } = setUp();
  restore("ses_1", "ses_2");
  for (const id of ["ses_1", "ses_2"]) answer(id);
  inOutbox({ ...PARENT_READY, at: clock.now() });
  inOutbox({ type: "SEND_REFUSED", messageID: "msg_n", message: "busy", retryable: true });
  store.heartbeat = () => ["ses_1"];
  await clock.sleep(LEASE_MS + 1);
  // The first event after the pause is the one with which the prompt is sent: the task is lost in the same step.
  inOutbox({ ...PARENT_READY, at: clock.now() });
  const runs = ["ses_1", "ses_2"].map((taskId) => ({ taskId, run: 0 }));
  expect(runtime.liveTasks()).toHaveLength(1);
  expect(sent).toEqual([runs, runs]);
});

/** A runtime with a notice of `ses_1` under way, and with `ses_2` of the same parent at work. */
const withNotice = () => {
  const world = setUp();
  const { restore, answer } = world;
  restore("ses_1", "ses_2");
  answer("ses_1");
  return { ...world, lose: (id: string) => losing(world, id) };
};

const losing = ({ store, runtime }: ReturnType<typeof setUp>, id: string) => {
  const { heartbeat } = store;
  store.heartbeat = () => [id];
  runtime.heartbeat();
  store.heartbeat = heartbeat;
};

test("a notice that went to another process with its task is dropped, and the parent's other ends are queued again", () => {
  const { clock, memory, store, asked, answer, inOutbox, lose } = withNotice();
  inOutbox(PARENT_READY);
  answer("ses_2");
  asked.length = 0;
  const stored: unknown[] = [];
  const { commit } = store;
  store.commit = (change) => {
    stored.push(change.prompts);
    return commit(change);
  };
  lose("ses_1");
  expect(asked).toEqual(["readParent"]);
  const prompts = memory.boot(clock).adopt(clock.now() + 60_000, () => true).prompts;
  expect(prompts.flatMap((ofParent) => ofParent.prompts)).toEqual([]);
  inOutbox({ type: "PARENT_BUSY" });
  expect(stored).toEqual([[{ parentSessionID: PARENT, prompts: [] }]]);
});

test("a loss disturbs no outbox of which no notice is under way", () => {
  const { asked, lose } = withNotice();
  asked.length = 0;
  lose("ses_2");
  expect(asked).toEqual([]);
});

test("an event after a long pause is taken though the heartbeat before it fails", async () => {
  const { clock, store, log, runtime, restore } = setUp();
  restore("ses_1");
  store.heartbeat = () => {
    throw new Error("the disk is full");
  };
  await clock.sleep(LEASE_MS + 1);
  runtime.send("ses_1", { type: "HOST_IDLE", at: clock.now() });
  expect(statePath(runtime.snapshotOf("ses_1")?.value.run)).toBe("active.checking.asking.verifying");
  expect(log.errors).toEqual(['the heartbeat failed {"reason":"the disk is full"}']);
});

test("a task that breaks on what its breaking leads to, too, is given up, and no other is", () => {
  const { store, log, runtime } = setUp();
  const [poisoned, sound] = [scriptTask("ses_1"), scriptTask("ses_2")];
  for (const story of [poisoned, sound]) store.commit(story.launch());
  // A record in which a list is missing: whatever ends the run asks who waits for that.
  const { get } = store;
  store.get = (taskId) => {
    const record = get(taskId);
    if (taskId !== "ses_1" || !record) return record;
    const context = { ...record.snapshot.context, waiters: null as never };
    return { ...record, snapshot: { ...record.snapshot, context } };
  };
  for (const { id } of [poisoned, sound]) {
    const record = store.get(id);
    if (record) runtime.restore(record);
  }
  runtime.send("ses_1", { type: "SESSION_DELETED", at: START });
  expect(log.errors.filter((line) => line.includes("a fault in a chart"))).toHaveLength(2);
  expect(runtime.snapshotOf("ses_1")).toBeUndefined();
  runtime.send("ses_2", { type: "HOST_IDLE", at: START });
  expect(statePath(runtime.snapshotOf("ses_2")?.value.run)).toBe("active.checking.asking.verifying");
});
