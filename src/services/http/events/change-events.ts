import { hasEnded } from "../../../task.ts";
import type { ShownChange } from "../contract/status-source.ts";

/** What a change of a task is called on the events stream. */
export type EventName = "task.created" | "task.updated" | "task.completed" | "task.error" | "task.cancelled";

/** What was known when the changes were last read. */
export interface Known {
  /** The number of the newest change that was read. */
  at: number;
  /** When that was, ISO 8601. */
  readAt: string;
  /** Tasks that had not ended. */
  live: ReadonlySet<string>;
}

/**
 * The names of what happened to a task since `known`. One that was launched and ended in between has two: whoever shows
 * tasks must learn of it before it learns of its end.
 *
 * An ended task that only changed, such as by being read, is updated. It has ended anew when it was live, or when its
 * newest run began after the last reading: then it was resumed and has ended in between.
 */
export const eventNames = ({ createdChange, task }: ShownChange, known: Known): EventName[] => {
  const isNew = createdChange > known.at;
  const created: EventName[] = isNew ? ["task.created"] : [];
  if (!hasEnded(task)) return isNew ? created : ["task.updated"];
  const endedSince = isNew || known.live.has(task.sessionID) || task.runStartedAt > known.readAt;
  if (!endedSince) return ["task.updated"];
  return [
    ...created,
    task.status === "error" ? "task.error" : task.status === "cancelled" ? "task.cancelled" : "task.completed",
  ];
};
