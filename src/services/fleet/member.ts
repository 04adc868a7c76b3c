import type { HostEvent } from "../../machines/host-events.ts";
import type { FleetServer, Task } from "../../task.ts";
import type { UserReply } from "../../user-request.ts";
import type { Launched, LaunchRequest, ResumeRequest, RetryRequest } from "../engine/requests.ts";
import type { Host } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Outcome } from "../platform/result.ts";
import type { HostReads } from "../runtime/host-reads.ts";
import type { ProgressLog } from "../runtime/progress.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store } from "../store/store.ts";
import type { Worktrees } from "../worktrees/worktrees.ts";
import type { Broker } from "./broker.ts";
import type { Steps } from "./wire-messages.ts";

/** This server's place in a fleet, as the options define it. */
export interface Membership {
  broker: Broker;
  server: FleetServer;
  /** The project whose servers take each other's jobs. */
  pool: string;
  /** The project as people know it. */
  project: string;
  /** How many runs of other servers this one works on at once. */
  work: number;
  /** The agents whose tasks are for other servers. */
  offer: readonly string[];
  /** Of the plugin. */
  version: string;
  /** How often a run may be begun. */
  attempts: number;
  /** Milliseconds for which a job waits for a worker. */
  patience: number;
  /** What is known of commits. */
  commits: {
    /** Returns the commit that is checked out in a directory, where others can fetch it; a failure says why they cannot. */
    published(directory: string): Promise<Outcome<string>>;
    /** Returns why a commit cannot be had in a directory, where it is fetched if need be; undefined where it can. */
    obstacle(directory: string, commit: string): Promise<string | undefined>;
  };
  clock: Clock;
  log: Log;
  /** Returns an id that nothing else has. */
  newId(): string;
}

/** The engine that launches tasks for other servers, and receives what they report. */
export interface OriginEngine {
  host: Pick<Host, "session">;
  store: Pick<Store, "get">;
  charts(): Pick<Runtime, "send" | "snapshotOf" | "liveTasks">;
  /** Returns the sessions above one, nearest first, that one included. */
  ancestors(sessionID: string): readonly string[];
  /** Makes a worktree of what a task changed on another server. */
  receiveChanges: Worktrees["receive"];
  /** Takes what happens on another server as if this host had reported it. */
  onHostEvent(event: HostEvent): void;
  /** Takes what was counted of a task by that time, epoch milliseconds, in place of all that was counted before. */
  onSteps(taskId: string, steps: Steps, at: number): void;
}

/** The engine that works on runs of other servers, as tasks of its own. */
export interface WorkerEngine {
  host: Pick<Host, "createSession" | "session" | "sessionsSince" | "conversation" | "rawMessages">;
  reads: Pick<HostReads, "agents" | "models">;
  runtime: Pick<Runtime, "send" | "liveTasks" | "snapshotOf" | "subscribe">;
  store: Pick<Store, "get" | "list" | "below">;
  progress: Pick<ProgressLog, "of">;
  directory: string;
  launch(request: LaunchRequest): Promise<Outcome<Launched>>;
  resume(request: ResumeRequest): Promise<Outcome<Task>>;
  retry(request: RetryRequest): Promise<Outcome<Task>>;
  cancel(taskIds: string[]): Promise<unknown>;
  /** Resolves when the task has ended, or another process has taken it over. */
  untilEnded(taskId: string): Promise<unknown>;
  /** Passes a person's reply on to the agent of a task. */
  answer(taskId: string, reply: UserReply): Promise<Outcome<void>>;
  /** Returns the patch of what a task has changed; undefined where that is nothing. Rejects where it cannot be read. */
  patchOf(task: Task): Promise<Uint8Array | undefined>;
  /** Removes the worktree of a task, whose changes the origin server has, until it is resumed. */
  putWorktreeAway(task: Task): void;
}
