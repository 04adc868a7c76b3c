import type { PanelTask, PanelTasks } from "./panel-task.ts";

/** Returns the session above a session, as the host knows it; undefined where there is none, or it is not known. */
export type HostParent = (sessionID: string) => string | undefined;

/** Sessions above each other at most: a damaged file could otherwise make a circle of them. */
const MAX_DEPTH = 50;

/**
 * Returns the session in which a person began what goes on in a session: that of the task's parent, and so on upwards. A
 * fork has no parent in the host; its task knows it.
 */
export const conversationOf = (sessionID: string, tasks: PanelTasks, hostParent: HostParent): string => {
  let root = sessionID;
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const above = tasks.get(root)?.parentSessionID ?? hostParent(root);
    if (above === undefined) break;
    root = above;
  }
  return root;
};

/** Returns the tasks of a conversation at any depth, in the order of their launch. */
export const tasksOf = (conversation: string, tasks: PanelTasks, hostParent: HostParent): PanelTask[] =>
  [...tasks.values()]
    .filter(({ sessionID }) => conversationOf(sessionID, tasks, hostParent) === conversation)
    .sort((a, b) => a.startedAt.localeCompare(b.startedAt) || a.sessionID.localeCompare(b.sessionID));
