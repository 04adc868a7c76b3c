import type { Task } from "../../task.ts";
import { orThrow, type ToolParts } from "../context.ts";

/**
 * The session's own tasks that are meant: one, those of a batch, or all.
 * @throws Error when the task or the batch is not the session's.
 */
export const tasksOf = (engine: ToolParts["engine"], sessionID: string, taskId?: string, batchId?: string): Task[] => {
  if (taskId !== undefined) return [orThrow(engine.find(sessionID, taskId))];
  const own = engine.list({ parentSessionID: sessionID });
  if (batchId === undefined) return own;
  const batch = own.filter((task) => task.batchId === batchId);
  if (batch.length > 0) return batch;
  const batches = [...new Set(own.map((task) => task.batchId))];
  throw new Error(`This session has no batch "${batchId}". Batches: ${batches.join(", ") || "none"}.`);
};
