// ADR-026 in docs/decisions.md
import { ABORTED, type MessageInfo } from "../../machines/host-events.ts";
import type { HostError } from "../../machines/task/events.ts";
import type { ModelRef, TaskError } from "../../task.ts";
import type { HostMessage } from "../host/messages.ts";

/** What was read of an idle session, and the run whose outcome is wanted. */
export interface RunObservation {
  /** The newest messages, oldest first. */
  messages: HostMessage[];
  /** The message id of the run's prompt. */
  messageID: string;
  /** When the host stored the prompt, epoch milliseconds. While that is unknown, only an answer to that very prompt counts. */
  storedAt: number | undefined;
  /** The newest instruction that followed the prompt, and when the host stored it: the answer must have taken it in, too. */
  instruction?: { messageID: string; storedAt: number | undefined } | undefined;
  /** Until when failures and aborts are those of a model that the run has left, epoch milliseconds. They do not count. */
  modelLeftAt?: number | undefined;
  /** The first error that the host reported of this run. */
  hostError: HostError | undefined;
}

/**
 * The outcome of an idle session's run, as far as its messages show one. Times are epoch milliseconds. `model`: that of the
 * message that failed, where that is known. `unseen`: it is answered, but its model has not seen the newest instruction.
 */
export type RunOutcome =
  | { is: "answered"; completedAt: number; result: string }
  | { is: "failed"; completedAt: number | undefined; error: TaskError; model?: ModelRef | undefined }
  | { is: "aborted"; completedAt: number | undefined; lastStepAt?: number | undefined }
  | { is: "unseen"; lastStepAt?: number | undefined }
  | { is: "unanswered"; lastStepAt?: number | undefined };

/** How many messages are read at first: a run's end and its text are nearly always in the newest one. */
export const NEWEST_MESSAGES = 4;

/** When the host stored a message, epoch milliseconds, if it is among those that were read. */
export const storedAtOf = (messageID: string, messages: HostMessage[]): number | undefined =>
  messages.find(({ id }) => id === messageID)?.createdAt;

/** Reasons for which a model stops, but continues after a tool call. */
const UNFINISHED_REASONS = new Set(["tool-calls", "unknown"]);

/** A prompt that a message may answer, and the messages among which that message was found. */
type AnsweredPrompt = Pick<RunObservation, "messageID"> & { storedAt: number; messages: MessageInfo[] };

/**
 * True when the host has that prompt after ours. It orders messages by the time at which it stored them, then by id. Of a
 * prompt that is not among the messages only the id is known. A prompt whose sending failed at first may be stored late,
 * with an old id.
 */
const isNewerPrompt = (promptID: string, { messageID, storedAt, messages }: AnsweredPrompt): boolean => {
  const prompt = messages.find(({ id }) => id === promptID);
  return prompt && prompt.createdAt !== storedAt ? prompt.createdAt > storedAt : promptID > messageID;
};

/** True when the message answers the prompt, or a later one and began when the prompt was stored, so that it takes both in. */
export const isAnswer = (
  { role, promptID, isSummary, createdAt }: MessageInfo,
  { messageID, storedAt, messages }: Pick<RunObservation, "messageID" | "storedAt"> & { messages: MessageInfo[] },
): boolean =>
  role === "assistant" &&
  !isSummary &&
  promptID !== undefined &&
  (promptID === messageID ||
    (storedAt !== undefined && createdAt >= storedAt && isNewerPrompt(promptID, { messageID, storedAt, messages })));

const failedOrAborted = (error: HostError, completedAt: number | undefined, model?: ModelRef): RunOutcome =>
  error.name === ABORTED
    ? { is: "aborted", completedAt }
    : { is: "failed", completedAt, error: { ...error, kind: "provider" }, ...(model ? { model } : {}) };

/**
 * Determines the outcome of a run from the messages of its idle session. Idleness alone proves nothing: a run is over when
 * the newest assistant message answers its prompt and the newest instruction after it, and has finished. (A user message
 * after it may be a note that starts no turn.)
 */
export const determineRunOutcome = (observation: RunObservation): RunOutcome => {
  const outcome = outcomeOf(observation);
  if (outcome.is === "answered" || outcome.is === "failed") return outcome;
  return { ...outcome, lastStepAt: lastStepAt(observation) };
};

/** When the newest finished step of the run ended, epoch milliseconds; the model may have been interrupted after it. */
const lastStepAt = (observation: RunObservation): number | undefined =>
  observation.messages.findLast(
    (message) => isAnswer(message, observation) && message.finish !== undefined && message.error === undefined,
  )?.completedAt;

const outcomeOf = (observation: RunObservation): RunOutcome => {
  const { messages, hostError, instruction, modelLeftAt = Number.NEGATIVE_INFINITY } = observation;
  const newest = messages.findLast(({ role, isSummary }) => role === "assistant" && !isSummary);
  if (newest && isAnswer(newest, observation) && newest.completedAt !== undefined) {
    const { completedAt } = newest;
    const isOfLeftModel = completedAt <= modelLeftAt;
    if (newest.error && !isOfLeftModel) return failedOrAborted(newest.error, completedAt, newest.model);
    // An abort during the host's own retries leaves neither an error nor a finish reason.
    if (newest.finish === undefined && !isOfLeftModel) return { is: "aborted", completedAt };
    if (newest.finish !== undefined && !newest.error && !UNFINISHED_REASONS.has(newest.finish)) {
      if (instruction && !isAnswer(newest, { ...instruction, messages })) return { is: "unseen" };
      const answers = messages.filter((message) => isAnswer(message, observation));
      const result = answers.findLast(({ text }) => text !== "")?.text ?? "";
      return { is: "answered", completedAt, result };
    }
  }
  return hostError ? failedOrAborted(hostError, undefined) : { is: "unanswered" };
};
