import { type Attention, type Progress, shortDescription, type Task } from "../../task.ts";
import type { TaskContext } from "./events.ts";
import { modelOf } from "./fallback.ts";
import { lifecyclePath, type StoredSnapshot, statusOf } from "./machine.ts";
import { waitingOf } from "./waiting.ts";

const iso = (ms: number): string => new Date(ms).toISOString();

/** Returns what holds a task up; undefined when nothing does. */
export const attentionOf = ({ userRequests, staleSince }: TaskContext): Attention | undefined => {
  const request = userRequests[0];
  if (request) {
    const all = userRequests.map((asked) => ({ ...asked, since: iso(asked.since) }));
    return { kind: request.kind, what: request.what, since: iso(request.since), requests: all };
  }
  return staleSince === undefined ? undefined : { kind: "stale", what: "", since: iso(staleSince) };
};

/** Returns the first paragraph of a result. */
const summaryOf = (result: string): string => result.trim().split(/\n\s*\n/, 1)[0] ?? "";

const omitUndefined = <T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };

/** Builds the task object that tools and the API show. */
export const toTask = (snapshot: StoredSnapshot, progress: Progress): Task => {
  const { context } = snapshot;
  const { completedAt, resultRetrievedAt, result, incomplete, earlierText, error, receipt, refusedModels } = context;
  const model = modelOf(context);
  return {
    ...context.facts,
    // Older versions stored the description as it was given.
    description: shortDescription(context.facts.description),
    status: statusOf(snapshot),
    state: lifecyclePath(snapshot),
    childTaskIds: [],
    runStartedAt: iso(context.run.startedAt),
    resumeCount: context.run.index,
    progress,
    ...omitUndefined({
      model,
      refusedModels,
      completedAt: completedAt === undefined ? undefined : iso(completedAt),
      resultRetrievedAt: resultRetrievedAt === undefined ? undefined : iso(resultRetrievedAt),
      result,
      incomplete,
      earlierText,
      summary: result === undefined ? undefined : summaryOf(result),
      error,
      failureReason: error?.message,
      receipt,
      attention: attentionOf(context),
      waiting: waitingOf(snapshot),
      interruptedAt: context.interruptedAt === undefined ? undefined : iso(context.interruptedAt),
      server: context.remote?.server,
      worktree: context.facts.worktree ?? context.remote?.worktree,
      pendingInstructions: context.instructions?.length,
    }),
  };
};
