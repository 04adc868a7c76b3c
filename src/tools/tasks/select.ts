import { join, nameOf, own, quoteLine } from "../../services/text/own-text.ts";
import type { Task } from "../../task.ts";
import { orThrow, type ToolDeps } from "../define-tool.ts";

/**
 * Returns tasks of the session: the one with that id, those of that batch, or all.
 * @throws Error if the session has no such task or batch.
 */
export const selectTasks = (
  engine: ToolDeps["engine"],
  sessionID: string,
  taskId?: string,
  batchId?: string,
): Task[] => {
  if (taskId !== undefined) return [orThrow(engine.find(sessionID, taskId))];
  const tasks = engine.list({ parentSessionID: sessionID });
  if (batchId === undefined) return tasks;
  const batch = tasks.filter((task) => task.batchId === batchId);
  if (batch.length > 0) return batch;
  const batches = [...new Set(tasks.map((task) => task.batchId))];
  const names = batches.length === 0 ? own`none` : join(batches.map(nameOf), ", ");
  throw new Error(own`This session has no batch ${quoteLine(batchId)}. Batches: ${names}.`);
};
