import type { HostError } from "../machines/task-events.ts";
import type { TaskError } from "../task.ts";
import type { HostMessage } from "./host.ts";

/** What was seen of a session, and what is asked of it. */
export interface Sighting {
  busy: boolean;
  /** The newest messages, oldest first. */
  messages: HostMessage[];
  /** The run's prompt. */
  messageID: string;
  /** The newest error that the host told of this run. */
  hostError: HostError | undefined;
}

/** How a run stands. Times are epoch milliseconds. */
export type Standing =
  | { is: "busy" }
  | { is: "answered"; completedAt: number; result: string }
  | { is: "failed"; completedAt: number | undefined; error: TaskError }
  | { is: "aborted"; completedAt: number | undefined }
  | { is: "unanswered" };

const ABORTED = "MessageAbortedError";

/** The model goes on after these. */
const UNFINISHED = new Set(["tool-calls", "unknown"]);

/** True when the message answers the prompt or a newer one: ids ascend. */
const isAnswerTo = (message: HostMessage, messageID: string): boolean =>
  message.role === "assistant" && message.promptID !== undefined && message.promptID >= messageID;

const broughtDown = (error: HostError, completedAt: number | undefined): Standing =>
  error.name === ABORTED
    ? { is: "aborted", completedAt }
    : { is: "failed", completedAt, error: { ...error, kind: "provider" } };

/**
 * How a run stands. "Idle" alone says nothing: a run is over when nobody works on the session and its newest message is
 * an assistant's that finished and is newer than the prompt.
 */
export const settle = ({ busy, messages, messageID, hostError }: Sighting): Standing => {
  if (busy) return { is: "busy" };
  const newest = messages.at(-1);
  if (newest && isAnswerTo(newest, messageID) && !newest.isSummary && newest.completedAt !== undefined) {
    const { completedAt } = newest;
    if (newest.error) return broughtDown(newest.error, completedAt);
    // An abort during the host's own retries leaves neither an error nor a reason.
    if (newest.finish === undefined) return { is: "aborted", completedAt };
    if (!UNFINISHED.has(newest.finish)) {
      const answers = messages.filter((message) => isAnswerTo(message, messageID) && !message.isSummary);
      const result = answers.findLast(({ text }) => text !== "")?.text ?? "";
      return { is: "answered", completedAt, result };
    }
  }
  return hostError ? broughtDown(hostError, undefined) : { is: "unanswered" };
};
