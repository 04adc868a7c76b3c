import type { FleetServer, Task } from "../../task.ts";
import { nameOf, type OwnText, own, vouchFor } from "./own-text.ts";

/**
 * Names the other server of the fleet that works on a task, or that ended it; undefined where that is this server, and while
 * the task waits for one. The one before may be gone then.
 */
export const otherServer = ({ server, waiting }: Pick<Task, "server" | "waiting">): OwnText | undefined =>
  server === undefined || waiting?.for === "fleet" || waiting?.for === "server" ? undefined : nameOf(server.label);

/** Says where a task runs, or ran, in words that follow what it is, such as "on desk"; undefined where that is here. */
export const onServer = (task: Pick<Task, "server" | "waiting">): OwnText | undefined => {
  const name = otherServer(task);
  return name === undefined ? undefined : own`on ${name}`;
};

/** Says why a task runs here though its agent is for other servers. `reason` is one of ours, which may quote others. */
export const runsHere = (reason: string): OwnText => own`It runs here, not on another server: ${vouchFor(reason)}.`;

/** Says that another server has a conversation, and this OpenCode is in no fleet any more. */
export const outOfFleet = ({ label }: FleetServer, taskId: string): OwnText =>
  own`The conversation of task ${nameOf(taskId)} is on server ${nameOf(label)}, and this OpenCode is in no fleet now: the option fleet names one.`;
