import { hasEnded, type TaskEntry } from "../../../task.ts";
import type { Store } from "../../store/store.ts";

/**
 * Creates what tracks which batches still have running tasks.
 * @param isHeadless True where the host ends with its agent's answer: nothing is worth waiting for, so all batches have ended.
 */
export const createBusyBatches = (store: Pick<Store, "list" | "get" | "isAttended">, isHeadless: boolean) => {
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
    /** Marks the batch as busy. Call the returned function once the task is stored, or the launch has failed. */
    beginLaunch: (parentSessionID: string, batchId: string): (() => void) => {
      const launch = { parentSessionID, batchId };
      launches.add(launch);
      return () => void launches.delete(launch);
    },
    /** Returns those of a parent's batches of which no task is at work, in whatever process. */
    ended: (parentSessionID: string, batchIds: string[]): string[] => {
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
