import type { NoticePrompt, OutboxEffect, OutboxEvent } from "../outbox/events.ts";
import type { HostError, TaskEffect, TaskEvent, TaskInput, UserRequest } from "../task/events.ts";
import type { StoredSnapshot } from "../task/machine.ts";

/** A message as far as it says how a run stands. */
export interface MessageInfo {
  id: string;
  role: "user" | "assistant";
  /** Epoch milliseconds. */
  createdAt: number;
  /** The user message that an assistant's answers. */
  promptID: string | undefined;
  /** Epoch milliseconds. */
  completedAt: number | undefined;
  /** Why the model stopped; `tool-calls` and `unknown` mean that it goes on. */
  finish: string | undefined;
  error: HostError | undefined;
  /** A compaction's summary: the host's own, no answer. */
  isSummary: boolean;
}

/** How far a tool call has come: `stored` when its answer is in the conversation. */
export type ToolCallStage = "begun" | "stored" | "failed";

/** What the host tells, in our words: the few of its events that can matter to a task or to an outbox. */
export type HostEvent =
  | { type: "busy"; sessionID: string }
  | { type: "idle"; sessionID: string }
  | { type: "error"; sessionID: string; error: HostError }
  | { type: "deleted"; sessionID: string }
  /** A session stands below another. `isNew`: it was made just now. */
  | { type: "child"; sessionID: string; parentID: string; isNew: boolean }
  /** A session's conversation was summed up, to make room. */
  | { type: "compacted"; sessionID: string }
  /** A message began, or changed. */
  | { type: "message"; sessionID: string; message: MessageInfo }
  /** A text part of a message, as far as it is written. */
  | { type: "text"; sessionID: string; messageID: string; partID: string; text: string }
  | { type: "asked"; sessionID: string; request: UserRequest }
  | { type: "replied"; sessionID: string; requestID: string }
  /** A tool call began, or reached its end. */
  | {
      type: "toolCall";
      sessionID: string;
      callID: string;
      tool: string;
      stage: ToolCallStage;
    }
  /** A step of a session's model finished. Tokens of input, output and reasoning; cost in US dollars. */
  | { type: "step"; sessionID: string; partID: string; tokens: number; cost: number };

/** What tasks and outboxes want of each other: the supervisor passes it on itself. */
type ForwardedEffect = "queueNotice" | "withdrawNotice" | "noticeComposed" | "noticeAcknowledged" | "noticeDropped";

/** Everything that the services are asked to do. `actorFailed`: an actor threw, and was removed. */
export type Effect =
  | Exclude<TaskEffect | OutboxEffect, { type: ForwardedEffect }>
  | { type: "actorFailed"; id: string; message: string };

/** Everything that can happen to the supervisor. `at` is epoch milliseconds. */
export type SupervisorEvent =
  | { type: "LAUNCH"; at: number; task: TaskInput }
  | { type: "RESTORE"; snapshot: StoredSnapshot }
  | { type: "ADOPT_PROMPTS"; at: number; parentSessionID: string; prompts: NoticePrompt[] }
  | { type: "TASK"; id: string; event: TaskEvent }
  | { type: "OUTBOX"; id: string; event: OutboxEvent }
  | { type: "HOST"; at: number; event: HostEvent }
  | { type: "EFFECT"; at: number; effect: TaskEffect | OutboxEffect }
  | { type: "REAP_TASK"; id: string }
  | { type: "REAP_OUTBOX"; id: string }
  | { type: "CLOSE" };

/** What each event of the supervisor means; the last is XState's own. Stands in the chart, at every transition that it takes. */
export const supervisorEventDescriptions: Record<SupervisorEvent["type"] | "xstate.error.actor.*", string> = {
  LAUNCH: "A task begins: it gets an actor and a slot, and its parent an outbox.",
  RESTORE: "A stored task is wanted again: its actor goes on from where its snapshot says.",
  ADOPT_PROMPTS: "Notice prompts of a process that is gone go on in the parent's outbox here.",
  TASK: "An event for a task is passed on to its actor.",
  OUTBOX: "An event for an outbox is passed on to its actor.",
  HOST: "An event of the host goes to the task that runs in its session, and to the outbox of its session.",
  EFFECT: "What tasks and outboxes want of each other is passed between them; the rest is for the services.",
  REAP_TASK: "A task is at rest, or removed: its actor is stopped.",
  REAP_OUTBOX: "An outbox has nothing to do: its actor is stopped.",
  CLOSE: "The plugin is disposed of.",
  "xstate.error.actor.*": "An actor threw: it is removed, so that it cannot take its siblings with it.",
};

/** Whom the supervisor has under it. */
export interface SupervisorContext {
  /** Live tasks: task id → parent session id. */
  tasks: Record<string, string>;
  /** Parent sessions with an outbox. */
  outboxes: Record<string, true>;
}
