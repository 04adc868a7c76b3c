import { expect, test } from "vitest";
import { lifecyclePath, statusOf } from "../../../src/machines/task/machine.ts";
import { TASK_LIMITS } from "../../../src/machines/task/setup.ts";
import { START } from "../../fakes/task-input.ts";
import { afterEvents, check, cutOff, failChecks, queuedTask, resend, workingTask } from "./driven-task.ts";

const FIRST = { name: "APIError", message: "401 invalid key" };
const SECOND = { name: "UnknownError", message: "the run came down" };

const ALL_BUT_ONE = TASK_LIMITS.failedChecks - 1;

test("a host that does not say how the run stands is asked `failedChecks` times in a row, then the run is given up", () => {
  const task = workingTask();
  failChecks(task, ALL_BUT_ONE);
  expect(lifecyclePath(task.snapshot)).toBe("running.active.working.busy");
  check(task);
  expect(task.take("CHECK_FAILED")).toMatchObject([
    { type: "stopSession" },
    { type: "queueNotice", end: { outcome: "error" } },
  ]);
});

test("checks without an answer are counted in a row: each time that the child is seen at work, anew", () => {
  const task = workingTask();
  failChecks(task, ALL_BUT_ONE);
  check(task);
  task.take("CHECKED_BUSY");
  failChecks(task, ALL_BUT_ONE);
  expect(lifecyclePath(task.snapshot)).toBe("running.active.working.busy");
});

test("a check that finds the prompt unanswered is an answer of the host: those without one are counted anew", () => {
  const task = workingTask();
  failChecks(task, ALL_BUT_ONE);
  resend(task);
  failChecks(task, ALL_BUT_ONE);
  expect(lifecyclePath(task.snapshot)).toBe("running.active.working.busy");
});

test("a process that takes over counts the checks without an answer anew", () => {
  const task = workingTask();
  failChecks(task, ALL_BUT_ONE);
  task.take("ADOPTED");
  failChecks(task, ALL_BUT_ONE);
  expect(lifecyclePath(task.snapshot)).toBe("running.active.checking.asking.recovering");
});

test("a prompt that is lost again and again is sent `sendAttempts` times, then the run is given up", () => {
  const task = workingTask();
  for (let sends = 1; sends < TASK_LIMITS.sendAttempts; sends += 1) resend(task);
  check(task);
  expect(task.take("CHECKED_UNANSWERED")).toMatchObject([{ type: "stopSession" }, { type: "queueNotice" }]);
  expect(task.snapshot.context.error?.kind).toBe("unanswered");
});

test("prompts that were lost are counted in a row: each time that the child is seen at work, anew", () => {
  const task = workingTask();
  for (let sends = 1; sends < TASK_LIMITS.sendAttempts; sends += 1) resend(task);
  check(task);
  task.take("CHECKED_BUSY");
  check(task);
  task.take("CHECKED_UNANSWERED");
  expect(task.take("TICK")).toMatchObject([{ type: "sendPrompt" }]);
});

test("a run that goes on after it was cut off has all its sends before it", () => {
  const task = workingTask();
  for (let sends = 1; sends < TASK_LIMITS.sendAttempts; sends += 1) resend(task);
  cutOff(task);
  task.take("PROMPT_ACCEPTED");
  for (let sends = 1; sends < TASK_LIMITS.sendAttempts; sends += 1) resend(task);
  expect(lifecyclePath(task.snapshot)).toBe("running.active.working.busy");
});

test("a child that asks something is at work: its prompts that were lost are counted anew", () => {
  const task = workingTask();
  for (let sends = 1; sends < TASK_LIMITS.sendAttempts; sends += 1) resend(task);
  task.take("REQUEST_ASKED");
  for (let sends = 1; sends < TASK_LIMITS.sendAttempts; sends += 1) resend(task);
  expect(lifecyclePath(task.snapshot)).toBe("running.active.working.busy");
});

test("a prompt that is refused is sent again after a pause, unless the host refuses it for good", () => {
  const task = queuedTask();
  expect(task.take("SLOT_GRANTED")).toMatchObject([{ type: "sendPrompt" }]);
  task.take("PROMPT_REFUSED", { retryable: true });
  expect(task.take("TICK")).toMatchObject([{ type: "sendPrompt" }]);
  task.take("PROMPT_REFUSED", { retryable: false });
  expect(statusOf(task.snapshot)).toBe("error");
});

test("an idle that comes before the host has said that it took the prompt is looked into then", () => {
  const task = afterEvents(queuedTask(), "SLOT_GRANTED", "HOST_IDLE");
  expect(task.take("PROMPT_ACCEPTED")).toMatchObject([{ type: "checkRun" }]);
});

test("an idle that came before the prompt was sent again says nothing of that sending", () => {
  const task = afterEvents(queuedTask(), "SLOT_GRANTED", "HOST_IDLE", "PROMPT_REFUSED", "TICK");
  expect(task.take("PROMPT_ACCEPTED")).toEqual([]);
});

