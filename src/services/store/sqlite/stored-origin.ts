import type { TaskInput } from "../../../machines/task/events.ts";
import type { StoredSnapshot } from "../../../machines/task/machine.ts";

/**
 * An origin as it is stored: without what is in the snapshot beside it too. Facts never change; the run does when the task
 * is resumed, and is then moved here from the snapshot.
 */
export type StoredOrigin = Partial<TaskInput>;

/** True for equal JSON values. */
export const isSame = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

/** Returns what to store of an origin. */
export const toStoredOrigin = ({ facts, run }: TaskInput, { context }: StoredSnapshot): StoredOrigin => ({
  ...(isSame(facts, context.facts) ? {} : { facts }),
  ...(isSame(run, context.run) ? {} : { run }),
});

/** Returns the origin that was stored beside the snapshot. */
export const toOrigin = ({ facts, run }: StoredOrigin, { context }: StoredSnapshot): TaskInput => ({
  facts: facts ?? context.facts,
  run: run ?? context.run,
});
