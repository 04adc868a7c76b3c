// ADR-256 in docs/decisions.md
import { open } from "node:fs/promises";
import type { ChangedFile } from "../../../task.ts";
import { writeWholeWith } from "../../platform/private-files.ts";
import { gitOnObjects, items, type ObjectsRepository } from "./git.ts";

/** A file that was moved is deleted in one place and added in another. */
const DIFF = ["diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index"];

const CHANGES: Record<string, ChangedFile["change"]> = { A: "added", D: "deleted" };

/** Reads an entry of `--numstat`: two counts, or two dashes, and the path. */
const countsOf = (entry: string): [path: string, counts: Pick<ChangedFile, "added" | "removed">] => {
  const [added = "", removed = "", ...path] = entry.split("\t");
  return [path.join("\t"), added === "-" ? {} : { added: Number(added), removed: Number(removed) }];
};

/** Lists the files that differ between two commits or trees, by path. @throws GitError */
export const changesBetween = async (objects: ObjectsRepository, from: string, to: string): Promise<ChangedFile[]> => {
  const counts = new Map(items(await gitOnObjects(objects, [...DIFF, "--numstat", "-z", from, to])).map(countsOf));
  const named = items(await gitOnObjects(objects, [...DIFF, "--name-status", "-z", from, to]));
  const files = named.flatMap((letter, index): ChangedFile[] => {
    const path = named[index + 1];
    if (index % 2 === 1 || path === undefined) return [];
    return [{ path, change: CHANGES[letter] ?? "modified", ...counts.get(path) }];
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
  const env = { GIT_INDEX_FILE: `${objects.gitDir}/patched` };
  await gitOnObjects(objects, ["read-tree", commit], { env });
  await gitOnObjects(objects, ["apply", "--cached", "-p1", "--whitespace=nowarn", patch], { env });
  return (await gitOnObjects(objects, ["write-tree"], { env })).stdout.toString().trim();
};
