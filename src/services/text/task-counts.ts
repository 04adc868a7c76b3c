import { hasEnded, type Task } from "../../task.ts";

/** How far some tasks are. */
export interface TaskCounts {
  ended: number;
  total: number;
}

/** Counts for all who say how far tasks are, so that notices and lists agree. */
export const countTasks = (tasks: readonly Pick<Task, "status">[]): TaskCounts => ({
  ended: tasks.filter(hasEnded).length,
  total: tasks.length,
});

/** How many are not over. */
export const running = ({ ended, total }: TaskCounts): number => total - ended;
