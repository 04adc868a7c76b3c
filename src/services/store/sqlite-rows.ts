import type { StoredSnapshot } from "../../machines/task.ts";
import type { Progress } from "../../task.ts";
import { toTask } from "../projection.ts";
import { DatabaseError } from "./database.ts";
import type { TaskRecord } from "./store.ts";

/** What a record is read back from. The task object itself is not stored: it follows from these. */
export interface RecordRow {
  snapshot: string;
  progress: string;
}

/** What was written as JSON. SQLite notices when its own structures break, and not when a text in them does. */
export const parsed = <T>(json: string): T => {
  try {
    return JSON.parse(json) as T;
  } catch (cause) {
    throw new DatabaseError("damaged", "a row of it is not the JSON that was written", { cause });
  }
};

/** Throws `DatabaseError` of kind `damaged` when the row is not what was written. */
export const recordOf = ({ snapshot, progress }: RecordRow): TaskRecord => {
  const stored = parsed<StoredSnapshot>(snapshot);
  return { task: toTask(stored, parsed<Progress>(progress)), snapshot: stored };
};
