import { hasEnded, type TaskEntry } from "../../task.ts";
import type { Store } from "../store/store.ts";

/** Knows of which batches tasks are at work. */
export interface Batches {
  /** Counts a launch as work of its batch. Returns what to call when its task is stored, or there is none. */
  beginLaunch(parentSessionID: string, batchId: string): () => void;
  /** Returns those of a parent's batches of which no task is at work, in whatever process. */
  ended(parentSessionID: string, batchIds: string[]): string[];
}

/**
 * Creates the record of batches.
 * @param isHeadless True where the host ends with its agent's answer: nothing is worth waiting for, so all batches have ended.
 */
export const createBatches = (store: Pick<Store, "list" | "get" | "isAttended">, isHeadless: boolean): Batches => {
  const launches = new Set<Pick<TaskEntry, "parentSessionID" | "batchId">>();

  /**
   * True for a task whose end will come by itself and is worth waiting for: not for one that nobody supervises or whose
   * record is damaged, nor for one that waits for a person or has been silent for too long.
   */
  const isAtWork = (entry: TaskEntry): boolean => {
    if (hasEnded(entry)) return false;
    const task = store.get(entry.sessionID)?.task;
    return task !== undefined && task.attention === undefined && store.isAttended(entry.sessionID);
  };

  return {
    beginLaunch: (parentSessionID, batchId) => {
      const launch = { parentSessionID, batchId };
      launches.add(launch);
      return () => void launches.delete(launch);
    },
    ended: (parentSessionID, batchIds) => {
      if (isHeadless) return batchIds;
      const launched = [...launches].filter((launch) => launch.parentSessionID === parentSessionID);
      return batchIds.filter(
        (batchId) =>
          launched.every((launch) => launch.batchId !== batchId) &&
          !store.list({ parentSessionID, batchId }).some(isAtWork),
      );
    },
  };
};
