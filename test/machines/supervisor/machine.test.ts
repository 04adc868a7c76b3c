import { expect, test } from "vitest";
import { statePath } from "../../../src/machines/chart.ts";
import type { HostEvent, MessageInfo } from "../../../src/machines/host-events.ts";
import type { NoticePrompt, OutboxEvent } from "../../../src/machines/outbox/events.ts";
import type { OutboxSnapshot } from "../../../src/machines/outbox/machine.ts";
import type { Effect, FailedActor } from "../../../src/machines/supervisor/events.ts";
import { outboxId } from "../../../src/machines/supervisor/machine.ts";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { lifecyclePath, type TaskSnapshot } from "../../../src/machines/task/machine.ts";
import { slotOf } from "../../../src/machines/task/slot.ts";
import { createSupervisor } from "../../../src/services/runtime/actor-system.ts";
import { START, taskInput } from "../../fakes/task-input.ts";
import { promptOf } from "../outbox/driven-outbox.ts";

const at = START;
const PERSON = "ses_parent";
const LEAD = "ses_lead";
const HELP = "ses_help";

/** The supervisor with its actors; what is to be done outside is only written down. */
const supervise = () => {
  const effects: Effect[] = [];
  const failed: FailedActor[] = [];
  const { ref: actor, actors } = createSupervisor({
    onEffect: (effect) => effects.push(effect),
    onTaskStep: () => undefined,
    onOutboxStep: () => undefined,
    onLaunchBegun: () => undefined,
    onLaunchStep: () => undefined,
    onFailure: (one) => failed.push(one),
  });
  actor.start();
  const child = (id: string): unknown => actors.get(id)?.getSnapshot();
  const tell = (id: string, event: TaskEvent) => actor.send({ type: "TASK", id, event });
  return {
    /** A task of that parent is launched, and gets its slot. */
    launch: (sessionID: string, parentSessionID: string) => {
      const lead = parentSessionID === PERSON ? {} : { parentTaskId: parentSessionID };
      actor.send({ type: "LAUNCH", at, task: taskInput(sessionID, { parentSessionID, ...lead }) });
      tell(sessionID, { type: "SLOT_GRANTED", at });
    },
    /** The task's run is answered, so that its end is owed to its parent. */
    answer: (id: string) => {
      tell(id, { type: "PROMPT_ACCEPTED", at });
      tell(id, { type: "HOST_IDLE", at });
      tell(id, { type: "CHECKED_ANSWERED", at, checkId: 1, completedAt: at, result: "12" });
    },
    adopt: (parentSessionID: string, prompt: NoticePrompt) =>
      actor.send({ type: "ADOPT_PROMPTS", at, parentSessionID, prompts: [prompt] }),
    host: (event: HostEvent) => actor.send({ type: "HOST", at, event }),
    tell,
    tellOutbox: (id: string, event: OutboxEvent) => actor.send({ type: "OUTBOX", id, event }),
    task: (id: string) => child(id) as TaskSnapshot,
    outbox: (parentSessionID: string) => child(outboxId(parentSessionID)) as OutboxSnapshot | undefined,
    context: () => actor.getSnapshot().context,
    close: () => actor.send({ type: "CLOSE" }),
    reapTask: (id: string) => actor.send({ type: "REAP_TASK", id }),
    statusOf: () => actor.getSnapshot().status,
    actorOf: (id: string) => actors.get(id),
    failed,
    /** What was asked for since this was called last. */
    taken: () => effects.splice(0),
  };
};

/** A lead that launched a task and was sent the notice of its end, `msg_1`. */
const noticeSentToLead = () => {
  const supervisor = supervise();
  supervisor.launch(LEAD, PERSON);
  supervisor.launch(HELP, LEAD);
  supervisor.answer(HELP);
  supervisor.tellOutbox(LEAD, {
    type: "PARENT_READ",
    at,
    sender: { agent: "build", model: undefined },
    othersRun: false,
  });
  supervisor.tellOutbox(LEAD, { type: "COMPOSED", at, prompt: promptOf("msg_1", HELP) });
  supervisor.tellOutbox(LEAD, { type: "SENT", at, messageID: "msg_1" });
  return supervisor;
};

const answerTo = (promptID: string, isSummary = false): MessageInfo => ({
  id: "msg_2",
  role: "assistant",
  createdAt: at,
  promptID,
  completedAt: undefined,
  finish: undefined,
  error: undefined,
  isSummary,
});

test("the notice to a task that is itself a parent is acknowledged by what its model answers", () => {
  const supervisor = noticeSentToLead();
  expect(supervisor.task(HELP).value.notice).toBe("sending");
  supervisor.host({ type: "message", sessionID: LEAD, message: answerTo("msg_1") });
  expect(supervisor.task(HELP).value.notice).toBe("none");
});

test("a compaction's summary is the host's own: it acknowledges no notice", () => {
  const supervisor = noticeSentToLead();
  supervisor.host({ type: "message", sessionID: LEAD, message: answerTo("msg_1", true) });
  expect(supervisor.task(HELP).value.notice).toBe("sending");
});

