// Idleness and finish reasons prove little: some providers never say why they stopped, and OpenCode then asks them again for ever.
import { ABORTED, type MessageInfo } from "../../machines/host-events.ts";
import type { HostError } from "../../machines/task/events.ts";
import type { Incompleteness } from "../../receipt.ts";
import { besideText, CONTENT_FILTER_ERROR, type ModelRef, type RunAnswer, type TaskError } from "../../task.ts";
import type { HostMessage } from "../host/host.ts";
import { isOwnMessageID } from "../platform/ids.ts";
import { neverEnded } from "../text/limit-text.ts";

/** What was read of an idle session, and the run whose outcome is wanted. */
export interface RunObservation {
  /** The newest messages, oldest first. */
  messages: HostMessage[];
  /** The message id of the run's prompt. */
  messageID: string;
  /** When the host stored the prompt, epoch milliseconds. While that is unknown, only an answer to that very prompt counts. */
  storedAt: number | undefined;
  /** The ids of messages from before the clock was set back: they are older than all others, whatever their times say. */
  earlier: ReadonlySet<string>;
  /** The newest instruction that followed the prompt, and when the host stored it: the answer must have taken it in, too. */
  instruction?: { messageID: string; storedAt: number | undefined } | undefined;
  /** Until when failures and aborts are those of an earlier attempt, epoch milliseconds. They do not count. */
  earlierUntil?: number | undefined;
  /** The first error that the host reported of this run. */
  hostError: HostError | undefined;
}

/**
 * The outcome of an idle session's run, as far as its messages show one. Times are epoch milliseconds.
 * - `answered`: `isPromptKnown` is false where it is not known who wrote what the answer is to: that may be a person.
 * - `failed`: `model` is that of the message that failed, where that is known; `said` what the agent wrote last, where the
 *   answer itself is what failed.
 * - `faulted`: a fault that may pass interrupted the run.
 * - `unseen`: it is answered, but its model has not seen the newest instruction.
 */
export type RunOutcome =
  | ({ is: "answered"; completedAt: number; isPromptKnown: boolean } & RunAnswer)
  | { is: "failed"; completedAt: number | undefined; error: TaskError; model?: ModelRef | undefined; said?: string }
  | { is: "faulted"; completedAt: number | undefined; error: TaskError; lastStepAt?: number | undefined }
  | { is: "aborted"; completedAt: number | undefined; lastStepAt?: number | undefined }
  | { is: "unseen"; lastStepAt?: number | undefined }
  | { is: "unanswered"; lastStepAt?: number | undefined };

/** How many messages are read at first: a run's end and its text are nearly always in the newest one. */
export const NEWEST_MESSAGES = 4;

/**
 * How many messages are read when the newest ones hold no text, no answer or no finished step: an agent that takes more
 * steps than this without a word counts as silent.
 */
export const ALL_MESSAGES = 200;

/** When the host stored a message, epoch milliseconds, if it is among those that were read. */
export const storedAtOf = (messageID: string, messages: readonly MessageInfo[]): number | undefined =>
  messages.find(({ id }) => id === messageID)?.createdAt;

/** Reasons after which the host asks the model again. Anything else ends its turn, unless it called a tool. */
const UNFINISHED_REASONS: readonly (string | undefined)[] = [undefined, "tool-calls", "unknown"];

/** Why a model stopped whose answer the provider's content filter ended. */
const CONTENT_FILTER = "content-filter";

/**
 * After how many steps in a row without a tool call a run is ended. The first ones may have been a slip of the provider; the
 * host would ask its model again for ever.
 */
export const STEPS_WITHOUT_END = 3;

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

/**
 * True when the message answers the prompt, or a later one and began when the prompt was stored, so that it takes both in. What
 * was there before the clock was set back answers nothing of now.
 */
export const isAnswer = (
  { id, promptID, isSummary, createdAt }: MessageInfo,
  {
    messageID,
    storedAt,
    earlier,
    messages,
  }: Pick<RunObservation, "messageID" | "storedAt" | "earlier"> & { messages: MessageInfo[] },
): boolean =>
  !isSummary &&
  promptID !== undefined &&
  (promptID === messageID ||
    (storedAt !== undefined &&
      createdAt >= storedAt &&
      !earlier.has(id) &&
      isNewerPrompt(promptID, { messageID, storedAt, messages })));

/**
 * Returns the newest of these instructions with which a model was asked in one of the messages; undefined where none was. Those
 * before it were in the same conversation.
 * @param instructionIDs in the order in which they were stored
 */
export const newestTakenIn = (
  instructionIDs: readonly string[],
  messages: MessageInfo[],
  earlier: ReadonlySet<string>,
): string | undefined =>
  instructionIDs.findLast((messageID) => {
    const storedAt = storedAtOf(messageID, messages);
    return messages.some((message) => isAnswer(message, { messageID, storedAt, earlier, messages }));
  });

