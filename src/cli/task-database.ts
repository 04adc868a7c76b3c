import { join } from "node:path";
import type { Journal } from "../machines/task/journal.ts";
import { errorMessage } from "../services/platform/log.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { databaseError, type FaultKind, type OpenDatabase } from "../services/store/sqlite/database.ts";
import { dataFolder } from "../services/store/sqlite/database-file.ts";
import { loadSqlite } from "../services/store/sqlite/driver.ts";
import { type JournalReader, type NamedTask, openJournalReader } from "../services/store/sqlite/journal-reader.ts";
import { CommandError } from "./command.ts";
import { clockTime, date } from "./format/times.ts";

/** The number of tasks listed when an id does not identify one. */
const LISTED = 10;

const load = async (): Promise<OpenDatabase> => {
  try {
    return await loadSqlite({ readonly: true });
  } catch (error) {
    throw new CommandError(
      `This runtime has no SQLite (${errorMessage(error)}). Use Bun, or Node 22.13 or newer; from 22.5 on with --experimental-sqlite.`,
    );
  }
};

const adviceOn = (kind: FaultKind, folder: string | undefined): string[] => {
  if (kind === "readonly")
    return ["Reading it needs a lock file next to it, which you are not allowed to create in that folder."];
  return folder === undefined ? ["--data names another folder than the plugin's default."] : [];
};

/**
 * Runs `read` on the journals in a data folder; default: the plugin's own. Throws `CommandError`, which names the file, when
 * they cannot be read.
 */
export const withJournals = async <T>(folder: string | undefined, read: (journals: JournalReader) => T): Promise<T> => {
  const openDatabase = await load();
  const path = join(folder ?? dataFolder(), "tasks.db");
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
  `  ${id}  ${status.padEnd(9)}  ${date(startedAt).slice(0, 10)} ${clockTime(startedAt).slice(0, 8)}  ${toSingleLine(description)}`;

/** Returns the task with this id, or with the only id that starts with it. Throws `CommandError` otherwise. */
const taskNamed = (journals: JournalReader, id: string): NamedTask => {
  const found = journals.find(id);
  const [task, ...others] = found;
  if (task && others.length === 0) return task;
  const shown = (tasks: NamedTask[]) => tasks.slice(0, LISTED).map(line);
  if (task) {
    const more = found.length > LISTED ? [`  … and ${found.length - LISTED} more`] : [];
    throw new CommandError(
      [`"${id}" begins the ids of ${found.length} tasks. Give more of it:`, ...shown(found), ...more].join("\n"),
    );
  }
  const newest = journals.newest(LISTED);
  if (newest.length === 0) throw new CommandError(`There is no task "${toSingleLine(id)}", nor any other.`);
  throw new CommandError([`There is no task "${toSingleLine(id)}". The newest are:`, ...shown(newest)].join("\n"));
};

/** Returns the journal of the task with this id, or with the only id that starts with it. Throws `CommandError` otherwise. */
export const journalOf = (journals: JournalReader, id: string): Journal => {
  const task = taskNamed(journals, id);
  const journal = journals.journal(task.id);
  if (!journal) throw new CommandError(`Task ${task.id} was just cleared.`);
  return journal;
};
