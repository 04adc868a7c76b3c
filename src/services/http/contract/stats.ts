import { hasEnded } from "../../../task.ts";
import type { TaskStats } from "../../store/task-history.ts";
import type { Group, Stats } from "./schemas.ts";
import type { ShownTask } from "./status-source.ts";

/** The counts of all tasks, as the API shows them. */
export const statsOf = ({ total, byStatus, byAgent, duration }: TaskStats): Stats => ({
  byStatus,
  byAgent,
  duration,
  totalTasks: total,
  activeTasks: byStatus.running + byStatus.resumed,
});

/** What the tasks of a batch come to. `now` is epoch milliseconds. */
export const groupOf = (batchId: string, tasks: ShownTask[], now: number): Group => {
  const having = (status: ShownTask["status"]) => tasks.filter((task) => task.status === status).length;
  const starts = tasks.map(({ startedAt }) => Date.parse(startedAt));
  const ends = tasks.map((task) => (hasEnded(task) && task.completedAt ? Date.parse(task.completedAt) : now));
  return {
    batchId,
    tasks,
    completed: having("completed"),
    running: having("running") + having("resumed"),
    error: having("error"),
    cancelled: having("cancelled"),
    total: tasks.length,
    completionRate: tasks.length === 0 ? 0 : having("completed") / tasks.length,
    totalToolCalls: tasks.reduce((sum, { progress }) => sum + progress.toolCalls, 0),
    duration: tasks.length === 0 ? 0 : Math.max(0, Math.max(...ends) - Math.min(...starts)),
  };
};
