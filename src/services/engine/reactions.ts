// What follows from what: which parts take which event of the host, and what one part does when another announces something.
import type { HostEvent } from "../../machines/host-events.ts";
import { hasEnded, type Task } from "../../task.ts";
import { logFault } from "../platform/log.ts";
import { missedToast } from "../text/instruction-text.ts";
import type { EngineContext } from "./context.ts";
import type { Reminders } from "./delivery/session-notes.ts";
import type { UserRequests } from "./delivery/user-requests.ts";
import type { RunLimits } from "./limits/run-limits.ts";
import { cancelChildren, clear } from "./operations/cancel.ts";
import type { Overlaps } from "./overlaps/overlaps.ts";
import type { Adoption } from "./recovery/adoption.ts";

type EventOf<Type extends HostEvent["type"]> = Extract<HostEvent, { type: Type }>;

/**
 * Creates the function that passes each event of the host to the parts that take its type, in the order in which they
 * are listed here. The receivers are kept by type, because text events come by the thousand. `at` is epoch milliseconds.
 */
export const createHostEventRouter = (
  ctx: EngineContext,
  {
    runLimits,
    overlaps,
    adoption,
    reminders,
    userRequests,
  }: { runLimits: RunLimits; overlaps: Overlaps; adoption: Adoption; reminders: Reminders; userRequests: UserRequests },
): ((event: HostEvent) => void) => {
  const {
    runtime,
    bus,
    clock,
    progress,
    observedAnswers,
    seenInstructions,
    observedSessions,
    descendantWork,
    turns,
    waits,
    wakeCosts,
  } = ctx;
  const { ancestorTask, opening, sessionWaits, sessionTree } = ctx;

  const routes = new Map<HostEvent["type"], ((event: never, at: number) => void)[]>();
  const on = <Type extends HostEvent["type"]>(
    types: readonly Type[],
    take: (event: NoInfer<EventOf<Type>>, at: number) => void,
  ) => {
    for (const type of types) routes.set(type, [...(routes.get(type) ?? []), take]);
  };

  /** Counts what is done for a task. What a person does in its session once its run has ended is no part of the task. */
  const count = (event: HostEvent, at: number, taskId = event.sessionID) => {
    if (runtime.snapshotOf(taskId)?.context.completedAt === undefined) progress.onHostEvent(event, at, taskId);
  };

  const isAtWork = (sessionID: string): boolean => {
    const task = runtime.snapshotOf(sessionID);
    return task !== undefined && task.context.completedAt === undefined;
  };

  // First the parts that only observe: the effects of the charts' next steps read what these have recorded.
  on(["busy", "retrying", "idle", "message", "text", "toolCall"], (event) => {
    if (isAtWork(event.sessionID)) observedAnswers.onHostEvent(event);
  });
  on(["session", "deleted"], observedSessions.onHostEvent);
  on(["busy", "retrying", "idle", "deleted", "message", "toolCall"], descendantWork.onHostEvent);
  on(["message", "deleted"], turns.onHostEvent);
  on(["message", "idle", "deleted"], wakeCosts.onHostEvent);
  // A tool call whose output is stored has delivered its results, for which no notice is due any more.
  on(["toolCall"], waits.onHostEvent);
  // What is used counts towards the budgets once progress has it.
  on(["toolCall", "step", "message", "idle", "deleted"], runLimits.onHostEvent);
  on(["toolCall", "step", "filesChanged"], (event, at) => {
    const taskId = ancestorTask(event.sessionID);
    if (taskId === undefined) return;
    count(event, at, taskId);
    runLimits.onUsed(taskId);
  });
  on(["toolCall", "filesChanged"], overlaps.onHostEvent);
  // Before the end that the same message may be.
  on(["message"], (event) => {
    if (isAtWork(event.sessionID)) seenInstructions.onHostEvent(event);
  });
  // Whether the process stays decides whether adoption may begin.
  if (!opening.isProcessStaying()) on(["busy", "retrying", "idle", "deleted"], opening.onHostEvent);
  if (ctx.options.isHeadless) on(["busy", "retrying"], ({ sessionID }) => adoption.onSessionBusy(sessionID));

  const ofCharts = ["busy", "retrying", "answering", "idle", "error", "deleted", "session", "message"] as const;
  on([...ofCharts, "asked", "replied"], (event, at) => {
    if (runtime.concerns(event)) runtime.dispatch({ type: "HOST", at, event });
  });

  // Then what is done for agents and people, which depends on the charts' new states.
  on(["compacted"], ({ sessionID }) => reminders.remind(sessionID, "compacted"));
  on(["idle", "session"], sessionWaits.onHostEvent);
  on(["session", "deleted"], sessionTree.onHostEvent);
  on(["asked", "replied", "idle", "deleted"], userRequests.onHostEvent);
  // Last, when all others have taken the event, the tasks of the session are removed.
  on(["deleted"], ({ sessionID }) => bus.emit("sessionDeleted", { sessionID }));

  const receive = (event: HostEvent): void => {
    runtime.renewLease();
    const at = clock.now();
    count(event, at);
    for (const take of routes.get(event.type) ?? []) take(event as never, at);
  };
  bus.on("missedHostEvent", receive);
  return receive;
};

