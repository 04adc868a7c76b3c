// What enters a person's tree is merged without touching a file first: only a merge without conflicts is put in place
// (docs/decisions/245-a-person-applies-changes.md).
import { join } from "node:path";
import type { ChangedFile } from "../../../task.ts";
import { changesBetween, entriesBetween, patchedTree } from "./commit.ts";
import { GitError, git, gitOnObjects, items, lineOf, type ObjectsRepository, type WorkingTree } from "./git.ts";
import { forgetPlaced, type Placement, place } from "./placing.ts";
import { placeableBetween } from "./placing-plan.ts";
import { takeSnapshot } from "./snapshot.ts";
import { treeAt, withObjects, withTemporaryFolder } from "./working-tree.ts";

/** A file that two sides changed, each in its own way. */
export interface Conflict {
  path: string;
  /** Git's name of it, such as `content`, `add/add` or `modify/delete`; `attribute merge` where that forbids a merge by lines. */
  kind: string;
  /** The lines that both sides changed, between git's marks: at most 40, and then `…`. Absent where git merges no lines. */
  sides?: string[];
}

/** What became of two sides: the tree that has both, or what keeps it from being made. */
type Merged = { ok: true; tree: string } | { ok: false; conflicts: Conflict[] };

/** The exit code of `git merge-tree` where there are conflicts. */
const CONFLICTING = 1;

/** The exit code of `git cat-file` where there is no such file. */
const NO_FILE = 128;

/** What an old git says of `--write-tree`, which came with 2.38. */
const UNKNOWN_OPTION = 129;

/** Values of the attribute `merge` of files that are merged by lines. */
const BY_LINES = ["unspecified", "set", "text"];

/**
 * Reads the conflicts of `git merge-tree -z --messages`: after the tree and the entries in conflict comes an empty item, and
 * then each message as its number of paths, the paths, its kind and its text.
 */
