import type { RunResult, TaskContext } from "./events.ts";

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
  ...((outcome === "completed" || limitError || error?.kind === "gate") && result !== undefined ? { result } : {}),
  ...(error ? { error } : {}),
  ...(refusedModels ? { refusedModels, ...(model ? { model } : {}) } : {}),
});
