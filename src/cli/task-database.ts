import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Journal } from "../machines/task/replay.ts";
import { errorMessage } from "../services/platform/log.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { dataFolder } from "../services/platform/private-files.ts";
import { databaseError, type FaultKind, type OpenDatabase } from "../services/store/sqlite/database.ts";
import { loadSqlite } from "../services/store/sqlite/driver.ts";
import { type JournalReader, type NamedTask, openJournalReader } from "../services/store/sqlite/journal-reader.ts";
import { CommandError } from "./command.ts";
import { dateTime } from "./terminal.ts";

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
export const findTask = (journals: JournalReader, id: string): NamedTask => {
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
  const task = findTask(journals, id);
  const journal = journals.journal(task.id);
  if (!journal) throw new CommandError(`Task ${task.id} has just been cleared.`);
  return journal;
};
