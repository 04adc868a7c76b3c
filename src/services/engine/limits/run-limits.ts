import type { HostEvent, MessageInfo } from "../../../machines/host-events.ts";
import { isAtGate, isPaused, type TaskSnapshot } from "../../../machines/task/machine.ts";
import { slotOf } from "../../../machines/task/slot.ts";
import { hasEnded, type Task, type TaskError } from "../../../task.ts";
import { logFault } from "../../platform/log.ts";
import { isWithoutCall, STEPS_WITHOUT_END } from "../../runtime/run-outcome.ts";
import { beyondBudget, tookTooLong, tooManyRepeats } from "../../text/limit-text.ts";
import type { EngineContext } from "../context.ts";
import { cancelChildren } from "../operations/cancel.ts";
import { readLastWords } from "../operations/read-task.ts";
import { createBudgetTree, storedUsage, usedSince } from "./budget-tree.ts";

/** Starts ending runs beyond a budget, runs in a loop, runs that take too long, and turns that would never end. */
export const createRunLimits = (ctx: EngineContext) => {
  const { runtime, clock, log, bus, ancestorTask, abort } = ctx;
  const { budget, timeouts } = ctx.options;
  const { repeat, readingTools } = ctx.options.loop;
  const toolCalls = createToolCallLog(readingTools);
  const endlessSteps = createEndlessSteps();
  const isLimited = [budget.toolCalls, budget.tokens, budget.cost].some((limit) => limit !== undefined);
  const usage = storedUsage(ctx);
  const sums = createBudgetTree(usage);
  /** Tasks beyond a limit whose last words are being read. */
  const ending = new Set<string>();

  const end = async (taskId: string, error: TaskError, mayEnd: () => boolean): Promise<void> => {
    const run = runtime.snapshotOf(taskId)?.context.run;
    if (!run) return;
    // Read before the stop, while the host surely has the session.
    const onFault = logFault(log, "the last words of a task could not be read", { taskId });
    const said = await readLastWords(ctx, taskId, run.messageID).catch(onFault);
    if (runtime.snapshotOf(taskId)?.context.run.index !== run.index || !mayEnd()) return;
    runtime.send(taskId, { type: "LIMIT_EXCEEDED", at: clock.now(), error, ...(said === undefined ? {} : { said }) });
    // At once, as when a person cancels: the notices of these tasks would wake the session that is being stopped.
    if (runtime.snapshotOf(taskId)?.hasTag("stopping")) await cancelChildren(ctx, taskId);
  };

  /**
   * Ends the run of a task that is beyond a limit. Does nothing while that is under way, or when the run is not under way.
   * @param mayEnd is asked at the last moment, when the last words are read: the host may take seconds for them, and a run that
   * may not be ended by then goes on. Default: it may, since what is used stays used
   */
  const endRun = (taskId: string, error: TaskError, mayEnd = () => true): void => {
    const snapshot = runtime.snapshotOf(taskId);
    if (ending.has(taskId) || !snapshot?.can({ type: "LIMIT_EXCEEDED", at: clock.now(), error })) return;
    ending.add(taskId);
    end(taskId, error, mayEnd)
      .catch(logFault(log, "a task beyond its limit was not ended", { taskId }))
      .finally(() => ending.delete(taskId));
  };

  /** A retry has a new budget: what was used before it does not count. */
  const errorOf = (taskId: string): TaskError | undefined => {
    const used = sums.of(taskId);
    return used && beyondBudget(usedSince(used, runtime.snapshotOf(taskId)?.context.run.budgetFrom), budget);
  };

  /** Adds up what a task has used. Ends the topmost of its ancestors and itself that is beyond its budget: all below stop with it. */
  const measure = (taskId: string, parentTaskId: string | undefined) => {
    if (!isLimited) return;
    sums.set(taskId, parentTaskId, usage.ownUsage(taskId));
    for (const id of sums.lineage(taskId)) {
      const error = errorOf(id);
      if (error) return endRun(id, error);
    }
  };

  const forget = ({ sessionID }: Task) => {
    toolCalls.forget(sessionID);
    sums.release(sessionID);
  };

  const onUsed = (taskId: string) => {
    const task = runtime.snapshotOf(taskId)?.context;
    if (task && task.completedAt === undefined) measure(taskId, task.facts.parentTaskId);
  };

  /** A task's run decides what its turn came to. That of a descendant session is ended here, and its caller goes on. */
  const endTurn = (sessionID: string) => {
    if (runtime.snapshotOf(sessionID)) runtime.send(sessionID, { type: "STEPS_WITHOUT_END", at: clock.now() });
    else if (ancestorTask(sessionID) !== undefined) void abort(sessionID);
  };

  const overdue = (limit: number) => overdueRuns(runtime.liveTasks(), limit, clock.now(), toolCalls.isToolRunning);

  const stops = [
    bus.on("taskChanged", (task) => (hasEnded(task) ? forget(task) : measure(task.sessionID, task.parentTaskId))),
    bus.on("tasksLost", (lost) => lost.forEach(forget)),
    bus.on("usedElsewhere", ({ taskId }) => onUsed(taskId)),
  ];

  return {
    /** Handles an event of the host, after progress has counted it. */
    onHostEvent: (event: HostEvent) => {
      const { sessionID } = event;
      if (endlessSteps.onHostEvent(event)) endTurn(sessionID);
      const task = runtime.snapshotOf(sessionID)?.context;
      if (!task || task.completedAt !== undefined) return;
      const repeated = toolCalls.onHostEvent(event);
      if (repeated && repeated.times >= repeat) endRun(sessionID, tooManyRepeats(repeated));
      if (event.type === "toolCall" || event.type === "step") measure(sessionID, task.facts.parentTaskId);
    },
    endRun,
    /** Measures a task again for which progress has counted more: a descendant session without a task of its own used it. */
    onUsed,
    /** Ends the runs that are overdue, but for those that are not any more when their last words have been read. */
    endOverdueRuns: (): void => {
      const { run: limit = Number.POSITIVE_INFINITY } = timeouts;
      for (const { taskId, taken } of overdue(limit)) {
        const isStillOverdue = () => overdue(limit).some((run) => run.taskId === taskId);
        endRun(taskId, tookTooLong(taken, limit), isStillOverdue);
      }
    },
    stop: () => {
      for (const stop of stops) stop();
    },
  };
};

