import { describe, expect, test } from "vitest";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { afterEvents, type DrivenTask, queuedTask, workingTask } from "./driven-task.ts";

const REFUSED = { name: "APIError", kind: "provider", message: "no credit", refusal: "quota" } as const;

/** A task with another model to go on with, whose own is refused: the turn is being ended. */
const changingTask = (): DrivenTask => {
  const task = queuedTask({ fallback: { models: [{ providerID: "fake", modelID: "m2" }], after: 60_000 } });
  afterEvents(task, "SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE").take("CHECKED_FAILED", { error: REFUSED });
  return task;
};

/** A task that is asked a second time how it stands. */
const askedAgain = (): DrivenTask => afterEvents(workingTask(), "HOST_IDLE", "CHECKED_BUSY", "HOST_IDLE");

const ANSWERS = [
  "CHECKED_BUSY",
  "CHECKED_AWAITING_TASKS",
  "CHECKED_ANSWERED",
  "CHECKED_FAILED",
  "CHECKED_ABORTED",
  "CHECKED_UNANSWERED",
  "CHECKED_UNSEEN",
  "CHECKED_NOT_FOUND",
  "CHECK_FAILED",
] as const;

describe("the answer to an earlier check changes nothing", () => {
  test.for(ANSWERS)("%s", (type) => {
    const steered = askedAgain();
    steered.take("STEER");
    const adopted = askedAgain();
    adopted.take("ADOPTED");
    for (const task of [askedAgain(), steered, adopted]) {
      const { checkId } = task.snapshot.context;
      expect(task.refuses(type, { checkId: checkId - 1 })).toBe(true);
      expect(task.refuses(type, { checkId })).toBe(false);
    }
  });

  test("for checks are numbered, each higher than the one before", () => {
    const task = workingTask();
    const [first] = task.take("HOST_IDLE");
    const [second] = task.take("HOST_IDLE");
    const [third] = task.take("HOST_ERROR");
    expect([first, second, third]).toMatchObject([1, 2, 3].map((checkId) => ({ type: "checkRun", checkId })));
  });
});

/** Each state that lasts until a time, how a task comes there, and what it does then. */
const UNTIL: [state: string, begin: () => DrivenTask, lead: TaskEvent["type"][], then: object[]][] = [
  ["backing off", queuedTask, ["SLOT_GRANTED", "PROMPT_REFUSED"], [{ type: "sendPrompt" }]],
  ["at work after an error", workingTask, ["HOST_ERROR"], [{ type: "checkRun" }]],
  ["at work after a check that failed", workingTask, ["HOST_IDLE", "CHECK_FAILED"], [{ type: "checkRun" }]],
  [
    "refused by its provider after an instruction was refused",
    workingTask,
    ["STEER", "STEERING_REFUSED", "HOST_RETRYING"],
    [{ type: "checkRun" }],
  ],
  ["missing", workingTask, ["HOST_IDLE", "CHECKED_NOT_FOUND"], [{ type: "checkRun", wasMissing: true }]],
  ["aborted", workingTask, ["HOST_IDLE", "CHECKED_ABORTED"], [{ type: "queueNotice", end: { outcome: "cancelled" } }]],
  ["recovering after a check that failed", workingTask, ["ADOPTED", "CHECK_FAILED"], [{ type: "checkRun" }]],
  ["recovering, and missing", workingTask, ["ADOPTED", "CHECKED_NOT_FOUND"], [{ type: "checkRun", wasMissing: true }]],
  ["still running though it was cancelled", workingTask, ["CANCEL", "NOT_STOPPED"], [{ type: "stopSession" }]],
  ["still running with the model that is refused", changingTask, ["NOT_STOPPED"], [{ type: "changeModel" }]],
  ["about to queue for its next model", changingTask, ["MODEL_CHANGED"], [{ type: "requestSlot" }]],
];

test.for(UNTIL)("a task that is %s waits for its time, and not less", ([, begin, lead, then]) => {
  const task = afterEvents(begin(), ...lead);
  const { nextDeadline = 0 } = task.snapshot.context;
  expect(task.refuses("TICK", { at: nextDeadline - 1 })).toBe(true);
  expect(task.take("TICK", { at: nextDeadline })).toMatchObject(then);
});

test("nothing happens by time alone to a task whose turn is being ended, or that waits for its slot", () => {
  const ending = afterEvents(changingTask(), "NOT_STOPPED", "TICK");
  expect(ending.snapshot.context.nextDeadline).toBeUndefined();
  expect(queuedTask().snapshot.context.nextDeadline).toBeUndefined();
});

test("a task that has ended takes no news of its run", () => {
  const task = afterEvents(workingTask(), "CANCEL", "STOPPED");
  for (const type of ["SESSION_DELETED", "SUPERVISION_FAILED", "LIMIT_EXCEEDED", "CANCEL", "STEER"] as const) {
    expect(task.refuses(type), type).toBe(true);
  }
  expect(task.refuses("CALL_BLOCKED", { call: "call_1", taskIds: ["ses_own"] })).toBe(true);
});

test("a process that takes over while the model changes learns when the last one was left", () => {
  const task = changingTask();
  task.take("MODEL_CHANGED", { at: 7_000 });
  expect(task.take("ADOPTED")).toMatchObject([{ type: "checkRun", modelLeftAt: 7_000 }]);
});