test.each([
  "active.prompting.sending",
  "active.prompting.backingOff",
  "active.working.busy",
  "active.checking.asking.verifying",
])("an error that is heard while %s is remembered", (state) => {
  const task = state === "active.prompting.sending" ? queuedTask() : workingTask();
  if (state === "active.prompting.sending") task.take("SLOT_GRANTED");
  if (state === "active.prompting.backingOff" || state === "active.checking.asking.verifying") check(task);
  if (state === "active.prompting.backingOff") task.take("CHECKED_UNANSWERED");
  expect(lifecyclePath(task.snapshot)).toBe(`running.${state}`);
  task.take("HOST_ERROR", { error: FIRST });
  expect(task.snapshot.context.hostError).toEqual(FIRST);
});

test("of several errors that the host tells of, the first one names the cause", () => {
  const task = workingTask();
  task.take("HOST_ERROR", { error: FIRST });
  task.take("HOST_ERROR", { error: SECOND });
  expect(task.take("HOST_IDLE")).toMatchObject([{ type: "checkRun", hostError: FIRST }]);
});

test("an error that no idle follows is looked into after `checkAfterError`", () => {
  const task = afterEvents(workingTask(), "HOST_ERROR");
  expect(task.refuses("TICK", { at: START + TASK_LIMITS.checkAfterError - 1 })).toBe(true);
  expect(task.take("TICK", { at: START + TASK_LIMITS.checkAfterError })).toMatchObject([{ type: "checkRun" }]);
});

test("the pauses before a prompt is sent again double, up to the longest", () => {
  const task = afterEvents(queuedTask(), "SLOT_GRANTED");
  const pauses: number[] = [];
  let refusedAt = START;
  for (let sends = 1; sends < TASK_LIMITS.sendAttempts; sends += 1) {
    task.take("PROMPT_REFUSED");
    pauses.push((task.snapshot.context.nextDeadline ?? 0) - refusedAt);
    refusedAt = task.snapshot.context.nextDeadline ?? 0;
    task.take("TICK");
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000]);
});

test("an error that the run survived is not blamed for what comes later", () => {
  const task = workingTask();
  task.take("HOST_ERROR", { error: FIRST });
  afterEvents(task, "HOST_IDLE", "CHECKED_BUSY");
  expect(task.take("HOST_IDLE")).toMatchObject([{ type: "checkRun", hostError: undefined }]);
});

test("an error that the host reported before the process died is not blamed by the next one", () => {
  const task = workingTask();
  task.take("HOST_ERROR", { error: FIRST });
  expect(task.take("ADOPTED")).toMatchObject([{ type: "checkRun", hostError: undefined }]);
});

test("a run that was cut off and is not continued is stopped, for its session may still be at work", () => {
  const task = workingTask();
  expect(cutOff(task, "fail")).toMatchObject([
    { type: "stopSession", taskId: "ses_child" },
    { type: "queueNotice", end: { outcome: "error", error: { kind: "interrupted" } } },
  ]);
});

test("checks of a run that goes on after an abort know of that abort: it is behind the run", () => {
  const task = afterEvents(workingTask(), "ADOPTED");
  task.take("CHECKED_ABORTED", { completedAt: START + 5 });
  task.take("PROMPT_ACCEPTED");
  expect(task.take("HOST_IDLE")).toMatchObject([{ type: "checkRun", abortedAt: START + 5 }]);
});

test("a run has ended when the host says that it did, not when that is heard", () => {
  const answered = afterEvents(workingTask(), "HOST_IDLE");
  const late = { at: START + 9_000, completedAt: START + 5 };
  expect(answered.take("CHECKED_ANSWERED", late)).toMatchObject([{ type: "queueNotice", end: { endedAt: START + 5 } }]);
  const aborted = afterEvents(workingTask(), "HOST_IDLE");
  aborted.take("CHECKED_ABORTED", late);
  expect(aborted.take("TICK")).toMatchObject([
    { type: "queueNotice", end: { outcome: "cancelled", endedAt: START + 5 } },
  ]);
});

test("to stop a session names the run's message, and what the child asks", () => {
  const task = afterEvents(workingTask(), "REQUEST_ASKED");
  const { run, userRequests: requests } = task.snapshot.context;
  expect(requests).toHaveLength(1);
  expect(task.take("CANCEL")).toEqual([
    { type: "stopSession", taskId: "ses_child", messageID: run.messageID, requests },
  ]);
});

test("a session that does not stop is asked `stopAttempts` times, then the task is cancelled and says why", () => {
  const task = afterEvents(workingTask(), "CANCEL");
  for (let stops = 1; stops < TASK_LIMITS.stopAttempts; stops += 1) {
    task.take("NOT_STOPPED");
    expect(lifecyclePath(task.snapshot)).toBe("running.stopping.pausing");
    expect(task.take("TICK")).toMatchObject([{ type: "stopSession" }]);
  }
  const error = { name: "Busy", kind: "host", message: "it works on" } as const;
  expect(task.take("NOT_STOPPED", { error })).toMatchObject([
    { type: "queueNotice", end: { outcome: "cancelled", error } },
  ]);
});

