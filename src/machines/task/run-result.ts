import type { TaskError } from "../../task.ts";
import type { RunResult, TaskContext } from "./events.ts";

/** True where the run failed because its answer did not pass: that is kept. */
const isRejected = (error: TaskError | undefined): boolean => error?.kind === "gate" || error?.kind === "schema";

/** Collects what the notice of a run will say. The store leaves it out where it follows from the rest of the context. */
export const runResult = (
  { facts, run, completedAt, result, error, limitError, model, refusedModels }: TaskContext,
  outcome: RunResult["outcome"],
): RunResult => ({
  taskId: facts.sessionID,
  run: run.index,
  parentSessionID: facts.parentSessionID,
  batchId: facts.batchId,
  ...(facts.wake ? { wake: facts.wake } : {}),
  description: facts.description,
  outcome,
  startedAt: run.startedAt,
  endedAt: completedAt ?? run.startedAt,
  ...((outcome === "completed" || limitError || isRejected(error)) && result !== undefined ? { result } : {}),
  ...(error ? { error } : {}),
  ...(refusedModels ? { refusedModels, ...(model ? { model } : {}) } : {}),
});
