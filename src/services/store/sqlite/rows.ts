import type { StoredSnapshot } from "../../../machines/task/machine.ts";
import { toTask } from "../../../machines/task/view.ts";
import type { Progress } from "../../../task.ts";
import { errorMessage } from "../../platform/log.ts";
import type { TaskRecord } from "../store.ts";
import { DatabaseError } from "./database.ts";

/** The columns that a record is read from. The task itself is not stored: it is derived from these. */
export interface RecordRow {
  id: string;
  snapshot: string;
  progress: string;
}

/** A row whose text is not what was written. SQLite detects damage to its own structures, but not to a text. */
export interface DamagedRow {
  table: "task" | "journal" | "prompt" | "request";
  /** The task's id; of other tables, the row's number and what it belongs to. */
  id: string;
  reason: string;
}

/** Called each time a damaged row is read. Returns the record of a task if it is known without its row. */
export type OnDamaged = (row: DamagedRow) => TaskRecord | undefined;

/** Reads single rows, so that a damaged one does not affect the others. */
export interface RowReader {
  /** Parses a stored JSON text. Undefined when it is damaged. */
  value<T>(table: DamagedRow["table"], id: string, json: string): T | undefined;
  /** Reads a record. Undefined when its row is damaged and the record not known otherwise. */
  record(row: RecordRow): TaskRecord | undefined;
}

/** Parses a stored JSON text. Throws `DatabaseError` of kind `damaged` when it is not JSON. */
export const parseStored = <T>(json: string): T => {
  try {
    return JSON.parse(json) as T;
  } catch (cause) {
    throw new DatabaseError("damaged", "a row of it is not the JSON that was written", { cause });
  }
};

/** Treats a damaged row as damage of the whole file: throws `DatabaseError` of kind `damaged`. */
export const refuseDamaged: OnDamaged = ({ table, id, reason }) => {
  throw new DatabaseError("damaged", `row ${id} of the table "${table}": ${reason}`);
};

export const createRowReader = (onDamaged: OnDamaged): RowReader => {
  const attempt = <T>(read: () => T, instead: (reason: string) => T | undefined): T | undefined => {
    try {
      return read();
    } catch (error) {
      return instead(errorMessage(error));
    }
  };
  return {
    value: <T>(table: DamagedRow["table"], id: string, json: string) =>
      attempt(
        () => parseStored<T>(json),
        (reason) => {
          onDamaged({ table, id, reason });
          return undefined;
        },
      ),
    record: ({ id, snapshot, progress }) =>
      attempt(
        () => {
          const stored = parseStored<StoredSnapshot>(snapshot);
          return { task: toTask(stored, parseStored<Progress>(progress)), snapshot: stored };
        },
        (reason) => onDamaged({ table: "task", id, reason }),
      ),
  };
};
