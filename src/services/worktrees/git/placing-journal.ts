// A process may be killed, or a disk be full, in the middle of applying changes. The journal is written first, so that
// the next process can finish or undo that (docs/decisions/257-changes-by-renames-and-a-journal.md).
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { mkdir, readdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import type { ChangedFile } from "../../../task.ts";
import { ChangedFileSchema } from "../../../worktree-changes.ts";
import { writeWhole } from "../../platform/private-files.ts";
import { contentMark, factsOf, markOf, type PlannedUnit } from "./placing-plan.ts";

/**
 * What is known of changes that are being put into a tree of files: enough to finish or to undo that, for the process that finds
 * it after a crash.
 */
const PlacingJournal = z.object({
  /** The folder of the tree. */
  top: z.string(),
  /** The folder that has what is new until it is in place, and what it replaces, see `freshOf` and `oldOf`. */
  staging: z.string(),
  /** False until all that is new is written: nothing of the tree is changed before. */
  isWritten: z.boolean(),
  units: z.array(
    z.object({
      path: z.string(),
      had: z.enum(["nothing", "file", "folder"]),
      gets: z.boolean(),
      /** What was there, see `contentMark`. */
      before: z.string(),
    }),
  ),
  /** By which each new file is recognized, by path. */
  marks: z.record(z.string(), z.string()),
  /** What a person is shown of the changes. */
  files: z.array(ChangedFileSchema),
});
export type PlacingJournal = z.infer<typeof PlacingJournal>;

/** The files that a journal is in. */
export interface JournalFiles {
  /** While changes are put into a tree. */
  applying: string;
  /** Once all is in place: the same file renamed, which needs no room on the disk. */
  applied: string;
}

/** A file that somebody has changed since changes were put in place there, so that it stays as it is. */
interface LeftFile {
  path: string;
  /** The file or folder that stood there before, under another name; absent where nothing did. */
  before?: string;
}

/** What became of changes that were found half in place. */
export interface CutOff {
  became: "finished" | "undone";
  /** The folder of the tree. */
  tree: string;
  files: ChangedFile[];
  left: LeftFile[];
}

export const writeJournal = ({ applying }: JournalFiles, journal: PlacingJournal): void =>
  writeWhole(applying, JSON.stringify(journal));

/** Notes that all is in place. */
export const notePlaced = ({ applying, applied }: JournalFiles): void => renameSync(applying, applied);

/** Where what a unit gets waits for its place. */
export const freshOf = ({ staging }: Pick<PlacingJournal, "staging">, path: string): string =>
  join(staging, "new", path);

/** Where what a unit replaces is kept; `at` is its number. */
export const oldOf = (
  { staging }: Pick<PlacingJournal, "staging">,
  { path }: Pick<PlannedUnit, "path">,
  at: number,
): string => join(staging, "old", String(at), basename(path));

/** Removes the parent folders of a path that are empty now, up to `end`, which may go too. */
const removeEmptyAbove = async (top: string, path: string, end: string): Promise<void> => {
  for (let folder = dirname(path); folder !== "." && folder.length >= end.length; folder = dirname(folder)) {
    const facts = await factsOf(join(top, folder));
    if (!facts?.isDirectory() || (await readdir(join(top, folder))).length > 0) return;
    await rmdir(join(top, folder));
  }
};

const removeStaging = ({ staging }: PlacingJournal): Promise<void> =>
  rm(staging, { recursive: true, force: true, maxRetries: 3, retryDelay: 100 });

/** Removes the journal of changes that are all in place, once that was reported. */
export const forgetPlaced = ({ applied }: JournalFiles): void => rmSync(applied, { force: true });

/** Removes the new files of a unit. Returns the paths of those that somebody has changed since: they stay. */
const takeAway = async ({ top, marks }: PlacingJournal, { path: unit }: PlannedUnit): Promise<string[]> => {
  const paths = Object.keys(marks).filter((path) => path === unit || path.startsWith(`${unit}/`));
  const changed: string[] = [];
  for (const path of paths) {
    const mark = await markOf(join(top, path));
    if (mark === marks[path]) await unlink(join(top, path));
    else if (mark !== "") changed.push(path);
  }
  for (const path of paths) if (path !== unit) await removeEmptyAbove(top, path, unit);
  return changed;
};

/** Takes back what is in place of one unit. It may have been taken back before. */
const undoUnit = async (journal: PlacingJournal, unit: PlannedUnit, at: number): Promise<LeftFile[]> => {
  const [place, old] = [join(journal.top, unit.path), oldOf(journal, unit, at)];
  const [hasOld, fresh] = [(await factsOf(old)) !== undefined, await factsOf(freshOf(journal, unit.path))];
  if (unit.had !== "nothing" && !hasOld) return [];
  const isPlaced = unit.gets && fresh === undefined;
  const changed = isPlaced ? await takeAway(journal, unit) : [];
  if (!hasOld) return changed.map((path) => ({ path }));
  if (!(await factsOf(place))) {
    await mkdir(dirname(place), { recursive: true });
    await rename(old, place);
    return [];
  }
  const isUntouched = (unit.had === "file" && fresh !== undefined) || (await contentMark(place)) === unit.before;
  return isUntouched ? [] : [{ path: unit.path, before: old }];
};

/** Takes back all that is in place. What stood before at the places that it leaves alone stays in the staging folder. */
export const undo = async ({ applying }: JournalFiles, journal: PlacingJournal): Promise<LeftFile[]> => {
  const changed: LeftFile[] = [];
  for (const [at, unit] of journal.isWritten ? [...journal.units.entries()].reverse() : [])
    changed.push(...(await undoUnit(journal, unit, at)));
  if (changed.length === 0) await removeStaging(journal);
  else for (const name of ["new", "index"]) await rm(join(journal.staging, name), { recursive: true, force: true });
  rmSync(applying, { force: true });
  return changed;
};

/** Ends what is in place: folders that it emptied go, and what was kept of the old files. */
export const tidy = async (journal: PlacingJournal): Promise<void> => {
  for (const { path, gets } of journal.units) if (!gets) await removeEmptyAbove(journal.top, path, "");
  await removeStaging(journal);
};

const read = (file: string): PlacingJournal => PlacingJournal.parse(JSON.parse(readFileSync(file, "utf8")));

/**
 * Finishes what a process that has ended was putting into a tree of files, where all was in place, and undoes it otherwise.
 * Returns what became of it; undefined where there was nothing. What was finished is found again until `forgetPlaced`.
 * @throws Error where neither can be done; the journal stays
 */
export const recover = async (at: JournalFiles): Promise<CutOff | undefined> => {
  if (existsSync(at.applying)) {
    const journal = read(at.applying);
    const { top: tree, files } = journal;
    const left = await undo(at, journal);
    return { became: "undone", tree, files, left };
  }
  if (!existsSync(at.applied)) return undefined;
  const journal = read(at.applied);
  const { top: tree, files } = journal;
  await tidy(journal);
  return { became: "finished", tree, files, left: [] };
};
