// What an agent is to go on with is seldom committed, so a worktree begins with a commit of the tree as it is, made with a
// copy of the index (docs/decisions/244-a-worktree-begins-with-the-callers-files.md).
import { existsSync } from "node:fs";
import { copyFile, lstat, mkdir, readdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { commitTree, headOf, REPOSITORY } from "./commit.ts";
import { filtered, filtersOf, storeFiltered, withoutFilters } from "./filters.ts";
import { byteItems, bytesOf, GitError, git, lineOf, readable, refusedPart, type WorkingTree } from "./git.ts";
import { withTemporaryFolder } from "./working-tree.ts";

/** Lists the files in a folder of a tree. @throws GitError when the tree's time is over */
const walk = async (tree: WorkingTree, folder: string): Promise<string[]> => {
  const { top, endsAt = Number.POSITIVE_INFINITY } = tree;
  if (Date.now() > endsAt) throw new GitError("there are too many files in the repositories within it");
  // Without `withFileTypes`: Bun leaves out the names then.
  const names = await readdir(bytesOf(top, folder), { encoding: "buffer" });
  const found = names.map(async (bytes) => {
    // Bun gives bytes that are no Buffer.
    const name = Buffer.from(bytes).toString("latin1");
    if (name === ".git") return [];
    const path = `${folder}/${name}`;
    const facts = await lstat(bytesOf(top, path));
    if (facts.isDirectory()) return walk(tree, path);
    return facts.isFile() || facts.isSymbolicLink() ? [path] : [];
  });
  return (await Promise.all(found)).flat();
};

/**
 * Lists the files of repositories that lie in a tree, without their git directories and without what the tree's git ignores.
 * @param folders where they lie; bytes, as all paths here
 */
const filesOfNested = async (tree: WorkingTree, folders: readonly string[]): Promise<string[]> => {
  const files: string[] = [];
  for (const folder of folders) files.push(...(await walk(tree, folder)));
  if (files.length === 0) return files;
  const answer = await git(tree, ["check-ignore", "-z", "--stdin", "--no-index"], { input: files, answers: [1] });
  const ignored = new Set(byteItems(answer));
  return files.filter((file) => !ignored.has(file));
};

/** A tree as it stood at one moment. */
export interface TreeSnapshot {
  /** The commit that has all of its files, new ones included, and none that git ignores. No branch leads to it. */
  commit: string;
  /** The tree of that commit: the same for the same files. */
  tree: string;
  /** Paths of repositories within the tree: those of a person's tree are not in it, nor is any of their files. */
  repositories: string[];
  /** Paths of files and folders that git takes into no tree because of their names, such as `.GIT`. */
  refused: string[];
}

/**
 * Copies the index, if there is one: with it git need not read files that have not changed. The copy is no younger than the
 * index, for git reads again what has changed in the moment in which that was written.
 */
const copyIndex = async ({ gitDir }: WorkingTree, to: string): Promise<void> => {
  const index = join(gitDir, "index");
  if (!existsSync(index)) return;
  const { mtimeMs } = await stat(index);
  await copyFile(index, to);
  const writtenAt = new Date(Math.floor(mtimeMs));
  await utimes(to, writtenAt, writtenAt);
};

/** Entries of an index by path, each as `<mode> <object>`. */
type Entries = Map<string, string>;

const entriesOf = async (tree: WorkingTree): Promise<Entries> =>
  new Map(
    byteItems(await git(tree, ["ls-files", "--stage", "-z"])).map((entry) => {
      const [facts = "", path = ""] = [entry.slice(0, entry.indexOf("\t")), entry.slice(entry.indexOf("\t") + 1)];
      return [path, facts.slice(0, facts.lastIndexOf(" "))];
    }),
  );

/** Returns a tree as git is to see it for a snapshot, with the index that this makes. */
const begin = async (of: WorkingTree, index: string): Promise<WorkingTree> => {
  await copyIndex(of, index);
  // In a sparse checkout, and where files were marked by hand, git believes of files that are there that they are not.
  const tree = { ...of, settings: [...of.settings, "core.sparseCheckout=true"], index };
  // And of files that were marked so, that they have not changed.
  const unchanged = byteItems(await git(tree, ["ls-files", "-z", "-v"])).flatMap((entry) =>
    /^[a-z]/.test(entry) ? entry.slice(2) : [],
  );
  if (unchanged.length > 0)
    await git(tree, ["update-index", "--no-assume-unchanged", "-z", "--stdin"], { input: unchanged });
  return tree;
};

/** Takes in what has changed in the tree, but for the repositories in it and what git refuses. Returns both. */
const addChanged = async (tree: WorkingTree, apart: readonly string[]) => {
  const others = byteItems(await git(tree, ["ls-files", "-z", "--others", "--exclude-standard"]));
  const nested = others.flatMap((path) => (path.endsWith("/") ? path.slice(0, -1) : []));
  const refused = others.flatMap((path) => refusedPart(path) ?? []);
  const left = [...new Set([...nested, ...refused, ...apart])].map((path) => `:(top,exclude,literal)${path}`);
  const args = ["add", "-A", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"];
  await git(tree, args, { input: [".", ...left] });
  return { nested: nested.filter((path) => refusedPart(path) === undefined), refused };
};

const updateIndex = (tree: WorkingTree, args: readonly string[], input: readonly string[]) =>
  input.length === 0 ? undefined : git(tree, ["update-index", "-z", ...args], { input });

/** Takes in all that lies in the tree, files of repositories in it too; `anew`: what is read whatever the index says of it. */
const addAll = async (tree: WorkingTree, anew: readonly string[]) => {
  await updateIndex(tree, ["--force-remove", "--stdin"], anew);
  const { nested, refused } = await addChanged(tree, []);
  const inside = await filesOfNested(tree, nested);
  const taken = inside.filter((path) => refusedPart(path) === undefined);
  await updateIndex(tree, ["--add", "--replace", "--stdin"], taken);
  return { nested, refused, inside };
};

const finish = async (at: WorkingTree, parents: readonly string[]) => {
  const tree = lineOf(await git(at, ["write-tree"]));
  return { tree, commit: await commitTree(at, tree, parents) };
};

const repositoriesIn = (entries: Entries): string[] =>
  [...entries].flatMap(([path, facts]) => (facts.startsWith(REPOSITORY) ? path : []));

const withIndex = <T>(index: string | undefined, work: (index: string) => Promise<T>): Promise<T> =>
  index === undefined ? withTemporaryFolder((folder) => work(join(folder, "index"))) : work(index);

/**
 * Takes a snapshot of a person's working tree: what is staged, what is not, and new files. Files, index, branches and stash
 * stay as they are.
 * @param keptIndex a file in which the index of the snapshot is left. Default: nowhere
 * @throws GitError when a file cannot be read
 */
export const takeSnapshot = (tree: WorkingTree, keptIndex?: string): Promise<TreeSnapshot> =>
  withIndex(keptIndex, async (index) => {
    const taking = await begin(tree, index);
    const known = repositoriesIn(await entriesOf(taking));
    const { nested, refused } = await addChanged(taking, known);
    const head = await headOf(tree);
    return {
      ...(await finish(taking, head === undefined ? [] : [head])),
      repositories: readable([...known, ...nested]),
      refused: readable(refused),
    };
  });

/**
 * Takes a snapshot of a worktree in which an agent has worked. It has the files of repositories that lie in it, too. Nothing
 * that the agent wrote runs.
 * @param source a person's tree of the same repository, in which the filters run that the person has configured
 * @throws GitError when a file cannot be read
 */
export const takeTaskSnapshot = (tree: WorkingTree, source: WorkingTree): Promise<TreeSnapshot> =>
  withTemporaryFolder(async (folder) => {
    const filters = await filtersOf(tree);
    const taking = await begin(withoutFilters(tree, filters), join(folder, "index"));
    const before = await entriesOf(taking);
    const { nested, refused, inside } = await addAll(taking, repositoriesIn(before));
    if (filters.length > 0) {
      const after = [...(await entriesOf(taking))];
      const changed = new Map(after.filter(([path, facts]) => facts.startsWith("100") && before.get(path) !== facts));
      const stored: string[] = [];
      for (const path of await filtered(taking, filters, [...changed.keys()])) {
        const [mode = ""] = (changed.get(path) ?? "").split(" ");
        stored.push(`${mode} ${await storeFiltered(source, tree.top, path)}\t${path}`);
      }
      await updateIndex(taking, ["--index-info"], stored);
    }
    return {
      ...(await finish(taking, [])),
      repositories: readable(nested),
      refused: readable([...refused, ...inside.flatMap((path) => refusedPart(path) ?? [])]),
    };
  });

/**
 * Returns git's id of the tree of all files that lie in a working tree, but for those that git ignores: the same for the same
 * files, whatever is committed or staged. Nothing is written into the repository, and nothing that an agent wrote runs: no
 * filter does, so a file that has one is read as it lies there.
 * @throws GitError when a file cannot be read, or it takes longer than the tree's `endsAt`
 */
export const fingerprintOf = (tree: WorkingTree): Promise<string> =>
  withTemporaryFolder(async (folder) => {
    const newObjects = join(folder, "objects");
    await mkdir(join(newObjects, "info"), { recursive: true });
    await writeFile(join(newObjects, "info", "alternates"), `${join(tree.commonDir, "objects")}\n`);
    const filters = await filtersOf(tree);
    const bare = withoutFilters(tree, filters);
    const settings = [...bare.settings, "core.looseCompression=0"];
    const taking = await begin({ ...bare, settings, newObjects }, join(folder, "index"));
    const entries = await entriesOf(taking);
    const raw = await filtered(taking, filters, [...entries.keys()]);
    await addAll(taking, [...new Set([...repositoriesIn(entries), ...raw])]);
    return lineOf(await git(taking, ["write-tree", "--missing-ok"]));
  });
