import type { PermissionRule } from "../../machines/host-events.ts";
import type { TaskEvent } from "../../machines/task/events.ts";
import type {
  ClaimedJob,
  FleetServer,
  GivenInstruction,
  ModelRef,
  ResultSchema,
  Task,
  Wake,
  WorktreeChanges,
} from "../../task.ts";
import type { Outcome } from "../platform/result.ts";
import type { OwnText } from "../text/own-text.ts";
import type { TranscriptOptions } from "../text/transcript.ts";

/** A request to launch a task: what to do, and who asks for it. */
export interface LaunchRequest {
  description: string;
  prompt: string;
  agent: string;
  /** A model as `provider/model` or `provider/model#variant`. Default: the agent's own, or else the caller's. */
  model: string | undefined;
  /** The batch that the task joins. Default: the batch of all tasks launched in the same turn of the agent. */
  batchId: string | undefined;
  /** When results of the task wake the caller's agent. Default: as the option says. */
  wake: Wake | undefined;
  parentSessionID: string;
  parentMessageID: string;
  parentAgent: string;
  directory: string;
  /** Tasks with a higher priority are to get a slot first. */
  priority: number;
  /** True for a worktree of its own. Default: as the options say of the agent. */
  worktree: boolean | undefined;
  /** What the result must fit. Default: as the options say of the agent. */
  schema: ResultSchema | undefined;
  /** True to begin with the caller's conversation, up to but not including the message that launches the task. */
  fork: boolean;
  /** The run of another server's task that this is for: its agent works from that commit, and may not do what is denied. */
  job?: { run: ClaimedJob; commit: string; denied: PermissionRule[] };
  /** Checks whether the caller may use that agent, which may involve asking the user. Rejects with the reason if not. */
  permit(agent: string): Promise<void>;
  /** Aborted when the caller's turn is aborted; after that nothing is launched. */
  signal: AbortSignal;
}

/** Everything that is decided before a session is created. */
export interface LaunchPlan {
  description: string;
  /** The agent's name as the host has it. */
  agent: string;
  batchId: string;
  model: ModelRef | undefined;
  permission: PermissionRule[];
  /** What the result must fit; undefined where it may be any text. */
  schema: ResultSchema | undefined;
  /** The directory that the calling session works in. */
  callerDirectory: string;
  /** The task in whose session, or a descendant of it, the new task is launched; undefined where it is in no task. */
  parentTask: Task | undefined;
}

/** The result of a launch. */
export interface Launched {
  task: Task;
  /** Why the host could not fork the conversation, so that the task has it as text; undefined if nothing went wrong. */
  forkRefusal: string | undefined;
  /** Why it is worked on here, though its agent is for other servers; undefined where it is for them, or its agent is not. */
  notOffered: string | undefined;
}

/** A follow-up prompt for a completed task. */
export interface ResumeRequest {
  parentSessionID: string;
  /** The task's id or a unique prefix of it. */
  taskId: string;
  prompt: string;
  /** The agent that the caller expects. A request with another agent than the task's is refused: tasks never change it. */
  agent: string | undefined;
  /** The model that the caller expects. A request with another model than the task's is refused, too. Default: none. */
  model?: string | undefined;
  /**
   * Checks whether the caller may use the task's agent, which may involve asking the user. Rejects with the reason if
   * not. Default: it may.
   */
  permit?(task: Task): Promise<void>;
  /** Of another server's task: whose run it is, and by which claim. */
  job?: ClaimedJob;
  /** Aborted when the caller's turn is aborted; after that nothing is sent. */
  signal: AbortSignal;
}

/** A request to go on with a task that failed or was cancelled. */
export interface RetryRequest extends Omit<ResumeRequest, "prompt"> {
  /** What its agent is given in addition to why it was stopped. Absent or empty: nothing. */
  prompt?: string | undefined;
}

/** A further instruction for a running task. */
export interface SteerRequest {
  parentSessionID: string;
  /** The task's id or a unique prefix of it. */
  taskId: string;
  prompt: string;
  /** Who gives it: the child learns it. */
  from: GivenInstruction["from"];
}

/** The outcome of cancelling one task. */
export interface CancelResult {
  task: Task;
  /** Why the task was not cancelled, as the rest of a sentence that begins with "task …"; absent if it was. */
  refused?: string;
}

/** A task that an agent could not remove, and the changes that a person has to decide about first. */
export interface KeptTask {
  task: Task;
  /** The task that has the changes: itself, or a descendant. */
  owner: Task;
  changes: WorktreeChanges;
}

/** Reads conversations of tasks from the servers that work or worked on them. */
export interface Elsewhere {
  /** An excerpt, in the labelled form. */
  transcript(server: FleetServer, taskId: string, options: TranscriptOptions): Promise<Outcome<OwnText>>;
  /** The messages in the host's own form, oldest first, as another server gives them: they may be anything. */
  messages(server: FleetServer, taskId: string): Promise<Outcome<unknown[]>>;
}

/** What a task asks of the fleet. What is found there reaches its chart as events. */
export interface RemoteRuns {
  /** Queues a run as a job for the servers of the fleet. */
  enqueue(taskId: string, run: number): Promise<TaskEvent>;
  /** Reports to the chart all that the servers have written of a run. */
  read(taskId: string, run: number): Promise<void>;
  /** Asks the server that has the run to stop. */
  requestStop(taskId: string, run: number): Promise<void>;
  /** Ends a run in the fleet, unless somebody wrote before what the chart does not know yet. */
  close(taskId: string, run: number): Promise<void>;
}
