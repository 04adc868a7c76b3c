import type { GateBefore, GateResult, Incompleteness, RanCommand, Receipt, WrittenFile } from "../../receipt.ts";
import type { RunAnswer } from "../../task.ts";
import { duration } from "./amounts.ts";
import { join, lines, nameOf, type OwnText, own, quoteBlock, quoteLine } from "./own-text.ts";

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

/** Characters of a command where it stands beside others. */
const COMMAND_CHARS = 100;

/** Entries of a list that stand on one line. */
const MOST = 10;

const plural = (count: number, word: "tool call" | "file" | "command"): OwnText =>
  count === 1 ? own`1 ${word}` : own`${count} ${word}s`;

/** Joins the first entries, and says how many more there are. */
const listed = (entries: readonly OwnText[], omitted: number): OwnText => {
  const hidden = omitted + Math.max(0, entries.length - MOST);
  return join([...entries.slice(0, MOST), hidden > 0 ? own`${hidden} more` : undefined], ", ");
};

const callsIn = ({ tools }: Receipt): number => tools.reduce((sum, { calls }) => sum + calls, 0);

const toolsText = (receipt: Receipt): OwnText =>
  listed(
    receipt.tools.map(({ tool, calls, failed }) =>
      failed === 0 ? own`${nameOf(tool)} ${calls}` : own`${nameOf(tool)} ${calls} (${failed} failed)`,
    ),
    0,
  );

/** How many lines all of them gained and lost; nothing where that is not known of each. */
const lineCounts = (files: readonly WrittenFile[]): OwnText => {
  if (files.some(({ added, removed }) => added === undefined || removed === undefined)) return own``;
  const added = files.reduce((sum, file) => sum + (file.added ?? 0), 0);
  const removed = files.reduce((sum, file) => sum + (file.removed ?? 0), 0);
  return own` (+${added} −${removed} lines)`;
};

const filesText = ({ files, omitted }: Receipt): OwnText | undefined => {
  const count = files.length + omitted.files;
  if (count === 0) return undefined;
  return own`${plural(count, "file")} written${omitted.files > 0 ? own`` : lineCounts(files)}`;
};

const hasFailed = ({ exit, end }: RanCommand): boolean => exit !== 0 || end !== "exited";

const commandsText = ({ commands, omitted }: Receipt): OwnText | undefined => {
  const count = commands.length + omitted.commands;
  const failed = commands.filter(hasFailed).length;
  if (count === 0) return undefined;
  return failed === 0 ? plural(count, "command") : own`${plural(count, "command")} (${failed} failed)`;
};

/** What the newest run of tests shows: earlier ones may have been mended. */
const testsText = ({ commands }: Receipt): OwnText => {
  const newest = commands.findLast(({ tests }) => tests !== undefined);
  if (!newest?.tests) return own`no tests were seen to run`;
  const command = quoteLine(newest.command, COMMAND_CHARS);
  if (newest.tests === "unclear") return own`tests ran, with an outcome that is not clear: ${command}`;
  return own`tests ${newest.tests}: ${command}`;
};

/** How the gate ended, which the plugin ran itself. */
const gateText = ({ gate }: Receipt): OwnText | undefined => {
  if (!gate) return undefined;
  const times = gate.runs > 1 ? own` at run ${gate.runs}` : own``;
  const how = gate.end === "exited" ? own`with exit code ${gate.exit ?? 0}` : own`${GATE_ENDS[gate.end]}`;
  const command = own`${quoteLine(gate.command, COMMAND_CHARS)}${gateRemarks(gate)}`;
  return gate.exit === 0 ? own`gate passed${times}: ${command}` : own`gate failed${times}, ${how}: ${command}`;
};

/** Whether the same command showed the same before the agent had done anything. */
const beforeText = ({ end, exit }: GateBefore): OwnText => {
  if (exit === 0) return own`it passed before the task began, too`;
  if (end === "exited") return own`before the task began it failed, with exit code ${exit ?? "unknown"}`;
  return own`${BEFORE_ENDS[end]}`;
};

const BEFORE_ENDS = {
  timedOut: "before the task began it did not end within its time",
  notRun: "before the task began it could not be run",
  interrupted: "whether it passed before the task began is not known: OpenCode ended three times while it ran",
} as const;

