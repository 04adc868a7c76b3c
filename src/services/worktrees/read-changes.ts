// Reads and counts what is changed in a worktree. Nothing that the agent wrote is run for that
// (docs/decisions/256-git-runs-nothing-an-agent-wrote.md).
import { readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { ChangedFile, LeftOut, WorktreeChanges } from "../../task.ts";
import { errorMessage } from "../platform/log.ts";
import type { WorktreePaths } from "./folders.ts";
import { changesBetween, writePatch } from "./git/commit.ts";
import { byteItems, git, items, readable, type WorkingTree } from "./git/git.ts";
import { type TreeSnapshot, takeTaskSnapshot } from "./git/snapshot.ts";
import { treeAt, withObjects, worktreeAt } from "./git/working-tree.ts";
import { type WorktreeRecord, writeChanges } from "./record.ts";

/** What is changed in a worktree. */
export interface ReadChanges {
  files: ChangedFile[];
  leftOut: LeftOut[];
  /** The commit of all that is in it, but for what is left out, and the tree of that. */
  commit: string;
  tree: string;
}

/** Reads what is changed in a worktree since the commit that it began with, and writes its patch anew. @throws GitError */
export const readChangesIn = async (
  paths: WorktreePaths,
  record: Pick<WorktreeRecord, "source" | "leftOut">,
  base: string,
): Promise<ReadChanges> => {
  const source = await treeAt(record.source);
  const own = await worktreeAt(source, paths.tree);
  const snapshot = await takeTaskSnapshot(own, source);
  const { commit, tree } = snapshot;
  const files = await withObjects(own, async (objects) => {
    const changed = await changesBetween(objects, base, commit);
    if (changed.length > 0) await writePatch(objects, base, commit, paths.patch);
    else await rm(paths.patch, { force: true });
    return changed;
  });
  const leftOut = await leftOutIn(own, snapshot, base, files);
  return { files, leftOut: leftOut.filter(({ path }) => !record.leftOut?.includes(path)), commit, tree };
};

/** Counts what was changed in a worktree since `base`, and writes it down, with its patch. */
export const countChanges = async (
  paths: WorktreePaths,
  record: WorktreeRecord,
  { base, run, now }: { base: string; run: number; now: number },
): Promise<WorktreeChanges> => {
  const counted = await readChangesIn(paths, record, base)
    .then(({ files, leftOut }): WorktreeChanges => ({ run, at: now, files, ...(leftOut.length > 0 && { leftOut }) }))
    .catch((error): WorktreeChanges => ({ run, at: now, files: [], problem: errorMessage(error) }));
  writeChanges(paths, counted);
  return counted;
};

/** What OpenCode installs below a tree's `.opencode`, with the `.gitignore` that it writes there. */
const OF_OPENCODE = /(^|\/)\.opencode\/(node_modules\/|package\.json|package-lock\.json|bun\.lock|\.gitignore)$/;

/** How a file `CACHEDIR.TAG` begins, by which tools mark folders that can be made again. */
const CACHE = "Signature: 8a477f597d28d172789f06886806bc55";

const isCache = async (top: string, path: string): Promise<boolean> => {
  if (!path.endsWith("/")) return false;
  const tag = await readFile(join(top, path, "CACHEDIR.TAG"), "latin1").catch(() => "");
  return tag.startsWith(CACHE);
};

/** Returns, for each ignored path, the file that ignores it: a `.gitignore` of the tree, or a file of the person's own. */
const ignoredBy = async (tree: WorkingTree, paths: readonly string[]): Promise<(string | undefined)[]> => {
  if (paths.length === 0) return [];
  const asked = ["check-ignore", "-z", "--stdin", "--no-index", "--verbose", "--non-matching"];
  const answers = items(await git(tree, asked, { input: paths, answers: [1] }));
  return paths.map((_, index) => answers[4 * index]);
};

/**
 * Lists what a task's `.gitignore` files hide: what lies in a worktree, and git ignores it because of a `.gitignore` that was
 * not there, or was another one, when the task began. What OpenCode installs, and caches that are marked as such, do not count.
 */
const hiddenByTask = async (tree: WorkingTree, base: string, changed: readonly ChangedFile[]): Promise<string[]> => {
  const listed = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
  const hidden = byteItems(await git(tree, listed)).filter((path) => !OF_OPENCODE.test(path));
  const sources = await ignoredBy(tree, hidden);
  const own = [...new Set(sources)].filter((source) => source !== undefined && basename(source) === ".gitignore");
  if (own.length === 0) return [];
  const known = new Set(items(await git(tree, ["ls-tree", "-r", "-z", "--name-only", "--full-tree", base])));
  const differs = new Set(changed.map(({ path }) => path));
  const isOfTask = (source = "") => own.includes(source) && (!known.has(source) || differs.has(source));
  const all = new Set(hidden);
  // A folder that hides itself is named as a whole.
  const nameOf = (path: string, source = "") => (all.has(source) ? source.slice(0, -".gitignore".length) : path);
  const named = hidden.flatMap((path, at) => (isOfTask(sources[at]) ? nameOf(path, sources[at]) : []));
  const paths: string[] = [];
  for (const path of new Set(named)) {
    if (!(await isCache(tree.top, path))) paths.push(path);
  }
  return readable(paths);
};

/**
 * Lists what lies in a worktree and is not among its changes since `base`.
 * @param changed what differs between the beginning and now
 * @throws GitError
 */
export const leftOutIn = async (
  tree: WorkingTree,
  { refused, repositories }: Pick<TreeSnapshot, "refused" | "repositories">,
  base: string,
  changed: readonly ChangedFile[],
): Promise<LeftOut[]> => [
  ...refused.map((path): LeftOut => ({ path, why: "name" })),
  ...repositories.map((path): LeftOut => ({ path: `${path}/`, why: "repository" })),
  ...(await hiddenByTask(tree, base, changed)).map((path): LeftOut => ({ path, why: "ignored" })),
];
