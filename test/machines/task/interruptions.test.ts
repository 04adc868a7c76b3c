import { describe, expect, test } from "vitest";
import { initialTransition, transition } from "xstate";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import {
  isAtRest,
  isCompatible,
  lifecyclePath,
  type StoredSnapshot,
  type TaskSnapshot,
  taskMachine,
} from "../../../src/machines/task/machine.ts";
import { TASK_LIMITS } from "../../../src/machines/task/setup.ts";
import { START, taskInput } from "../../fakes/task-input.ts";
import { afterEvents, workingTask } from "./driven-task.ts";

const after = (snapshot: TaskSnapshot, event: TaskEvent): TaskSnapshot => transition(taskMachine, snapshot, event)[0];

const launched = (): TaskSnapshot => {
  const [begun] = initialTransition(taskMachine, taskInput("ses_child"));
  return after(begun, { type: "SLOT_GRANTED", at: START });
};

/** The process ended, and the next one saw these steps of the run. */
const cutOff = (
  snapshot: TaskSnapshot,
  lastStepAt: number | undefined,
  how: "aborted" | "unanswered",
): TaskSnapshot => {
  const adopted = after(snapshot, { type: "ADOPTED", at: START, recovery: "continue", isNoticePending: false });
  const looked = { at: START, checkId: adopted.context.checkId, lastStepAt };
  return after(
    adopted,
    how === "aborted"
      ? { type: "CHECKED_ABORTED", completedAt: START, ...looked }
      : { type: "CHECKED_UNANSWERED", ...looked },
  );
};

test.each(["aborted", "unanswered"] as const)(
  "a step that was finished since makes a run that is %s count anew",
  (how) => {
    let snapshot = launched();
    for (const [lastStepAt, interruptions] of [
      [undefined, 1],
      [undefined, 2],
      [START + 10, 1],
      [START + 10, 2],
      [START + 20, 1],
    ] as const) {
      snapshot = cutOff(snapshot, lastStepAt, how);
      expect(snapshot.context.interruptions).toBe(interruptions);
      expect(lifecyclePath(snapshot)).toBe("running.active.prompting.sending");
    }
    snapshot = cutOff(cutOff(snapshot, START + 20, how), START + 20, how);
    expect(lifecyclePath(snapshot)).toBe("error");
  },
);

test.each([undefined, START + 5])(
  "a step that the host shows no more is no progress, nor is an older one: %s",
  (older) => {
    const snapshot = cutOff(cutOff(launched(), START + 10, "aborted"), older, "aborted");
    expect(snapshot.context).toMatchObject({ interruptions: 2, lastStepAt: START + 10 });
  },
);

test("what an earlier version stored goes on: it remembers no step, and any step is progress", () => {
  const now = cutOff(cutOff(launched(), undefined, "aborted"), undefined, "aborted");
  const { lastStepAt: _, ...context } = now.context;
  const stored: StoredSnapshot = JSON.parse(JSON.stringify({ value: now.value, context }));
  expect(stored.context).not.toHaveProperty("lastStepAt");
  expect(isCompatible(stored)).toBe(true);
  const restored = taskMachine.resolveState(stored);
  expect(restored.context.interruptions).toBe(TASK_LIMITS.interruptions);
  expect(lifecyclePath(cutOff(restored, START, "aborted"))).toBe("running.active.prompting.sending");
  expect(lifecyclePath(cutOff(restored, undefined, "aborted"))).toBe("error");
});

describe("a fault of OpenCode", () => {
  const locked = { error: { name: "UnknownError", kind: "host", message: "database is locked" } } as const;

  test("interrupts a run: its prompt is sent again after a pause, and the third fault in a row is its error", () => {
    const task = workingTask();
    for (const completedAt of [START + 1, undefined]) {
      task.take("HOST_IDLE");
      task.take("CHECKED_HOST_FAULT", { ...locked, completedAt });
      expect(lifecyclePath(task.snapshot)).toBe("running.active.prompting.backingOff");
      // Known from the first one: what ended until then is not taken for an end of this attempt.
      expect(task.snapshot.context.abortedAt).toBe(START + 1);
      expect(task.take("TICK")).toMatchObject([{ type: "sendPrompt" }]);
      task.take("PROMPT_ACCEPTED");
    }
    task.take("HOST_IDLE");
    expect(task.take("CHECKED_HOST_FAULT", locked).map(({ type }) => type)).toEqual(["stopSession", "queueNotice"]);
    expect(task.snapshot.context.error).toEqual(locked.error);
  });

  test("ends the run when it is noticed, where OpenCode could not store when its last step ended", () => {
    const task = workingTask();
    task.take("ADOPTED", { recovery: "fail" });
    task.take("CHECKED_HOST_FAULT", { ...locked, completedAt: undefined, at: START + 5 });
    expect(task.snapshot.context.completedAt).toBe(START + 5);
    afterEvents(task, "NOTICE_COMPOSED", "NOTICE_ACKNOWLEDGED");
    expect(isAtRest(task.snapshot)).toBe(true);
  });

  test.each([
    ["continue", "running.active.prompting.backingOff"],
    ["fail", "error"],
  ] as const)(
    "that is found after the end of a process does so where the option `recovery` is %s: %s",
    (recovery, path) => {
      const task = workingTask();
      task.take("ADOPTED", { recovery });
      task.take("CHECKED_HOST_FAULT", locked);
      expect(lifecyclePath(task.snapshot)).toBe(path);
    },
  );

  test("of a check before counts no more", () => {
    const task = afterEvents(workingTask(), "HOST_IDLE", "HOST_IDLE");
    expect(task.refuses("CHECKED_HOST_FAULT", { ...locked, checkId: task.snapshot.context.checkId - 1 })).toBe(true);
  });
});
