import type { NextRunWay, PlannedRun, TaskEvent } from "../../../machines/task/events.ts";
import type { ModelRef, Task } from "../../../task.ts";
import { logFault } from "../../platform/log.ts";
import { fail, type Outcome } from "../../platform/result.ts";
import { modelName } from "../../text/model-and-server.ts";
import { nameOf, own, quoteLine } from "../../text/own-text.ts";
import type { EngineContext } from "../context.ts";
import { namedModel } from "../launch/launch-plan.ts";
import { NOTHING_USED, usedSoFar } from "../limits/budget-tree.ts";
import type { RetryRequest } from "../requests.ts";
import { getTask } from "./read-task.ts";

const WORDS = {
  RESUME: { done: "resumed", verb: "resume", refused: (reason: string) => `cannot be resumed: ${reason}` },
  RETRY: { done: "retried", verb: "retry", refused: (reason: string) => `cannot be retried: it ${reason}` },
} as const;

/** Returns the model that a task was launched with, and that its next run begins with: the first that a run was refused by. */
const ownModelOf = ({ model, refusedModels: [first] = [] }: Task): ModelRef | undefined =>
  first === undefined ? model : first.model;

/**
 * Returns the model that a task is to go on with; undefined where that stays the same. A failure refuses another agent than the
 * task's, and another model but for a retry.
 */
const modelFor = async (
  { reads }: EngineContext,
  task: Task,
  way: NextRunWay,
  { agent, model: wanted }: Pick<RetryRequest, "agent" | "model">,
): Promise<Outcome<ModelRef | undefined>> => {
  const model = ownModelOf(task);
  if (agent !== undefined && agent.toLowerCase() !== task.agent.toLowerCase()) {
    return fail(
      own`A task never changes its agent: task ${nameOf(task.sessionID)} works with ${quoteLine(task.agent)}. Leave agent out.`,
    );
  }
  if (wanted === undefined || (model !== undefined && wanted === modelName(model)))
    return { ok: true, value: undefined };
  if (way === "RETRY" && task.server === undefined) return namedModel(reads, wanted);
  const ofTask =
    model === undefined ? own`` : own`: task ${nameOf(task.sessionID)} works with ${quoteLine(modelName(model))}`;
  const why = way === "RETRY" ? own`A task on another server keeps its model` : own`A resumed task keeps its model`;
  return fail(own`${why}${ofTask}. Leave model out, or launch a new task with it.`);
};

/** Provides what the task goes on with: its worktree, or the server that has its conversation. A failure says why it cannot. */
const prepare = async (
  { worktrees, remoteRuns }: EngineContext,
  task: Task,
  way: NextRunWay,
  signal: AbortSignal,
): Promise<Outcome<void>> => {
  if (task.server === undefined) return worktrees.prepare(task, signal);
  if (remoteRuns) return remoteRuns.mayGoOn(task, task.server, WORDS[way].done);
  return fail(own`Its conversation is on server ${quoteLine(task.server.label)}, and this one is in no fleet.`);
};

/** Returns the event that begins a run of a task, of which progress is counted from now on. */
export const beginningOf = (ctx: EngineContext, task: Task, { begins, ...run }: PlannedRun): TaskEvent => {
  const { progress, clock, sessionDirectories } = ctx;
  const { sessionID, worktree, server } = task;
  const at = clock.now();
  const { overlaps: _, ...counted } = task.progress;
  progress.begin(sessionID, at, counted);
  if (worktree && !server) sessionDirectories.enter(sessionID, worktree.directory);
  return begins === "RESUME"
    ? { type: begins, at, ...run }
    : { type: begins, at, ...run, budgetFrom: usedSoFar(ctx, sessionID) };
};

/**
 * Begins the next run of a task in its own session, at once or when the result of the run before is delivered; does not wait for
 * the result. A failure says why it cannot, and nothing is changed then.
 * @param promptOf returns what its agent is given; asked once it is known that the session is there
 */
export const goOn = async (
  ctx: EngineContext,
  task: Task,
  way: NextRunWay,
  request: Omit<RetryRequest, "prompt">,
  promptOf: () => Promise<Outcome<string>>,
): Promise<Outcome<Task>> => {
  const { host, runtime, clock, ids, log, options, sessionTree } = ctx;
  const { sessionID, parentSessionID } = task;
  const { verb, refused } = WORDS[way];
  const named = await modelFor(ctx, task, way, request);
  if (!named.ok) return named;
  const model = named.value && { model: named.value };
  // What is refused depends on neither the ids nor what was used, which takes reading all tasks below.
  const asked = { at: clock.now(), messageID: "", partID: "", prompt: "", budgetFrom: NOTHING_USED, ...model };
  const refusal = () => {
    const reason = runtime.refusalReason(sessionID, { type: way, ...asked });
    return reason === undefined ? undefined : fail(`Task ${sessionID} ${refused(reason)}.`);
  };
  const refusedAtOnce = refusal();
  if (refusedAtOnce) return refusedAtOnce;
  await request.permit?.(task);
  const session = await host.session(sessionID);
  if (!session.ok && session.failure.kind === "notFound") {
    return fail(
      `The session of task ${sessionID} does not exist any more. Start a new task with ${options.notice.tools.launch}.`,
    );
  }
  if (!session.ok) {
    const message = quoteLine(session.failure.message);
    return fail(own`OpenCode did not find the task's session: ${message}. Try again.`, "host");
  }
  if (session.value.isReverted) {
    return fail(
      `The user has taken back messages of task ${sessionID} (undo), which a ${verb} would delete for good. Have them redo that, or write to the task's conversation, and ${verb} it then.`,
    );
  }
  const prepared = await prepare(ctx, task, way, request.signal);
  if (!prepared.ok) return prepared;
  const prompt = await promptOf();
  if (!prompt.ok) return prompt;
  // So that its requests reach the session that the user looks at.
  const onFault = logFault(log, "the ancestors of a task could not be read", { sessionID });
  sessionTree.loadAncestors(sessionID).catch(onFault);
  if (request.signal.aborted) return fail("The turn was aborted; nothing was sent.");
  // It may have gone on while the host or the user was being asked.
  const refusedNow = refusal();
  if (refusedNow) return refusedNow;
  const { job } = request;
  const [partID = ""] = ids.parts(1);
  const next = {
    begins: way,
    messageID: ids.message(),
    partID,
    prompt: prompt.value,
    ...(job ? { job } : {}),
    ...model,
  };
  // A task without an actor is at rest.
  const isNow = runtime.snapshotOf(sessionID)?.can({ type: way, ...asked }) !== false;
  runtime.send(sessionID, isNow ? beginningOf(ctx, task, next) : { type: "NEXT_RUN_ASKED", at: clock.now(), ...next });
  // A parent that is a task itself may have been cancelled, and go on as well: then its outbox takes notices again.
  runtime.dispatch({ type: "OUTBOX", id: parentSessionID, event: { type: "PARENT_PRESENT", at: clock.now() } });
  const begun = getTask(ctx, sessionID);
  return begun ? { ok: true, value: begun } : fail(`Task ${sessionID} was cleared.`);
};