test("a prompt that is about a task which is not here harms nobody when it is acknowledged", () => {
  const supervisor = supervise();
  supervisor.launch(LEAD, PERSON);
  supervisor.adopt(PERSON, promptOf("msg_1", "ses_elsewhere"));
  supervisor.host({ type: "message", sessionID: PERSON, message: answerTo("msg_1") });
  expect(statePath(supervisor.outbox(PERSON)?.value.delivery)).toBe("idle");
  supervisor.answer(LEAD);
  expect(supervisor.taken()).toContainEqual(expect.objectContaining({ type: "readParent", parentSessionID: PERSON }));
});

test("the failure of a task that is itself a parent is heard by both: the task and the outbox of its session", () => {
  const supervisor = noticeSentToLead();
  const error = { name: "APIError", message: "401" };
  supervisor.host({ type: "error", sessionID: LEAD, error });
  expect(supervisor.task(LEAD).context.hostError).toEqual(error);
  expect(supervisor.outbox(LEAD)?.value.parent).toBe("coolingDown");
  expect(supervisor.outbox(PERSON)?.value.parent).toBe("open");
});

test("a parent whose outbox is closed is notified again from its next launch on", () => {
  const supervisor = supervise();
  supervisor.launch(LEAD, PERSON);
  supervisor.host({ type: "deleted", sessionID: PERSON });
  expect(statePath(supervisor.outbox(PERSON)?.value.delivery)).toBe("closed");
  supervisor.launch(HELP, PERSON);
  supervisor.taken();
  supervisor.answer(HELP);
  expect(supervisor.taken()).toContainEqual(expect.objectContaining({ type: "readParent", parentSessionID: PERSON }));
});

test("an outbox that throws is removed and reported, its siblings stay, and the next end opens another", () => {
  const supervisor = supervise();
  supervisor.launch(LEAD, PERSON);
  supervisor.launch(HELP, PERSON);
  supervisor.launch("ses_helper", LEAD);
  supervisor.answer(LEAD);
  supervisor.tellOutbox(PERSON, {
    type: "PARENT_READ",
    at,
    sender: { agent: "build", model: undefined },
    othersRun: false,
  });
  supervisor.taken();
  supervisor.tellOutbox(PERSON, { type: "COMPOSED", at, prompt: null as never });
  expect(supervisor.failed).toMatchObject([{ id: outboxId(PERSON) }]);
  expect(supervisor.taken()).toEqual([]);
  expect(supervisor.context()).toEqual({
    tasks: [HELP, "ses_helper", LEAD],
    outboxes: [LEAD],
    launches: [],
  });
  expect(supervisor.outbox(PERSON)).toBeUndefined();
  supervisor.answer(HELP);
  expect(supervisor.taken()).toContainEqual(expect.objectContaining({ type: "readParent", parentSessionID: PERSON }));
  expect(lifecyclePath(supervisor.task("ses_helper"))).toBe("running.active.prompting.sending");
});

test("a task that waits for its own tasks is at work from the very step in which one of them ends", () => {
  const supervisor = supervise();
  supervisor.launch(LEAD, PERSON);
  supervisor.tell(LEAD, { type: "PROMPT_ACCEPTED", at });
  supervisor.launch(HELP, LEAD);
  supervisor.tell(LEAD, { type: "HOST_IDLE", at });
  supervisor.tell(LEAD, { type: "CHECKED_AWAITING_TASKS", at, checkId: 1 });
  expect(statePath(supervisor.task(LEAD).value.run)).toBe("active.working.awaitingTasks");
  supervisor.answer(HELP);
  expect(statePath(supervisor.task(LEAD).value.run)).toBe("active.working.busy");
});

test("a task whose tool call waits for its own tasks goes on from the step in which the last of them ends", () => {
  const supervisor = supervise();
  supervisor.launch(LEAD, PERSON);
  supervisor.tell(LEAD, { type: "PROMPT_ACCEPTED", at });
  supervisor.launch(HELP, LEAD);
  supervisor.launch("ses_helper", LEAD);
  supervisor.tell(LEAD, { type: "CALL_BLOCKED", at, call: "call_1", taskIds: [HELP, "ses_helper"] });
  supervisor.answer(HELP);
  expect(slotOf(supervisor.task(LEAD))).toBe("none");
  supervisor.answer("ses_helper");
  expect(slotOf(supervisor.task(LEAD))).toBe("held");
});

test("a task that is let go is stopped, and takes nothing more", () => {
  const supervisor = supervise();
  supervisor.launch(LEAD, PERSON);
  const actor = supervisor.actorOf(LEAD);
  expect(actor?.getSnapshot().status).toBe("active");
  supervisor.reapTask(LEAD);
  expect(actor?.getSnapshot().status).toBe("stopped");
  expect(supervisor.actorOf(LEAD)).toBeUndefined();
});

test("a supervisor that is closed is done", () => {
  const supervisor = supervise();
  expect(supervisor.statusOf()).toBe("active");
  supervisor.close();
  expect(supervisor.statusOf()).toBe("done");
});