test("a session that is deleted while its task is being cancelled has stopped: that is no error", () => {
  const task = afterEvents(workingTask(), "CANCEL");
  expect(task.take("SESSION_DELETED")).toMatchObject([{ type: "queueNotice", end: { outcome: "cancelled" } }]);
  expect(statusOf(task.snapshot)).toBe("cancelled");
  expect(task.snapshot.context.error).toBeUndefined();
});

test("what has ended has no deadline, whatever it was waiting for", () => {
  const task = workingTask();
  failChecks(task, 1);
  expect(task.snapshot.context.nextDeadline).toBeDefined();
  task.take("SESSION_DELETED");
  expect(task.snapshot.context.nextDeadline).toBeUndefined();
});

test("a session that is not found while its prompt is sent is asked for again, before it counts as missing", () => {
  const task = afterEvents(queuedTask(), "SLOT_GRANTED");
  expect(task.take("SESSION_NOT_FOUND", { at: START + 3 })).toEqual([]);
  expect(task.snapshot.context.missingSince).toBe(START + 3);
  expect(task.take("TICK", { at: START + 3 + TASK_LIMITS.recheckAfter })).toMatchObject([
    { type: "checkRun", wasMissing: true },
  ]);
  task.take("CHECKED_BUSY");
  expect(task.take("HOST_IDLE")).toMatchObject([{ type: "checkRun", wasMissing: false }]);
});

test("a session that is not found again after its prompt was sent again has been missing since then, and is asked for anew", () => {
  const task = afterEvents(workingTask(), "HOST_IDLE");
  task.take("CHECKED_NOT_FOUND", { at: START + 3 });
  afterEvents(task, "TICK", "CHECKED_UNANSWERED", "TICK", "PROMPT_ACCEPTED");
  expect(task.take("HOST_IDLE")).toMatchObject([{ type: "checkRun", wasMissing: false }]);
  task.take("CHECKED_NOT_FOUND", { at: START + 9 });
  expect(task.snapshot.context.missingSince).toBe(START + 9);
});

test("an error of a session that is missing is remembered, and the pause before the next check kept", () => {
  const task = afterEvents(workingTask(), "HOST_IDLE", "CHECKED_NOT_FOUND");
  expect(task.take("HOST_ERROR", { error: FIRST })).toEqual([]);
  expect(task.take("TICK")).toMatchObject([{ type: "checkRun", hostError: FIRST }]);
});

test.each(["HOST_IDLE", "HOST_ERROR"] as const)(
  "%s during the pause before a prompt is sent again: the host is asked",
  (type) => {
    const task = afterEvents(queuedTask(), "SLOT_GRANTED", "PROMPT_REFUSED");
    expect(task.take(type)).toMatchObject([{ type: "checkRun" }]);
    expect(lifecyclePath(task.snapshot)).toBe("running.active.checking.asking.verifying");
  },
);

test.each(["HOST_IDLE", "HOST_ERROR"] as const)("%s while the host is asked: it is asked anew", (type) => {
  const task = afterEvents(workingTask(), "HOST_IDLE");
  expect(task.take(type)).toMatchObject([{ type: "checkRun", checkId: 2 }]);
});

test("a check that finds an instruction unseen is an answer of the host: those without one are counted anew", () => {
  const task = afterEvents(workingTask(), "STEER", "STEERING_STORED", "CHECKED_BUSY");
  failChecks(task, ALL_BUT_ONE);
  check(task);
  afterEvents(task, "CHECKED_UNSEEN", "PROMPT_ACCEPTED");
  failChecks(task, ALL_BUT_ONE);
  expect(lifecyclePath(task.snapshot)).toBe("running.active.working.busy");
});

test("a process that takes over asks `failedChecks` times how the run stands, then the run is given up", () => {
  const task = afterEvents(workingTask(), "ADOPTED");
  failChecks(task, ALL_BUT_ONE);
  check(task);
  expect(task.take("CHECK_FAILED")).toMatchObject([
    { type: "stopSession" },
    { type: "queueNotice", end: { outcome: "error" } },
  ]);
});

test.each([
  ["was aborted", ["HOST_IDLE", "CHECKED_ABORTED", "TICK"]],
  [
    "did not stop",
    [
      "CANCEL",
      ...Array(TASK_LIMITS.stopAttempts - 1)
        .fill(["NOT_STOPPED", "TICK"])
        .flat(),
      "NOT_STOPPED",
    ],
  ],
] as const)("a run that %s has ended: it waits for nothing, and nothing is under way", (_, types) => {
  const task = workingTask();
  for (const type of types) task.take(type);
  expect(task.snapshot.value).toMatchObject({ lifecycle: "cancelled", run: "idle" });
  expect(task.snapshot.context).toMatchObject({ nextDeadline: undefined, waitingSince: undefined });
  expect(task.snapshot.context.completedAt).toBeDefined();
});
