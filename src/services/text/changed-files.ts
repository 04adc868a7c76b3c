import type { ChangedFile, LeftOut, WorktreeChanges } from "../../task.ts";
import { join, type OwnText, own, quoteLine } from "./own-text.ts";

const sum = (counts: readonly (number | undefined)[]): number => counts.reduce<number>((all, one = 0) => all + one, 0);

const linesOf = (files: readonly ChangedFile[]): OwnText =>
  own`+${sum(files.map(({ added }) => added))} −${sum(files.map(({ removed }) => removed))}`;

const count = (files: readonly ChangedFile[]): OwnText => own`${files.length} ${files.length === 1 ? "file" : "files"}`;

/** Says how much was changed, such as `3 files changed (+20 −4)`. */
export const changesSummary = (files: readonly ChangedFile[]): OwnText =>
  files.length === 0 ? own`no file changed` : own`${count(files)} changed (${linesOf(files)})`;

/** Writes a changed file with its counts, such as `"src/a.ts" +3 −1`, or `"logo.png" added`. */
export const changedFile = (file: ChangedFile): OwnText => {
  const isText = file.added !== undefined;
  const how = file.change === "modified" ? undefined : own`${file.change}`;
  return join([quoteLine(file.path), how, isText ? linesOf([file]) : how ? undefined : own`modified`], " ");
};

/** What became of an earlier attempt to apply changes to a tree, which was cut off. */
export interface CutOffAttempt {
  became: "finished" | "undone";
  /** Files that stay as somebody has changed them since, each with the place of what stood there before, where something did. */
  left?: readonly { path: string; before?: string | undefined }[] | undefined;
}

/** Returns what the API and the command's JSON say of an attempt. */
export const attemptOf = <A extends CutOffAttempt>({ became, left }: A): Pick<A, "became" | "left"> => ({
  became,
  left,
});

/** Says what became of an earlier attempt to apply changes, which was cut off. */
export const cutOffSentence = ({ became, left = [] }: CutOffAttempt, tree: string): OwnText => {
  const attempt = own`An earlier attempt to apply the changes to ${quoteLine(tree)} was cut off`;
  if (became === "finished") return own`${attempt}, and is finished now.`;
  const files = left.map(({ path, before }) =>
    before === undefined ? quoteLine(path) : own`${quoteLine(path)} (before: ${quoteLine(before)})`,
  );
  const stay = own` These were changed since, and stay as they are: ${join(files, ", ")}.`;
  return own`${attempt}, and was undone.${files.length > 0 ? stay : own``}`;
};

const leftOutLine = ({ path, why }: LeftOut): OwnText => {
  const what = quoteLine(path);
  if (why === "repository") return own`Not among the changes: the history of ${what}, a repository whose files are.`;
  const reason = why === "ignored" ? "a .gitignore that the task wrote hides it" : "git takes no file of such a name";
  return own`Not among the changes: ${what} (${reason}).`;
};

/** Paths left out that are listed: there may be thousands. */
const LISTED = 10;

/**
 * Says what a person can do with what a task left: nothing can be applied where only paths are left out, and of a worktree
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

/** Says what lies in a worktree and is not among the changes, a line each. */
export const leftOutLines = (leftOut: readonly LeftOut[] = []): OwnText[] => {
  const more = leftOut.length - LISTED;
  return [
    ...leftOut.slice(0, LISTED).map(leftOutLine),
    ...(more > 0 ? [own`Not among the changes: ${more} more.`] : []),
  ];
};
