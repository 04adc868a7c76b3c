import type { ChangedFile } from "../../../task.ts";
import { git, items } from "./git.ts";

/** A file that was moved is deleted in one place and added in another, and no filter of the user's changes what is read. */
const PLAIN = ["--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"];

const CHANGES: Record<string, ChangedFile["change"]> = { A: "added", D: "deleted" };

/** Reads an entry of `--numstat`: two counts, or two dashes, and the path. */
const countsOf = (entry: string): [path: string, counts: Pick<ChangedFile, "added" | "removed">] => {
  const [added = "", removed = "", ...path] = entry.split("\t");
  return [path.join("\t"), added === "-" ? {} : { added: Number(added), removed: Number(removed) }];
};

/** Lists the files that differ between two commits or trees, by path. @throws GitError */
export const changesBetween = async (top: string, from: string, to: string): Promise<ChangedFile[]> => {
  const counts = new Map(items((await git(top, ["diff", "--numstat", "-z", ...PLAIN, from, to])).stdout).map(countsOf));
  const named = items((await git(top, ["diff", "--name-status", "-z", ...PLAIN, from, to])).stdout);
  const files = named.flatMap((letter, index): ChangedFile[] => {
    const path = named[index + 1];
    if (index % 2 === 1 || path === undefined) return [];
    return [{ path, change: CHANGES[letter] ?? "modified", ...counts.get(path) }];
  });
  return files.sort((one, other) => (one.path < other.path ? -1 : 1));
};

/** Writes the difference between two commits or trees into a file, as `git apply` takes it. @throws GitError */
export const writePatch = async (top: string, from: string, to: string, file: string): Promise<void> => {
  await git(top, ["diff", "--binary", "--full-index", ...PLAIN, `--output=${file}`, from, to]);
};
