import { expect, test } from "vitest";
import type { HostEvent } from "../../../src/machines/host-events.ts";
import type { taskInput } from "../../fakes/task-input.ts";
import { START, scriptTask } from "../store/scripted-task.ts";
import { PARENT, PARENT_READY, testRuntime } from "./test-runtime.ts";

/** A runtime with a task at work, whose effects lead to nothing. */
const setUp = (facts: Parameters<typeof taskInput>[1] = {}) => {
  const world = testRuntime();
  world.launch("ses_1", facts);
  world.send("ses_1", { type: "SLOT_GRANTED" }, { type: "PROMPT_ACCEPTED" });
  return world;
};

const EVENTS: Record<HostEvent["type"], Record<string, unknown>> = {
  busy: {},
  retrying: { attempt: 1, message: "slow down", until: START },
  answering: {},
  idle: {},
  error: { error: { name: "APIError", message: "401" } },
  deleted: {},
  session: { session: {}, isNew: false },
  compacted: {},
  message: { message: {} },
  text: { messageID: "msg_1", partID: "prt_1", text: "" },
  asked: { request: {} },
  replied: { requestID: "per_1" },
  toolCall: { callID: "call_1", tool: "bash", stage: "begun" },
  filesChanged: { partID: "prt_1", files: [] },
  step: { partID: "prt_1", tokens: 1, cost: 0 },
};

/** The types of events of a session that may matter to the charts. */
const concerning = ({ runtime }: ReturnType<typeof testRuntime>, sessionID: string): string[] =>
  Object.entries(EVENTS).flatMap(([type, fields]) =>
    runtime.concerns({ type, sessionID, ...fields } as HostEvent) ? type : [],
  );

const OF_TASK = ["retrying", "idle", "error", "deleted", "asked", "replied"];

test("of a task at work matters what may end its turn, and what it asks", () => {
  expect(concerning(setUp(), "ses_1")).toEqual(OF_TASK);
});

test("a task that waits for its provider is to learn that it is answered", () => {
  const world = setUp();
  world.send("ses_1", { type: "HOST_RETRYING", attempt: 1, message: "slow down", until: START + 5 });
  expect(concerning(world, "ses_1").toSorted()).toEqual([...OF_TASK, "answering", "busy"].toSorted());
});

test("a task that waits for tasks of its own is to learn that it goes on", () => {
  const world = setUp();
  world.send("ses_1", { type: "HOST_IDLE" }, { type: "CHECKED_AWAITING_TASKS", checkId: 1 });
  expect(concerning(world, "ses_1").toSorted()).toEqual([...OF_TASK, "busy"].toSorted());
});

test("of a session without a task nothing matters", () => {
  expect(concerning(setUp(), "ses_2")).toEqual([]);
});

test("of a parent matter only errors and its deletion, until a notice to it is under way", () => {
  const world = setUp();
  expect(concerning(world, PARENT)).toEqual(["error", "deleted"]);
  world.answer("ses_1");
  expect(concerning(world, PARENT)).toEqual(["error", "deleted"]);
  world.inOutbox(PARENT_READY);
  const prompt = { messageID: "msg_n", parts: [], runs: [{ taskId: "ses_1", run: 0 }], toasts: [] };
  world.inOutbox({ type: "COMPOSED", prompt });
  expect(world.runtime.pendingPrompt(PARENT)).toBe("msg_n");
  expect(concerning(world, PARENT).toSorted()).toEqual(
    ["busy", "retrying", "idle", "message", "error", "deleted"].toSorted(),
  );
});

test("of a parent that a person has set aside matters also that it changes", () => {
  const world = setUp();
  world.answer("ses_1");
  world.inOutbox({ ...PARENT_READY, setAside: "archived" });
  expect(concerning(world, PARENT).toSorted()).toEqual(
    ["busy", "retrying", "idle", "message", "error", "deleted", "session"].toSorted(),
  );
});

test("a parent waits for its tasks until they have ended and their ends are delivered", () => {
  const world = setUp();
  const says = () => [
    world.runtime.awaitsTasks(PARENT),
    world.runtime.awaitsRuns(PARENT),
    world.runtime.hasRunningTasks(PARENT),
  ];
  expect(says()).toEqual([true, true, true]);
  world.answer("ses_1");
  expect(says()).toEqual([true, false, false]);
  expect(world.runtime.awaitsRuns("ses_elsewhere")).toBe(false);
});

