import { lstat, readdir } from "node:fs/promises";
import { byteItems, git, type WorkingTree } from "./git.ts";
import { bytesOf } from "./names.ts";

const walk = async (top: string, folder: string): Promise<string[]> => {
  // Without `withFileTypes`: Bun leaves out the names then.
  const names = await readdir(bytesOf(top, folder), { encoding: "buffer" });
  const found = names.map(async (bytes) => {
    // Bun gives bytes that are no Buffer.
    const name = Buffer.from(bytes).toString("latin1");
    if (name === ".git") return [];
    const path = `${folder}/${name}`;
    const facts = await lstat(bytesOf(top, path));
    if (facts.isDirectory()) return walk(top, path);
    return facts.isFile() || facts.isSymbolicLink() ? [path] : [];
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
