// ADR-256 in docs/decisions.md
import { existsSync } from "node:fs";
import { lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { GitError, gitAt, lineOf, type ObjectsRepository, type WorkingTree } from "./git.ts";

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
 * Says what the disk of a folder can do, as settings of git: whether it tells names apart by case, and files that may be
 * run. Git otherwise believes what stands in a configuration. Empty where nothing can be written there.
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
 * worktree: what stands in its `.git` may be the agent's.
 * @throws GitError when it belongs to none
 */
export const treeAt = async (directory: string): Promise<WorkingTree> => {
  const lines = lineOf(await gitAt(directory, ["rev-parse", "--path-format=absolute", ...QUESTIONS])).split("\n");
  const [top = "", gitDir = "", commonDir = "", objectFormat = ""] = lines;
  if (lines.length !== QUESTIONS.length) throw new GitError(`there is a line break in the path of ${directory}`);
  return { top, gitDir, commonDir, objectFormat, settings: await settingsFor(gitDir) };
};

/** Where a folder really is, which it may be no more; its own name is never followed. */
const placeOf = async (path: string): Promise<string> =>
  join(await realpath(dirname(path)).catch(() => dirname(path)), basename(path));

/**
 * Finds the working tree of a worktree by what its repository says of it.
 * @param source a working tree of the same repository, in which no task works in a worktree
 * @param path the folder of the worktree
 * @throws GitError when the repository has no worktree there
 */
export const worktreeAt = async ({ commonDir, objectFormat }: WorkingTree, path: string): Promise<WorkingTree> => {
  const entries = join(commonDir, "worktrees");
  const place = await placeOf(path);
  for (const name of existsSync(entries) ? await readdir(entries) : []) {
    const gitDir = join(entries, name);
    const file = await readFile(join(gitDir, "gitdir"), "utf8").catch(() => undefined);
    if (file === undefined || (await placeOf(dirname(resolve(gitDir, file.replace(/\r?\n$/, ""))))) !== place) continue;
    if (!(await lstat(place).catch(() => undefined))?.isDirectory()) throw new GitError(`${path} is no folder`);
    return { top: place, gitDir, commonDir, objectFormat, settings: await settingsFor(dirname(place)) };
  }
  throw new GitError(`the repository in ${commonDir} has no worktree at ${path}`);
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
