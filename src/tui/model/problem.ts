import type { FollowedTasks } from "../../client/follow-tasks.ts";

/** What the interface knows of the server that it hears of tasks from. */
export interface Connection extends Pick<FollowedTasks, "lost" | "server"> {
  /** It has heard of the tasks at least once. */
  hasHeard: boolean;
  /** The environment says that there is no server. */
  isOff: boolean;
}

/**
 * Says why what is known may be out of date or incomplete; undefined where it is neither. OpenCode starts the plugin when it
 * is needed, so a new interface finds no server before its first message.
 */
export const problemOf = ({ lost, server, hasHeard, isOff }: Connection): string | undefined => {
  if (lost === undefined) return server?.versionDifference;
  if (hasHeard || lost.kind !== "notRunning") return `Out of date. ${lost.reason}`;
  return isOff
    ? "Tasks are not shown: ASYNCAGENTS_API_ENABLED=false switches off what the panel reads."
    : "Tasks show here from your first message on.";
};
