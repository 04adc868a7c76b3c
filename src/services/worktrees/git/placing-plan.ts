// Each file, or each new folder, gets its place by one rename, so that no reader sees a half-written file, and all of it
// can be undone (docs/decisions/257-changes-by-renames-and-a-journal.md).
import type { BigIntStats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { type ChangedEntry, entriesBetween, REPOSITORY } from "./commit.ts";
import {
  byteItems,
  decodePath,
  firstOf,
  GitError,
  git,
  isText,
  type ObjectsRepository,
  type WorkingTree,
} from "./git.ts";

/** What is put in place by one rename: a file, a link, or a folder of new files; or what is taken away. */
export const PlannedUnit = z.object({
  /** From the top of the tree. */
  path: z.string(),
  /** What is there before. */
  had: z.enum(["nothing", "file", "folder"]),
  /** Something new comes there. */
  gets: z.boolean(),
  /** What was there when it was planned, see `contentMark`. */
  before: z.string(),
});
export type PlannedUnit = z.infer<typeof PlannedUnit>;
type Unit = Omit<PlannedUnit, "before">;

/** @throws GitError that names the paths, where there are any */
const refuse = (paths: readonly string[], reason: string): void => {
  if (paths.length === 0) return;
  throw new GitError(`${reason}: ${firstOf(paths)}`);
};

/** Lists the files that differ between two trees. @throws GitError that names those which cannot be put into a tree of files */
export const placeableBetween = async (
  objects: ObjectsRepository,
  from: string,
  to: string,
): Promise<ChangedEntry[]> => {
  const entries = await entriesBetween(objects, from, to);
  const unreadable = entries.flatMap(({ path }) => (isText(path) ? [] : JSON.stringify(path)));
  refuse(unreadable, "names of files that are no UTF-8 text cannot be applied");
  const named = entries.map((entry) => ({ ...entry, path: decodePath(entry.path) }));
  const repositories = named.filter(({ from: old, to: now }) => old?.mode === REPOSITORY || now?.mode === REPOSITORY);
  refuse(
    repositories.map(({ path }) => path),
    "repositories in the tree cannot be changed",
  );
  return named;
};

/** What is known of a file without following links; undefined where there is none. */
export const factsOf = async (path: string): Promise<BigIntStats | undefined> => {
  try {
    return await lstat(path, { bigint: true });
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
      return undefined;
    throw error;
  }
};

/** Returns a mark by which a file is recognized, even after it was renamed. Empty where there is none. */
export const markOf = async (path: string): Promise<string> => {
  const facts = await factsOf(path);
  return facts ? `${facts.ino} ${facts.size} ${facts.mtimeNs}` : "";
};

/** Returns the paths of all that lies in a folder, but for folders. */
const filesIn = async (folder: string): Promise<string[]> => {
  const entries = await readdir(folder, { withFileTypes: true });
  const found = entries.map((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesIn(path) : [path];
  });
  return (await Promise.all(found)).flat();
};

/** Returns a mark of what is at a path, by which it is recognized even after it was renamed: a file, or a folder with all that is in it. */
export const contentMark = async (path: string): Promise<string> => {
  if (!(await factsOf(path))?.isDirectory()) return markOf(path);
  const marks = (await filesIn(path)).map(async (file) => `${file.slice(path.length)} ${await markOf(file)}`);
  return `folder\n${(await Promise.all(marks)).sort().join("\n")}`;
};

const parentFolders = (path: string): string[] => {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
};

/**
 * Plans the renames that give a tree of files its new content. Looks at all that is there first.
 * @param index the index of the snapshot that `entries` were made against
 * @throws GitError that names what is in the way, or has changed since that snapshot; nothing is changed then
 */
export const planUnits = async (
  tree: WorkingTree,
  entries: readonly ChangedEntry[],
  index: string,
): Promise<PlannedUnit[]> => {
  const { top } = tree;
  const byPath = new Map(entries.map((entry) => [entry.path, entry]));
  const isDeleted = (path: string) => byPath.has(path) && byPath.get(path)?.to === undefined;

  const inTheWay: string[] = [];
  const inRepositories: string[] = [];
  const units = new Map<string, PlannedUnit>();
  /** Records what is there before it is looked at: what changes after that is found when the unit gets its place. */
  const plan = async (unit: Unit, before?: string): Promise<void> => {
    if (units.has(unit.path)) return;
    const mark = unit.had === "nothing" ? "" : (before ?? (await contentMark(join(top, unit.path))));
    units.set(unit.path, { ...unit, before: mark });
  };
  const covered = new Set<string>();

  /** Returns the first folder or file that is in the way between the tree's top and a path; undefined where only folders are. */
  const firstObstacle = async (path: string): Promise<Unit | undefined> => {
    for (const folder of parentFolders(path)) {
      const facts = await factsOf(join(top, folder));
      if (!facts) return { path: folder, had: "nothing", gets: true };
      if (!facts.isDirectory()) return { path: folder, had: "file", gets: true };
      if (await factsOf(join(top, folder, ".git"))) inRepositories.push(folder);
    }
    return undefined;
  };

  const unitAt = async ({ path, from }: ChangedEntry): Promise<Unit> => {
    const obstacle = await firstObstacle(path);
    if (obstacle) {
      if (obstacle.had === "file" && !isDeleted(obstacle.path)) inTheWay.push(obstacle.path);
      return obstacle;
    }
    const facts = await factsOf(join(top, path));
    if (!facts) return { path, had: "nothing", gets: true };
    if (!facts.isDirectory()) {
      if (!from) inTheWay.push(path);
      return { path, had: "file", gets: true };
    }
    const inside = (await filesIn(join(top, path))).map((file) => file.slice(top.length + 1));
    inTheWay.push(...inside.filter((file) => !isDeleted(file)));
    for (const file of inside) covered.add(file);
    return { path, had: "folder", gets: true };
  };

  for (const entry of entries) {
    if (!entry.to) continue;
    const before = await contentMark(join(top, entry.path));
    const unit = await unitAt(entry);
    await plan(unit, unit.path === entry.path ? before : undefined);
  }
  for (const { path, to } of entries) {
    if (to || units.has(path) || covered.has(path)) continue;
    const obstacle = await firstObstacle(path);
    if (obstacle?.had === "file") inTheWay.push(obstacle.path);
    // What a sparse checkout leaves out is not there to be deleted.
    if (!obstacle && (await factsOf(join(top, path)))) await plan({ path, had: "file", gets: false });
  }
  refuse([...new Set(inRepositories)], "there are repositories of their own in the tree");
  refuse([...new Set(inTheWay)], "files that git does not know are in the way");
  if (tree.settings.includes("core.ignoreCase=true")) {
    const names = [...byPath.values()].flatMap(({ path, to }) => (to ? path.toLowerCase() : []));
    refuse(
      names.filter((name, at) => names.indexOf(name) !== at),
      "files whose names differ by case alone cannot be there at once",
    );
  }
  // Once it is recorded what is there.
  const modified = byteItems(await git({ ...tree, index }, ["ls-files", "-z", "--modified"]));
  const since = modified.map((path) => Buffer.from(path, "latin1").toString()).filter((path) => byPath.get(path)?.from);
  refuse([...new Set(since)], "files were changed in the meantime, so apply again");
  return [...units.values()];
};

/** @throws GitError that names the files to be changed that lie on another disk than the folder that they are written in */
export const requireOneDisk = async (top: string, units: readonly Unit[], staging: string): Promise<void> => {
  const disk = (await factsOf(staging))?.dev;
  const elsewhere: string[] = [];
  for (const { path } of units) if ((await factsOf(dirname(join(top, path))))?.dev !== disk) elsewhere.push(path);
  refuse(elsewhere, "files that lie on another disk than the rest of the tree cannot be changed");
};
