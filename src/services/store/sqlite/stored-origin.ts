import type { TaskInput } from "../../../machines/task/events.ts";

/** What a row keeps of a chart's input: what a task is about is in its snapshot. */
export type StoredOrigin = TaskInput["run"] & Pick<TaskInput, "launch">;

/** Returns what a row keeps of it. */
export const storedOrigin = ({ run, launch }: TaskInput): StoredOrigin => ({ ...run, ...(launch ? { launch } : {}) });

/** Returns a chart's input. What a task is about never changes; its run does when it is resumed. */
export const originIn = ({ launch, ...run }: StoredOrigin, facts: TaskInput["facts"]): TaskInput => ({
  ...{ facts, run },
  ...(launch ? { launch } : {}),
});
