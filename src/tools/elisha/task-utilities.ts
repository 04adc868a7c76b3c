import { hasEnded, type Task } from "../../task.ts";
import type { ToolDeps } from "../define-tool.ts";

type TaskReader = Pick<ToolDeps["engine"], "get" | "waitForEnd">;

/** @throws Error where there is no such task */
const taskOf = ({ get }: TaskReader, taskId: string): Task => {
  const task = get(taskId);
  if (!task) throw new Error(`There is no task "${taskId}".`);
  return task;
};

/**
 * Returns the whole text of a task's result, of its newest run that has one.
 * @throws Error where there is no such task, or it has no result
 */
export const textOf = (engine: TaskReader, taskId: string): string => {
  const { result, status, error } = taskOf(engine, taskId);
  if (result !== undefined) return result;
  throw new Error(`Task ${taskId} has no result: it is ${status}${error ? ` (${error.name}: ${error.message})` : ""}.`);
};

/**
 * True once a task has ended, however.
 * @throws Error where there is no such task
 */
export const isComplete = (engine: TaskReader, taskId: string): boolean => hasEnded(taskOf(engine, taskId));

/**
 * Waits until a task has ended. Resolves to true then, and to false where it has not after `timeout` milliseconds; without one
 * there is no limit. Nothing counts as delivered by that: the end is delivered to the parent as if nobody had waited.
 * @throws Error where there is no such task, for a time below 0, and where the plugin is disposed of meanwhile
 */
export const waitUntilComplete = async (
  engine: TaskReader,
  taskId: string,
  timeout: number | undefined,
): Promise<boolean> => {
  taskOf(engine, taskId);
  if (timeout !== undefined && !(timeout >= 0)) {
    throw new Error(`timeout is ${timeout}, but must be 0 or more milliseconds.`);
  }
  const { signal } = new AbortController();
  const outcome = await engine.waitForEnd({ taskIds: [taskId], signal, timeoutMs: timeout });
  if (outcome === "stopped") throw new Error(`OpenCode is closing. Task ${taskId} continues when it runs again.`);
  return outcome === "ended";
};
