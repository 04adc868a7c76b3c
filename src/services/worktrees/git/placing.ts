// `git apply` writes file after file, and leaves some written when it is cut short. Here all that is new is written elsewhere
// first, and a journal before that, so that the process which finds it after a crash can finish or undo what was done
// (docs/decisions/257-changes-by-renames-and-a-journal.md).
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import {
  chmod,
  constants,
  copyFile,
  link,
  mkdir,
  readdir,
  readlink,
  rename,
  rm,
  rmdir,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import type { ChangedFile } from "../../../task.ts";
import { ChangedFileSchema } from "../../../worktree-changes.ts";
import { errorMessage } from "../../platform/log.ts";
import { writeWhole } from "../../platform/private-files.ts";
import type { ChangedEntry } from "./commit.ts";
import { filtered, filtersOf, withoutFilters, writeFiltered } from "./filters.ts";
import { GitError, git, type WorkingTree } from "./git.ts";
import { contentMark, factsOf, markOf, PlannedUnit, planUnits, requireOneDisk } from "./placing-plan.ts";

/** What is to be put into a tree of files. */
export interface Placement {
  tree: WorkingTree;
  entries: readonly ChangedEntry[];
  /** The tree of git that has it. */
  to: string;
  /** The index of the snapshot that `entries` were made against. */
  index: string;
  /** What a person is shown of it, should it be cut off. */
  files: ChangedFile[];
  journal: JournalFiles;
  /** The tree in which the filters run that a person has configured. Default: `tree`. */
  filtersIn?: WorkingTree | undefined;
  /** Called before each step. Only tests pass it. */
  onStep?: ((step: string) => void) | undefined;
}

/** Makes a folder from which files can be moved into the tree: in its git directory, where nobody looks, or at its top. */
const makeStaging = async ({ gitDir, top }: WorkingTree): Promise<string> => {
  const name = `.taskchart-${randomBytes(6).toString("hex")}`;
  const probe = join(top, `${name}-probe`);
  const tryIn = async (parent: string): Promise<string> => {
    const folder = join(parent, name);
    try {
      await mkdir(join(folder, "probe"), { recursive: true, mode: 0o700 });
      await rename(join(folder, "probe"), probe);
      await rmdir(probe);
      return folder;
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  };
  return tryIn(gitDir).catch(() => tryIn(top));
};

/** Writes all that is new, as it is to stand in the tree, into the staging folder. @throws GitError */
const writeNew = async ({ tree, entries, to, filtersIn = tree }: Placement, journal: PlacingJournal): Promise<void> => {
  const folder = freshOf(journal, "");
  const ours = { ...tree, index: join(journal.staging, "index") };
  await mkdir(folder);
  await git(ours, ["read-tree", to]);
  const written = entries.flatMap(({ path, from, to: now }) => (now ? [{ path, from, now }] : []));
  const filters = await filtersOf(tree);
  const staged = withoutFilters({ ...ours, top: folder }, filters);
  const paths = written.map(({ path }) => Buffer.from(path).toString("latin1"));
  await git(staged, ["checkout-index", "-z", "--stdin"], { input: paths });
  const toFilter = new Set(await filtered(staged, filters, paths));
  for (const [at, { path, from, now }] of written.entries()) {
    const isFile = now.mode.startsWith("100");
    const place = freshOf(journal, path);
    if (isFile && toFilter.has(paths[at] ?? "")) await writeFiltered(filtersIn, now.object, path, place);
    // A file that nobody else may read stays so.
    const before = isFile && from?.mode === now.mode ? await factsOf(join(tree.top, path)) : undefined;
    if (before?.isFile()) await chmod(place, Number(before.mode & 0o777n));
  }
};

/** Keeps what is at a place, as the same file where the disk can do that. */
const keepOld = async (path: string, to: string): Promise<void> => {
  if ((await factsOf(path))?.isSymbolicLink()) return symlink(await readlink(path), to);
  await link(path, to).catch(() => copyFile(path, to, constants.COPYFILE_EXCL));
};

/** Puts a unit in place. @throws Error where something else is there than before */
const put = async (journal: PlacingJournal, unit: PlannedUnit, at: number): Promise<void> => {
  const [place, fresh, old] = [join(journal.top, unit.path), freshOf(journal, unit.path), oldOf(journal, unit, at)];
  // A folder is compared once it is moved, when nobody adds a file to it any more: undoing moves it back.
  if (unit.had === "folder") await rename(place, old);
  if ((await contentMark(unit.had === "folder" ? old : place)) !== unit.before)
    throw new Error(`${unit.path} was changed in the meantime, so apply again`);
  const isReplaced = unit.had === "file" && unit.gets && !(await factsOf(fresh))?.isDirectory();
  if (unit.had === "file" && !isReplaced) await unlink(place);
  if (unit.gets) await rename(fresh, place);
};

/**
 * Puts changes into a tree of files: all of them, or none. Everything new is written first; then each file gets its place by
 * a rename, which needs no room on the disk. The journal says that all is in place until `forgetPlaced`.
 * @throws GitError that names what is in the way or failed; nothing is changed then, or the journal is still there
 */
export const place = async (placement: Placement): Promise<void> => {
  const { tree, entries, index, files, journal: places, onStep = () => undefined } = placement;
  const { top } = tree;
  const units = await planUnits(tree, entries, index);
  const staging = await makeStaging(tree);
  const journal: PlacingJournal = { top, staging, isWritten: false, units, marks: {}, files };
  try {
    await requireOneDisk(top, units, staging);
    writeJournal(places, journal);
    onStep("writing");
    await writeFile(join(staging, ".gitignore"), "*\n");
    await writeNew(placement, journal);
    for (const [at, unit] of units.entries()) {
      const old = oldOf(journal, unit, at);
      if (unit.had !== "nothing") await mkdir(dirname(old), { recursive: true });
      if (unit.had === "file") await keepOld(join(top, unit.path), old);
    }
    for (const { path, to } of entries) if (to) journal.marks[path] = await markOf(freshOf(journal, path));
    onStep("written");
    journal.isWritten = true;
    writeJournal(places, journal);
    for (const [at, unit] of units.entries()) {
      onStep(`placing ${unit.path}`);
      await put(journal, unit, at);
    }
    onStep("placed");
    notePlaced(places);
  } catch (error) {
    throw new GitError(await whyUndone(places, journal, error));
  }
  onStep("noted");
  // All is in place. What cannot be tidied up now is found by the next call.
  await tidy(journal).catch(() => undefined);
};

/** Undoes what was done, and says why, and what could not be undone. */
const whyUndone = async (places: JournalFiles, journal: PlacingJournal, error: unknown): Promise<string> => {
  const why = errorMessage(error);
  try {
    const changed = await undo(places, journal);
    return changed.length === 0
      ? why
      : `${why}; and these files have changed again, and stay: ${changed.map(({ path }) => path).join(", ")}`;
  } catch (failure) {
    return `${why}; what had been changed by then could not be taken back (${errorMessage(failure)}): apply again to do that`;
  }
};

/** What is known of changes that are being put into a tree of files: enough to finish or to undo that. */
const PlacingJournal = z.object({
  /** The folder of the tree. */
  top: z.string(),
  /** The folder that has what is new until it is in place, and what it replaces, see `freshOf` and `oldOf`. */
  staging: z.string(),
  /** False until all that is new is written: nothing of the tree is changed before. */
  isWritten: z.boolean(),
  units: z.array(PlannedUnit),
  /** By which each new file is recognized, by path. */
  marks: z.record(z.string(), z.string()),
  /** What a person is shown of the changes. */
  files: z.array(ChangedFileSchema),
});
type PlacingJournal = z.infer<typeof PlacingJournal>;

/** The files that a journal is in. */
interface JournalFiles {
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

const writeJournal = ({ applying }: JournalFiles, journal: PlacingJournal): void =>
  writeWhole(applying, JSON.stringify(journal));

/** Notes that all is in place. */
const notePlaced = ({ applying, applied }: JournalFiles): void => renameSync(applying, applied);

/** Where what a unit gets waits for its place. */
const freshOf = ({ staging }: Pick<PlacingJournal, "staging">, path: string): string => join(staging, "new", path);

/** Where what a unit replaces is kept; `at` is its number. */
const oldOf = ({ staging }: Pick<PlacingJournal, "staging">, { path }: Pick<PlannedUnit, "path">, at: number): string =>
  join(staging, "old", String(at), basename(path));

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
const undo = async ({ applying }: JournalFiles, journal: PlacingJournal): Promise<LeftFile[]> => {
  const changed: LeftFile[] = [];
  for (const [at, unit] of journal.isWritten ? [...journal.units.entries()].reverse() : [])
    changed.push(...(await undoUnit(journal, unit, at)));
  if (changed.length === 0) await removeStaging(journal);
  else for (const name of ["new", "index"]) await rm(join(journal.staging, name), { recursive: true, force: true });
  rmSync(applying, { force: true });
  return changed;
};

/** Ends what is in place: folders that it emptied go, and what was kept of the old files. */
const tidy = async (journal: PlacingJournal): Promise<void> => {
  for (const { path, gets } of journal.units) if (!gets) await removeEmptyAbove(journal.top, path, "");
  await removeStaging(journal);
};

/**
 * Finishes what a process that has ended was putting into a tree of files, where all was in place, and undoes it otherwise.
 * Returns what became of it; undefined where there was nothing. What was finished is found again until `forgetPlaced`.
 * @throws Error where neither can be done; the journal stays
 */
export const recover = async (at: JournalFiles): Promise<CutOff | undefined> => {
  const isUnderWay = existsSync(at.applying);
  if (!isUnderWay && !existsSync(at.applied)) return undefined;
  const journal = PlacingJournal.parse(JSON.parse(readFileSync(isUnderWay ? at.applying : at.applied, "utf8")));
  const { top: tree, files } = journal;
  if (isUnderWay) return { became: "undone", tree, files, left: await undo(at, journal) };
  await tidy(journal);
  return { became: "finished", tree, files, left: [] };
};
