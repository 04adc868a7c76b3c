import { onServer } from "../src/services/text/model-and-server.ts";
import { isActive } from "./filters.ts";
import { firstLine } from "./format.ts";
import type { ListedTask } from "./listed-task.ts";
import { markOf } from "./mark.ts";

/** Says which agent works on a task, and on which server where that is another one. */
export const whoWorks = (task: ListedTask): string => [task.agent, onServer(task)].filter(Boolean).join(" ");

/** Says what a task is at: what it waits for, its last tool, or how it ended. */
export const nowDoing = (task: ListedTask): string => {
  const mark = markOf(task);
  if (mark === "waiting") return task.attention?.what ?? "";
  if (mark === "stale") return "OpenCode has reported nothing of it for a while";
  if (!isActive(task)) return firstLine(task.outcome ?? "");
  // On another server, what waits there is not known here.
  const isAtWork =
    task.state.endsWith(".busy") || (task.state.endsWith(".fleet.claimed") && task.lastTool !== undefined);
  if (mark === "queued" || !isAtWork) return task.why === undefined ? "" : `Waits for ${task.why}`;
  return task.lastTool === undefined ? "Thinks" : `Last used ${task.lastTool}`;
};
