import { expect, test } from "vitest";
import type { NoticePrompt, OutboxEvent } from "../../../src/machines/outbox/events.ts";
import { createEventBus } from "../../../src/services/platform/listeners.ts";
import type { EngineEvents } from "../../../src/services/runtime/effects.ts";
import { createProgressLog } from "../../../src/services/runtime/progress.ts";
import { createRuntime } from "../../../src/services/runtime/runtime.ts";
import { LEASE_MS } from "../../../src/services/store/ownership.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createFakeEffects } from "../../fakes/effects.ts";
import { innermost } from "../../fakes/innermost.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";
import { createRecordingLog } from "../store/folder-and-log.ts";
import { noticePrompt, START, scriptTask } from "../store/scripted-task.ts";

/** A runtime that shares its store with another process. */
const setUp = () => {
  const clock = createVirtualClock(START);
  const memory = createMemory();
  memory.keepAlive();
  const [store, other] = [memory.boot(clock), memory.boot(clock)];
  const log = createRecordingLog();
  const lost: string[] = [];
  const begun: string[] = [];
  const asked: string[] = [];
  const sent: NoticePrompt["runs"][] = [];
  const bus = createEventBus<EngineEvents>(log);
  bus.on("tasksLost", (tasks) => void lost.push(...tasks.map(({ sessionID }) => sessionID)));
  const runtime = createRuntime({
    clock,
    store,
    log,
    progress: createProgressLog(),
    effects: createFakeEffects((effect) => {
      asked.push(effect.type);
      if (effect.type === "sendNotice") sent.push(effect.prompt.runs);
      if (effect.type !== "composeNotice") return undefined;
      const runs = effect.queue.map(({ taskId, run }) => ({ taskId, run }));
      const prompt = { ...noticePrompt("msg_n"), runs };
      return { type: "OUTBOX", id: effect.parentSessionID, event: { type: "COMPOSED", at: clock.now(), prompt } };
    }),
    bus,
    inspect: (event) => {
      if (event.type === "@xstate.actor") begun.push(String(Reflect.get(event.actorRef, "id")));
    },
  });
  return { clock, memory, store, other, runtime, log, lost, begun, asked, sent };
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
  const { store, other, runtime, lost } = setUp();
  const [first, second, kept] = [scriptTask("ses_1"), scriptTask("ses_2"), scriptTask("ses_3")];
  for (const task of [first, second, kept]) {
    store.commit(task.launch());
    runtime.restore(task.record());
  }
  other.remove(["ses_1", "ses_2"]);
  runtime.send("ses_1", { type: "HOST_IDLE", at: START });
  expect(lost).toEqual(["ses_1", "ses_2"]);
  expect(runtime.liveTasks().map(({ context }) => context.facts.sessionID)).toEqual(["ses_3"]);
});

test("a notice of a task that another process removes before it is composed is neither sent nor kept", () => {
  const { clock, memory, store, other, runtime, asked } = setUp();
  const task = scriptTask("ses_1");
  store.commit(task.launch());
  runtime.restore(task.record());
  const at = clock.now();
  runtime.send("ses_1", { type: "HOST_IDLE", at });
  runtime.send("ses_1", { type: "CHECKED_ANSWERED", at, checkId: 1, completedAt: at, result: "12" });
  other.remove(["ses_1"]);
  const event = { type: "PARENT_READ", at, sender: { agent: "build", model: undefined }, othersRun: false } as const;
  runtime.dispatch({ type: "OUTBOX", id: "ses_parent", event });
  expect(asked).toContain("composeNotice");
  expect(asked).not.toContain("sendNotice");
  expect(memory.boot(clock).adopt(at + 60_000, () => true).prompts).toEqual([]);
});

test("an end whose notice was to carry a task that another process removes is composed again, and delivered alone", () => {
  const { clock, memory, store, other, runtime, sent } = setUp();
  const [removed, kept] = [scriptTask("ses_1"), scriptTask("ses_2")];
  for (const task of [removed, kept]) {
    store.commit(task.launch());
    runtime.restore(task.record());
  }
  const at = clock.now();
  for (const { id } of [removed, kept]) {
    runtime.send(id, { type: "HOST_IDLE", at });
    runtime.send(id, { type: "CHECKED_ANSWERED", at, checkId: 1, completedAt: at, result: "12" });
  }
  other.remove(["ses_1"]);
  const read = () => {
    const event = { type: "PARENT_READ", at, sender: { agent: "build", model: undefined }, othersRun: false } as const;
    runtime.dispatch({ type: "OUTBOX", id: "ses_parent", event });
  };
  read();
  expect(sent).toEqual([]);
  read();
  expect(sent).toEqual([[{ taskId: "ses_2", run: 0 }]]);
  // Whoever takes over finds the prompt, so that nothing of it is delivered a second time.
  const prompts = memory.boot(clock).adopt(at + 60_000, () => true).prompts;
  expect(prompts.flatMap(({ prompts }) => prompts.map(({ runs }) => runs))).toEqual(sent);
});

