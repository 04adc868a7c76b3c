import type { PendingLaunch } from "../../machines/launch/events.ts";
import type { LaunchJournal } from "../../machines/launch/replay.ts";
import type { NoticePrompt } from "../../machines/outbox/events.ts";
import type { TaskEvent, TaskInput } from "../../machines/task/events.ts";
import type { StoredSnapshot } from "../../machines/task/machine.ts";
import type { LimitedRequest } from "../../machines/task/slot-queue.ts";
import type { Progress, QueuePlace, Task, TaskEntry, TaskStatus, Usage, WakeCosts } from "../../task.ts";
import type { UserReply } from "../../user-request.ts";

/** One event that a task's machine accepted. A journal lists them in the order of acceptance. */
export interface JournalEntry {
  taskId: string;
  event: TaskEvent;
}

/** A task at one moment: what people see, and the snapshot from which the machine goes on. */
export interface TaskRecord {
  task: Task;
  snapshot: StoredSnapshot;
}

/** The notice prompts on their way to one parent: composed, and not acknowledged yet. */
export interface PendingPrompts {
  parentSessionID: string;
  prompts: NoticePrompt[];
}

/** Everything that one round of events changed. Stored in one transaction: all of it or nothing. */
export interface Change {
  records: TaskRecord[];
  journal: JournalEntry[];
  /** Each list replaces the stored one of its parent. */
  prompts: PendingPrompts[];
  /** How the tasks were launched that are stored for the first time, by task id. Default: that is not known of any. */
  launches?: ReadonlyMap<string, LaunchJournal>;
}

/** Returns what the chart of a task began with that is stored for the first time. */
export const originOf = ({ task, snapshot }: TaskRecord, launches: Change["launches"]): TaskInput => {
  const { facts, run } = snapshot.context;
  const launch = launches?.get(task.sessionID);
  return { facts, run, ...(launch ? { launch } : {}) };
};

/** A launch that is stored: it is under way, or has left something. */
export interface StoredLaunch {
  pending: PendingLaunch;
  directory: string;
  /** The process that it is of: this owner's, another one, or one that has ended. */
  of: "own" | "other" | "ended";
}

/** Work of processes that have ended or died, for another process to take over. */
export interface AbandonedWork {
  tasks: TaskRecord[];
  prompts: PendingPrompts[];
  /** Those for which no session can appear any more. */
  launches: PendingLaunch[];
}

/** Selects tasks. A task must match every field that is given. */
export interface TaskFilter {
  parentSessionID?: string;
  batchId?: string;
  /** The nearest task above: the one whose session, or a session below it that is no task, launched this one. */
  parentTaskId?: string;
  /** How its id begins. */
  idPrefix?: string;
}

/** Which ended tasks are kept; without either bound, all of them. */
export interface Retention {
  /** Keeps tasks for this many days after their end. */
  days?: number | undefined;
  /** Keeps at most this many, the newest. */
  count?: number | undefined;
  /** Ids of tasks that `count` does not remove, and that it does not count. */
  uncounted?: readonly string[];
}

/** True when the task matches the filter. */
export const matches = (task: Task, filter: TaskFilter): boolean =>
  (filter.parentSessionID === undefined || task.parentSessionID === filter.parentSessionID) &&
  (filter.batchId === undefined || task.batchId === filter.batchId) &&
  (filter.parentTaskId === undefined || task.parentTaskId === filter.parentTaskId) &&
  (filter.idPrefix === undefined || task.sessionID.startsWith(filter.idPrefix));

/** Selects tasks of all parents and directories, newest first. A task must match every field that is given. */
export interface PageFilter {
  status?: TaskStatus | undefined;
  agent?: string | undefined;
  directory?: string | undefined;
  parentSessionID?: string | undefined;
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
  /** What all tasks have used together. */
  usage: Usage;
  /** What it has cost to wake the agents that launched them. */
  wakeCosts: WakeCosts;
}

/** What the usage of a task is added up from. */
export type CountedTask = Pick<TaskEntry, "sessionID" | "ownUsage">;

