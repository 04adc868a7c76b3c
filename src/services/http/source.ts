import { z } from "zod";
import type { Answer } from "../../answer.ts";
import type { TaskEvent } from "../../machines/task-events.ts";
import { Task } from "../../task.ts";
import type { Outcome } from "../outcome.ts";
import type { PageFilter, Tallies } from "../store/history.ts";

/** A task as the API shows it. */
export const ShownTask = Task.extend({
  /** The events that its machine would accept now, by name. */
  allowed: z.array(z.string()),
});
export type ShownTask = z.infer<typeof ShownTask>;

/** A task that changed, see `ChangedTask`. */
export interface ShownChange {
  change: number;
  born: number;
  task: ShownTask;
}

/** Nothing can be shown for now; the message says why. */
export class Unavailable extends Error {}

/**
 * What the API shows and does: the tasks of all directories and processes that share the store. Every method may throw
 * `Unavailable`.
 */
export interface StatusSource {
  page(filter: PageFilter): { tasks: ShownTask[]; total: number };
  task(taskId: string): ShownTask | undefined;
  /** All tasks of a batch, in the order of their launch. */
  batch(batchId: string): ShownTask[];
  /** What a task's machine accepted, oldest first; undefined when there is no such task. */
  journal(taskId: string): TaskEvent[] | undefined;
  tallies(): Tallies;
  /** Tasks that have not ended, in the order of their launch. */
  live(): ShownTask[];
  /** The ended tasks that ended last, newest first. */
  newestEnded(count: number): ShownTask[];
  /** The number of the newest change. */
  latestChange(): number;
  /** The tasks that changed after that change, each once, in the order of their newest changes; at most `limit`. */
  changedSince(change: number, limit: number): ShownChange[];
  /** The messages of a task's session as the host has them: whole and unmasked. */
  logs(taskId: string): Promise<Outcome<unknown[]>>;
  /** Stops a task, whichever process supervises it. */
  cancel(taskId: string): Promise<Outcome<ShownTask>>;
  /** Sends a completed task a follow-up prompt, whichever process supervises it. */
  resume(taskId: string, prompt: string): Promise<Outcome<ShownTask>>;
  /** Answers what a task asks, for a person, whichever process supervises it. */
  answer(taskId: string, answer: Answer): Promise<Outcome<ShownTask>>;
  /** The statecharts by name, as JSON. */
  machines(): Record<string, unknown>;
  /** Calls the listener after each change that this process made. Those of others show in `changedSince` alone. */
  onChange(listener: () => void): () => void;
}