/** True for a message that somebody stopped. An abort during the host's own retries leaves neither an error nor a finish reason. */
export const isAborted = (message: MessageInfo): message is MessageInfo & { completedAt: number } =>
  message.completedAt !== undefined && (message.error ? message.error.name === ABORTED : message.finish === undefined);

/** What a step of a model has come to. */
type Step = Pick<HostMessage, "completedAt" | "finish" | "error" | "tools">;

const hasCompleted = ({ completedAt, finish, error }: Step): boolean =>
  completedAt !== undefined && finish !== undefined && error === undefined;

/** True for a step that ended the turn. */
const isFinal = (step: Step): boolean =>
  hasCompleted(step) && !UNFINISHED_REASONS.includes(step.finish) && step.tools !== "called";

/** True for a step after which the host asks the model again: the turn goes on. */
export const asksAgain = (step: Step): boolean => hasCompleted(step) && !isFinal(step);

/** True for a step after which the host asks the model again, though it called no tool. */
export const isWithoutEnd = (step: Step): boolean =>
  hasCompleted(step) && UNFINISHED_REASONS.includes(step.finish) && step.tools === undefined;

/** True for a step after which a turn ends, or is to be ended where the next ones are the same. */
export const isWithoutCall = (step: Step): boolean => isFinal(step) || isWithoutEnd(step);

/** The newest steps in a row that answer the same message and are so. What was cut off after them does not count. */
const newestSteps = (answers: HostMessage[], areSo: (step: Step) => boolean): HostMessage[] => {
  const newest = answers.findLastIndex(hasCompleted);
  const beforeThem = answers.findLastIndex(
    (step, index) => index <= newest && !(areSo(step) && step.promptID === answers[newest]?.promptID),
  );
  return answers.slice(beforeThem + 1, newest + 1);
};

/** What the agent wrote last. */
const lastText = (answers: HostMessage[]): string | undefined => answers.findLast(({ text }) => text !== "")?.text;

/** True for a prompt that this plugin sent: that of the run, an instruction, or a notice. */
const isOurs = (promptID: string | undefined, { messageID, instruction }: RunObservation): boolean =>
  promptID !== undefined && (promptID === messageID || promptID === instruction?.messageID || isOwnMessageID(promptID));

/** True for an answer to what a person wrote: neither this plugin did, nor the host, whose own messages have no such text. */
const isToPerson = ({ promptID }: HostMessage, observation: RunObservation): boolean =>
  !isOurs(promptID, observation) && observation.messages.some(({ id, text }) => id === promptID && text !== "");

const takesIn = (message: HostMessage, { instruction, messages, earlier }: RunObservation): boolean =>
  instruction === undefined || isAnswer(message, { ...instruction, messages, earlier });

/**
 * Returns the message that decides what the run came to: the newest one. But where a person spoke to the agent after it had
 * finished its answer to us, that answer.
 */
const decisiveAnswer = (answers: HostMessage[], observation: RunObservation): HostMessage | undefined => {
  const toUs = answers.findLast((message) => !isToPerson(message, observation));
  return toUs && isFinal(toUs) && takesIn(toUs, observation) ? toUs : answers.at(-1);
};

/** Only a model that says that it stopped by itself has said all of its answer, and only an answer to us is one to the task. */
const incompletenessOf = (message: HostMessage, observation: RunObservation): Incompleteness | undefined => {
  const { finish, text, reasons } = message;
  if (finish === "stop") return isToPerson(message, observation) ? "remark" : undefined;
  if (finish !== "length") return "noStopReason";
  return text === "" && reasons ? "reasoning" : "length";
};

/** Returns the outcome of a run that was answered. */
const answered = (
  { completedAt = 0, promptID }: HostMessage,
  answer: RunAnswer,
  observation: RunObservation,
): RunOutcome => ({
  is: "answered",
  completedAt,
  result: answer.result,
  ...besideText(answer),
  isPromptKnown: isOurs(promptID, observation) || observation.messages.some(({ id }) => id === promptID),
});

/** Returns the outcome of endless steps: all that they said, each text once, or a loop where they said nothing. */
const endedWithoutReason = (steps: HostMessage[], answers: HostMessage[], observation: RunObservation): RunOutcome => {
  const texts = steps.map(({ text }) => text).filter((text, index, all) => text !== "" && all.indexOf(text) === index);
  const newest = steps.at(-1);
  if (newest && texts.length > 0) {
    return answered(newest, { result: texts.join("\n\n"), incomplete: "noStopReason" }, observation);
  }
  const said = lastText(answers);
  const error = neverEnded(steps.length);
  return { is: "failed", completedAt: newest?.completedAt, error, ...(said === undefined ? {} : { said }) };
};

