import type { StoredSnapshot } from "../../../machines/task/machine.ts";
import { toTask } from "../../../machines/task/view.ts";
import type { Progress } from "../../../task.ts";
import { errorMessage } from "../../platform/log.ts";
import type { TaskRecord } from "../records.ts";
import { DatabaseError } from "./database.ts";

/** What a record is read back from. The task object itself is not stored: it follows from these. */
export interface RecordRow {
  id: string;
  snapshot: string;
  progress: string;
}

/** A row whose text is not what was written. SQLite notices when its own structures break, and not when a text does. */
export interface DamagedRow {
  table: "task" | "journal" | "prompt" | "request";
  /** The task's id, or the number of the row with what it belongs to. */
  id: string;
  reason: string;
}

/** Is told of a damaged row each time that it is read. Returns what is known of a task without it. */
export type OnDamaged = (row: DamagedRow) => TaskRecord | undefined;

/** Reads rows one by one: a damaged one is left out, and the others are not. */
export interface RowReader {
  /** What was written as JSON; undefined when it is damaged. */
  value<T>(table: DamagedRow["table"], id: string, json: string): T | undefined;
  record(row: RecordRow): TaskRecord | undefined;
}

/** What was written as JSON. Throws `DatabaseError` of kind `damaged` when it is something else. */
export const parsed = <T>(json: string): T => {
  try {
    return JSON.parse(json) as T;
  } catch (cause) {
    throw new DatabaseError("damaged", "a row of it is not the JSON that was written", { cause });
  }
};

/** Where nobody takes care of damaged rows, they are a fault of the whole file. */
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
        () => parsed<T>(json),
        (reason) => {
          onDamaged({ table, id, reason });
          return undefined;
        },
      ),
    record: ({ id, snapshot, progress }) =>
      attempt(
        () => {
          const stored = parsed<StoredSnapshot>(snapshot);
          return { task: toTask(stored, parsed<Progress>(progress)), snapshot: stored };
        },
        (reason) => onDamaged({ table: "task", id, reason }),
      ),
  };
};
