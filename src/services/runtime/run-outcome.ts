import type { MessageInfo } from "../../machines/supervisor/events.ts";
import type { HostError } from "../../machines/task/events.ts";
import type { TaskError } from "../../task.ts";
import type { HostMessage } from "../host/messages.ts";

/** What was seen of an idle session, and what is asked of it. */
export interface RunObservation {
  /** The newest messages, oldest first. */
  messages: HostMessage[];
  /** The run's prompt. */
  messageID: string;
  /** When the host stored the prompt, epoch milliseconds. Before that, only an answer to that very prompt counts. */
  storedAt: number | undefined;
  /** The first error that the host told of this run. */
  hostError: HostError | undefined;
}

/** How an idle session's run stands. Times are epoch milliseconds. */
export type RunOutcome =
  | { is: "answered"; completedAt: number; result: string }
  | { is: "failed"; completedAt: number | undefined; error: TaskError }
  | { is: "aborted"; completedAt: number | undefined; lastStepAt?: number | undefined }
  | { is: "unanswered"; lastStepAt?: number | undefined };

/** How many messages are read at first: a run's end and its text are nearly always in the newest one. */
export const NEWEST_MESSAGES = 4;

/** When the host stored a message, epoch milliseconds, if it is among those that were read. */
export const storedAtOf = (messageID: string, messages: HostMessage[]): number | undefined =>
  messages.find(({ id }) => id === messageID)?.createdAt;

const ABORTED = "MessageAbortedError";

/** The model goes on after these. */
const UNFINISHED = new Set(["tool-calls", "unknown"]);

/** Which prompt a message may answer, and the messages that it was found among. */
type Asked = Pick<RunObservation, "messageID"> & { storedAt: number; messages: MessageInfo[] };

/**
 * True when the host has another prompt behind ours. It orders messages by the time at which it stored them, then by id;
 * of one that is not among the messages, only the id is known. An older id may be stored later: its sending failed.
 */
const isNewerPrompt = (promptID: string, { messageID, storedAt, messages }: Asked): boolean => {
  const prompt = messages.find(({ id }) => id === promptID);
  return prompt && prompt.createdAt !== storedAt ? prompt.createdAt > storedAt : promptID > messageID;
};

/** True when the message answers the prompt, or one behind it and began when the prompt was there: it had it in sight. */
export const isAnswer = (
  { role, promptID, isSummary, createdAt }: MessageInfo,
  { messageID, storedAt, messages }: Pick<RunObservation, "messageID" | "storedAt"> & { messages: MessageInfo[] },
): boolean =>
  role === "assistant" &&
  !isSummary &&
  promptID !== undefined &&
  (promptID === messageID ||
    (storedAt !== undefined && createdAt >= storedAt && isNewerPrompt(promptID, { messageID, storedAt, messages })));

const failedOrAborted = (error: HostError, completedAt: number | undefined): RunOutcome =>
  error.name === ABORTED
    ? { is: "aborted", completedAt }
    : { is: "failed", completedAt, error: { ...error, kind: "provider" } };

/**
 * How the run of a session stands that nobody works on. That alone says nothing: a run is over when the newest message of
 * an assistant answers its prompt, and has finished. (A user message behind it may be an aside that wants no answer.)
 */
export const determineRunOutcome = (sighting: RunObservation): RunOutcome => {
  const standing = outcomeOf(sighting);
  if (standing.is !== "aborted" && standing.is !== "unanswered") return standing;
  return { ...standing, lastStepAt: lastStepAt(sighting) };
};

/** When the newest step was done that the run has finished; its model may have been cut off after that. */
const lastStepAt = (sighting: RunObservation): number | undefined =>
  sighting.messages.findLast(
    (message) => isAnswer(message, sighting) && message.finish !== undefined && message.error === undefined,
  )?.completedAt;

const outcomeOf = (sighting: RunObservation): RunOutcome => {
  const { messages, hostError } = sighting;
  const newest = messages.findLast(({ role, isSummary }) => role === "assistant" && !isSummary);
  if (newest && isAnswer(newest, sighting) && newest.completedAt !== undefined) {
    const { completedAt } = newest;
    if (newest.error) return failedOrAborted(newest.error, completedAt);
    // An abort during the host's own retries leaves neither an error nor a reason.
    if (newest.finish === undefined) return { is: "aborted", completedAt };
    if (!UNFINISHED.has(newest.finish)) {
      const answers = messages.filter((message) => isAnswer(message, sighting));
      const result = answers.findLast(({ text }) => text !== "")?.text ?? "";
      return { is: "answered", completedAt, result };
    }
  }
  return hostError ? failedOrAborted(hostError, undefined) : { is: "unanswered" };
};
