import { expect, test } from "vitest";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { lifecyclePath, statusOf } from "../../../src/machines/task/machine.ts";
import { TASK_LIMITS } from "../../../src/machines/task/setup.ts";
import { toTask } from "../../../src/machines/task/view.ts";
import { noProgress } from "../../../src/task.ts";
import { START } from "../../fakes/task-input.ts";
import { afterEvents, completeAndTell, type DrivenTask, queuedTask, resume, workingTask } from "./driven-task.ts";

const sendSteering = (messageID: string) => ({ type: "sendSteering", instruction: { messageID } });

/** A task at work whose instruction `msg_3` the host has stored. */
const steeredTask = (): DrivenTask => {
  const task = afterEvents(workingTask(), "STEER", "STEERING_STORED");
  return task;
};

test("an instruction for a child at work is sent at once, and the host asked afterwards how the run stands", () => {
  const task = workingTask();
  expect(task.take("STEER")).toMatchObject([
    {
      type: "sendSteering",
      taskId: "ses_child",
      runMessageID: task.snapshot.context.run.messageID,
      instruction: { messageID: "msg_3", parts: [{ id: "prt_3", text: "Only the tests." }], agent: "general" },
    },
  ]);
  expect(task.take("STEERING_STORED")).toMatchObject([{ type: "checkRun", instructionID: "msg_3" }]);
  expect(task.snapshot.value).toMatchObject({
    run: { active: { checking: { asking: "verifying" } } },
    steering: "none",
  });
});

test("an instruction for a run in the queue is sent when the host has taken the run's prompt", () => {
  const task = queuedTask();
  expect(task.take("STEER")).toEqual([]);
  expect(task.take("SLOT_GRANTED")).toMatchObject([{ type: "sendPrompt" }]);
  expect(task.take("PROMPT_ACCEPTED")).toMatchObject([sendSteering("msg_3")]);
});

test("several instructions are sent one by one, in the order in which they were given", () => {
  const task = afterEvents(workingTask(), "STEER");
  expect(task.take("STEER", { messageID: "msg_4" })).toEqual([]);
  expect(task.take("STEER", { messageID: "msg_5" })).toEqual([]);
  expect(task.take("STEERING_STORED")).toMatchObject([{ type: "checkRun" }, sendSteering("msg_4")]);
  expect(task.take("STEERING_STORED", { messageID: "msg_4" })).toMatchObject([
    { type: "checkRun" },
    sendSteering("msg_5"),
  ]);
  expect(task.take("STEERING_STORED", { messageID: "msg_5" })).toMatchObject([
    { type: "checkRun", instructionID: "msg_5" },
  ]);
  expect(task.snapshot.context).toMatchObject({ instructions: undefined, storedInstruction: { messageID: "msg_5" } });
});

test("a run that is answered while an instruction is on its way goes on with it", () => {
  const task = afterEvents(workingTask(), "STEER", "HOST_IDLE");
  expect(task.take("CHECKED_ANSWERED")).toEqual([]);
  expect(lifecyclePath(task.snapshot)).toBe("running.active.working.busy");
  task.take("STEERING_STORED");
  expect(task.take("CHECKED_UNSEEN")).toMatchObject([{ type: "sendPrompt", prompt: { messageID: "msg_3" } }]);
  afterEvents(task, "PROMPT_ACCEPTED", "HOST_IDLE");
  expect(task.take("CHECKED_ANSWERED", { result: "5" })).toMatchObject([{ type: "queueNotice", end: { result: "5" } }]);
});

test("the answer to a check from before the instruction was stored does not end the run", () => {
  const task = afterEvents(workingTask(), "STEER", "HOST_IDLE");
  const { checkId } = task.snapshot.context;
  task.take("STEERING_STORED");
  const late: TaskEvent = { type: "CHECKED_ANSWERED", at: 0, checkId, completedAt: 0, result: "12" };
  expect(task.snapshot.can(late)).toBe(false);
});

test("a child that never looks at an instruction is woken `sendAttempts` times at most", () => {
  const task = steeredTask();
  for (let sends = 1; sends < TASK_LIMITS.sendAttempts; sends += 1) {
    afterEvents(task, "CHECKED_UNSEEN", "PROMPT_ACCEPTED", "HOST_IDLE");
  }
  expect(task.take("CHECKED_UNSEEN")).toMatchObject([{ type: "stopSession" }, { type: "queueNotice" }]);
  expect(task.snapshot.context.error?.kind).toBe("unanswered");
});

