import { readdir } from "node:fs/promises";
import { byteItems, git, type WorkingTree } from "./git.ts";
import { bytesOf } from "./names.ts";

const walk = async (top: string, folder: string): Promise<string[]> => {
  const entries = await readdir(bytesOf(top, folder), { withFileTypes: true, encoding: "buffer" });
  const found = entries.map(async (entry) => {
    const name = entry.name.toString("latin1");
    if (name === ".git") return [];
    const path = `${folder}/${name}`;
    if (entry.isDirectory()) return walk(top, path);
    return entry.isFile() || entry.isSymbolicLink() ? [path] : [];
  });
  return (await Promise.all(found)).flat();
};

/**
 * Lists the files of repositories that lie in a tree, without their git directories and without what the tree's git ignores.
 * @param folders where they lie; bytes, as all paths here
 */
export const filesOfNested = async (tree: WorkingTree, folders: readonly string[]): Promise<string[]> => {
  const files: string[] = [];
  for (const folder of folders) files.push(...(await walk(tree.top, folder)));
  if (files.length === 0) return files;
  const answer = await git(tree, ["check-ignore", "-z", "--stdin", "--no-index"], { input: files, answers: [1] });
  const ignored = new Set(byteItems(answer));
  return files.filter((file) => !ignored.has(file));
};