/**
 * Subscribes the reactions that cross from one part of the engine to another. The steps of a reaction run in the order in
 * which they are listed here. Waits and the status API, which subscribe to `taskChanged` later, come after them.
 */
export const subscribeReactions = (ctx: EngineContext, userRequests: Pick<UserRequests, "releaseTasks">): void => {
  const { bus, runtime, store, log, launches, noticeRepair, observedAnswers, seenInstructions } = ctx;
  const { worktrees, sessionDirectories, gates, lostSessions, waits } = ctx;
  /** Tasks whose run has not ended yet, so that the end of a run is reacted to once. */
  const running = new Set<string>();

  /** The notice goes to the agent: a person may have steered from elsewhere. */
  const tellOfMissed = (task: Task): void => {
    const message = missedToast(task);
    if (message === undefined) return;
    ctx
      .toast({ message, variant: "info" })
      .catch(logFault(log, "a person could not be told of an instruction that was missed", { taskId: task.sessionID }));
  };

  const onRunEnded = (task: Task): void | Promise<void> => {
    const { sessionID, status } = task;
    userRequests.releaseTasks([sessionID]);
    tellOfMissed(task);
    worktrees.onRunEnded(task);
    observedAnswers.forget(sessionID);
    seenInstructions.forget(sessionID);
    if (status === "completed") return;
    launches.cancel(sessionID);
    noticeRepair.forget(sessionID);
    // Nobody is left to read the results of the task's own tasks, and a notice would wake a session that was stopped.
    return cancelChildren(ctx, sessionID);
  };

  bus.on("taskChanged", (task) => {
    const { sessionID, worktree } = task;
    if (!hasEnded(task)) {
      running.add(sessionID);
      if (worktree) sessionDirectories.enter(sessionID, worktree.directory);
      if (runtime.snapshotOf(sessionID)?.hasTag("stopping")) launches.cancel(sessionID);
      return;
    }
    sessionDirectories.leave(sessionID);
    // Only if the run was under way: what a person begins later in the session of an ended task is theirs.
    if (running.delete(sessionID)) return onRunEnded(task);
  });

  bus.on("tasksLost", async (tasks) => {
    const lost = tasks.filter((task) => !hasEnded(task)).map(({ sessionID }) => sessionID);
    // First of all: if those tasks went on here too, their work would be done twice.
    const stopped = Promise.all(lost.map(lostSessions.stop));
    waits.onTasksLost(tasks.map(({ sessionID }) => sessionID));
    for (const sessionID of lost) {
      log.error("a task was taken over by another process, or removed", { sessionID });
      running.delete(sessionID);
      sessionDirectories.leave(sessionID);
      observedAnswers.forget(sessionID);
      seenInstructions.forget(sessionID);
      gates.stop(sessionID);
    }
    await stopped;
    // Only now, for a child goes on when what it asked is rejected.
    userRequests.releaseTasks(lost);
  });

  bus.on("sessionDeleted", async ({ sessionID }) => {
    launches.cancel(sessionID);
    noticeRepair.forget(sessionID);
    const tasks = store.list({ parentSessionID: sessionID }).map((task) => task.sessionID);
    if (tasks.length > 0) await clear(ctx, tasks, "person");
  });
};
