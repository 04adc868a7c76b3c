import { hasEnded } from "../../../task.ts";
import type { ApiTaskChange } from "../contract/status-source.ts";

/** The name of a task's change on the events stream. */
export type EventName = "task.created" | "task.updated" | "task.completed" | "task.error" | "task.cancelled";

/** The state of the tasks when changes were last read. */
export interface LastRead {
  /** The number of the newest change that was read. */
  change: number;
  /** When that was, ISO 8601. */
  at: string;
  /** Ids of the tasks that had not ended. */
  live: ReadonlySet<string>;
}

/**
 * Returns the names of what happened to a task since the last reading. A task that was launched and ended in between has
 * two: whoever displays tasks must learn of the task before it learns of its end.
 *
 * A change of an ended task, such as that its result was read, is an update. The task has ended anew when it was live, or
 * when its newest run began after the last reading: then it was resumed and ended in between.
 */
export const eventNames = ({ createdChange, task }: ApiTaskChange, last: LastRead): EventName[] => {
  const isNew = createdChange > last.change;
  const created: EventName[] = isNew ? ["task.created"] : [];
  if (!hasEnded(task)) return isNew ? created : ["task.updated"];
  const endedSince = isNew || last.live.has(task.sessionID) || task.runStartedAt > last.at;
  if (!endedSince) return ["task.updated"];
  return [
    ...created,
    task.status === "error" ? "task.error" : task.status === "cancelled" ? "task.cancelled" : "task.completed",
  ];
};
