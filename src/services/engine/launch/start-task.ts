import type { LaunchAnswer, LaunchRefusal } from "../../../machines/launch/events.ts";
import { slotOf } from "../../../machines/task/slot.ts";
import { toTask } from "../../../machines/task/view.ts";
import type { Task, TaskFacts } from "../../../task.ts";
import { fail, type Outcome } from "../../platform/result.ts";
import type { EffectOf } from "../../runtime/effects.ts";
import type { EngineContext } from "../context.ts";
import { getTask } from "../operations/read-task.ts";
import type { Launched } from "../requests.ts";
import type { LaunchCall } from "./launches-under-way.ts";

/** Why a task cannot work in a worktree in which OpenCode starts no plugin of ours. */
const NOT_SERVED =
  "OpenCode starts no opencode-taskchart in a worktree of this project, so nobody would hear of the task's end; nothing was launched. Name the plugin in a configuration that git does not ignore, or in the user's own.";

/** Why nothing is launched where the caller, or OpenCode, was stopped. */
export const LAUNCH_STOPPED = "The calling session or OpenCode was stopped in the meantime; nothing was launched.";

/** The author of a task that no agent launched. */
const USER = "user";

/** Returns what the options say of tasks of that agent: its gate, and other models. */
const rulesOf = (agent: string, { gate, fallback }: EngineContext["options"]): Pick<TaskFacts, "gate" | "fallback"> => {
  const { agents: gates, tries, timeout } = gate;
  const given = Object.hasOwn(gates, agent) ? gates[agent] : undefined;
  const { command, before = gate.before } = typeof given === "string" ? { command: given } : (given ?? {});
  const models = Object.hasOwn(fallback.agents, agent) ? fallback.agents[agent] : undefined;
  return {
    ...(models ? { fallback: { models, after: fallback.after } } : {}),
    ...(command === undefined ? {} : { gate: { command, tries, timeout, ...(before ? { before } : {}) } }),
  };
};

/** Starts the task in its session. */
export const startTask = (
  ctx: EngineContext,
  { request, plan }: LaunchCall,
  { sessionID, messageID, worktree, offer }: EffectOf<"startTask">,
): void => {
  const { description, batchId, model, schema, parentTask } = plan;
  const { runtime, progress, clock, ids, worktrees, sessionDirectories, options } = ctx;
  const { wake = options.wake } = request;
  const { parentSessionID, parentMessageID, parentAgent, agent, prompt, directory, fork, priority, job } = request;
  if (worktree) {
    sessionDirectories.enter(sessionID, worktree.directory);
    worktrees.assign({ sessionID, parentSessionID, worktree });
  }
  const at = clock.now();
  progress.begin(sessionID, at);
  runtime.dispatch({
    type: "LAUNCH",
    at,
    task: {
      facts: {
        sessionID,
        parentSessionID,
        parentMessageID,
        parentAgent,
        ...(parentTask ? { parentTaskId: parentTask.sessionID } : {}),
        author: parentAgent || USER,
        directory,
        description,
        prompt,
        agent,
        model,
        startedAt: new Date(at).toISOString(),
        batchId,
        isForked: fork,
        priority,
        ...(wake === "all" ? { wake } : {}),
        ...(worktree ? { worktree } : {}),
        ...(offer ? { fleet: offer } : {}),
        ...(job ? { job: job.run } : {}),
        ...rulesOf(agent, options),
        ...(schema ? { schema } : {}),
      },
      run: { index: 0, messageID, partID: ids.parts(1)[0] ?? "", prompt, startedAt: at },
    },
  });
};

const failureMessage = (reason: string, isKnown: boolean): string =>
  isKnown
    ? `OpenCode created no session for the task: ${reason}. Try again.`
    : `OpenCode did not say whether it created a session for the task: ${reason}. None was found; one that appears later is deleted. Try again.`;

/** Says why nothing is launched. */
export const refusalText = (refusal: LaunchRefusal): string => {
  switch (refusal.why) {
    case "notCreated":
      return failureMessage(refusal.reason, refusal.isKnown);
    case "notServed":
      return NOT_SERVED;
    case "stopped":
      return LAUNCH_STOPPED;
    default:
      return refusal.reason;
  }
};

/** Returns the task that has just begun. Only its place in the queue is to be read. */
const begunTask = (ctx: EngineContext, taskId: string): Task | undefined => {
  const snapshot = ctx.runtime.snapshotOf(taskId);
  const progress = ctx.progress.of(taskId);
  return snapshot && progress && slotOf(snapshot) !== "waiting" ? toTask(snapshot, progress) : getTask(ctx, taskId);
};

/**
 * Puts the chart's answer into words for the caller.
 * @throws Error for a fault of ours
 */
export const toOutcome = (ctx: EngineContext, answer: LaunchAnswer): Outcome<Launched> => {
  if (answer.is === "started") {
    const { sessionID, forkRefusal, notOffered } = answer;
    const task = begunTask(ctx, sessionID);
    return task
      ? { ok: true, value: { task, forkRefusal, notOffered } }
      : fail("The task was launched, but it has already ended and been removed.");
  }
  if (answer.why === "fault") throw new Error(answer.reason);
  return fail(refusalText(answer), answer.why === "notCreated" ? "host" : undefined);
};
