// Asks git about commits and what differs between them. Differences are read from objects alone, where nobody's
// configuration changes the answer (docs/decisions/256-git-runs-nothing-an-agent-wrote.md).
import { open } from "node:fs/promises";
import type { ChangedFile } from "../../../task.ts";
import { writeWholeWith } from "../../platform/private-files.ts";
import {
  byteItems,
  decodePath,
  GitError,
  git,
  gitOnObjects,
  items,
  lineOf,
  type ObjectsRepository,
  type WorkingTree,
} from "./git.ts";

/** The mode of an entry that is a repository of its own. */
export const REPOSITORY = "160000";

/** Returns the commit that is checked out; undefined before the first one. @throws GitError */
export const headOf = async (tree: WorkingTree): Promise<string | undefined> => {
  const answer = await git(tree, ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"], { answers: [1] });
  return answer.code === 0 ? lineOf(answer) : undefined;
};

/** True where a branch of some remote leads to the commit, as far as this clone knows: others can fetch it. @throws GitError */
export const isPublished = async (tree: WorkingTree, commit: string): Promise<boolean> =>
  lineOf(
    await git(tree, ["for-each-ref", "--count=1", "--format=%(refname)", `--contains=${commit}`, "refs/remotes"]),
  ) !== "";

/**
 * What lists a commit and all that is in it, and fails where anything is missing: a git that was killed while it fetched may
 * have stored the commit alone. What a partial clone has yet to fetch is not missing.
 */
const LIST_WHOLE = ["rev-list", "--objects", "--no-walk", "--quiet", "--exclude-promisor-objects"];

/** True where the repository has the commit, with all of its files. @throws GitError */
export const holdsCommit = async (tree: WorkingTree, commit: string): Promise<boolean> =>
  (await git(tree, [...LIST_WHOLE, `${commit}^{commit}`], { answers: [1, 128] })).code === 0;

const fetch = (tree: WorkingTree, ...from: string[]) =>
  git(tree, ["fetch", "--quiet", "--no-recurse-submodules", "--no-auto-maintenance", ...from]);

/** Fetches a commit from the remotes, unless the repository has it. @throws GitError where none of them has it */
export const requireCommit = async (tree: WorkingTree, commit: string): Promise<void> => {
  if (await holdsCommit(tree, commit)) return;
  try {
    await fetch(tree, "--all");
  } catch (error) {
    // Another remote may be away, or a branch of one be locked for good, by a git that was killed.
    if (!(error instanceof GitError) || !(await holdsCommit(tree, commit))) throw error;
  }
  if (await holdsCommit(tree, commit)) return;
  await fetch(tree, "origin", commit);
};

/** Returns the paths of repositories within a commit, of whose files a worktree has none. @throws GitError */
export const repositoriesIn = async (tree: WorkingTree, commit: string): Promise<string[]> =>
  items(await git(tree, ["ls-tree", "-r", "-z", "--full-tree", commit])).flatMap((entry) =>
    entry.startsWith(REPOSITORY) ? entry.slice(entry.indexOf("\t") + 1) : [],
  );

/** Makes a commit of a tree that no branch leads to. */
export const commitTree = async (at: WorkingTree, tree: string, parents: readonly string[]): Promise<string> => {
  const parentArguments = parents.flatMap((parent) => ["-p", parent]);
  return lineOf(await git(at, ["commit-tree", "--no-gpg-sign", tree, ...parentArguments, "-m", "A tree as it stood"]));
};

/** A file that was moved is deleted in one place and added in another. */
const DIFF = ["diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index"];

/** A file that differs between two trees: its mode and object in each; undefined where it is not there. */
export interface ChangedEntry {
  path: string;
  from: { mode: string; object: string } | undefined;
  to: { mode: string; object: string } | undefined;
}

/** The mode of what is not there. */
const ABSENT = "000000";

/** Lists the files that differ between two commits or trees. Their paths are bytes, one character each. @throws GitError */
export const entriesBetween = async (objects: ObjectsRepository, from: string, to: string): Promise<ChangedEntry[]> => {
  const raw = byteItems(await gitOnObjects(objects, [...DIFF, "--raw", "-z", "--no-abbrev", from, to]));
  return raw.flatMap((path, index): ChangedEntry[] => {
    if (index % 2 === 0) return [];
    const [oldMode = "", mode = "", oldObject = "", object = ""] = (raw[index - 1] ?? "").slice(1).split(" ");
    const [old, now] = [
      { mode: oldMode, object: oldObject },
      { mode, object },
    ];
    return [{ path, from: oldMode === ABSENT ? undefined : old, to: mode === ABSENT ? undefined : now }];
  });
};

/** Reads an entry of `--numstat`: two counts, or two dashes, and the path. */
const countsOf = (entry: string): [path: string, counts: Pick<ChangedFile, "added" | "removed">] => {
  const [added = "", removed = "", ...path] = entry.split("\t");
  return [path.join("\t"), added === "-" ? {} : { added: Number(added), removed: Number(removed) }];
};

/** Lists the same as people read it, with the lines that differ. @throws GitError */
export const changesBetween = async (objects: ObjectsRepository, from: string, to: string): Promise<ChangedFile[]> => {
  const counts = new Map(items(await gitOnObjects(objects, [...DIFF, "--numstat", "-z", from, to])).map(countsOf));
  const files = (await entriesBetween(objects, from, to)).map((entry): ChangedFile => {
    const path = decodePath(entry.path);
    const change = entry.from === undefined ? "added" : entry.to === undefined ? "deleted" : "modified";
    return { path, change, ...counts.get(path) };
  });
  return files.sort((one, other) => (one.path < other.path ? -1 : 1));
};

/**
 * Writes the difference between two commits or trees into a file, as `git apply` takes it: all of it, or the file stays as it
 * was. Git does not notice when a disk is full where it is to write into a file by itself.
 * @throws GitError, and Error where the file cannot be written
 */
export const writePatch = async (objects: ObjectsRepository, from: string, to: string, file: string): Promise<void> => {
  const form = ["--patch", "--binary", "--src-prefix=a/", "--dst-prefix=b/"];
  await writeWholeWith(file, async (draft) => {
    const output = await open(draft, "w", 0o600);
    try {
      await gitOnObjects(objects, [...DIFF, ...form, from, to], { output: output.fd });
    } finally {
      await output.close();
    }
  });
};

/** Returns the tree that a patch makes of a commit. @throws GitError where it does not fit */
export const patchedTree = async (objects: ObjectsRepository, commit: string, patch: string): Promise<string> => {
  await gitOnObjects(objects, ["read-tree", commit]);
  await gitOnObjects(objects, ["apply", "--cached", "-p1", "--whitespace=nowarn", patch]);
  return lineOf(await gitOnObjects(objects, ["write-tree"]));
};
