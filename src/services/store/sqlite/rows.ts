import type { StoredSnapshot } from "../../../machines/task/machine.ts";
import { toTask } from "../../../machines/task/view.ts";
import type { Progress } from "../../../task.ts";
import { errorMessage } from "../../platform/log.ts";
import type { TaskRecord } from "../store.ts";
import { type Database, DatabaseError } from "./database.ts";
import { createTextReader, type TextOf, unpack } from "./text-table.ts";

/** The columns that a record is read from. The task itself is not stored: it is derived from these. */
export interface RecordRow {
  id: string;
  seq: number;
  /** Packed, see `pack`. */
  snapshot: string;
  progress: string;
}

/** Selects a `RecordRow`, from `task` alone or joined with tables that have none of its columns but `id`. */
export const RECORD_COLUMNS = "id, seq, snapshot, progress";

/** A row whose text is not what was written. SQLite detects damage to its own structures, but not to a text. */
export interface DamagedRow {
  table: "task" | "journal" | "prompt" | "request";
  /** The task's id; of other tables, the row's number and what it belongs to. */
  id: string;
  reason: string;
}

/** Called each time a damaged row is read. Returns the record of a task if it is known without its row. */
export type OnDamaged = (row: DamagedRow) => TaskRecord | undefined;

const intact = <T>(parse: () => unknown): T => {
  try {
    return parse() as T;
  } catch (cause) {
    throw new DatabaseError("damaged", "a row of it is not the JSON that was written", { cause });
  }
};

/** Parses a stored JSON text. Throws `DatabaseError` of kind `damaged` when it is not JSON. */
export const parseStored = <T>(json: string): T => intact(() => JSON.parse(json));

/** Parses packed JSON. Throws `DatabaseError` of kind `damaged` when it is not JSON, or a text of it is damaged. */
export const parsePacked = <T>(json: string, textOf: TextOf): T => intact(() => unpack(json, textOf));

/** Treats a damaged row as damage of the whole file: throws `DatabaseError` of kind `damaged`. */
export const refuseDamaged: OnDamaged = ({ table, id, reason }) => {
  throw new DatabaseError("damaged", `row ${id} of the table "${table}": ${reason}`);
};

export type RowReader = ReturnType<typeof createRowReader>;

/** Reads single rows, so that a damaged one does not affect the others. A row with a damaged text is damaged. */
export const createRowReader = (database: Database, onDamaged: OnDamaged) => {
  const textsOf = createTextReader(database);
  const attempt = <T>(read: () => T, instead: (reason: string) => T | undefined): T | undefined => {
    try {
      return read();
    } catch (error) {
      return instead(errorMessage(error));
    }
  };
  return {
    /** Parses a stored JSON text, or packed JSON with the texts to it. Undefined when it is damaged. */
    value: <T>(table: DamagedRow["table"], id: string, json: string, textOf?: TextOf): T | undefined =>
      attempt(
        () => (textOf ? parsePacked<T>(json, textOf) : parseStored<T>(json)),
        (reason) => {
          onDamaged({ table, id, reason });
          return undefined;
        },
      ),
    /** Reads a record. Undefined when its row is damaged and the record not known otherwise. */
    record: (row: RecordRow): TaskRecord | undefined =>
      attempt(
        () => {
          const snapshot = parsePacked<StoredSnapshot>(row.snapshot, textsOf(row.seq));
          return { task: toTask(snapshot, parseStored<Progress>(row.progress)), snapshot };
        },
        (reason) => onDamaged({ table: "task", id: row.id, reason }),
      ),
  };
};