/** A task below another one, and what its own runs have used. */
export interface TaskBelow extends CountedTask, Pick<TaskEntry, "launchedAt"> {
  /** The nearest task above it. */
  parentTaskId: string;
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
  | { kind: "pause" }
  | { kind: "continue" }
  | { kind: "resume"; prompt: string }
  | { kind: "retry"; prompt?: string | undefined; model?: string | undefined }
  | { kind: "steer"; prompt: string }
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

/** An owner other than this one, as this one judges it. */
export interface OtherSupervisor {
  pid: number;
  /** When it last showed that it lives, epoch milliseconds. */
  heartbeatAt: number;
  /** When its tasks are taken over if it stays silent, epoch milliseconds. */
  freeAt: number;
}

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

/**
 * Keeps tasks until they are cleared. Many processes may share one store: a task that is not at rest is owned by the
 * process that supervises it, as long as that process shows that it is alive.
 */
export interface Store extends TaskHistory {
  /**
   * Stores a change. A task that is at rest after it has no owner any more.
   * Returns the tasks that another process has taken over or removed: nothing is stored of those, nor a prompt with the end
   * of one.
   */
  commit(change: Change): string[];
  get(taskId: string): TaskRecord | undefined;
  /**
   * Returns the matching tasks in the order of their launch. Reads no record: a task whose record is damaged is listed, and
   * `get` does not find it.
   */
  list(filter: TaskFilter): TaskEntry[];
  /** Returns how many tasks a parent session has, ended ones included. */
  countOf(parentSessionID: string): number;
  /** Returns all tasks below these, each once, in the order of their launch. Reads no record, either. */
  below(taskIds: readonly string[]): TaskBelow[];
  /** Returns a task's events, oldest first. */
  journal(taskId: string): TaskEvent[];
  /** Returns what a task's chart began with; undefined where its journal does not go back to the launch. */
  origin(taskId: string): TaskInput | undefined;
  /** Deletes tasks with their journals, even if another process owns them. */
  remove(taskIds: string[]): void;
  /** Stores the latest progress by task. Tasks owned by other processes are left alone. */
  storeProgress(counted: ReadonlyMap<string, Progress>): void;
  /**
   * Deletes some of the directory's tasks at rest that `retention` does not keep, and returns how many: 0 when none is
   * left to delete. `now` is epoch milliseconds.
   */
  sweep(retention: Retention, now: number): number;

  /** True when another process supervises the task. */
  isOwnedElsewhere(taskId: string): boolean;
  /** Returns the owner that supervises the task, where that is another one than this, and lives or may live. */
  otherSupervisor(taskId: string): OtherSupervisor | undefined;
  /** True when a living process could act on the task: it supervises the task, or has the task's directory open. */
  isAttended(taskId: string): boolean;
  /** True when this is the only living owner: no other process, and no other directory of this one, shares the store. */
  isAlone(): boolean;
  /** Takes ownership of a task at rest. False when another process owns it, or it does not exist. */
  claim(taskId: string): boolean;
  /** Gives up ownership of a claimed task to which nothing happened. */
  release(taskId: string): void;

  /**
   * Notes that these runs of this process ask for slots, and gives slots to those that can start, see `walkQueue`. Returns
   * those of them that hold one. A slot is taken before the task's next change is stored, and from then on follows from
   * the task's snapshot, see `slotOf`: `commit` frees it, and notes whether the provider refuses the run for now. Tasks of
   * dead processes count neither as held nor as waiting.
   */
  grantSlots(requests: readonly LimitedRequest[]): string[];
  /** Gives slots to those of this process's waiting runs that can start and are wanted. Returns them, in the order of the queue. */
  startQueued(isWanted: (taskId: string) => boolean): string[];
  /**
   * Returns the places of those of these runs that wait, whatever living process has them.
   * @param ofEachLane as many runs from the front of every lane (see `laneOf`) are returned as well. Default: 0
   */
  places(taskIds: readonly string[], ofEachLane?: number): ReadonlyMap<string, QueuePlace>;

  beginLaunch(launch: PendingLaunch): void;
  /** Ends a launch that failed, or whose task is stored. */
  endLaunch(messageID: string): void;
  /** Returns the stored launches of all processes that have led to no task, in the order of their beginning. */
  launches(): StoredLaunch[];

  /** Shows that this process is alive. Returns the tasks it has lost to others meanwhile. `now` is epoch milliseconds. */
  heartbeat(now: number): string[];
  /**
   * Takes over the work of dead processes: in this owner's directory, with the same OpenCode database, and of the
   * parents for which `wants` returns true. `now` is epoch milliseconds.
   */
  adopt(now: number, wants: (parentSessionID: string) => boolean): AbandonedWork;
  /** Frees everything this process owns, at once. Nothing is stored after that. */
  close(): void;
}