export type RunLimits = ReturnType<typeof createRunLimits>;

const idOf = ({ context }: TaskSnapshot): string => context.facts.sessionID;

/** Returns the tasks in which a tool runs or a person is waited for, and all their ancestors. */
const sparedTasks = (tasks: readonly TaskSnapshot[], isToolRunning: (sessionID: string) => boolean): Set<string> => {
  const isBusyOrAsking = ({ context: { facts, userRequests } }: TaskSnapshot): boolean =>
    userRequests.length > 0 || isToolRunning(facts.sessionID);
  const parents = new Map(tasks.map((task) => [idOf(task), task.context.facts.parentTaskId] as const));
  const spared = new Set<string>();
  for (const task of tasks.filter(isBusyOrAsking)) {
    for (let id: string | undefined = idOf(task); id !== undefined && !spared.has(id); id = parents.get(id)) {
      spared.add(id);
    }
  }
  return spared;
};

/**
 * Returns the runs that have taken longer than `limit` milliseconds by `now`, and for how long. Time in the queue, or in which a
 * run is paused, does not count, nor does what was before it: a run that waited for another model's slot is timed from then on. A run is spared while
 * a tool visibly runs in its session or a descendant of it, while a person is waited for there, or while its gate runs, before
 * it as well, which has a limit of its own.
 */
export const overdueRuns = (
  tasks: readonly TaskSnapshot[],
  limit: number,
  now: number,
  isToolRunning: (sessionID: string) => boolean,
): { taskId: string; taken: number }[] => {
  const spared = sparedTasks(tasks, isToolRunning);
  return tasks.flatMap((task) => {
    const { completedAt, queuedUntil, run } = task.context;
    const isAtWork = completedAt === undefined && slotOf(task) !== "waiting" && !isAtGate(task) && !isPaused(task);
    const taken = now - (queuedUntil ?? run.startedAt);
    return isAtWork && taken > limit && !spared.has(idOf(task)) ? { taskId: idOf(task), taken } : [];
  });
};

