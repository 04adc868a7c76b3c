import type { HostEvent } from "../host-events.ts";
import type { LaunchEffect, LaunchEvent, LaunchInput } from "../launch/events.ts";
import type { StoredLaunchSnapshot } from "../launch/machine.ts";
import type { NoticePrompt, OutboxEffect, OutboxEvent } from "../outbox/events.ts";
import type { TaskEffect, TaskEvent, TaskInput } from "../task/events.ts";
import type { StoredSnapshot } from "../task/machine.ts";

/** What tasks, outboxes and launches want of each other: the supervisor passes it on itself. */
type ForwardedEffect =
  | "reportEnd"
  | "queueNotice"
  | "withdrawNotice"
  | "noticeComposed"
  | "noticeAcknowledged"
  | "noticeDropped"
  | "leaveCopy";

/** What any actor may want done. */
export type ActorEffect = TaskEffect | OutboxEffect | LaunchEffect;

/**
 * Everything that the services are asked to do: by a task, which `taskId` names, by a launch, which `launchId` names, or by the
 * outbox of `parentSessionID`.
 */
export type Effect = Exclude<ActorEffect, { type: ForwardedEffect }>;

/** An actor that threw, and was removed. */
export interface FailedActor {
  id: string;
  message: string;
}

/** Everything that can happen to the supervisor. `at` is the time of the event in epoch milliseconds. */
export type SupervisorEvent =
  /** `snapshot`: where the launch stands, if it began before. */
  | { type: "PREPARE"; launch: LaunchInput; snapshot?: StoredLaunchSnapshot }
  | { type: "LAUNCH"; at: number; task: TaskInput }
  | { type: "RESTORE"; snapshot: StoredSnapshot }
  | { type: "ADOPT_PROMPTS"; at: number; parentSessionID: string; prompts: NoticePrompt[] }
  | { type: "TASK"; id: string; event: TaskEvent }
  | { type: "OUTBOX"; id: string; event: OutboxEvent }
  | { type: "PREPARATION"; id: string; event: LaunchEvent }
  | { type: "HOST"; at: number; event: HostEvent }
  | { type: "EFFECT"; at: number; effect: ActorEffect }
  | { type: "REAP_TASK"; id: string }
  | { type: "REAP_OUTBOX"; id: string }
  | { type: "CLOSE" };

/** What each event of the supervisor means; the last two are XState's own. The chart shows it at each transition. */
export const supervisorEventDescriptions: Record<
  SupervisorEvent["type"] | "xstate.done.actor.*" | "xstate.error.actor.*",
  string
> = {
  PREPARE: "A task is to be launched, or a launch has left something: its launch gets an actor.",
  LAUNCH: "A task is launched: it gets an actor, and its parent an outbox.",
  RESTORE: "A stored task is needed again: its actor starts from its snapshot.",
  ADOPT_PROMPTS: "The parent's outbox takes over the prompts of a process that has ended.",
  TASK: "An event for a task is passed on to its actor.",
  OUTBOX: "An event for an outbox is passed on to its actor.",
  PREPARATION: "An event for a launch is passed on to its actor.",
  HOST: "What OpenCode reports of a session goes to the task that runs in it, and to its outbox.",
  EFFECT: "Effects that actors have on each other are routed between them; the others go to the services.",
  REAP_TASK: "A task is at rest, or removed: its actor is stopped.",
  REAP_OUTBOX: "An outbox has nothing to do: its actor is stopped.",
  CLOSE: "The plugin is disposed of.",
  "xstate.done.actor.*": "A launch is over: its task has begun, or nothing is left of it.",
  "xstate.error.actor.*": "An actor threw: it is removed, so that it does not take its siblings down.",
};

/** Each event in a few words, as pictures label their arrows with it. */
export const supervisorEventWords: Record<keyof typeof supervisorEventDescriptions, string> = {
  PREPARE: "launch begins",
  PREPARATION: "event for a launch",
  LAUNCH: "task launched",
  RESTORE: "task needed again",
  ADOPT_PROMPTS: "prompts taken over",
  TASK: "event for a task",
  OUTBOX: "event for an outbox",
  HOST: "report of OpenCode",
  EFFECT: "effect of an actor",
  REAP_TASK: "task at rest",
  REAP_OUTBOX: "outbox idle",
  CLOSE: "plugin disposed of",
  "xstate.done.actor.*": "a launch is over",
  "xstate.error.actor.*": "an actor threw",
};

/** Translates a host event for the task that runs in its session; undefined when it means nothing to it. */
export const toTaskEvent = (event: HostEvent, at: number): TaskEvent | undefined => {
  switch (event.type) {
    case "busy":
      return { type: "HOST_BUSY", at };
    case "retrying": {
      const { attempt, message, until } = event;
      return { type: "HOST_RETRYING", at, attempt, message, until };
    }
    case "answering":
      return { type: "HOST_ANSWERING", at };
    case "idle":
      return { type: "HOST_IDLE", at };
    case "error":
      return { type: "HOST_ERROR", at, error: event.error };
    case "deleted":
      return { type: "SESSION_DELETED", at };
    case "asked":
      return { type: "REQUEST_ASKED", at, request: event.request };
    case "replied":
      return { type: "REQUEST_ANSWERED", at, id: event.requestID };
    default:
      return undefined;
  }
};

/** Translates a host event for the outbox of its session; undefined when it means nothing to it. */
export const toOutboxEvent = (event: HostEvent, at: number): OutboxEvent | undefined => {
  switch (event.type) {
    case "busy":
    case "retrying":
      return { type: "PARENT_BUSY", at };
    case "idle":
      return { type: "PARENT_IDLE", at };
    case "error": {
      const { message, fault } = event.error;
      return { type: "PARENT_ERROR", at, message, ...(fault ? { fault } : {}) };
    }
    case "deleted":
      return { type: "PARENT_CLOSED", at };
    case "session":
      return { type: "PARENT_CHANGED", at };
    case "message": {
      const { id, role, promptID, createdAt, isSummary } = event.message;
      if (role === "user") return { type: "PARENT_STORED", at, messageID: id, createdAt };
      return promptID === undefined || isSummary ? undefined : { type: "PARENT_ANSWERED", at, promptID, createdAt };
    }
    default:
      return undefined;
  }
};
