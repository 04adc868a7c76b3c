import { hasEnded, type Task, type WorktreeChanges } from "../../task.ts";
import { changedFile, changesSummary, leftOutLines, possibleDecisions } from "./changed-files.ts";
import { lines, nameOf, type OwnText, own, quoteLine } from "./own-text.ts";

/** Files that are listed: an agent pays for each line. */
const LISTED = 20;

/** What became of changes, after how much they are. */
const BECAME = {
  applied: "which the user has applied to the user's tree",
  discarded: "which the user has discarded",
  expired: "which the user has not applied in time",
  sent: "which are with the server that launched the task",
} as const;

/**
 * Tells an agent what a task changed in its worktree, and who decides what becomes of it. Undefined for a task that has none
 * of its own.
 * @param changes undefined where they have not been counted
 */
export const worktreeReport = (
  { worktree, status }: Pick<Task, "worktree" | "status">,
  changes: WorktreeChanges | undefined,
): OwnText | undefined => {
  if (!worktree) return undefined;
  const place = own`Worktree: ${quoteLine(worktree.directory)}`;
  if (worktree.isShared) return own`${place}, in which the task above works too.`;
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
  const more = files.length > LISTED ? own`\n- and ${files.length - LISTED} more` : own``;
  return lines(
    own`${place}: ${changesSummary(files)}. None of it is in the user's tree until the user applies it; do not copy it there.`,
    own`${lines(...files.slice(0, LISTED).map((file) => own`- ${changedFile(file)}`))}${more}`,
    ...left,
  );
};

/** Says how much was changed, and how much lies there beside that. */
const allIn = ({ files, leftOut: { length } = [] }: WorktreeChanges): OwnText => {
  if (length === 0) return changesSummary(files);
  const more = length === 1 ? own`1 path` : own`${length} paths`;
  return own`${changesSummary(files)}, and ${more} that cannot be applied whole`;
};

/**
 * Tells a person, at its end, what a task changed, and how to apply it; undefined where nothing was.
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
 * Says why an agent cannot remove a task, as the rest of a sentence about it: a person has to decide about changes first.
 * @param owner the task that has them: this one, or one below it
 */
export const whyKept = (
  { sessionID }: Pick<Task, "sessionID">,
  owner: Pick<Task, "sessionID" | "description">,
  changes: WorktreeChanges,
): OwnText => {
  const id = nameOf(owner.sessionID);
  const whose = owner.sessionID === sessionID ? own`it` : own`task ${id} ${quoteLine(owner.description)} below it`;
  const { problem } = changes;
  const what = problem === undefined ? allIn(changes) : own`changes that could not be counted (${quoteLine(problem)})`;
  const where = changes.became === "expired" ? own`in the patch of its worktree, which is gone` : own`in its worktree`;
  const isAppliable = problem !== undefined || possibleDecisions(changes).apply;
  const apply = isAppliable ? own`"opencode-taskchart apply ${id}" or ` : own``;
  return own`${whose} has ${what} ${where}. The user has not decided about that, and only the user can: with ${apply}"opencode-taskchart discard ${id}", in the panel or on the board.`;
};
