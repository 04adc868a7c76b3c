// ADR-245 in docs/decisions.md
import { join } from "node:path";
import type { ChangedFile } from "../../../task.ts";
import { changesBetween, writePatch } from "./changes.ts";
import { GitError, git, items } from "./git.ts";
import { commitTree, takeSnapshot, withTemporaryFolder } from "./snapshot.ts";

/** A file that two sides changed, each in its own way. */
export interface Conflict {
  path: string;
  /** Git's name of it, such as `content`, `add/add` or `modify/delete`. */
  kind: string;
}

/** What became of changes that were to be applied. */
export type Applied =
  /** The files that changed by it: none where the tree had all of it already. */
  | { ok: true; files: ChangedFile[] }
  /** Nothing was changed. */
  | { ok: false; conflicts: Conflict[] };

/** The exit codes of `git merge-tree`. */
const MERGED = 0;
const CONFLICTING = 1;

/** What an old git says of `--write-tree`, which came with 2.38. */
const UNKNOWN_OPTION = 129;

/**
 * Reads the conflicts of `git merge-tree -z --messages`: after the tree and the entries in conflict comes an empty item, and
 * then each message as its number of paths, the paths, its kind and its text.
 */
const conflictsIn = (stdout: string): Conflict[] => {
  const all = items(stdout);
  const conflicts = new Map<string, Conflict>();
  let at = all.indexOf("", 1) + 1;
  while (at > 0 && at < all.length) {
    const count = Number(all[at]);
    const paths = all.slice(at + 1, at + 1 + count);
    const message = all[at + 2 + count] ?? "";
    const [path] = paths;
    if (path !== undefined && all[at + 1 + count]?.startsWith("CONFLICT")) {
      conflicts.set(path, { path, kind: /^CONFLICT \((.*?)\)/.exec(message)?.[1] ?? "content" });
    }
    at += count + 3;
  }
  return [...conflicts.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
};

/** Merges three trees without touching a file. @throws GitError */
const mergeTrees = async (top: string, base: string, ours: string, theirs: string) => {
  const left = await commitTree(top, `${ours}^{tree}`, [base]);
  const right = await commitTree(top, `${theirs}^{tree}`, [base]);
  const args = ["merge-tree", "--write-tree", "-z", "--messages", left, right];
  const { code, stdout } = await git(top, args, { answers: [CONFLICTING] }).catch((error) => {
    if (error instanceof GitError && error.code === UNKNOWN_OPTION) {
      throw new GitError("this git is too old to merge without touching files: 2.38 or newer is needed");
    }
    throw error;
  });
  return { isMerged: code === MERGED, tree: items(stdout)[0] ?? "", conflicts: conflictsIn(stdout) };
};

/**
 * Applies what changed from `base` to `end` to a working tree, beside what changed there meanwhile: all of it, or nothing.
 * The index is left alone: what is staged stays staged, and new files are untracked.
 * @param top the folder of the working tree
 * @throws GitError when git refuses, as it does where a new file would overwrite one that it ignores; nothing is changed then
 */
export const applyChanges = async (top: string, base: string, end: string): Promise<Applied> => {
  const { commit: ours } = await takeSnapshot(top);
  const { isMerged, tree, conflicts } = await mergeTrees(top, base, ours, end);
  if (!isMerged) return { ok: false, conflicts };
  const files = await changesBetween(top, ours, tree);
  if (files.length === 0) return { ok: true, files };
  return withTemporaryFolder(async (folder) => {
    const patch = join(folder, "patch");
    await writePatch(top, ours, tree, patch);
    // At the top: below it git leaves out all other files, and says nothing.
    await git(top, ["apply", "--whitespace=nowarn", patch]);
    return { ok: true, files };
  });
};