const conflictsIn = (all: readonly string[]): Conflict[] => {
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

/** Lines of a file's conflicts that are kept: enough to see what they are about. */
const MAX_SIDE_LINES = 40;

/** Returns the lines between git's marks, and the marks with the person's words for the sides; undefined where there are none. */
const sidesIn = (text: string): string[] | undefined => {
  const lines: string[] = [];
  let isWithin = false;
  for (const line of text.split("\n")) {
    const begins = line.startsWith("<<<<<<< ");
    const ends = line.startsWith(">>>>>>> ");
    if (begins) isWithin = true;
    if (isWithin) lines.push(begins ? "<<<<<<< yours" : ends ? ">>>>>>> the task's" : line);
    if (ends) isWithin = false;
  }
  if (lines.length === 0) return undefined;
  return lines.length > MAX_SIDE_LINES ? [...lines.slice(0, MAX_SIDE_LINES), "…"] : lines;
};

/** Adds to conflicts what both sides have there: git has made a tree of files with its marks in them. */
const withSides = (objects: ObjectsRepository, tree: string, conflicts: readonly Conflict[]): Promise<Conflict[]> =>
  Promise.all(
    conflicts.map(async (conflict): Promise<Conflict> => {
      // Where one side has no such file, there is none, or one without marks.
      const answers = [NO_FILE];
      const file = await gitOnObjects(objects, ["cat-file", "blob", `${tree}:${conflict.path}`], { answers });
      const sides = file.code === NO_FILE ? undefined : sidesIn(file.stdout.toString());
      return sides ? { ...conflict, sides } : conflict;
    }),
  );

/** Makes a commit that has these parents alone: what came before is not looked at, and need not be there. */
const commitOf = async (
  objects: ObjectsRepository,
  commit: string,
  parents: readonly string[] = [],
): Promise<string> => {
  const parentArguments = parents.flatMap((parent) => ["-p", parent]);
  return lineOf(await gitOnObjects(objects, ["commit-tree", `${commit}^{tree}`, ...parentArguments, "-m", "A side"]));
};

/** Files that the merge made of both sides, though their attribute `merge` forbids that it is done by lines. */
const againstAttributes = async (
  objects: ObjectsRepository,
  ours: WorkingTree,
  sides: readonly [string, string],
  tree: string,
): Promise<Conflict[]> => {
  const differing = async (side: string) =>
    new Set((await entriesBetween(objects, side, tree)).map(({ path }) => path));
  const [one, other] = await Promise.all(sides.map(differing));
  const made = [...(one ?? [])].filter((path) => other?.has(path));
  if (made.length === 0) return [];
  const answers = items(await git(ours, ["check-attr", "-z", "--stdin", "merge"], { input: made }));
  return made.flatMap((_, index) => {
    const [path = "", , value = ""] = answers.slice(3 * index);
    return BY_LINES.includes(value) ? [] : [{ path, kind: "attribute merge" }];
  });
};

/**
 * Merges what changed from `base` to `theirs` with what changed from `base` to `ours`, which is a person's tree as it is.
 * Touches no file.
 * @throws GitError
 */
const merge = async (
  objects: ObjectsRepository,
  tree: WorkingTree,
  { base, ours, theirs }: { base: string; ours: string; theirs: string },
): Promise<Merged> => {
  const root = await commitOf(objects, base);
  const [left, right] = await Promise.all([ours, theirs].map((side) => commitOf(objects, side, [root])));
  const args = ["merge-tree", "--write-tree", "-z", "--messages", left ?? "", right ?? ""];
  const answer = await gitOnObjects(objects, args, { answers: [CONFLICTING] }).catch((error) => {
    if (error instanceof GitError && error.code === UNKNOWN_OPTION) {
      throw new GitError("this git is too old to merge without touching files: 2.38 or newer is needed");
    }
    throw error;
  });
  const all = items(answer);
  const [merged = ""] = all;
  if (answer.code === CONFLICTING) return { ok: false, conflicts: await withSides(objects, merged, conflictsIn(all)) };
  const conflicts = await againstAttributes(objects, tree, [ours, theirs], merged);
  return conflicts.length > 0 ? { ok: false, conflicts } : { ok: true, tree: merged };
};

/** What became of changes that were to be applied. */
export type Applied =
  /** The files that changed by it: none where the tree had all of it already. */
  | { ok: true; files: ChangedFile[] }
  /** Nothing was changed. */
  | { ok: false; conflicts: Conflict[] };

/** How changes are put into a tree of files. */
type Placing = Pick<Placement, "journal" | "filtersIn" | "onStep">;

/** Changes to be applied: those from one commit to another. */
export interface FileChange extends Placing {
  base: string;
  end: string;
}

/** Gives `work` a snapshot of a tree, and what gives the tree's files another content than they have in that: all, or none. */
const onSnapshot = <T>(
  tree: WorkingTree,
  placing: Placing,
  work: (
    objects: ObjectsRepository,
    snapshot: string,
    placeAll: (to: string, files: ChangedFile[]) => Promise<void>,
  ) => Promise<T>,
): Promise<T> =>
  withTemporaryFolder((folder) =>
    withObjects(tree, async (objects) => {
      const index = join(folder, "index");
      const { commit } = await takeSnapshot(tree, index);
      return work(objects, commit, async (to, files) => {
        const entries = await placeableBetween(objects, commit, to);
        await place({ tree, entries, to, index, files, ...placing });
      });
    }),
  );

/**
 * Applies what changed from `base` to `end` to a working tree, beside what changed there meanwhile: all of it, or nothing.
 * The index is left alone: what is staged stays staged, and new files are untracked.
 * @throws GitError that says what is in the way, such as a file that git ignores; nothing is changed then
 */
export const applyChanges = (tree: WorkingTree, { base, end, ...placing }: FileChange): Promise<Applied> =>
  onSnapshot(tree, placing, async (objects, ours, placeAll) => {
    const merged = await merge(objects, tree, { base, ours, theirs: end });
    if (!merged.ok) return merged;
    const files = await changesBetween(objects, ours, merged.tree);
    if (files.length > 0) await placeAll(merged.tree, files);
    return { ok: true, files };
  });

/** The same to the tree that a person's directory belongs to. @throws GitError */
export const applyIn = async (directory: string, change: FileChange): Promise<Applied> =>
  applyChanges(await treeAt(directory), change);

/** Applies a patch to a worktree of ours, as it is. @throws GitError where it does not fit */
export const applyPatch = async (tree: WorkingTree, patch: string, placing: Placing): Promise<void> => {
  await onSnapshot(tree, placing, async (objects, commit, placeAll) =>
    placeAll(await patchedTree(objects, commit, patch), []),
  );
  forgetPlaced(placing.journal);
};
