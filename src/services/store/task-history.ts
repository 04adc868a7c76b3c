import type { TaskStatus } from "../../task.ts";
import type { UserReply } from "../../user-request.ts";
import type { TaskRecord } from "./records.ts";

/** Which tasks a page shows: those that fit everything that is given, of all parents and directories, newest first. */
export interface PageFilter {
  status?: TaskStatus | undefined;
  agent?: string | undefined;
  directory?: string | undefined;
  batchId?: string | undefined;
  /** Part of the description, in whatever case, of every alphabet (É is é, and not e). No sign in it is special. */
  search?: string | undefined;
  limit: number;
  offset: number;
}

/** A part of the tasks that fit, and how many fit in all. */
export interface Page {
  records: TaskRecord[];
  total: number;
}

/** Counts of all tasks. */
export interface TaskStats {
  total: number;
  byStatus: Record<TaskStatus, number>;
  byAgent: Record<string, number>;
  /** Milliseconds from the start of a run to its end, of the newest run of each ended task; all 0 when there is none. */
  duration: { avg: number; max: number; min: number };
}

/** A task that changed. */
export interface ChangedTask {
  /**
   * The number of its newest change. Numbers rise through the whole store, whichever process changes something, and no
   * change gets a lower one than has been read. They are whole, but for changes that wait for a file: these lie between
   * two numbers of the file, and are told again with whole ones when it has them. A removal has none.
   */
  change: number;
  /** The number of the change with which it was launched. */
  createdChange: number;
  record: TaskRecord;
}

/** Something that a process asks of the one that supervises a task. */
export type RemoteCommand =
  | { kind: "cancel" }
  | { kind: "resume"; prompt: string }
  | { kind: "answer"; answer: UserReply };

/** A request with its number, for the process that is to fulfil it. */
export interface PendingCommand {
  id: string;
  taskId: string;
  request: RemoteCommand;
}

/** What became of a request: `refused` is a reason in words. */
export interface CommandOutcome {
  refused?: string;
  /** Where it was not the task's state that stood against it, but OpenCode. */
  liesWith?: "host";
}

/**
 * Milliseconds for which a command may be taken, and its outcome fetched. Callers stop waiting earlier: a command carried
 * out later than that would surprise a person who has gone on to something else.
 */
export const COMMAND_LIFE_MS = 60_000;

/** The outcome of a command for a task that no store has. */
export const taskNotFound = (taskId: string): CommandOutcome => ({ refused: `task ${taskId} is not there any more` });

/** What is asked of a store beyond its own process's tasks: all tasks of all processes, and what changed when. */
export interface TaskHistory {
  page(filter: PageFilter): Page;
  stats(): TaskStats;
  /** All tasks of a batch in the order of their launch, of whichever parents. */
  batch(batchId: string): TaskRecord[];
  /** Tasks that have not ended, in the order of their launch. */
  live(): TaskRecord[];
  /** The ended tasks that ended last, newest first, without the first `skip` of them. */
  newestEnded(count: number, skip?: number): TaskRecord[];
  /** The ids that begin so, in the order of the alphabet, at most `limit`. */
  idsFrom(beginning: string, limit: number): string[];
  /** The number of the newest change, or a higher one that no other will have; 0 when there was none. */
  latestChange(): number;
  /** The tasks that changed after that change, each once, in the order of their newest changes; at most `limit`. */
  changedSince(change: number, limit: number): ChangedTask[];

  /**
   * Leaves a request for the process that supervises the task, or, when it is at rest, for any process of the directory
   * that it was supervised in last, and of the same OpenCode's database. One that nobody takes within a minute (`REQUEST_LIFE`) is forgotten: who asks must
   * stop waiting before that. One for a task that is not there is refused by whichever process looks first, and one that
   * cannot be handed over, for want of a file, at once. `at` is epoch milliseconds.
   */
  submitCommand(asked: PendingCommand, at: number): void;
  /** The requests for tasks that this process supervises, or may claim; each is given out once. */
  takeCommands(): PendingCommand[];
  storeOutcome(id: string, answer: CommandOutcome): void;
  /** The answer to a request, once; undefined while there is none. */
  takeOutcome(id: string): CommandOutcome | undefined;
}
