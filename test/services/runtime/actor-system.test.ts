import { expect, onTestFinished, test, vi } from "vitest";
import type { OutboxEvent } from "../../../src/machines/outbox/events.ts";
import { OUTBOX_LIMITS } from "../../../src/machines/outbox/setup.ts";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { type Inspect, type InspectedRef, startActorSystem } from "../../../src/services/runtime/actor-system.ts";
import { taskInput } from "../../fakes/task-input.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";
import { createRecordingLog } from "../store/folder-and-log.ts";
import { START } from "../store/scripted-task.ts";

const PARENT = "ses_parent";

/** What is drained where nothing has happened. */
const NOTHING = {
  launched: [],
  launchJournals: new Map(),
  steps: [],
  outboxes: new Map(),
  idleOutboxes: [],
  failed: [],
};

/** Actors of one task, which has ended, and of its parent's outbox. */
const ended = (inspect?: Inspect) => {
  const log = createRecordingLog();
  const actors = startActorSystem(createVirtualClock(START), log, inspect);
  const launch = (id: string) => {
    const { facts, run } = taskInput(id, {}, START);
    actors.feed({ type: "LAUNCH", at: START, task: { facts, run } });
  };
  launch("ses_1");
  const task = (...events: object[]) => {
    for (const event of events) actors.feed({ type: "TASK", id: "ses_1", event: { at: START, ...event } as TaskEvent });
  };
  task({ type: "SLOT_GRANTED" }, { type: "PROMPT_ACCEPTED" }, { type: "HOST_IDLE" });
  task({ type: "CHECKED_ANSWERED", checkId: 1, completedAt: START, result: "12" });
  const outbox = (...events: object[]) => {
    for (const event of events)
      actors.feed({ type: "OUTBOX", id: PARENT, event: { at: START, ...event } as OutboxEvent });
  };
  return { actors, log, launch, task, outbox, earliest: () => actors.deadlines.outboxes.earliest() };
};

const prompt = { messageID: "msg_n", parts: [], runs: [{ taskId: "ses_1", run: 0 }], toasts: [] };
const read = { type: "PARENT_READ", sender: { agent: "build", model: undefined }, othersRun: false };

test("an outbox has the earlier of its two deadlines: of its notice, and of its parent's readiness", () => {
  const { outbox, earliest } = ended();
  expect(earliest()).toBeUndefined();
  outbox(read, { type: "COMPOSED", prompt }, { type: "SENT", messageID: "msg_n" });
  expect(earliest()).toBe(START + OUTBOX_LIMITS.firstCheck);
  outbox({ type: "PARENT_ERROR", error: { name: "APIError", message: "401" } });
  expect(earliest()).toBe(START + OUTBOX_LIMITS.coolDown);
  const late = START + OUTBOX_LIMITS.firstCheck;
  outbox({ type: "PARENT_ERROR", at: late, error: { name: "APIError", message: "401" } });
  expect(earliest()).toBe(late);
});

test("what happened is given out once: launches, steps, and outboxes with nothing left to deliver", () => {
  const { actors, outbox } = ended();
  const first = actors.drain();
  expect(first.launched.map(({ context }) => context.facts.sessionID)).toEqual(["ses_1"]);
  expect(first.steps.map(({ event }) => event.type)).toEqual([
    "SLOT_GRANTED",
    "PROMPT_ACCEPTED",
    "HOST_IDLE",
    "CHECKED_ANSWERED",
  ]);
  expect([...first.outboxes.keys()]).toEqual([PARENT]);
  expect(first.idleOutboxes).toEqual([]);
  outbox(read, { type: "COMPOSED", prompt });
  outbox({ type: "PARENT_ANSWERED", promptID: "msg_n", createdAt: START });
  const second = actors.drain();
  expect([second.launched, second.idleOutboxes]).toEqual([[], [PARENT]]);
  expect(actors.drain()).toEqual(NOTHING);
});

test("effects are given out once, in the order in which they were asked for", () => {
  const { actors } = ended();
  expect(actors.takeEffects().map(({ type }) => type)).toEqual(
    expect.arrayContaining(["requestSlot", "sendPrompt", "checkRun", "readParent"]),
  );
  expect(actors.takeEffects()).toEqual([]);
});

test("an outbox that is begun anew queues the ends of its parent's tasks again, but for those that are delivered", () => {
  const { actors, outbox, earliest } = ended();
  outbox(read, { type: "COMPOSED", prompt }, { type: "SENT", messageID: "msg_n" });
  actors.restartOutbox(PARENT);
  expect(earliest()).toBeUndefined();
  expect(actors.outboxes.get(PARENT)?.context).toMatchObject({
    prompt: undefined,
    queue: [{ taskId: "ses_1", run: 0 }],
  });
  outbox(read, { type: "COMPOSED", prompt });
  outbox({ type: "PARENT_ANSWERED", promptID: "msg_n", createdAt: START });
  actors.restartOutbox(PARENT);
  expect(actors.outboxes.get(PARENT)).toBeUndefined();
});

