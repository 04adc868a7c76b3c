import { expect, test } from "vitest";
import { createRunTimeCheck } from "../../../src/services/limits/run-time.ts";
import type { TaskError } from "../../../src/task.ts";
import { START } from "../../fakes/task-input.ts";
import { type DrivenTask, queuedTask } from "../../machines/task/driven-task.ts";

const LIMIT = 60_000;

/** The errors with which a check at that time ends the run. */
const endedAt = (task: DrivenTask, at: number): TaskError[] => {
  const errors: TaskError[] = [];
  createRunTimeCheck({
    runtime: { liveTasks: () => [task.snapshot] },
    clock: { now: () => at, after: () => () => undefined },
    toolCalls: { isToolRunning: () => false },
    endRun: (_, error) => errors.push(error),
    limit: LIMIT,
  })();
  return errors;
};

test("time in the queue does not count: a run's time begins with its slot", () => {
  const task = queuedTask();
  task.take("SLOT_GRANTED", { at: START + 50_000 });
  task.take("PROMPT_ACCEPTED");
  expect(endedAt(task, START + 50_000 + LIMIT)).toEqual([]);
  expect(endedAt(task, START + 50_001 + LIMIT)).toMatchObject([{ kind: "timeout" }]);
});
