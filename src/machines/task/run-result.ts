import { besideText, hasPartialResult } from "../../task.ts";
import type { RunResult, TaskContext } from "./events.ts";

/** True where the result is that of the run, though it failed: its answer did not pass, or it was stopped in the middle. */
const isOfFailedRun = ({ error, result }: Pick<TaskContext, "error" | "result">): boolean =>
  error?.kind === "gate" || error?.kind === "schema" || hasPartialResult({ error, result });

/** What the context has of an answer. */
const answerOf = (context: TaskContext): Pick<RunResult, "result" | "incomplete" | "earlierText"> => ({
  ...(context.result === undefined ? {} : { result: context.result }),
  ...besideText(context),
});

/** Collects what the notice of a run will say. The store leaves it out where it follows from the rest of the context. */
export const runResult = (context: TaskContext, outcome: RunResult["outcome"]): RunResult => {
  const { facts, run, completedAt, error, model, refusedModels, given = [] } = context;
  const missed = given.flatMap(({ text, from, seenAt }) => (seenAt === undefined ? { text, from } : []));
  return {
    taskId: facts.sessionID,
    run: run.index,
    ...(run.isRetry ? { isRetry: true as const } : {}),
    parentSessionID: facts.parentSessionID,
    batchId: facts.batchId,
    ...(facts.wake ? { wake: facts.wake } : {}),
    description: facts.description,
    outcome,
    startedAt: run.startedAt,
    endedAt: completedAt ?? run.startedAt,
    ...(outcome === "completed" || isOfFailedRun(context) ? answerOf(context) : {}),
    ...(error ? { error } : {}),
    ...(missed.length > 0 ? { missed } : {}),
    ...(refusedModels ? { refusedModels, ...(model ? { model } : {}) } : {}),
  };
};