/** What limits what the gate shows: of which files it is true, and whether it showed the same before. */
const gateRemarks = ({ files, before }: GateResult): OwnText => {
  const remarks = [
    before && beforeText(before),
    files?.changedMeanwhile && own`files changed while it ran`,
    files?.haveChanged && own`files where it ran have changed since`,
  ].filter((remark) => remark !== undefined && remark !== false);
  return remarks.length === 0 ? own`` : own` (${join(remarks, "; ")})`;
};

/** Which files the gate saw, for who looks closely: where nothing names them, nobody can say whether they have changed. */
const gateFilesText = ({ gate }: Receipt): OwnText[] => {
  const { fingerprint, problem } = gate?.files ?? {};
  if (fingerprint !== undefined) return [own`Files that it saw: git tree ${nameOf(fingerprint)}`];
  return problem === undefined ? [] : [own`Which files it saw is not known: ${quoteLine(problem)}.`];
};

const GATE_ENDS = { timedOut: "at its time limit", notRun: "since it could not be run" } as const;

const partOf = ({ isWhole }: Receipt): OwnText => (isWhole ? own`` : own` (only part of the run could be observed)`);

/** Writes in one line what was observed of a run. */
export const receiptSummary = (receipt: Receipt): OwnText => {
  const calls = callsIn(receipt);
  if (calls === 0) return own`Observed: ${join([own`no tool was called`, gateText(receipt)], "; ")}${partOf(receipt)}.`;
  const facts = [
    own`${plural(calls, "tool call")}: ${toolsText(receipt)}`,
    filesText(receipt),
    commandsText(receipt),
    testsText(receipt),
    gateText(receipt),
  ];
  return own`Observed: ${join(facts, "; ")}${partOf(receipt)}.`;
};

const fileText = (file: WrittenFile): OwnText => own`${file.change} ${nameOf(file.path)}${lineCounts([file])}`;

const ENDS = { timedOut: "ended at the tool's time limit", aborted: "aborted" } as const;

/** Writes a command with how it ended, on one line. */
const commandText = ({ command, exit, end, tests }: RanCommand): OwnText => {
  const ended = exit !== undefined ? own`exit code ${exit}` : end === "exited" ? own`no exit code` : own`${ENDS[end]}`;
  const verdict = tests === "unclear" ? own`, tests: not clear` : tests ? own`, tests ${tests}` : own``;
  return own`${quoteLine(command)}: ${ended}${verdict}`;
};

/** Writes the lists of a receipt, a line each. What is empty is left out, but that no tool was called, or no tests ran, is said. */
export const receiptLines = (receipt: Receipt): OwnText[] => {
  const { files, otherFiles, commands, omitted, filesRead, workedMs, waitedMs } = receipt;
  const calls = callsIn(receipt);
  const times = own`Time: worked for ${duration(workedMs)}, waited for ${duration(waitedMs)}`;
  const gate = gateText(receipt);
  const gated = gate ? [own`Checked by a command: ${gate}`, ...gateFilesText(receipt)] : [];
  const incomplete = whyIncomplete(receipt);
  const whole = [
    ...(incomplete ? [own`The result ${incomplete}.`] : []),
    ...(receipt.isWhole ? [] : [own`Only part of the run could be observed.`]),
  ];
  if (calls === 0) return [own`No tool was called.`, ...gated, times, ...whole];
  const omittedCommands = omitted.commands > 0 ? [own`- ${omitted.commands} older ones`] : [];
  return [
    own`Tool calls: ${toolsText(receipt)}`,
    ...(filesRead > 0 ? [own`Files read: ${filesRead}`] : []),
    ...(files.length > 0 ? [own`Files written: ${listed(files.map(fileText), omitted.files)}`] : []),
    ...(otherFiles.length > 0
      ? [
          own`Also changed meanwhile, by a command or by somebody else: ${listed(otherFiles.map(nameOf), omitted.otherFiles)}`,
        ]
      : []),
    ...(commands.length > 0
      ? [own`Commands:`, ...omittedCommands, ...commands.map((command) => own`- ${commandText(command)}`)]
      : []),
    ...(commands.some(({ tests }) => tests !== undefined) ? [] : [own`No tests were seen to run.`]),
    ...gated,
    times,
    ...whole,
  ];
};

/** Writes a receipt for an agent that reads a task's result. */
export const receiptReport = (receipt: Receipt): OwnText =>
  lines("Observed, whatever the result says:", ...receiptLines(receipt).map((line) => own`  ${line}`));
