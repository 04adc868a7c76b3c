import type { ListedTask } from "./listed-task.ts";

/** How a task is marked: by its status, or by what holds it up. */
export type Mark = "queued" | "running" | "waiting" | "stale" | "completed" | "error" | "cancelled";

/** What a mark is made from. */
export type Marked = Pick<ListedTask, "status" | "state" | "attention">;

/** States in which nobody works on a run: it waits for a slot, or for a server of the fleet. */
const QUEUED = /\.(queued|fleet\.unclaimed\.\w+)$/;

export const markOf = ({ status, state, attention }: Marked): Mark => {
  if (status === "completed" || status === "error" || status === "cancelled") return status;
  if (attention) return attention.kind === "stale" ? "stale" : "waiting";
  return QUEUED.test(state) ? "queued" : "running";
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
