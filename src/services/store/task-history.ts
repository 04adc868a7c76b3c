import type { TaskStatus } from "../../task.ts";
import type { UserReply } from "../../user-request.ts";
import type { TaskRecord } from "./records.ts";

/** Selects tasks of all parents and directories, newest first. A task must match every field that is given. */
export interface PageFilter {
  status?: TaskStatus | undefined;
  agent?: string | undefined;
  directory?: string | undefined;
  batchId?: string | undefined;
  /** Part of the description, ignoring case in every alphabet (É matches é, not e). No character is special. */
  search?: string | undefined;
  limit: number;
  offset: number;
}

/** One page of the tasks that match a filter. */
export interface Page {
  records: TaskRecord[];
  /** How many tasks match in all. */
  total: number;
}

/** Counts over all tasks. */
export interface TaskStats {
  total: number;
  byStatus: Record<TaskStatus, number>;
  byAgent: Record<string, number>;
  /** Milliseconds from start to end of the newest run of each ended task; all 0 when no task has ended. */
  duration: { avg: number; max: number; min: number };
}

/** A task that changed. */
export interface ChangedTask {
  /**
   * The number of its newest change. Numbers rise across all processes of a store, and a new change never gets a lower
   * number than one that was read. They are whole, except for changes not yet written to the file: these lie between two
   * whole numbers, and the task is listed again with a whole number once it is written. A removal has no number.
   */
  change: number;
  /** The number of the change that created the task. */
  createdChange: number;
  record: TaskRecord;
}

/** A command to the process that supervises a task. */
export type RemoteCommand =
  | { kind: "cancel" }
  | { kind: "resume"; prompt: string }
  | { kind: "answer"; answer: UserReply };

/** A command that waits for the supervising process. */
export interface PendingCommand {
  /** Identifies the command, and later its outcome. */
  id: string;
  taskId: string;
  command: RemoteCommand;
}

/** The outcome of a command: carried out, or refused for a reason in words. */
export interface CommandOutcome {
  refused?: string;
  /** Set when OpenCode refused it, and not the state of the task. */
  liesWith?: "host";
}

/**
 * Milliseconds for which a command may be taken, and its outcome fetched. Callers stop waiting earlier: a command carried
 * out later than that would surprise a person who has gone on to something else.
 */
export const COMMAND_LIFE_MS = 60_000;

/** The outcome of a command for a task that no store has. */
export const taskNotFound = (taskId: string): CommandOutcome => ({ refused: `task ${taskId} is not there any more` });

/** The part of a store that reaches beyond its own process: all tasks of all processes, their changes, and commands. */
export interface TaskHistory {
  page(filter: PageFilter): Page;
  stats(): TaskStats;
  /** Returns all tasks of a batch, of any parent, in the order of their launch. */
  batch(batchId: string): TaskRecord[];
  /** Returns the tasks that have not ended, in the order of their launch. */
  live(): TaskRecord[];
  /** Returns ended tasks by their end, newest first, after skipping `skip` (default 0) of them. */
  newestEnded(count: number, skip?: number): TaskRecord[];
  /** Returns up to `limit` ids that start with `beginning`, in alphabetical order. */
  idsStartingWith(beginning: string, limit: number): string[];
  /** Returns the number of the newest change, or a higher one that no change will have; 0 before the first change. */
  latestChange(): number;
  /** Returns up to `limit` tasks that changed after `change`, each once, in the order of their newest changes. */
  changedSince(change: number, limit: number): ChangedTask[];

  /**
   * Leaves a command for the process that supervises the task. If the task is at rest, any process may take it that has
   * the task's last directory open with the same OpenCode database. A command that nobody takes within `COMMAND_LIFE_MS`
   * is dropped, so callers must stop waiting before that. The first process to see a command for an unknown task refuses
   * it. Without a file, a command for another process's task is refused at once. `at` is epoch milliseconds.
   */
  submitCommand(command: PendingCommand, at: number): void;
  /** Takes the commands for tasks that this process supervises, or may claim. Each command is returned once. */
  takeCommands(): PendingCommand[];
  storeOutcome(id: string, outcome: CommandOutcome): void;
  /** Takes the outcome of a command: returned once, and undefined until there is one. */
  takeOutcome(id: string): CommandOutcome | undefined;
}
