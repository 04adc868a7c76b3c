import type { TaskEvent } from "../../../machines/task/events.ts";
import type { QueuePlace, Usage } from "../../../task.ts";
import type { UserReply } from "../../../user-request.ts";
import type { PageFilter, TaskStats } from "../../store/store.ts";
import type { ApiTask, Changes } from "./api-task.ts";
import type { ApiFleet } from "./schemas.ts";

/** A task that changed, with the numbers that `ChangedTask` explains. */
export interface ApiTaskChange {
  change: number;
  createdChange: number;
  task: ApiTask;
}

/** Thrown while there is nothing to read from; the message says why. */
export class SourceUnavailable extends Error {}

export interface SourceFailure {
  ok: false;
  reason: string;
  /**
   * - `task`: its state does not allow it, or no process supervises it
   * - `host`: OpenCode refuses
   * - `late`: the process that supervises the task has not responded in time, and may still do it
   */
  cause: "task" | "host" | "late";
}

export type SourceResult<T> = { ok: true; value: T } | SourceFailure;

/**
 * What the API reads from and acts on: the tasks of all directories and processes that share the store. Methods that
 * return several tasks shorten their values, see `briefTask`. Every method may throw `SourceUnavailable`.
 */
export interface StatusSource {
  page(filter: PageFilter): { tasks: ApiTask[]; total: number };
  /** What all tasks of a parent session, or of a batch, used with all their descendants, each counted once. */
  groupUsage(group: Pick<PageFilter, "parentSessionID" | "batchId">): Usage;
  task(taskId: string): ApiTask | undefined;
  has(taskId: string): boolean;
  /** The ids that begin with `beginning`, at most `limit`. */
  idsFrom(beginning: string, limit: number): string[];
  /** All tasks of a batch, in the order of their launch. */
  batch(batchId: string): ApiTask[];
  /** The events that a task's statechart accepted, oldest first; undefined when there is no such task. */
  journal(taskId: string): TaskEvent[] | undefined;
  /** What these tasks and all their descendants used, each counted once. */
  usage(tasks: readonly ApiTask[]): Usage;
  stats(): TaskStats;
  /** Tasks that have not ended, in the order of their launch. */
  live(): ApiTask[];
  /** The places of those of these runs that wait for a slot, and of as many from the front of every lane, see `laneOf`. */
  places(taskIds: readonly string[], ofEachLane: number): ReadonlyMap<string, QueuePlace>;
  /** The ended tasks that ended last, newest first. */
  newestEnded(count: number): ApiTask[];
  latestChange(): number;
  count(): number;
  /** The tasks that changed after that change, each once, in the order of their newest changes, at most `limit`. */
  changedSince(change: number, limit: number): ApiTaskChange[];
  /** The messages of a task's session as OpenCode returns them: complete and unmasked. */
  logs(taskId: string): Promise<SourceResult<unknown[]>>;
  /** Stops a task, whichever process supervises it. */
  cancel(taskId: string): Promise<SourceResult<ApiTask>>;
  /** Sends a completed task a follow-up prompt, whichever process supervises it. */
  resume(taskId: string, prompt: string): Promise<SourceResult<ApiTask>>;
  /** Gives a running task a further instruction from the user, whichever process supervises it. */
  steer(taskId: string, prompt: string): Promise<SourceResult<ApiTask>>;
  /** Gives the user's answer to a request of a task, whichever process supervises it. */
  answer(taskId: string, answer: UserReply): Promise<SourceResult<ApiTask>>;
  /** What an ended task left changed in its worktree. */
  changes(taskId: string): Promise<SourceResult<Changes>>;
  /** Applies it to the tree that the worktree was made from: all of it, and then the worktree goes; or nothing. */
  apply(taskId: string): Promise<SourceResult<Changes>>;
  /** Removes the worktree with it. */
  discard(taskId: string): Promise<SourceResult<Changes>>;
  /** The fleet of this process. Where it has directories in several, that of the one that was opened first. */
  fleet(): Promise<ApiFleet>;
  /** The statecharts by name, as JSON. */
  machines(): Record<string, unknown>;
  /**
   * Calls the listener after each change that this process makes; returns a function that removes it. Changes of other
   * processes show in `changedSince` only.
   */
  onChange(listener: () => void): () => void;
}