test("a session is supervised as a task, or as a parent that has an outbox", () => {
  const { actors } = ended();
  expect(["ses_1", PARENT, "ses_2"].map(actors.supervises)).toEqual([true, true, false]);
  actors.reapTask("ses_1");
  actors.reapOutbox(PARENT);
  expect(["ses_1", PARENT].map(actors.supervises)).toEqual([false, false]);
  expect([actors.replaceOutbox("outbox-of-nobody"), actors.deadlines.tasks.earliest()]).toEqual([false, undefined]);
});

test("the actors of a task and of an outbox are stopped when they are reaped, so that XState keeps nothing of them", () => {
  const refs = new Map<string, InspectedRef>();
  const { actors } = ended(({ actorRef }) => refs.set((actorRef as InspectedRef).id, actorRef as InspectedRef));
  const status = (id: string) => refs.get(id)?.getSnapshot().status;
  const ids = ["ses_1", `outbox:${PARENT}`];
  expect(ids.map(status)).toEqual(["active", "active"]);
  actors.reapTask("ses_1");
  actors.reapOutbox(PARENT);
  expect(ids.map(status)).toEqual(["stopped", "stopped"]);
});

test("what is stopped leaves no deadline behind", () => {
  const { actors, log, launch, outbox, earliest } = ended();
  launch("ses_2");
  actors.feed({ type: "TASK", id: "ses_2", event: { type: "SLOT_GRANTED", at: START } });
  const error = { name: "Unreachable", kind: "host", message: "connection refused" } as const;
  const refused = { type: "PROMPT_REFUSED", at: START, error, retryable: true } as const;
  actors.feed({ type: "TASK", id: "ses_2", event: refused });
  outbox(read, { type: "COMPOSED", prompt }, { type: "SENT", messageID: "msg_n" });
  expect([actors.deadlines.tasks.earliest(), earliest()]).not.toContain(undefined);
  actors.reapTask("ses_2");
  actors.reapOutbox(PARENT);
  expect([actors.deadlines.tasks.earliest(), earliest()]).toEqual([undefined, undefined]);
  expect(actors.supervises("ses_1")).toBe(true);
  expect(log.errors).toEqual([]);
});

test("an outbox that broke is forgotten where nothing is owed", () => {
  const { actors, outbox, earliest } = ended();
  outbox(read, { type: "COMPOSED", prompt }, { type: "SENT", messageID: "msg_n" });
  actors.reapTask("ses_1");
  expect(actors.replaceOutbox(`outbox:${PARENT}`)).toBe(true);
  expect([actors.outboxes.get(PARENT), earliest()]).toEqual([undefined, undefined]);
});

test("a supervisor that breaks is replaced: its tasks go on, and their ends are queued anew", () => {
  const { actors, log, task, outbox } = ended();
  outbox(read, { type: "COMPOSED", prompt }, { type: "SENT", messageID: "msg_n" });
  const adopted = [{ ...prompt, messageID: "msg_old", runs: [] }];
  actors.feed({ type: "ADOPT_PROMPTS", at: START, parentSessionID: "ses_parent2", prompts: adopted });
  actors.feed({ type: "HOST", at: START, event: null } as never);
  expect(log.errors).toEqual([expect.stringMatching(/^a fault in the supervisor \{"reason":".*null.*"\}$/)]);
  expect(["ses_1", PARENT, "ses_parent2"].map(actors.supervises)).toEqual([true, true, false]);
  expect(actors.outboxes.get("ses_parent2")).toBeUndefined();
  expect(actors.outboxes.get(PARENT)?.context).toMatchObject({ prompt: undefined, queue: [{ taskId: "ses_1" }] });
  task({ type: "RESULT_READ", at: START + 1 });
  expect(actors.live.snapshots.get("ses_1")?.context).toMatchObject({ result: "12", resultRetrievedAt: START + 1 });
});

test("once it is stopped nothing happens any more", () => {
  const { actors, launch, task } = ended();
  launch("ses_reaped");
  actors.reapTask("ses_reaped");
  actors.drain();
  actors.stop();
  // XState warns of events to what has stopped.
  const warn = vi.spyOn(console, "warn").mockReturnValue();
  onTestFinished(() => warn.mockRestore());
  task({ type: "RESULT_READ" });
  for (const id of ["ses_2", "ses_reaped"]) launch(id);
  expect(actors.drain()).toEqual(NOTHING);
});
