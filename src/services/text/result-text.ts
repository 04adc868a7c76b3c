import type { Incompleteness } from "../../receipt.ts";
import type { RunAnswer } from "../../task.ts";
import { join, lines, type OwnText, own, quoteBlock, quoteLine } from "./own-text.ts";

const REASONS: Record<Incompleteness, OwnText> = {
  length: own`is cut: the model reached the limit of its output in the middle of the answer`,
  reasoning: own`is missing: the model's reasoning used up the limit of its output before it wrote an answer`,
  noStopReason: own`may be cut: the provider never said that the model had finished, and OpenCode asked it again until its turn was ended`,
  remark: own`may not answer the task: a person wrote to the agent while it worked, and its last message is to that person`,
};

const SHORT: Record<Incompleteness, OwnText> = {
  length: own`result is cut`,
  reasoning: own`result is missing`,
  noStopReason: own`result may be cut`,
  remark: own`result may answer a person instead of the task`,
};

/** Explains why a result is not known to be the whole answer, in words that follow "the result"; undefined where it is. */
export const whyIncomplete = ({ incomplete }: Pick<RunAnswer, "incomplete">): OwnText | undefined =>
  incomplete && REASONS[incomplete];

/** The same in the few words that fit into a list. */
export const incompleteInShort = ({ incomplete }: Pick<RunAnswer, "incomplete">): OwnText | undefined =>
  incomplete && SHORT[incomplete];

/** Characters of what was written before that stand within a sentence. */
const EARLIER_CHARS = 2_000;

/**
 * Describes in a sentence or two what a result lacks: the rest of it, or any text, with what the agent wrote before. Undefined where
 * it lacks nothing. For answers that have no other place for what was written before.
 */
export const whatResultLacks = ({ incomplete, earlierText }: Omit<RunAnswer, "result">): OwnText | undefined => {
  const why = whyIncomplete({ incomplete });
  const earlier =
    earlierText === undefined
      ? undefined
      : own`The agent's last message has no text. Before it, which is not its result, it wrote: ${quoteLine(earlierText, EARLIER_CHARS)}.`;
  return why || earlier ? join([why && own`The result ${why}.`, earlier], " ") : undefined;
};

/** Quotes a task's result as data: each line starts with our `> `, so that nothing in it can end the quotation. */
export const fenceResult = (text: string, taskId: string): OwnText =>
  lines(own`<task_result task_id=${quoteLine(taskId)}>`, quoteBlock(text), "</task_result>");

/** Characters of an error that are quoted: a provider's error can be a whole page. */
const ERROR_CHARS = 1_000;

/** Quotes an error as it was reported, on one line of at most `most` characters. */
export const quoteError = ({ name, message }: { name: string; message: string }, most = ERROR_CHARS): OwnText =>
  quoteLine(`${name}: ${message}`, most);

/** What stands in place of a result where the message that ended the run has no text. */
export const EARLIER_TEXT = "What the agent had written last before that, which is not its result";
