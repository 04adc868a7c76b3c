import type { StoredSnapshot } from "../../machines/task.ts";
import type { TaskEvent, TaskInput } from "../../machines/task-events.ts";

/** A task's journal, and the snapshot that was stored with it. */
export interface Journal {
  taskId: string;
  /** What the machine began with; null when the journal does not go back to the launch. */
  origin: TaskInput | null;
  /** Every event that the machine accepted, oldest first. */
  events: TaskEvent[];
  snapshot: StoredSnapshot;
}
