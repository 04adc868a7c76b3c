import type { ModelRef, WakeCosts } from "../task.ts";
import type { HostError, UserRequest } from "./task/events.ts";

/** The name of the error of a message that somebody aborted. */
export const ABORTED = "MessageAbortedError";

/** One permission rule of a session. If several rules match, the last one applies. */
export interface PermissionRule {
  permission: string;
  pattern: string;
  action: "allow" | "deny" | "ask";
}

/** A session, with the agent and the model that it uses now. */
export interface HostSession {
  id: string;
  parentID: string | undefined;
  agent: string | undefined;
  model: ModelRef | undefined;
  permission: PermissionRule[];
  title: string;
  /** The directory that it works in; absent where the host does not say it. */
  directory?: string;
  /** True while a person has taken back its newest messages. The host deletes them at the next prompt, whoever sends it. */
  isReverted?: boolean;
  /** When a person archived it, epoch milliseconds; absent where nobody has. */
  archivedAt?: number;
}

/**
 * Why nothing is sent to a conversation: a person took back its newest messages, or archived it and has not used it since; or it
 * is that of a task that is paused.
 */
export type SetAside = "reverted" | "archived" | "paused";

/** What one request to a model cost: all its tokens, those of them that the provider had cached, and US dollars. */
export type RequestCost = Omit<WakeCosts, "wakes">;

/** The part of a message that shows how far a run has come. */
export interface MessageInfo {
  id: string;
  role: "user" | "assistant";
  /** Epoch milliseconds. */
  createdAt: number;
  /** The user message that an assistant message answers. */
  promptID: string | undefined;
  /** Epoch milliseconds. */
  completedAt: number | undefined;
  /** Why the model stopped, as the host knows it: with `tool-calls` and `unknown` it asks the model again. */
  finish: string | undefined;
  error: HostError | undefined;
  /** True for the summary of a compaction: the host wrote it, and it answers nothing. */
  isSummary: boolean;
  /** The model that wrote an assistant message; absent for others. */
  model?: ModelRef;
  /** Tokens of the conversation up to the end of an assistant message, as its provider counted them; absent before that. */
  conversationTokens?: number;
  /** What the request cost with which a model wrote the message, once its provider has said so. */
  requestCost?: RequestCost;
}

/** How far a tool call has come: `stored` when its output is in the conversation. */
export type ToolCallStage = "begun" | "stored" | "failed";

/** A file that a tool wrote, by its absolute path. `added` and `removed` count lines; absent where the tool did not say. */
export interface FileWrite {
  path: string;
  change: "added" | "changed" | "deleted";
  added?: number | undefined;
  removed?: number | undefined;
}

/** What a tool call that has ended is seen to have done, for the tools of which it is known how they report that. */
export type ToolCallEffect =
  | { kind: "read"; path: string }
  | { kind: "write"; files: FileWrite[] }
  /** The host's own subagent works in that session, and goes on when the turn has ended in which it was begun. */
  | { kind: "background"; sessionID: string }
  /** `exit`: absent where the command was ended before it exited. */
  | { kind: "command"; command: string; exit: number | undefined; end: "exited" | "timedOut" | "aborted" };

/** The few events of the host that can matter to a task or to an outbox, in the plugin's own form. */
export type HostEvent =
  | { type: "busy"; sessionID: string }
  /** The provider refused a request for now: the host makes it again at `until`, in epoch milliseconds. `attempt` counts from 1. */
  | { type: "retrying"; sessionID: string; attempt: number; message: string; until: number }
  /** The provider answers the newest request of the session's model: it did not refuse it. */
  | { type: "answering"; sessionID: string }
  | { type: "idle"; sessionID: string }
  | { type: "error"; sessionID: string; error: HostError }
  | { type: "deleted"; sessionID: string }
  /** A session was created just now (`isNew`), or changed. */
  | { type: "session"; sessionID: string; session: HostSession; isNew: boolean }
  /** A session's conversation was replaced by a summary, to make room. */
  | { type: "compacted"; sessionID: string }
  /** A message began or changed. */
  | { type: "message"; sessionID: string; message: MessageInfo }
  /** A text part of a message, with what has been written of it. */
  | { type: "text"; sessionID: string; messageID: string; partID: string; text: string }
  | { type: "asked"; sessionID: string; request: UserRequest }
  | { type: "replied"; sessionID: string; requestID: string }
  /** A tool call began or ended. */
  | {
      type: "toolCall";
      sessionID: string;
      callID: string;
      tool: string;
      stage: ToolCallStage;
      /** A digest of the arguments: equal for equal ones. Absent while the model still writes them, and no tool runs. */
      input?: string;
      /** What it did, once it has ended; absent where that is not known, or nothing. */
      effect?: ToolCallEffect;
    }
  /**
   * Files of the session's directory that changed during one of its steps, whoever changed them, by their absolute paths. The
   * host reports none where the directory is no git repository.
   */
  | { type: "filesChanged"; sessionID: string; partID: string; files: string[] }
  /** A step of a session's model finished. Tokens of input, output and reasoning; cost in US dollars. */
  | { type: "step"; sessionID: string; partID: string; tokens: number; cost: number };
