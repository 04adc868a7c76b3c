import { type ChangedFile, hasEnded, type LeftOut, type Task, type WorktreeChanges } from "../../task.ts";
import { codeLine, toSingleLine } from "../platform/plain-text.ts";
import { join, lines, nameOf, type OwnText, own, quoteLine } from "./own-text.ts";

const sum = (counts: readonly (number | undefined)[]): number => counts.reduce<number>((all, one = 0) => all + one, 0);

const linesOf = (files: readonly ChangedFile[]): OwnText =>
  own`+${sum(files.map(({ added }) => added))} −${sum(files.map(({ removed }) => removed))}`;

const count = (files: readonly ChangedFile[]): OwnText => own`${files.length} ${files.length === 1 ? "file" : "files"}`;

/** Writes how much was changed, such as `3 files changed (+20 −4)`. */
export const changesSummary = (files: readonly ChangedFile[]): OwnText =>
  files.length === 0 ? own`no file changed` : own`${count(files)} changed (${linesOf(files)})`;

/** Writes a changed file with its counts, such as `"src/a.ts" +3 −1`, or `"logo.png" added`. */
export const changedFile = (file: ChangedFile): OwnText => {
  const isText = file.added !== undefined;
  const how = file.change === "modified" ? undefined : own`${file.change}`;
  return join([quoteLine(file.path), how, isText ? linesOf([file]) : how ? undefined : own`modified`], " ");
};

/** What became of an earlier attempt to apply changes to a tree, which was cut off. */
interface CutOffAttempt {
  became: "finished" | "undone";
  /** Files that stay as somebody has changed them since, each with the place of what stood there before, where something did. */
  left?: readonly { path: string; before?: string | undefined }[] | undefined;
}

/** Returns what the API and the command's JSON say of an attempt. */
export const attemptOf = <A extends CutOffAttempt>({ became, left }: A): Pick<A, "became" | "left"> => ({
  became,
  left,
});

/** Describes what became of an earlier attempt to apply changes, which was cut off. */
export const cutOffSentence = ({ became, left = [] }: CutOffAttempt, tree: string): OwnText => {
  const attempt = own`An earlier attempt to apply the changes to ${quoteLine(tree)} was cut off`;
  if (became === "finished") return own`${attempt}, and is finished now.`;
  const files = left.map(({ path, before }) =>
    before === undefined ? quoteLine(path) : own`${quoteLine(path)} (before: ${quoteLine(before)})`,
  );
  const stay = own` These were changed since, and stay as they are: ${join(files, ", ")}.`;
  return own`${attempt}, and was undone.${files.length > 0 ? stay : own``}`;
};

/** A file that a person's tree and a task have changed, each in its own way. */
interface ConflictingFile {
  path: string;
  kind: string;
  sides?: readonly string[] | undefined;
}

/**
 * Says why nothing was applied, what both sides have in the files in question, and what can be done about it.
 * @param message why, without what follows from it
 * @param worktree the folder of the task's worktree
 */
export const conflictLines = (
  message: string,
  conflicts: readonly ConflictingFile[],
  { id, worktree }: { id: string; worktree: string },
): string[] => [
  `${message}:`,
  ...conflicts.flatMap(({ path, kind, sides = [] }) => [
    `  ${toSingleLine(path)} (${kind})`,
    ...sides.map((line) => `    ${codeLine(line)}`),
  ]),
  `Its worktree stays: ${toSingleLine(worktree)}`,
  "Change one side so that both agree, or resume the task to have its agent do that. Then apply it again:",
  `  opencode-taskchart apply ${nameOf(id)}`,
];

const leftOutLine = ({ path, why }: LeftOut): OwnText => {
  const what = quoteLine(path);
  if (why === "repository") return own`Not among the changes: the history of ${what}, a repository whose files are.`;
  const reason = why === "ignored" ? "a .gitignore that the task wrote hides it" : "git takes no file of such a name";
  return own`Not among the changes: ${what} (${reason}).`;
};

/** Paths left out that are listed: there may be thousands. */
const LISTED_PATHS = 10;

/**
 * Describes what a person can do with what a task left: nothing can be applied where only paths are left out, and of a worktree
 * that is gone because its time was over, the patch is still to be decided about.
 */
export const possibleDecisions = ({
  files,
  leftOut = [],
  became,
}: Pick<WorktreeChanges, "files" | "leftOut"> & { became?: string | undefined }): {
  apply: boolean;
  discard: boolean;
} => ({
  apply: became === undefined && files.length > 0,
  discard: became === undefined ? files.length + leftOut.length > 0 : became === "expired" && files.length > 0,
});

