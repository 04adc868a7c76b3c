import type { Task } from "../../../task.ts";

/** The waiter of a task that is being cleared, in place of a tool call's id. */
export const CLEAR_WAITER = "clearing";

/** The waiter of a task that runs for another server, in place of a tool call's id: that server is given the result. */
export const FLEET_WAITER = "fleet";

/**
 * The waiter of a task whose caller's turn was aborted, in place of a tool call's id. The caller's session knows that the
 * task ends, even if this process exits before that.
 */
export const ABORT_WAITER = "aborted";

/** True for an ended task that is no news to a session whose turn was aborted: it was cancelled, and nothing else happened. */
export const isKnownAfterAbort = ({ status, error }: Task): boolean => status === "cancelled" && !error;
