import { expect, test } from "vitest";
import { instructionBeingSent, refusalReason, runBeingSent } from "../../../src/machines/task/machine.ts";
import { afterEvents, queuedTask, workingTask } from "./driven-task.ts";

test("a run is being sent while its prompt is on its way, and not before or after", () => {
  const task = queuedTask();
  expect(runBeingSent(task.snapshot)).toBeUndefined();
  task.take("SLOT_GRANTED");
  expect(runBeingSent(task.snapshot)).toBe("msg_ses_child");
  task.take("PROMPT_ACCEPTED");
  expect(runBeingSent(task.snapshot)).toBeUndefined();
});

test("an instruction is being sent from when it is given until it is stored; of several, it is the oldest", () => {
  const task = workingTask();
  expect(instructionBeingSent(task.snapshot)).toBeUndefined();
  task.take("STEER", { messageID: "msg_3" });
  task.take("STEER", { messageID: "msg_4" });
  expect(instructionBeingSent(task.snapshot)).toBe("msg_3");
  task.take("STEERING_STORED", { messageID: "msg_3" });
  expect(instructionBeingSent(task.snapshot)).toBe("msg_4");
  task.take("STEERING_STORED", { messageID: "msg_4" });
  expect(instructionBeingSent(task.snapshot)).toBeUndefined();
});

test("one that waits until its run may be given it is not being sent", () => {
  const task = queuedTask();
  task.take("STEER", { messageID: "msg_3" });
  expect(instructionBeingSent(task.snapshot)).toBeUndefined();
});

test("what stands against a retry is no reason to refuse anything else", () => {
  const task = afterEvents(workingTask(), "SESSION_DELETED", "NOTICE_COMPOSED", "NOTICE_ACKNOWLEDGED");
  expect(
    refusalReason(task.snapshot, {
      type: "RETRY",
      at: 0,
      messageID: "",
      partID: "",
      prompt: "",
      budgetFrom: { toolCalls: 0, tokens: 0, cost: 0 },
    }),
  ).toContain("launch a new task");
  expect(refusalReason(task.snapshot, { type: "CANCEL", at: 0 })).toBe("has already finished (error)");
});
