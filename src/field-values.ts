// Plain lists, without a schema: options and tools take these values while OpenCode starts, and load no schema of a task.

/** The five public statuses. Each is the name of a state of the task's lifecycle; nothing else computes it. */
export const TASK_STATUSES = ["running", "completed", "error", "cancelled", "resumed"] as const;

/**
 * When the ends of tasks wake their parent's agent. `each`: every end does, at once. `all`: the last one of the batch does,
 * and one in `error`; ends before that are delivered with it.
 */
export const WAKES = ["each", "all"] as const;
