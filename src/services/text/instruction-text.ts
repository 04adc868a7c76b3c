import { retryObstacle } from "../../machines/task/retry-obstacle.ts";
import { type GivenInstruction, type MissedInstruction, missedIn, type Task, type TaskError } from "../../task.ts";
import { join, type OwnText, own, quoteLine } from "./own-text.ts";

/** Characters of an instruction that are quoted: enough to recognize it by. */
const QUOTED_CHARS = 80;

/** Instructions that are named, the newest ones; the others are counted. */
const MOST = 5;

const FATES = {
  waiting: "not seen yet",
  seen: "seen",
  missed: "missed",
} as const satisfies Record<GivenInstruction["fate"], string>;

const quoted = ({ text, from }: MissedInstruction): OwnText => own`${quoteLine(text, QUOTED_CHARS)} (${from})`;

/** Says who gave an instruction, and what became of it, in a few words. */
export const instructionFate = ({ from, fate }: Pick<GivenInstruction, "from" | "fate">): OwnText =>
  own`${from === "agent" ? "from the agent" : "from the user"}, ${FATES[fate]}`;

/** Joins the newest entries, and says how many older ones there are. */
const newest = (entries: readonly OwnText[]): OwnText => {
  const older = entries.length - MOST;
  return join([older > 0 ? own`${older} older ones` : undefined, ...entries.slice(-MOST)], ", ");
};

/** Writes which further instructions a run was given, who gave them, and what became of each; undefined where it was given none. */
export const instructionsSummary = ({ instructions = [] }: Pick<Task, "instructions">): OwnText | undefined =>
  instructions.length === 0
    ? undefined
    : newest(instructions.map((given) => own`${quoted(given)}: ${FATES[given.fate]}`));

/** Names the instructions that a run ended without its agent having seen; undefined where there are none. */
export const missedSummary = (missed: readonly MissedInstruction[]): OwnText | undefined => {
  if (missed.length === 0) return undefined;
  const what = missed.length === 1 ? own`the instruction` : own`${missed.length} instructions:`;
  return own`Its agent never saw ${what} ${newest(missed.map(quoted))}: the run ended first.`;
};

/** Says what helps where instructions were missed. */
const whatHelps = (count: number, error: TaskError | undefined): OwnText => {
  const way = retryObstacle(error) === undefined ? own`retry the task` : own`launch a new task`;
  return count === 1
    ? own`If it still matters, ${way} with it in the prompt.`
    : own`If they still matter, ${way} with them in the prompt.`;
};

/** The same with what helps, for the one who can do it. */
export const missedSentences = (
  missed: readonly MissedInstruction[],
  error: TaskError | undefined,
): OwnText | undefined => {
  const summary = missedSummary(missed);
  return summary && own`${summary} ${whatHelps(missed.length, error)}`;
};

/** Writes what became of the instructions that the newest run was given, and what helps where its agent never saw one. */
export const instructionsReport = (task: Pick<Task, "instructions" | "error">): OwnText | undefined => {
  const summary = instructionsSummary(task);
  return summary && join([own`Instructions: ${summary}.`, missedSentences(missedIn(task), task.error)], " ");
};

/** Counts the instructions that were missed, in the few words that fit into a list; undefined where none was. */
export const missedInShort = (count: number | undefined): OwnText | undefined =>
  count ? own`${count} ${count === 1 ? "instruction" : "instructions"} missed` : undefined;

/** Writes the toast for the person whose instructions a run has missed; undefined where it has missed none of theirs. */
export const missedToast = (task: Pick<Task, "description" | "instructions" | "error">): OwnText | undefined => {
  const missed = missedIn(task).filter(({ from }) => from === "user");
  if (missed.length === 0) return undefined;
  const what = missed.length === 1 ? own`your instruction` : own`${missed.length} of your instructions:`;
  const which = newest(missed.map(({ text }) => quoteLine(text, QUOTED_CHARS)));
  const helps = whatHelps(missed.length, task.error);
  return own`The agent of ${quoteLine(task.description, QUOTED_CHARS)} never saw ${what} ${which}: its run ended first. ${helps}`;
};
