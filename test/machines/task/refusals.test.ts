import { expect, test } from "vitest";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { isStopping, refusalReason } from "../../../src/machines/task/machine.ts";
import { afterEvents, completeAndTell, type DrivenTask, resume, workingTask } from "./driven-task.ts";

const EVENTS = {
  CANCEL: { type: "CANCEL", at: 0 },
  RESUME: { type: "RESUME", at: 0, messageID: "msg_9", partID: "prt_9", prompt: "more" },
  RETRY: {
    ...{ type: "RETRY", at: 0, messageID: "msg_9", partID: "prt_9", prompt: "Go on." },
    budgetFrom: { toolCalls: 0, tokens: 0, cost: 0 },
  },
  STEER: {
    ...{ type: "STEER", at: 0, messageID: "msg_9", partID: "prt_9", prompt: "Only the tests." },
    ...{ text: "Only the tests.", from: "agent" },
  },
} satisfies { [Type in TaskEvent["type"]]?: Extract<TaskEvent, { type: Type }> };

const reason = (task: DrivenTask, type: keyof typeof EVENTS) => refusalReason(task.snapshot, EVENTS[type]);

const TOLD = ["NOTICE_COMPOSED", "NOTICE_ACKNOWLEDGED"] as const;
const completed = () => completeAndTell(workingTask());
const failed = () => afterEvents(workingTask(), "HOST_IDLE", "CHECKED_FAILED", ...TOLD);
const lost = () => afterEvents(workingTask(), "SESSION_DELETED", ...TOLD);
const overflown = () => {
  const task = afterEvents(workingTask(), "HOST_IDLE");
  task.take("CHECKED_FAILED", { error: { name: "ContextOverflowError", kind: "provider", message: "too long" } });
  return afterEvents(task, ...TOLD);
};
const cancelled = () => afterEvents(workingTask(), "CANCEL", "STOPPED", ...TOLD);

test.for<[string, DrivenTask, keyof typeof EVENTS, string]>([
  ["runs", workingTask(), "RESUME", "only completed tasks can be resumed (this one is running)"],
  ["is resumed", resume(completed()), "RESUME", "is currently being resumed"],
  ["has completed", completed(), "CANCEL", "has already finished (completed)"],
  ["has completed", completed(), "STEER", "has already finished (completed): use resume"],
  ["has failed", failed(), "CANCEL", "has already finished (error)"],
  ["has failed", failed(), "STEER", "has already finished (error): use retry"],
  ["has failed", failed(), "RESUME", "only completed tasks can be resumed (this one is error): use retry"],
  ["was cancelled", cancelled(), "CANCEL", "has already finished (cancelled)"],
  ["was cancelled", cancelled(), "STEER", "has already finished (cancelled): use retry"],
  ["was cancelled", cancelled(), "RESUME", "only completed tasks can be resumed (this one is cancelled): use retry"],
  ["runs", workingTask(), "RETRY", "still runs: use steer"],
  ["is resumed", resume(completed()), "RETRY", "still runs: use steer"],
  ["has completed", completed(), "RETRY", "has completed: use resume"],
  [
    "has lost its session",
    lost(),
    "RETRY",
    "has no conversation any more, since its session was deleted: launch a new task",
  ],
  [
    "has read more than its model takes",
    overflown(),
    "RETRY",
    "has a longer conversation than its model takes, and would fail again: name another model, or launch a new task with less to read",
  ],
  ["is being stopped", afterEvents(workingTask(), "CANCEL"), "CANCEL", "is already being cancelled"],
  ["is being stopped", afterEvents(workingTask(), "CANCEL"), "STEER", "is being cancelled"],
  ["was aborted", afterEvents(workingTask(), "HOST_IDLE", "CHECKED_ABORTED"), "STEER", "was just aborted"],
])("a task that %s says why it refuses", ([, task, type, words]) => {
  expect(reason(task, type)).toBe(words);
});

test("an aborted task takes no instruction, whether others are on their way or wait", () => {
  const waiting = afterEvents(workingTask(), "HOST_IDLE", "STEER", "CHECKED_ABORTED");
  const sending = afterEvents(workingTask(), "STEER", "HOST_IDLE", "CHECKED_ABORTED");
  for (const task of [waiting, sending]) expect(reason(task, "STEER")).toBe("was just aborted");
});

test("only a task that was cancelled or is beyond a limit is being stopped", () => {
  expect(isStopping(workingTask().snapshot)).toBe(false);
  expect(isStopping(afterEvents(workingTask(), "CANCEL").snapshot)).toBe(true);
  expect(isStopping(afterEvents(workingTask(), "LIMIT_EXCEEDED").snapshot)).toBe(true);
  expect(isStopping(cancelled().snapshot)).toBe(false);
});

test("errors that OpenCode does not name say what happened", () => {
  expect(afterEvents(workingTask(), "SESSION_DELETED").snapshot.context.error).toEqual({
    name: "SessionGone",
    kind: "sessionGone",
    message: "The task's session was deleted before it answered.",
  });
  const interrupted = workingTask();
  interrupted.take("ADOPTED", { recovery: "fail" });
  interrupted.take("CHECKED_UNANSWERED");
  expect(interrupted.snapshot.context.error).toEqual({
    name: "Interrupted",
    kind: "interrupted",
    message: "OpenCode ended while the task ran, and the task was not continued.",
  });
  const unanswered = workingTask();
  for (let sends = 1; sends < 7; sends += 1)
    afterEvents(unanswered, "HOST_IDLE", "CHECKED_UNANSWERED", "TICK", "PROMPT_ACCEPTED");
  expect(afterEvents(unanswered, "HOST_IDLE", "CHECKED_UNANSWERED").snapshot.context.error).toEqual({
    name: "Unanswered",
    kind: "unanswered",
    message: "OpenCode took the prompt but never answered it, though it was sent 7 times.",
  });
});

test("a fault of the plugin ends a task that is being stopped in that error: whether it has stopped is not known", () => {
  const task = afterEvents(workingTask(), "CANCEL", "SUPERVISION_FAILED");
  expect(task.snapshot.value.lifecycle).toBe("error");
});