test("a notice of two tasks that is stored is sent again although one of them was lost meanwhile", async () => {
  const { clock, store, runtime, sent } = setUp();
  const [lost, kept] = [scriptTask("ses_1"), scriptTask("ses_2")];
  for (const task of [lost, kept]) {
    store.commit(task.launch());
    runtime.restore(task.record());
  }
  const at = clock.now();
  for (const { id } of [lost, kept]) {
    runtime.send(id, { type: "HOST_IDLE", at });
    runtime.send(id, { type: "CHECKED_ANSWERED", at, checkId: 1, completedAt: at, result: "12" });
  }
  const tell = (event: object) =>
    runtime.dispatch({ type: "OUTBOX", id: "ses_parent", event: { at: clock.now(), ...event } as OutboxEvent });
  const read = { type: "PARENT_READ", sender: { agent: "build", model: undefined }, othersRun: false } as const;
  tell(read);
  tell({ type: "SEND_REFUSED", messageID: "msg_n", message: "busy", retryable: true });
  store.heartbeat = () => ["ses_1"];
  await clock.sleep(LEASE_MS + 1);
  // The first event after the pause is the one with which the prompt is sent: the task is lost in the same step.
  tell(read);
  const runs = [lost, kept].map(({ id }) => ({ taskId: id, run: 0 }));
  expect(runtime.liveTasks()).toHaveLength(1);
  expect(sent).toEqual([runs, runs]);
});

/** A runtime with a notice of `ses_1` under way, and with `ses_2` of the same parent at work. */
const withNotice = () => {
  const world = setUp();
  const { clock, store, runtime } = world;
  for (const task of [scriptTask("ses_1"), scriptTask("ses_2")]) {
    store.commit(task.launch());
    runtime.restore(task.record());
  }
  const at = clock.now();
  const end = (id: string) => {
    runtime.send(id, { type: "HOST_IDLE", at });
    runtime.send(id, { type: "CHECKED_ANSWERED", at, checkId: 1, completedAt: at, result: "12" });
  };
  const tell = (event: object) =>
    runtime.dispatch({ type: "OUTBOX", id: "ses_parent", event: { at, ...event } as OutboxEvent });
  const read = () => tell({ type: "PARENT_READ", sender: { agent: "build", model: undefined }, othersRun: false });
  end("ses_1");
  return { ...world, end, tell, read, lose: (id: string) => losing(world, id) };
};

const losing = ({ store, runtime }: ReturnType<typeof setUp>, id: string) => {
  const { heartbeat } = store;
  store.heartbeat = () => [id];
  runtime.heartbeat();
  store.heartbeat = heartbeat;
};

test("a notice that went to another process with its task is dropped, and the parent's other ends are queued again", () => {
  const { clock, memory, store, end, tell, read, lose, asked } = withNotice();
  read();
  end("ses_2");
  asked.length = 0;
  lose("ses_1");
  expect(asked).toEqual(["readParent"]);
  const prompts = memory.boot(clock).adopt(clock.now() + 60_000, () => true).prompts;
  expect(prompts.flatMap((ofParent) => ofParent.prompts)).toEqual([]);
  const commits: unknown[] = [];
  const { commit } = store;
  store.commit = (change) => {
    commits.push(change);
    return commit(change);
  };
  tell({ type: "PARENT_BUSY" });
  expect(commits).toEqual([]);
});

test("a loss disturbs no outbox of which no notice is under way", () => {
  const { lose, asked } = withNotice();
  asked.length = 0;
  lose("ses_2");
  expect(asked).toEqual([]);
});

test("an event after a long pause is taken though the heartbeat before it fails", async () => {
  const { clock, store, runtime, log } = setUp();
  const task = scriptTask("ses_1");
  store.commit(task.launch());
  runtime.restore(task.record());
  store.heartbeat = () => {
    throw new Error("the disk is full");
  };
  await clock.sleep(LEASE_MS + 1);
  runtime.send("ses_1", { type: "HOST_IDLE", at: clock.now() });
  expect(innermost(runtime.snapshotOf("ses_1")?.value.run)).toBe("verifying");
  expect(log.errors).toEqual(['the heartbeat failed {"reason":"the disk is full"}']);
});

test("a task that breaks on what its breaking leads to, too, is given up, and no other is", () => {
  const { store, runtime, log } = setUp();
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
  expect(innermost(runtime.snapshotOf("ses_2")?.value.run)).toBe("verifying");
});
