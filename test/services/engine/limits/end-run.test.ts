import { expect, test } from "vitest";
import { overdueRuns } from "../../../../src/services/engine/limits/run-limits.ts";
import { tookTooLong } from "../../../../src/services/text/limit-text.ts";
import type { TaskError } from "../../../../src/task.ts";
import { START } from "../../../fakes/task-input.ts";
import { afterEvents, type DrivenTask, queuedTask } from "../../../machines/task/driven-task.ts";

const LIMIT = 60_000;

/** The errors with which a check at that time ends the run. */
const endedAt = (task: DrivenTask, at: number): TaskError[] =>
  overdueRuns([task.snapshot], LIMIT, at, () => false).map(({ taken }) => tookTooLong(taken, LIMIT));

test("time in the queue does not count: a run's time begins with its slot", () => {
  const task = queuedTask();
  task.take("SLOT_GRANTED", { at: START + 50_000 });
  task.take("PROMPT_ACCEPTED");
  expect(endedAt(task, START + 50_000 + LIMIT)).toEqual([]);
  expect(endedAt(task, START + 50_001 + LIMIT)).toMatchObject([{ kind: "timeout" }]);
});

test("nor does the wait for another model's slot: the run's time begins anew with that slot", () => {
  const models = [{ providerID: "fake", modelID: "m2" }];
  const task = afterEvents(
    queuedTask({ fallback: { models, after: LIMIT } }),
    "SLOT_GRANTED",
    "PROMPT_ACCEPTED",
    "HOST_IDLE",
  );
  const error = { name: "APIError", kind: "provider", message: "no credit", refusal: "quota" } as const;
  task.take("CHECKED_FAILED", { error });
  afterEvents(task, "MODEL_CHANGED", "TICK");
  expect(endedAt(task, START + 10 * LIMIT)).toEqual([]);
  task.take("SLOT_GRANTED", { at: START + 10 * LIMIT });
  expect(endedAt(task, START + 11 * LIMIT)).toEqual([]);
  expect(endedAt(task, START + 11 * LIMIT + 1)).toMatchObject([{ kind: "timeout" }]);
});
