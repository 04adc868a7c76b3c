// Node before 22.5 has no SQLite. The command then runs itself again with a runtime that has it: OpenCode is one.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Journal } from "../machines/task/replay.ts";
import { errorMessage } from "../services/platform/log.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { dataFolder } from "../services/platform/private-files.ts";
import type { ExportedFile } from "../services/promises/exported-journal.ts";
import { databaseError, type FaultKind, loadSqlite, type OpenDatabase } from "../services/store/sqlite/driver.ts";
import { type JournalReader, type NamedTask, openJournalReader } from "../services/store/sqlite/journal-reader.ts";
import { CommandError } from "./command.ts";
import { dateTime } from "./terminal.ts";

/** A runtime with SQLite that this program can be run with. */
interface SqliteRuntime {
  /** How a person calls it. */
  name: string;
  command: string;
  env: NodeJS.ProcessEnv;
}

/** Milliseconds that a runtime gets to say that it is one. */
const PROBE_TIMEOUT_MS = 20_000;

/** OpenCode is a Bun program, and is Bun itself where the environment says so. */
const CANDIDATES: readonly SqliteRuntime[] = [
  { name: "bun", command: "bun", env: {} },
  { name: "the Bun in opencode", command: "opencode", env: { BUN_BE_BUN: "1" } },
];

const PROBE = 'process.stdout.write("bun " + process.versions.bun)';

const isBun = ({ command, env }: SqliteRuntime): boolean => {
  const probe = spawnSync(command, ["-e", PROBE], {
    env: { ...process.env, ...env },
    timeout: PROBE_TIMEOUT_MS,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return /^bun \d/.test(String(probe.stdout));
};

/** Returns a runtime of this machine that has SQLite, which Node before 22.5 has not; undefined where there is none. */
export const sqliteRuntime = (): SqliteRuntime | undefined => CANDIDATES.find(isBun);

/** Runs this program with another runtime, in place of this one. Returns its exit code. */
export const runWith = ({ command, env }: SqliteRuntime, args: readonly string[]): number => {
  const script = process.argv[1] ?? "";
  const { status } = spawnSync(command, [script, ...args], { env: { ...process.env, ...env }, stdio: "inherit" });
  return status ?? 1;
};

/** Tasks that are listed when an id matches none or several. */
const MAX_LISTED = 10;

/** Thrown where this runtime has no SQLite. Another one may have it, see `sqliteRuntime`. */
export class NoSqliteError extends CommandError {
  override name = "NoSqliteError";
}

const load = (): OpenDatabase => {
  try {
    return loadSqlite({ readonly: true });
  } catch (error) {
    throw new NoSqliteError(
      `This runtime has no SQLite (${errorMessage(error)}), and neither bun nor opencode is in the PATH. Use Node 22.13 or newer; from 22.5 on with --experimental-sqlite.`,
    );
  }
};

const adviceOn = (kind: FaultKind, folder: string | undefined): string[] => {
  if (kind === "readonly")
    return ["Reading needs to create a lock file next to it, which you may not do in that folder."];
  return folder === undefined ? ["Use --data if your tasks are not in the default folder."] : [];
};

const pathIn = (folder: string | undefined): string => join(folder ?? dataFolder(), "tasks.db");

/** True when the data folder has a task database. */
export const hasTaskDatabase = (folder: string | undefined): boolean => existsSync(pathIn(folder));

/**
 * Opens the task database of a data folder (by default the plugin's own), calls `read` with its journals, and closes it.
 * @throws CommandError that names the file if it cannot be read.
 */
export const withJournals = async <T>(folder: string | undefined, read: (journals: JournalReader) => T): Promise<T> => {
  const openDatabase = load();
  const path = pathIn(folder);
  let journals: JournalReader | undefined;
  try {
    journals = openJournalReader(path, openDatabase);
    return read(journals);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const { kind, message } = databaseError(error);
    throw new CommandError([`The tasks in ${path} cannot be read: ${message}.`, ...adviceOn(kind, folder)].join(" "));
  } finally {
    journals?.close();
  }
};

const line = ({ id, status, startedAt, description }: NamedTask): string =>
  `  ${id}  ${status.padEnd(9)}  ${dateTime(startedAt)}  ${toSingleLine(description)}`;

/**
 * Finds the task with that id, or the only one whose id begins with it.
 * @throws CommandError if no task or several match; it lists them, or the newest tasks.
 */
export const findStoredTask = (journals: JournalReader, id: string): NamedTask => {
  const found = journals.find(id);
  const [task, ...others] = found;
  if (task && others.length === 0) return task;
  const shown = (tasks: NamedTask[]) => tasks.slice(0, MAX_LISTED).map(line);
  if (task) {
    const more = found.length > MAX_LISTED ? [`  … and ${found.length - MAX_LISTED} more`] : [];
    throw new CommandError(
      [`"${id}" begins the ids of ${found.length} tasks. Give more of it:`, ...shown(found), ...more].join("\n"),
    );
  }
  const newest = journals.newest(MAX_LISTED);
  if (newest.length === 0) throw new CommandError(`There is no task "${toSingleLine(id)}": no tasks are stored.`);
  throw new CommandError([`There is no task "${toSingleLine(id)}". The newest are:`, ...shown(newest)].join("\n"));
};

/**
 * Reads the journal of the task with that id, or of the only one whose id begins with it.
 * @throws CommandError if no task or several match; it lists them, or the newest tasks.
 */
export const journalOf = (journals: JournalReader, id: string): Journal => {
  const task = findStoredTask(journals, id);
  const journal = journals.journal(task.id);
  if (!journal) throw new CommandError(`Task ${task.id} has just been cleared.`);
  return journal;
};

/**
 * Reads an exported journal.
 * @throws CommandError that names the file, and what is wrong with it
 */
export const readExported = <File>(path: string, parse: (text: string) => File | { wrong: string }): File => {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new CommandError(`The file cannot be read: ${errorMessage(error)}.`);
  }
  const read = parse(text);
  if (typeof read === "object" && read !== null && "wrong" in read)
    throw new CommandError(`The file ${path} ${read.wrong}. Use a file written by the command "export".`);
  return read;
};

/** Writes where an exported journal comes from. */
export const originLine = ({ facts }: Pick<ExportedFile, "facts">): string => {
  const text = facts.hasText ? "" : ", without text";
  return `Exported at ${facts.exportedAt} by version ${toSingleLine(facts.plugin)}${text}.`;
};
