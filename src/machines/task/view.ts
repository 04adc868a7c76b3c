import {
  type Attention,
  type GivenInstruction,
  type Progress,
  shortDescription,
  type Task,
  type Waiting,
  type WaitsFor,
} from "../../task.ts";
import type { TaskContext } from "./events.ts";
import { modelOf } from "./fallback.ts";
import { lifecyclePath, type StoredSnapshot, statusOf } from "./machine.ts";
import { run } from "./run.ts";

/** Epoch milliseconds since which a run waits for that. Where the chart has kept no time: since the run began. */
const waitsSince = (what: WaitsFor, context: TaskContext): number => {
  const { run, queuedUntil, userRequests, blockedCalls, missingSince, abortedAt, retry, waitingSince } = context;
  const since: Partial<Record<WaitsFor, number | undefined>> = {
    agent: queuedUntil,
    provider: retry?.since,
    session: missingSince,
    abort: abortedAt,
    person: userRequests[0]?.since,
    tasks: blockedCalls ? blockedCalls[0]?.since : waitingSince,
  };
  return (what in since ? since[what] : waitingSince) ?? run.startedAt;
};

/** What the chart says of a state and of those within it. */
interface Described {
  meta?: { waitsFor?: WaitsFor };
  states?: Readonly<Record<string, object>>;
}

/** Returns what the innermost state that says so waits for. */
const waitsForIn = (value: unknown, { states = {} }: Described): WaitsFor | undefined => {
  const name = typeof value === "object" && value !== null ? (Object.keys(value)[0] ?? "") : String(value);
  const state: Described | undefined = states[name];
  if (!state) return undefined;
  const within = typeof value === "object" && value !== null ? Object.values(value)[0] : undefined;
  return (within === undefined ? undefined : waitsForIn(within, state)) ?? state.meta?.waitsFor;
};

/** An agent at work may be in the middle of a tool call that waits for somebody else. */
const whatAgentWaitsFor = ({ userRequests, blockedCalls }: TaskContext): WaitsFor => {
  if (userRequests.length > 0) return "person";
  return blockedCalls === undefined ? "agent" : "tasks";
};

/** What the provider said when it refused for now, or until a time. */
const refusalOf = (what: WaitsFor, context: TaskContext): Pick<Waiting, "refusal"> & { until?: number } => {
  const { retry, pause } = context;
  const refusal = what === "provider" ? retry : what === "quota" ? pause?.refusal : undefined;
  if (!refusal) return {};
  const { message, until } = refusal;
  const model = modelOf(context);
  const attempt = what === "provider" && retry ? { attempt: retry.attempt } : {};
  return { refusal: { ...(model ? { provider: model.providerID } : {}), ...attempt, message }, until };
};

/** What a run waits for more exactly than its state says. */
const inDetail = (waitsFor: WaitsFor, context: TaskContext): WaitsFor => {
  if (waitsFor === "agent") return whatAgentWaitsFor(context);
  return waitsFor === "continue" && context.pause?.refusal ? "quota" : waitsFor;
};

/** What its agent had asked before its process ended, while it may be about to ask again. */
const lostRequestsOf = (what: WaitsFor, { lostRequests }: TaskContext): string[] | undefined =>
  what === "person" || what === "stop" ? undefined : lostRequests?.map((request) => request.what);

/** How many tasks the tool calls of its agent wait for; undefined where none waits, or the wait is for something else. */
const awaitedTasks = (what: WaitsFor, { blockedCalls }: TaskContext): number | undefined =>
  what === "tasks" && blockedCalls ? new Set(blockedCalls.flatMap(({ taskIds }) => taskIds)).size : undefined;

/**
 * Returns what the run under way waits for: what its chart says of the state that it is in. Undefined when no run is under
 * way, or in a state that this version of the chart does not have.
 */
export const waitingOf = ({ value, context }: StoredSnapshot): Waiting | undefined => {
  const waitsFor = waitsForIn(value.run, run);
  if (waitsFor === undefined) return undefined;
  const what = inDetail(waitsFor, context);
  const { refusal, until: refusedUntil } = refusalOf(what, context);
  const tasks = awaitedTasks(what, context);
  const lostRequests = lostRequestsOf(what, context);
  const ownDeadline = what === waitsFor ? context.nextDeadline : undefined;
  const until = refusedUntil ?? ownDeadline;
  return {
    for: what,
    since: new Date(waitsSince(what, context)).toISOString(),
    ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
    ...(refusal ? { refusal } : {}),
    ...(tasks === undefined ? {} : { tasks }),
    ...(lostRequests === undefined ? {} : { lostRequests }),
  };
};

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

/** Returns how a task is to go on; undefined where that was cancelled, or nobody has asked for it. */
const nextRunOf = ({ nextRun }: TaskContext): Task["nextRun"] => {
  if (!nextRun || nextRun.isCancelled) return undefined;
  return nextRun.begins === "RESUME" ? "resume" : "retry";
};

/** Returns the first paragraph of a result. */
const summaryOf = (result: string): string => result.trim().split(/\n\s*\n/, 1)[0] ?? "";

const omitUndefined = <T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };

/** Returns the further instructions of the newest run, with what became of each; undefined where it was given none. */
const instructionsOf = ({ given, completedAt }: TaskContext): GivenInstruction[] | undefined =>
  given?.map(({ text, from, at, seenAt }) => ({
    ...{ text, from, givenAt: iso(at) },
    ...(seenAt === undefined
      ? { fate: completedAt === undefined ? "waiting" : "missed" }
      : { fate: "seen", seenAt: iso(seenAt) }),
  }));

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
      isRetry: context.run.isRetry,
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
      nextRun: nextRunOf(context),
      attention: attentionOf(context),
      waiting: waitingOf(snapshot),
      interruptedAt: context.interruptedAt === undefined ? undefined : iso(context.interruptedAt),
      server: context.remote?.server,
      worktree: context.facts.worktree ?? context.remote?.worktree,
      pendingInstructions: context.instructions?.length,
      instructions: instructionsOf(context),
    }),
  };
};