test("a lead waits for the runs of tasks that sessions below it launched", () => {
  const { runtime, answer } = setUp({ parentSessionID: "ses_helper", parentTaskId: "ses_lead" });
  expect([runtime.awaitsRuns("ses_lead"), runtime.hasRunningTasks("ses_lead")]).toEqual([true, false]);
  answer("ses_1");
  expect([runtime.awaitsTasks("ses_lead"), runtime.awaitsRuns("ses_lead")]).toEqual([true, false]);
});

test("a task says why it would refuse something, be it at work, at rest, elsewhere, or unknown", () => {
  const { store, other, runtime } = setUp();
  const resume = { type: "RESUME", at: START, messageID: "msg_2", partID: "prt_2", prompt: "more" } as const;
  expect(runtime.refusalReason("ses_1", { type: "CANCEL", at: START })).toBeUndefined();
  const { get } = store;
  store.get = () => undefined;
  expect(runtime.refusalReason("ses_1", resume)).toMatch(/running/);
  store.get = get;
  const rested = scriptTask("ses_rested");
  store.commit(rested.whole());
  expect(runtime.refusalReason("ses_rested", resume)).toBeUndefined();
  expect(runtime.refusalReason("ses_rested", { type: "CANCEL", at: START })).toBe("has already finished (completed)");
  other.commit(scriptTask("ses_elsewhere").launch());
  expect(runtime.refusalReason("ses_elsewhere", { type: "CANCEL", at: START })).toBe(
    "is supervised by another OpenCode process: ask there",
  );
  expect(runtime.refusalReason("ses_unknown", resume)).toBe("does not exist");
});

test("a task that another version stored ends in an error, and takes nothing at rest", () => {
  const { store, log, runtime } = setUp();
  const [live, rested] = [scriptTask("ses_live"), scriptTask("ses_rested")];
  store.commit(live.launch());
  store.commit(rested.whole());
  const unknown = (task: typeof live) => {
    const record = task.record();
    return { ...record, snapshot: { ...record.snapshot, value: { ...record.snapshot.value, run: "dreaming" } } };
  };
  expect(runtime.restore(unknown(live) as never)).toBe(false);
  expect(log.errors).toEqual([
    'a task cannot continue {"taskId":"ses_live","reason":"this version does not know the state in which the task was stored"}',
  ]);
  expect(runtime.snapshotOf("ses_live")?.value.lifecycle).toBe("error");
  expect(runtime.snapshotOf("ses_live")?.context.error).toEqual({
    ...{ name: "InternalError", kind: "internal" },
    message: "A fault in opencode-taskchart: this version does not know the state in which the task was stored",
  });
  store.get = () => unknown(rested) as never;
  expect(runtime.refusalReason("ses_rested", { type: "CANCEL", at: START })).toBe(
    "was stored by another version, and cannot go on",
  );
});

test("a task at rest that another version stored stays as it is, whatever is sent to it", () => {
  const { store, other, log, runtime } = setUp();
  const change = scriptTask("ses_rested").whole();
  const [record] = change.records;
  if (!record) throw new Error("no record");
  const value = { ...record.snapshot.value, run: "dreaming" } as never;
  const stored = { ...record, snapshot: { ...record.snapshot, value } };
  store.commit({ ...change, records: [stored] });
  const before = store.get("ses_rested");
  runtime.send("ses_rested", { type: "RESULT_READ", at: START });
  expect(store.get("ses_rested")).toEqual(before);
  expect(runtime.snapshotOf("ses_rested")).toBeUndefined();
  expect([log.errors, other.claim("ses_rested")]).toEqual([[], true]);
});

test("a parent without a notice under way has no pending prompt, be it known or not, and is it owed something or not", () => {
  const { runtime, answer } = setUp();
  expect([PARENT, "ses_elsewhere"].map(runtime.pendingPrompt)).toEqual([undefined, undefined]);
  answer("ses_1");
  expect([runtime.awaitsTasks(PARENT), runtime.pendingPrompt(PARENT)]).toEqual([true, undefined]);
});

test("a live task has a receipt once its run has ended", () => {
  const { runtime, answer } = setUp();
  expect([runtime.receiptOf("ses_1"), runtime.receiptOf("ses_unknown")]).toEqual([undefined, undefined]);
  answer("ses_1");
  expect(runtime.receiptOf("ses_1")).toMatchObject({ run: 0 });
});

test("a parent's outbox goes with its last task, also where a call delivers the end", () => {
  const { runtime, send, answer } = setUp();
  send("ses_1", { type: "WAIT_BEGAN", call: "call_1" });
  answer("ses_1");
  send("ses_1", { type: "WAIT_DELIVERED", call: "call_1" });
  expect(runtime.liveTasks()).toEqual([]);
  expect(runtime.concerns({ type: "deleted", sessionID: PARENT })).toBe(false);
});
