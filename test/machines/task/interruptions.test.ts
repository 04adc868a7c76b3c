import { expect, test } from "vitest";
import { initialTransition, transition } from "xstate";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import {
  isCompatible,
  lifecyclePath,
  type StoredSnapshot,
  type TaskSnapshot,
  taskMachine,
} from "../../../src/machines/task/machine.ts";
import { TASK_LIMITS } from "../../../src/machines/task/setup.ts";
import { START, taskInput } from "../../fakes/task-input.ts";

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
      expect(lifecyclePath(snapshot)).toBe("running.prompting.sending");
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
  expect(lifecyclePath(cutOff(restored, START, "aborted"))).toBe("running.prompting.sending");
  expect(lifecyclePath(cutOff(restored, undefined, "aborted"))).toBe("error");
});
