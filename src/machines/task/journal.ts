import type { TaskEvent, TaskInput } from "./events.ts";
import type { StoredSnapshot } from "./machine.ts";

/** A task's journal, and the snapshot that was stored with it. */
export interface Journal {
  taskId: string;
  /** The chart's input; null when the journal does not go back to the launch. */
  origin: TaskInput | null;
  /** Every event that the chart accepted, oldest first. */
  events: TaskEvent[];
  snapshot: StoredSnapshot;
}
