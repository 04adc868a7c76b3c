import type { TaskEvent, TaskInput } from "./events.ts";
import type { StoredSnapshot } from "./machine.ts";

/** A task's journal, and the snapshot that was stored with it. */
export interface Journal {
  taskId: string;
  /** What the machine began with; null when the journal does not go back to the launch. */
  origin: TaskInput | null;
  /** Every event that the machine accepted, oldest first. */
  events: TaskEvent[];
  snapshot: StoredSnapshot;
}
