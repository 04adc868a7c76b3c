import { hasEnded, type Task } from "../../task.ts";
import type { EngineContext } from "./context.ts";
import type { UserRequests } from "./delivery/user-requests.ts";
import { cancelChildren, clear } from "./operations/cancel.ts";

/**
 * Subscribes the reactions that cross from one part of the engine to another. The steps of a reaction run in the order in
 * which they are listed here. Of the listeners to `taskChanged`, the handling of user requests comes before these reactions, and
 * waits and the status API, which subscribe later, come after them.
 */
export const subscribeReactions = (ctx: EngineContext, userRequests: Pick<UserRequests, "releaseTasks">): void => {
  const { bus, runtime, store, log, launches, noticeRepair, observedAnswers } = ctx;
  const { worktrees, sessionDirectories, gates, lostSessions, waits } = ctx;
  /** Tasks whose run has not ended yet, so that the end of a run is reacted to once. */
  const running = new Set<string>();

  const onRunEnded = (task: Task): void | Promise<void> => {
    const { sessionID, status } = task;
    worktrees.onRunEnded(task);
    observedAnswers.forget(sessionID);
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
