import { isQueued } from "../src/services/text/task-state.ts";
import type { ListedTask } from "./listed-task.ts";

/** How a task is marked: by its status, or by what holds it up. */
export type Mark = "queued" | "running" | "waiting" | "stale" | "completed" | "error" | "cancelled";

/** What a mark is made from. */
export type Marked = Pick<ListedTask, "status" | "attention" | "waiting">;

export const markOf = (task: Marked): Mark => {
  const { status, attention } = task;
  if (status === "completed" || status === "error" || status === "cancelled") return status;
  if (attention) return attention.kind === "stale" ? "stale" : "waiting";
  return isQueued(task) ? "queued" : "running";
};

/** Returns the status in a word or two, as the list says it. */
export const statusText = (task: Marked): string => {
  switch (markOf(task)) {
    case "waiting":
      return "Waits for you";
    case "stale":
      return "Silent";
    case "queued":
      return "Queued";
    case "error":
      return "Failed";
    case "completed":
      return "Completed";
    case "cancelled":
      return "Cancelled";
    case "running":
      return task.status === "resumed" ? "Running again" : "Running";
  }
};