test("an instruction that the host cannot take now is sent again when the host has been asked, after longer and longer pauses", () => {
  const task = afterEvents(workingTask(), "STEER");
  const pauses: number[] = [];
  let now = START;
  for (let sends = 1; sends < TASK_LIMITS.sendAttempts; sends += 1) {
    task.take("STEERING_REFUSED");
    const { nextDeadline = 0 } = task.snapshot.context;
    pauses.push(nextDeadline - now);
    now = nextDeadline;
    task.take("TICK");
    expect(task.take("CHECKED_BUSY")).toMatchObject([sendSteering("msg_3")]);
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000]);
  expect(task.take("STEERING_REFUSED")).toMatchObject([{ type: "stopSession" }, { type: "queueNotice" }]);
  expect(statusOf(task.snapshot)).toBe("error");
});

test("an instruction that the host refuses for good ends the run, with the host's reason: it must not be lost in silence", () => {
  const task = afterEvents(workingTask(), "STEER");
  const error = { name: "BadRequest", kind: "host", message: "no" } as const;
  expect(task.take("STEERING_REFUSED", { retryable: false, error })).toMatchObject([
    { type: "stopSession" },
    { type: "queueNotice", end: { outcome: "error", error } },
  ]);
  expect(task.snapshot.context).toMatchObject({ instructions: undefined });
});

test("after a crash an instruction is sent again with the same ids, once it is known how the run stands", () => {
  const task = afterEvents(workingTask(), "STEER");
  expect(task.take("ADOPTED")).toMatchObject([{ type: "checkRun" }]);
  expect(task.take("CHECKED_BUSY")).toMatchObject([sendSteering("msg_3")]);
});

test("after a crash in which the child ended its turn, the run goes on with the instruction", () => {
  const task = afterEvents(workingTask(), "STEER", "ADOPTED");
  expect(task.take("CHECKED_ANSWERED")).toMatchObject([sendSteering("msg_3")]);
  expect(statusOf(task.snapshot)).toBe("running");
});

test("an interrupted run is continued with the newest instruction, which the host has behind the prompt", () => {
  const task = afterEvents(steeredTask(), "ADOPTED");
  expect(task.take("CHECKED_UNANSWERED")).toMatchObject([{ type: "sendPrompt", prompt: { messageID: "msg_3" } }]);
});

test("a cancelled task is given no more instructions", () => {
  const task = afterEvents(workingTask(), "STEER", "CANCEL");
  expect(task.snapshot.value.steering).toBe("none");
  expect(task.snapshot.can({ type: "STEERING_STORED", at: 0, messageID: "msg_3" })).toBe(false);
  expect(task.take("STOPPED")).toMatchObject([{ type: "queueNotice", end: { outcome: "cancelled" } }]);
});

test("the run after a resume knows nothing of the instructions of the run before", () => {
  const task = steeredTask();
  completeAndTell(task);
  resume(task);
  expect(task.take("HOST_IDLE")).toMatchObject([{ type: "checkRun", messageID: "msg_2", instructionID: undefined }]);
});

test("what the host says of an instruction counts only for the oldest one", () => {
  const task = afterEvents(workingTask(), "STEER");
  task.take("STEER", { messageID: "msg_4" });
  for (const type of ["STEERING_STORED", "STEERING_REFUSED"] as const) {
    expect(task.refuses(type, { messageID: "msg_4" }), type).toBe(true);
    expect(steeredTask().refuses(type), type).toBe(true);
  }
});

/** A task whose turn has ended, and that waits for tasks of its own. */
const awaitingTask = (): DrivenTask => {
  const task = afterEvents(workingTask(), "HOST_IDLE", "CHECKED_AWAITING_TASKS");
  return task;
};

test("a child that waits for its own tasks is given an instruction at once, and woken once the host has it", () => {
  const task = awaitingTask();
  expect(task.snapshot.hasTag("awaitingTasks")).toBe(true);
  expect(task.take("STEER")).toMatchObject([sendSteering("msg_3")]);
  expect(task.refuses("STEERING_STORED", { messageID: "msg_4" })).toBe(true);
  expect(task.take("STEERING_STORED")).toMatchObject([{ type: "checkRun", instructionID: "msg_3" }]);
});

test("an instruction that the host refuses for now while the child waits for its own tasks is sent again", () => {
  const task = afterEvents(awaitingTask(), "STEER", "STEERING_REFUSED");
  expect(lifecyclePath(task.snapshot)).toBe("running.active.working.busy");
  expect(task.take("TICK", { at: START + TASK_LIMITS.firstBackoff })).toMatchObject([{ type: "checkRun" }]);
  expect(task.take("CHECKED_AWAITING_TASKS")).toMatchObject([sendSteering("msg_3")]);
});

