// `git apply` writes file after file, and leaves some written when it is cut short. Here all that is new is written
// elsewhere first (docs/decisions/257-changes-by-renames-and-a-journal.md).
import { randomBytes } from "node:crypto";
import {
  chmod,
  constants,
  copyFile,
  link,
  mkdir,
  readlink,
  rename,
  rm,
  rmdir,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ChangedFile } from "../../../task.ts";
import { errorMessage } from "../../platform/log.ts";
import { filtered, filtersOf, withoutFilters, writeFiltered } from "./filters.ts";
import { GitError, git, type WorkingTree } from "./git.ts";
import {
  freshOf,
  type JournalFiles,
  notePlaced,
  oldOf,
  type PlacingJournal,
  tidy,
  undo,
  writeJournal,
} from "./placing-journal.ts";
import {
  type ChangedEntry,
  contentMark,
  factsOf,
  markOf,
  type PlannedUnit,
  planUnits,
  requireOneDisk,
} from "./placing-plan.ts";

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
  const env = { GIT_INDEX_FILE: join(journal.staging, "index") };
  await mkdir(folder);
  await git(tree, ["read-tree", to], { env });
  const written = entries.flatMap(({ path, from, to: now }) => (now ? [{ path, from, now }] : []));
  const filters = await filtersOf(tree);
  const staged = withoutFilters({ ...tree, top: folder }, filters);
  const paths = written.map(({ path }) => Buffer.from(path).toString("latin1"));
  await git(staged, ["checkout-index", "-z", "--stdin"], { env, input: paths });
  const toFilter = new Set(await filtered(staged, filters, paths, env));
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