/** Describes what lies in a worktree and is not among the changes, a line each. */
export const leftOutLines = (leftOut: readonly LeftOut[] = []): OwnText[] => {
  const more = leftOut.length - LISTED_PATHS;
  return [
    ...leftOut.slice(0, LISTED_PATHS).map(leftOutLine),
    ...(more > 0 ? [own`Not among the changes: ${more} more.`] : []),
  ];
};

/** Files that are listed: an agent pays for each line. */
const LISTED_FILES = 20;

/** What became of changes, after how much they are. */
const BECAME = {
  applied: "which the user has applied to the user's tree",
  discarded: "which the user has discarded",
  expired: "which the user has not applied in time",
  sent: "which are with the server that launched the task",
} as const;

/**
 * Describes for an agent what a task changed in its worktree, and who decides what becomes of it. Undefined for a task that has none
 * of its own.
 * @param changes undefined where they have not been counted
 */
export const worktreeReport = (
  { worktree, status }: Pick<Task, "worktree" | "status">,
  changes: WorktreeChanges | undefined,
): OwnText | undefined => {
  if (!worktree) return undefined;
  const place = own`Worktree: ${quoteLine(worktree.directory)}`;
  if (worktree.isShared) return own`${place}, which it shares with its parent task.`;
  if (!hasEnded({ status })) return own`${place}.`;
  if (!changes) return own`${place}. What was changed there is still being counted, which takes unusually long.`;
  const { files, problem } = changes;
  if (problem !== undefined) return own`${place}. What was changed there could not be counted: ${quoteLine(problem)}.`;
  const left = leftOutLines(changes.leftOut);
  if (files.length === 0)
    return left.length === 0
      ? own`Worktree: no file changed in it.`
      : lines(own`${place}: no file changed in it.`, ...left);
  if (changes.became !== undefined) return own`Worktree: ${changesSummary(files)}, ${BECAME[changes.became]}.`;
  const more = files.length > LISTED_FILES ? own`\n- and ${files.length - LISTED_FILES} more` : own``;
  return lines(
    own`${place}: ${changesSummary(files)}. None of it is in the user's tree until the user applies it; do not copy it there.`,
    own`${lines(...files.slice(0, LISTED_FILES).map((file) => own`- ${changedFile(file)}`))}${more}`,
    ...left,
  );
};

/** Writes how much was changed, and how much lies there beside that. */
const allIn = ({ files, leftOut: { length } = [] }: WorktreeChanges): OwnText => {
  if (length === 0) return changesSummary(files);
  const more = length === 1 ? own`1 path` : own`${length} paths`;
  return own`${changesSummary(files)}, and ${more} that cannot be applied whole`;
};

/**
 * Describes for a person, when it ends, what a task changed, and how to apply it; undefined where nothing was.
 * @param changes undefined where they have not been counted
 */
export const worktreeLine = (taskId: string, changes: WorktreeChanges | undefined): OwnText | undefined => {
  if (!changes) return own`What it changed in its worktree is still being counted.`;
  if (changes.problem !== undefined)
    return own`What it changed in its worktree could not be counted: ${quoteLine(changes.problem)}.`;
  if (changes.files.length === 0 && !changes.leftOut) return undefined;
  const id = nameOf(taskId);
  return possibleDecisions(changes).apply
    ? own`In its worktree: ${allIn(changes)}. To apply them: opencode-taskchart apply ${id}`
    : own`In its worktree: ${allIn(changes)}. To remove it: opencode-taskchart discard ${id}`;
};

/**
 * Explains why an agent cannot remove a task, as the rest of a sentence about it: a person has to decide about changes first.
 * @param owner the task that has them: this one, or a subtask of it
 */
export const whyKept = (
  { sessionID }: Pick<Task, "sessionID">,
  owner: Pick<Task, "sessionID" | "description">,
  changes: WorktreeChanges,
): OwnText => {
  const id = nameOf(owner.sessionID);
  const whose = owner.sessionID === sessionID ? own`it` : own`its subtask ${id} ${quoteLine(owner.description)}`;
  const { problem } = changes;
  const what = problem === undefined ? allIn(changes) : own`changes that could not be counted (${quoteLine(problem)})`;
  const where = changes.became === "expired" ? own`in the patch of its worktree, which is gone` : own`in its worktree`;
  const isAppliable = problem !== undefined || possibleDecisions(changes).apply;
  const apply = isAppliable ? own`"opencode-taskchart apply ${id}" or ` : own``;
  return own`${whose} has ${what} ${where}. The user has not decided about that, and only the user can: with ${apply}"opencode-taskchart discard ${id}", in the panel or on the board.`;
};
