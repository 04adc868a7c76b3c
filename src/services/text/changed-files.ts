import type { ChangedFile, LeftOut } from "../../task.ts";
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

const WHY_LEFT_OUT = {
  ignored: own`a .gitignore that the task wrote hides it`,
  name: own`git takes no file of such a name`,
  repository: own`a repository of its own: its files are among them, its history is not`,
} as const;

/** Paths left out that are listed: there may be thousands. */
const LISTED = 10;

/** Says what lies in a worktree and is not among the changes, a line each. */
export const leftOutLines = (leftOut: readonly LeftOut[] = []): OwnText[] => {
  const more = leftOut.length - LISTED;
  return [
    ...leftOut
      .slice(0, LISTED)
      .map(({ path, why }) => own`Not among the changes: ${quoteLine(path)} (${WHY_LEFT_OUT[why]}).`),
    ...(more > 0 ? [own`Not among the changes: ${more} more.`] : []),
  ];
};
