// A worktree is found by what its repository says of it, never by its own `.git`, which may be the agent's
// (docs/decisions/256-git-runs-nothing-an-agent-wrote.md). It begins with the caller's files as they are, on no branch
// (docs/decisions/244-a-worktree-begins-with-the-callers-files.md).
import { existsSync } from "node:fs";
import { lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { GitError, git, gitAt, items, lineOf, type ObjectsRepository, type WorkingTree } from "./git.ts";

/** Gives `work` a folder that is removed afterwards. */
export const withTemporaryFolder = async <T>(work: (folder: string) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(tmpdir(), "taskchart-git-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/**
 * Returns what the disk of a folder can do, as settings of git: whether names differ by case, and whether files can be
 * marked as executable. Git otherwise believes what a configuration says. Empty where nothing can be written there.
 */
const settingsFor = async (folder: string): Promise<string[]> => {
  const probes = await mkdtemp(join(folder, "taskchart-probe-")).catch(() => undefined);
  if (probes === undefined) return [];
  try {
    const probe = join(probes, "probe");
    await writeFile(probe, "", { mode: 0o644 });
    const plain = (await stat(probe)).mode & 0o111;
    await rm(probe);
    await writeFile(probe, "", { mode: 0o755 });
    const runnable = (await stat(probe)).mode & 0o100;
    const keepsModes = process.platform !== "win32" && plain === 0 && runnable !== 0;
    return [`core.ignoreCase=${existsSync(join(probes, "PROBE"))}`, `core.fileMode=${keepsModes}`];
  } catch {
    return [];
  } finally {
    await rm(probes, { recursive: true, force: true });
  }
};

/** What git is asked of a directory: a line each. */
const QUESTIONS = ["--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--show-object-format"];

/**
 * Finds the working tree that a person's directory belongs to. Never asked of a folder in which an agent has worked in a
 * worktree: what is in its `.git` may be the agent's.
 * @throws GitError when it belongs to none
 */
export const treeAt = async (directory: string): Promise<WorkingTree> => {
  const lines = lineOf(await gitAt(directory, ["rev-parse", "--path-format=absolute", ...QUESTIONS])).split("\n");
  const [top = "", gitDir = "", commonDir = "", objectFormat = ""] = lines;
  if (lines.length !== QUESTIONS.length) throw new GitError(`there is a line break in the path of ${directory}`);
  return { top, gitDir, commonDir, objectFormat, settings: await settingsFor(gitDir) };
};

/**
 * The same of a directory whose repository may be gone: undefined then.
 * @throws GitError when git could not be asked
 */
export const findTree = async (directory: string): Promise<WorkingTree | undefined> => {
  if (!existsSync(directory)) return undefined;
  try {
    return await treeAt(directory);
  } catch (error) {
    if (error instanceof GitError && error.code !== undefined) return undefined;
    throw error;
  }
};

/** Where a folder really is, which it may be no more; its own name is never followed. */
const placeOf = async (path: string): Promise<string> =>
  join(await realpath(dirname(path)).catch(() => dirname(path)), basename(path));

/** Why a worktree of ours is locked, in the words that git is given first of all. */
const lockReason = (path: string): string => `opencode-taskchart ${path}`;

const linesOf = async (file: string): Promise<string | undefined> =>
  (await readFile(file, "utf8").catch(() => undefined))?.replace(/\r?\n$/, "");

/**
 * Returns the folders in which a repository keeps what it knows of a worktree at a path: none or one, and any that a git which
 * was killed had begun.
 */
export const entriesOf = async ({ commonDir }: WorkingTree, path: string): Promise<string[]> => {
  const entries = join(commonDir, "worktrees");
  const place = await placeOf(path);
  const found: string[] = [];
  for (const name of existsSync(entries) ? await readdir(entries) : []) {
    const entry = join(entries, name);
    const file = await linesOf(join(entry, "gitdir"));
    const isOfPath =
      file === undefined || file === ""
        ? (await linesOf(join(entry, "locked"))) === lockReason(path)
        : (await placeOf(dirname(resolve(entry, file)))) === place;
    if (isOfPath) found.push(entry);
  }
  return found;
};

/**
 * Finds the working tree of a worktree by what its repository says of it.
 * @param source a working tree of the same repository, in which no task works in a worktree
 * @param path the folder of the worktree
 * @throws GitError when the repository has no worktree there
 */
export const worktreeAt = async (source: WorkingTree, path: string): Promise<WorkingTree> => {
  const { commonDir, objectFormat } = source;
  const [gitDir] = await entriesOf(source, path);
  if (gitDir === undefined) throw new GitError(`the repository in ${commonDir} has no worktree at ${path}`);
  const top = await placeOf(path);
  if (!(await lstat(top).catch(() => undefined))?.isDirectory()) throw new GitError(`${path} is no folder`);
  return { top, gitDir, commonDir, objectFormat, settings: await settingsFor(dirname(top)) };
};

/** Gives `work` a repository of ours over the objects of a tree's repository. It is removed afterwards. */
export const withObjects = async <T>(
  { commonDir, objectFormat }: WorkingTree,
  work: (repository: ObjectsRepository) => Promise<T>,
): Promise<T> =>
  withTemporaryFolder(async (gitDir) => {
    await mkdir(join(gitDir, "refs"));
    await writeFile(join(gitDir, "HEAD"), "ref: refs/heads/none\n");
    const [version, extensions] =
      objectFormat === "sha1" ? [0, ""] : [1, `[extensions]\n\tobjectFormat = ${objectFormat}\n`];
    await writeFile(
      join(gitDir, "config"),
      `[core]\n\trepositoryFormatVersion = ${version}\n\tbare = true\n${extensions}`,
    );
    return work({ gitDir, objects: join(commonDir, "objects") });
  });

/** A ref that only its own worktree sees. It keeps the commit that the worktree began with. */
const BASE = "refs/worktree/taskchart-base";

const megabytes = (bytes: number): number => Math.ceil(bytes / 1_000_000);

/** Returns the bytes that the disk of a folder has left. */
const freeBytesAt = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

/**
 * Refuses what a disk has no room for: git says of a full one no more than which files it could not write.
 * @throws GitError with the sizes
 */
const requireRoom = async (source: WorkingTree, commit: string, free: number): Promise<void> => {
  const entries = items(await git(source, ["ls-tree", "-r", "-l", "-z", "--full-tree", commit]));
  const needed = entries.reduce((sum, entry) => sum + Number(/ +(\d+)\t/.exec(entry)?.[1] ?? 0), 0);
  if (needed < free) return;
  throw new GitError(`the disk has ${megabytes(free)} MB left, and the files take ${megabytes(needed)} MB`);
};

/**
 * Makes a worktree with the files of a commit. It is on no branch, and locked, so that `git worktree prune` leaves it alone.
 * @param source a working tree of the repository
 * @param freeBytes only tests pass it
 * @throws GitError when it cannot be made, as on a full disk; nothing is left of it then
 */
export const addWorktree = async (
  source: WorkingTree,
  path: string,
  commit: string,
  freeBytes = freeBytesAt,
): Promise<WorkingTree> => {
  await requireRoom(source, commit, await freeBytes(dirname(path)));
  const lock = ["--lock", "--reason", lockReason(path)];
  try {
    await git(source, ["worktree", "add", "--quiet", "--detach", "--no-guess-remote", ...lock, path, commit]);
    const made = await worktreeAt(source, path);
    await keepBase(made, commit);
    return made;
  } catch (error) {
    await removeWorktree(source, path);
    throw error;
  }
};

/** Keeps a commit for as long as the worktree is there. @throws GitError */
export const keepBase = async (tree: WorkingTree, commit: string): Promise<void> => {
  await git(tree, ["update-ref", BASE, commit]);
};

/**
 * Removes a worktree with all that is in it, and what its repository knows of it. Without git, which knows no worktree that it
 * was killed in making, and would look into the folder's `.git`, which may be the agent's. The folder goes last: as long as it
 * is there, the next process that finds it removes the rest.
 * @param source a working tree of the same repository; undefined where that is gone
 * @throws Error when something of it cannot be removed
 */
export const removeWorktree = async (source: WorkingTree | undefined, path: string): Promise<void> => {
  for (const folder of [...(source ? await entriesOf(source, path) : []), path])
    await rm(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 100 });
};