/** How often in a row a session's model has called one tool with the same arguments. */
interface RepeatedCall {
  tool: string;
  times: number;
}

interface Calls extends RepeatedCall {
  /** Tool and arguments of the newest call. */
  newest: string;
  /** Calls that are counted already: the host reports each more than once, and calls of one step overlap. */
  counted: Set<string>;
  running: Set<string>;
}

/**
 * Creates a log of what the tool calls of child sessions show: whether the model is in a loop, and whether a tool runs.
 * What it knows is lost when the process ends: then counting begins anew.
 * @param readingTools only read tasks: an agent that calls one with the same arguments until they end is in no loop
 */
const createToolCallLog = (readingTools: readonly string[]) => {
  const bySession = new Map<string, Calls>();

  const callsOf = (sessionID: string): Calls => {
    const known = bySession.get(sessionID);
    if (known) return known;
    const calls = { tool: "", times: 0, newest: "", counted: new Set<string>(), running: new Set<string>() };
    bySession.set(sessionID, calls);
    return calls;
  };

  return {
    /** Handles an event of a child session. Returns the calls in a row that the newest one ends, if the event begins one. */
    onHostEvent: (event: HostEvent): RepeatedCall | undefined => {
      // A call whose end was not reported does not run in a session that is idle.
      if (event.type === "idle") bySession.get(event.sessionID)?.running.clear();
      // Without arguments, the model is still writing them.
      if (event.type !== "toolCall" || event.input === undefined) return undefined;
      const { sessionID, callID, tool, input, stage } = event;
      const calls = callsOf(sessionID);
      if (stage === "begun") calls.running.add(callID);
      else calls.running.delete(callID);
      if (readingTools.includes(tool) || calls.counted.has(callID)) return undefined;
      calls.counted.add(callID);
      const call = `${tool} ${input}`;
      calls.times = call === calls.newest ? calls.times + 1 : 1;
      calls.tool = tool;
      calls.newest = call;
      return { tool, times: calls.times };
    },
    /** True while a tool visibly runs in the session. */
    isToolRunning: (sessionID: string): boolean => (bySession.get(sessionID)?.running.size ?? 0) > 0,
    forget: (sessionID: string) => {
      bySession.delete(sessionID);
    },
  };
};

/** The steps of a turn, as far as they count. */
interface Turn {
  /** What the turn answers. */
  promptID: string | undefined;
  /** The newest step that is counted: the host reports each more than once. */
  counted: string | undefined;
  /** True once the step under way has called a tool. */
  callsTools: boolean;
  /** Steps in a row without a tool call. */
  steps: number;
}

/**
 * Creates a detector of turns that would never end: the host asks their model again and again, for the provider does not say
 * why it stopped, or because the clock was set back, after which the host takes an older message for the newest one. What it
 * knows is lost when the process ends.
 */
const createEndlessSteps = () => {
  const turns = new Map<string, Turn>();

  const turnOf = (sessionID: string, { promptID }: Pick<MessageInfo, "promptID">): Turn => {
    const known = turns.get(sessionID);
    if (known && known.promptID === promptID) return known;
    const turn = { promptID, counted: undefined, callsTools: false, steps: 0 };
    turns.set(sessionID, turn);
    return turn;
  };

  const onStep = (sessionID: string, message: MessageInfo): boolean => {
    const turn = turnOf(sessionID, message);
    if (message.completedAt === undefined || turn.counted === message.id) return false;
    const isEndless = !turn.callsTools && isWithoutCall(message);
    turn.counted = message.id;
    turn.steps = isEndless ? turn.steps + 1 : 0;
    turn.callsTools = false;
    return turn.steps >= STEPS_WITHOUT_END;
  };

  return {
    /** Handles an event of a session. Returns true with each step of a turn that has taken too many without an end. */
    onHostEvent: (event: HostEvent): boolean => {
      const { sessionID } = event;
      if (event.type === "idle" || event.type === "deleted") turns.delete(sessionID);
      if (event.type === "toolCall") {
        const turn = turns.get(sessionID);
        if (turn) turn.callsTools = true;
      }
      return event.type === "message" && event.message.role === "assistant" && onStep(sessionID, event.message);
    },
  };
};
