import { z } from "zod";
import type { TaskEvent } from "../../../machines/task/events.ts";
import { Task } from "../../../task.ts";
import type { UserReply } from "../../../user-request.ts";
import type { PageFilter, TaskStats } from "../../store/task-history.ts";

/** A task as the API shows it. */
export const ShownTask = Task.extend({
  /** The events that its machine would accept now, by name. */
  allowed: z.array(z.string()),
  /** Where it is one of many: the fields that are not whole. At the task itself all are. */
  cut: z.array(z.string()).optional(),
});
export type ShownTask = z.infer<typeof ShownTask>;

/** A task that changed, see `ChangedTask`. */
export interface ShownChange {
  change: number;
  createdChange: number;
  task: ShownTask;
}

/** Nothing can be shown for now; the message says why. */
export class SourceUnavailable extends Error {}

/** Why something was not done, in words, and what it lies with. */
export interface NotDone {
  ok: false;
  reason: string;
  /**
   * - `task`: its state does not allow it, or nobody is there who could do it
   * - `host`: OpenCode does not do it
   * - `late`: whoever is to do it has not answered in time, and may do so yet
   */
  liesWith: "task" | "host" | "late";
}

/** What came of something that was asked. */
export type Done<T> = { ok: true; value: T } | NotDone;

/**
 * What the API shows and does: the tasks of all directories and processes that share the store. Where it gives many, each
 * is shown briefly, see `briefly`. Every method may throw `Unavailable`.
 */
export interface StatusSource {
  page(filter: PageFilter): { tasks: ShownTask[]; total: number };
  task(taskId: string): ShownTask | undefined;
  has(taskId: string): boolean;
  /** The ids that begin so, at most `limit`. */
  idsFrom(beginning: string, limit: number): string[];
  /** All tasks of a batch, in the order of their launch. */
  batch(batchId: string): ShownTask[];
  /** What a task's machine accepted, oldest first; undefined when there is no such task. */
  journal(taskId: string): TaskEvent[] | undefined;
  stats(): TaskStats;
  /** Tasks that have not ended, in the order of their launch. */
  live(): ShownTask[];
  /** The ended tasks that ended last, newest first. */
  newestEnded(count: number): ShownTask[];
  /** The number of the newest change. */
  latestChange(): number;
  /** How many tasks there are. */
  count(): number;
  /** The tasks that changed after that change, each once, in the order of their newest changes; at most `limit`. */
  changedSince(change: number, limit: number): ShownChange[];
  /** The messages of a task's session as the host has them: whole and unmasked. */
  logs(taskId: string): Promise<Done<unknown[]>>;
  /** Stops a task, whichever process supervises it. */
  cancel(taskId: string): Promise<Done<ShownTask>>;
  /** Sends a completed task a follow-up prompt, whichever process supervises it. */
  resume(taskId: string, prompt: string): Promise<Done<ShownTask>>;
  /** Answers what a task asks, for a person, whichever process supervises it. */
  answer(taskId: string, answer: UserReply): Promise<Done<ShownTask>>;
  /** The statecharts by name, as JSON. */
  machines(): Record<string, unknown>;
  /** Calls the listener after each change that this process made. Those of others show in `changedSince` alone. */
  onChange(listener: () => void): () => void;
}
