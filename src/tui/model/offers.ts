import { hasEnded } from "../../task.ts";
import type { AskedRequest } from "./open-requests.ts";
import { openRequests } from "./open-requests.ts";
import type { PanelTask } from "./panel-task.ts";

/** What a person can do with a task in the list. */
export type TaskAction = "open" | "stop" | "resume" | "steer" | "answer" | "apply" | "discard" | "why";

/** The keys of the list, in the order in which they are shown. */
export const ACTION_KEYS: readonly { key: string; shown: string; action: TaskAction }[] = [
  { key: "return", shown: "enter", action: "open" },
  { key: "x", shown: "x", action: "stop" },
  { key: "r", shown: "r", action: "resume" },
  { key: "s", shown: "s", action: "steer" },
  { key: "a", shown: "a", action: "answer" },
  { key: "p", shown: "p", action: "apply" },
  { key: "d", shown: "d", action: "discard" },
  { key: "w", shown: "w", action: "why" },
];

/** Returns the requests that hold a task up: its own, and those of tasks below it, each with the task that asks. */
export const requestsOf = (task: PanelTask, tasks: readonly PanelTask[]): AskedRequest[] => {
  const ids = new Set(task.attention?.requests?.map(({ id }) => id));
  return openRequests(tasks).filter(({ request }) => ids.has(request.id));
};

const quoted = ({ description }: PanelTask): string => `"${description}"`;

/** Returns why an action makes no sense for a task, in a sentence for the person; undefined if it does. */
export const refusalOf = (action: TaskAction, task: PanelTask): string | undefined => {
  const allows = (event: string) => task.allowed.includes(event);
  switch (action) {
    case "stop":
      return hasEnded(task) ? `${quoted(task)} has ended already.` : undefined;
    case "resume":
      if (allows("RESUME")) return undefined;
      return hasEnded(task)
        ? `${quoted(task)} cannot be resumed: only a completed task can, once its agent's parent knows the result.`
        : `${quoted(task)} runs: steer it with s, or wait until it has ended.`;
    case "steer":
      if (allows("STEER")) return undefined;
      return hasEnded(task)
        ? `${quoted(task)} has ended: resume it with r.`
        : `${quoted(task)} takes no instructions at the moment.`;
    case "answer":
      return task.attention?.requests?.length ? undefined : `${quoted(task)} asks nothing.`;
    case "apply":
    case "discard":
      if (!task.worktree) return `${quoted(task)} has no worktree: what it changes is in your files.`;
      if (task.worktree.isShared) return `${quoted(task)} works in the worktree of the task above it.`;
      return hasEnded(task) ? undefined : `${quoted(task)} runs: wait until it has ended.`;
    default:
      return undefined;
  }
};