const failed = (error: HostError, message: HostMessage | undefined, answers: HostMessage[]): RunOutcome => {
  const { name, message: reason, fault, refusal } = error;
  const completedAt = message?.completedAt;
  if (name === ABORTED) return { is: "aborted", completedAt };
  if (fault) {
    return {
      is: "faulted",
      completedAt,
      error: { name, message: reason, kind: fault === "host" ? "host" : "provider" },
    };
  }
  if (message?.finish === CONTENT_FILTER) {
    const said = lastText(answers);
    const filtered = { name: CONTENT_FILTER_ERROR, message: reason, kind: "provider" } as const;
    return { is: "failed", completedAt, error: filtered, ...(said === undefined ? {} : { said }) };
  }
  return {
    is: "failed",
    completedAt,
    error: { name, message: reason, kind: "provider", ...(refusal ? { refusal } : {}) },
    ...(message?.model ? { model: message.model } : {}),
  };
};

/** The error of an answer that the content filter ended, where the host reports none. */
const FILTERED: HostError = {
  name: CONTENT_FILTER_ERROR,
  message: "The response was blocked by the provider's content filter",
};

/**
 * Determines the outcome of a run from the messages of its idle session. Idleness alone proves nothing: a run is over when
 * the newest assistant message answers its prompt and the newest instruction after it, and has finished. (A user message
 * after it may be a note that starts no turn.)
 */
export const determineRunOutcome = (read: RunObservation): RunOutcome => {
  const observation = { ...read, messages: inOrder(read) };
  const outcome = outcomeOf(observation);
  if (outcome.is === "answered" || outcome.is === "failed") return outcome;
  return { ...outcome, lastStepAt: lastStepAt(observation) };
};

/** The host sorts by time: where its clock was set back, what it had stored before that comes after what is new. */
const inOrder = ({ messages, earlier }: RunObservation): HostMessage[] =>
  messages.toSorted((one, other) => Number(earlier.has(other.id)) - Number(earlier.has(one.id)));

/** When the newest finished step of the run ended, epoch milliseconds; the model may have been interrupted after it. */
const lastStepAt = (observation: RunObservation): number | undefined =>
  observation.messages.findLast(
    (message) => isAnswer(message, observation) && message.finish !== undefined && message.error === undefined,
  )?.completedAt;

const outcomeOf = (observation: RunObservation): RunOutcome => {
  const { messages, hostError, earlierUntil = Number.NEGATIVE_INFINITY } = observation;
  const newest = messages.findLast(({ role, isSummary }) => role === "assistant" && !isSummary);
  const answers =
    newest && isAnswer(newest, observation) ? messages.filter((message) => isAnswer(message, observation)) : [];
  const ends = newestSteps(answers, isFinal);
  const end = ends.at(-1);
  if (end && ends.length >= STEPS_WITHOUT_END && takesIn(end, observation)) {
    return answered(end, { result: end.text, incomplete: incompletenessOf(end, observation) }, observation);
  }
  const endless = newestSteps(answers, isWithoutEnd);
  const lastOfThem = endless.at(-1);
  if (lastOfThem && endless.length >= STEPS_WITHOUT_END) {
    return takesIn(lastOfThem, observation) ? endedWithoutReason(endless, answers, observation) : { is: "unseen" };
  }
  const message = decisiveAnswer(answers, observation);
  if (message?.completedAt !== undefined) {
    const isEarlier = message.completedAt <= earlierUntil;
    const error = message.error ?? (message.finish === CONTENT_FILTER ? FILTERED : undefined);
    if (error && !isEarlier) return failed(error, message, answers);
    // An abort during the host's own retries leaves neither an error nor a finish reason, nor may a fault of the host.
    if (message.finish === undefined && !isEarlier) {
      return hostError?.fault
        ? failed(hostError, message, answers)
        : { is: "aborted", completedAt: message.completedAt };
    }
    if (isFinal(message) && !error) {
      if (!takesIn(message, observation)) return { is: "unseen" };
      const { text: result } = message;
      const incomplete = incompletenessOf(message, observation);
      const earlierText = result === "" ? lastText(answers.slice(0, answers.indexOf(message))) : undefined;
      return answered(message, { result, incomplete, earlierText }, observation);
    }
  }
  return hostError ? failed(hostError, undefined, answers) : { is: "unanswered" };
};

/**
 * Creates a memory of the messages that are older than a clock that was set back: when they were read, their times were in the
 * future (docs/decisions/278-other-machines-clocks-say-nothing.md). They stay older than all later messages, also once the
 * clock has caught up.
 * @returns a function that takes messages, and when they were read (epoch milliseconds), and returns the ids of all older ones
 */
export const createEarlierMessages = () => {
  const known = new Set<string>();
  return (messages: readonly Pick<MessageInfo, "id" | "createdAt">[], readAt: number): ReadonlySet<string> => {
    for (const { id, createdAt } of messages) if (createdAt > readAt) known.add(id);
    return known;
  };
};
