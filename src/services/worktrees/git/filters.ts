// Filters run in the person's tree alone, whose files the agent did not write
// (docs/decisions/256-git-runs-nothing-an-agent-wrote.md).
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { byteItems, bytesOf, git, items, lineOf, type WorkingTree } from "./git.ts";

/** The command that turns a file's bytes into an object, that for the way back, and one for both. */
const COMMANDS = ["clean", "smudge", "process"];

/** Returns the names of the filters for which a configuration has commands, such as `lfs`. @throws GitError */
export const filtersOf = async (tree: WorkingTree): Promise<string[]> => {
  const keys = await git(
    tree,
    ["config", "-z", "--name-only", "--get-regexp", `^filter\\..*\\.(${COMMANDS.join("|")})$`],
    {
      answers: [1],
    },
  );
  return [...new Set(items(keys).map((key) => key.slice("filter.".length, key.lastIndexOf("."))))];
};

/** The same tree, in which no filter runs. */
export const withoutFilters = (tree: WorkingTree, filters: readonly string[]): WorkingTree => ({
  ...tree,
  settings: [
    ...tree.settings,
    ...filters.flatMap((name) => [
      ...COMMANDS.map((command) => `filter.${name}.${command}=`),
      `filter.${name}.required=false`,
    ]),
  ],
});

/** Returns those of the paths that a tree's attributes name one of the filters for. Paths are bytes. @throws GitError */
export const filtered = async (
  tree: WorkingTree,
  filters: readonly string[],
  paths: readonly string[],
): Promise<string[]> => {
  if (filters.length === 0 || paths.length === 0) return [];
  const answer = byteItems(await git(tree, ["check-attr", "-z", "--stdin", "filter"], { input: paths }));
  const named = new Set(filters);
  return paths.filter((_, index) => named.has(Buffer.from(answer[3 * index + 2] ?? "", "latin1").toString()));
};

/**
 * Stores a file of a folder that an agent wrote, as the filter of a person's own tree has it. The filter runs in that tree:
 * a command that is a file of the project is the person's file.
 * @returns the id of the object
 * @throws GitError
 */
export const storeFiltered = async (source: WorkingTree, folder: string, path: string): Promise<string> => {
  const file = await open(bytesOf(folder, path), constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    // A path that is not text has no attributes by its own name, but by its extension.
    const name = Buffer.from(path, "latin1").toString();
    return lineOf(await git(source, ["hash-object", "-w", "--stdin", `--path=${name}`], { input: file.fd }));
  } finally {
    await file.close();
  }
};

/**
 * Writes an object into a file as the filter of a person's own tree has it there: what `storeFiltered` did, undone.
 * @param path where it belongs in that tree
 * @throws GitError
 */
export const writeFiltered = async (target: WorkingTree, object: string, path: string, to: string): Promise<void> => {
  const file = await open(to, "w");
  try {
    await git(target, ["cat-file", "--filters", `--path=${path}`, object], { output: file.fd });
  } finally {
    await file.close();
  }
};