test("instructions that wait together are all sent", () => {
  const task = afterEvents(workingTask(), "HOST_IDLE");
  for (const messageID of ["msg_3", "msg_4"]) expect(task.take("STEER", { messageID })).toEqual([]);
  expect(task.take("CHECKED_BUSY")).toMatchObject([sendSteering("msg_3")]);
  expect(task.take("STEERING_STORED").at(-1)).toMatchObject(sendSteering("msg_4"));
});

test.for(["CANCEL", "LIMIT_EXCEEDED", "SESSION_DELETED"] as const)("instructions are dropped by %s", (type) => {
  for (const state of ["sending", "waiting"]) {
    const task = workingTask();
    if (state === "waiting") task.take("HOST_IDLE");
    task.take("STEER");
    expect(task.snapshot.value.steering).toBe(state);
    task.take(type);
    expect(task.snapshot.value.steering).toBe("none");
    expect(task.snapshot.context.instructions).toBeUndefined();
  }
});

/** What became of each instruction, as the task shows it. */
const fates = ({ snapshot }: DrivenTask) =>
  toTask(snapshot, noProgress("")).instructions?.map(({ text, fate }) => `${text} ${fate}`);

test("an instruction waits until a step is known to have begun with it, and is then seen", () => {
  const task = afterEvents(workingTask(), "STEER", "STEERING_STORED");
  expect(fates(task)).toEqual(["Only the tests. waiting"]);
  task.take("INSTRUCTION_SEEN");
  expect(fates(task)).toEqual(["Only the tests. seen"]);
  expect(toTask(task.snapshot, noProgress("")).instructions?.[0]).toMatchObject({
    from: "agent",
    givenAt: expect.any(String),
    seenAt: expect.any(String),
  });
});

test("a step that was shown an instruction was shown all that were given before it, and none after it", () => {
  const task = afterEvents(workingTask(), "STEER");
  for (const n of [4, 5]) task.take("STEER", { messageID: `msg_${n}`, text: `${n}` });
  task.take("INSTRUCTION_SEEN", { messageID: "msg_4" });
  expect(fates(task)).toEqual(["Only the tests. seen", "4 seen", "5 waiting"]);
});

test("it is seen once: what shows it again changes nothing", () => {
  const task = afterEvents(steeredTask(), "INSTRUCTION_SEEN");
  expect(task.refuses("INSTRUCTION_SEEN")).toBe(true);
});

test.each([
  ["it is cancelled before", ["CANCEL", "STOPPED"]],
  ["it fails before", ["CHECKED_FAILED"]],
  ["its session is deleted before", ["SESSION_DELETED"]],
  ["it is stopped at a limit before", ["LIMIT_EXCEEDED", "STOPPED"]],
] as const)("a run misses the instruction that is not seen when %s, and its notice says which", (_, ends) => {
  const task = afterEvents(steeredTask(), ...ends);
  expect(fates(task)).toEqual(["Only the tests. missed"]);
  expect(task.snapshot.context.lastRunResult).toMatchObject({ missed: [{ text: "Only the tests.", from: "agent" }] });
});

test("an instruction that was not stored when its run was cancelled is missed as well", () => {
  const task = afterEvents(workingTask(), "STEER", "CANCEL", "STOPPED");
  expect(fates(task)).toEqual(["Only the tests. missed"]);
});

test("a run that ends after its agent has seen the instruction misses nothing", () => {
  const task = afterEvents(steeredTask(), "INSTRUCTION_SEEN", "CANCEL", "STOPPED");
  expect(fates(task)).toEqual(["Only the tests. seen"]);
  expect(task.snapshot.context.lastRunResult).not.toHaveProperty("missed");
});

test("what is seen once the run has ended is seen by another one: it stays missed", () => {
  const task = afterEvents(steeredTask(), "CANCEL", "STOPPED");
  expect(task.refuses("INSTRUCTION_SEEN")).toBe(true);
  expect(fates(task)).toEqual(["Only the tests. missed"]);
});

test("the next run has instructions of its own", () => {
  const task = afterEvents(steeredTask(), "CANCEL", "STOPPED", "NOTICE_COMPOSED", "NOTICE_ACKNOWLEDGED", "RETRY");
  expect(statusOf(task.snapshot)).toBe("resumed");
  expect(fates(task)).toBeUndefined();
});
