import type { PanelTask, PanelTasks } from "./panel-task.ts";

/**
 * Adds the tasks of a conversation that ended long ago to those that are heard of, which are newer where both have one.
 * `cleared` are the ids of those that are gone by now.
 */
export const withEarlier = (
  heard: PanelTasks,
  earlier: readonly PanelTask[],
  cleared: ReadonlySet<string>,
): PanelTasks => {
  const kept = earlier.filter(({ sessionID }) => !cleared.has(sessionID));
  return new Map([...kept.map((task) => [task.sessionID, task] as const), ...heard]);
};
