// The port to OpenCode. The forms of its messages belong to it, so that nothing else depends on the SDK's.
import type { HostEvent, HostSession, MessageInfo, PermissionRule, ToolCallStage } from "../../machines/host-events.ts";
import type { Prompt, UserRequest } from "../../machines/task/events.ts";
import type { ModelRef } from "../../task.ts";
import type { UserReply } from "../../user-request.ts";

/** A message and its text. The text is what a person or a model wrote, without parts that a program added. */
export interface HostMessage extends MessageInfo {
  text: string;
  /**
   * Of a message of a model that called tools: whatever it stopped for, the host gives it the outcomes and asks it again, but
   * where all of them were `interrupted`.
   */
  tools?: "called" | "interrupted";
  /** True for a message of a model that reasoned. */
  reasons?: boolean;
}

/** A single message read by its id, perhaps while the host is still storing its parts, which it does one by one. */
interface StoredMessage extends HostMessage {
  /** The ids of the parts stored so far. */
  partIDs: string[];
}

/** Joins the text parts of one message. */
export const joinTexts = (texts: string[]): string => texts.join("\n").trim();

/** A message of a forked conversation, with what is needed to plan which parts to cut and which messages to delete. */
export interface ForkedMessage {
  id: string;
  role: "user" | "assistant";
  /** True for both messages of a compaction: its request and its summary. The host sends no older message to a model. */
  isSummary: boolean;
  parts: ForkedPart[];
}

/** A part of a forked message. */
export interface ForkedPart {
  id: string;
  kind: "toolResult" | "text" | "other";
  /** The text that a model is sent and that may be cut. */
  text: string;
  /** Text that a model is sent as well and that must stay whole: a tool call's arguments, or reasoning. */
  uncuttableText: string;
  /** Number of attached files. */
  attachments: number;
  /** The host's own form of the part, which is handed back to the host when the part is rewritten. */
  raw: unknown;
}

/** A message of a transcript. */
export interface SpokenMessage {
  id: string;
  role: "user" | "assistant";
  parts: SpokenPart[];
}

/** A text or a tool call of a transcript. `result` is the tool's output or error; undefined while the tool runs. */
export type SpokenPart =
  | { kind: "text"; text: string }
  | { kind: "tool"; name: string; params: unknown; result?: string | undefined };

/** A message of a request that is about to be sent to a model, in the host's own form. */
export interface ModelMessage {
  /** `summary` is true for the summary that a compaction wrote; `time.created` is epoch milliseconds. */
  info: { id: string; sessionID: string; role: "user" | "assistant"; summary?: unknown; time: { created: number } };
  parts: { id: string; text?: string }[];
}

/**
 * Why a call to the host failed.
 * - `notFound`: the session, message or request does not exist (any more)
 * - `refused`: the host rejected the call, and would reject the same call again
 * - `unavailable`: the host did not respond in time or has a fault of its own; it may have done what was asked all the
 *   same, or may still do it
 */
export interface HostFailure {
  kind: "notFound" | "refused" | "unavailable";
  name: string;
  message: string;
}

/** The outcome of a call to the host. Host calls never throw. */
export type HostResult<T> = { ok: true; value: T } | { ok: false; failure: HostFailure };

/** An agent that is configured in the host. */
export interface HostAgent {
  name: string;
  /** True where people are not shown it to choose from. The host's own helpers, such as the one that writes titles, are so. */
  hidden: boolean;
  /** True for one that is no subagent. The host's own helpers count as such. */
  isPrimary?: boolean;
  model: ModelRef | undefined;
}

/** A model that the host can use. */
export interface HostModel {
  providerID: string;
  modelID: string;
  /** The names of its variants, such as reasoning efforts; those that are disabled left out. */
  variants: string[];
  /** Tokens of a conversation that it takes, its answer included, and of an answer; absent where that is not known. */
  limits?: { context: number; output: number };
}

/** A session as an entry of a list. */
export interface ListedSession {
  id: string;
  parentID: string | undefined;
  title: string;
  metadata: Record<string, unknown>;
  /** Epoch milliseconds. */
  createdAt: number;
}

/** A child session to be created. */
export interface NewSession {
  /** Absent: it is no child. */
  parentID?: string;
  title: string;
  agent: string;
  model: ModelRef | undefined;
  permission: PermissionRule[];
  /** Stored by the host and returned in lists; identifies the plugin's own sessions after a crash. */
  metadata: Record<string, unknown>;
  /** The directory that it works in. Absent: the plugin's own. */
  directory?: string | undefined;
}

/** A short message that the interface shows for a few seconds. */
export interface Toast {
  message: string;
  variant: "success" | "error" | "info";
}

/** The port to OpenCode: every call that the plugin makes to it. */
export interface Host {
  /** Lists the configured agents, hidden ones included. */
  agents(): Promise<HostResult<HostAgent[]>>;
  /** Lists the models of all providers that are connected. */
  models(): Promise<HostResult<HostModel[]>>;
  /** Reads a session. */
  session(sessionID: string): Promise<HostResult<HostSession>>;
  /** Creates a session. */
  createSession(session: NewSession): Promise<HostResult<{ id: string }>>;
  /** Moves a session that does not work now to another directory, where its next prompt is answered. */
  moveSession(sessionID: string, directory: string): Promise<HostResult<void>>;
  /** Gives up what the host has in memory for a directory. It comes back with the next call about a session of it. */
  closeDirectory(directory: string): Promise<HostResult<void>>;
  /** Deletes a session with its messages. */
  deleteSession(sessionID: string): Promise<HostResult<void>>;
  /** Returns the ids of a session's direct children. */
  children(sessionID: string): Promise<HostResult<string[]>>;
  /**
   * Stores a prompt and starts a turn that answers it; does not wait for the answer. Sending a prompt again with the same
   * ids stores and answers nothing twice.
   */
  prompt(prompt: Prompt): Promise<HostResult<void>>;
  /**
   * Stores a message without starting a turn, and succeeds once it is stored. Sending it again with the same ids changes
   * nothing.
   */
  storeMessage(message: Omit<Prompt, "noReply">): Promise<HostResult<void>>;
  /** Aborts whatever a session is doing. */
  abort(sessionID: string): Promise<HostResult<void>>;
  /** Returns the ids of all sessions that are working or waiting to retry, in this directory and in tasks' worktrees. */
  busy(): Promise<HostResult<Set<string>>>;
  /** Reads the newest `limit` messages of a session, oldest first. */
  messages(sessionID: string, limit: number): Promise<HostResult<HostMessage[]>>;
  /** Copies a session's conversation up to, but not including, a message into a new session without a parent. */
  fork(sessionID: string, messageID: string): Promise<HostResult<{ id: string }>>;
  /** Reads the conversation of a forked session in the form in which it can be cut, oldest first. */
  forkedMessages(sessionID: string): Promise<HostResult<ForkedMessage[]>>;
  /** Replaces a part's text by the text that `part` has now. */
  rewritePart(sessionID: string, messageID: string, part: ForkedPart): Promise<HostResult<void>>;
  /** Deletes a message of a session. */
  deleteMessage(sessionID: string, messageID: string): Promise<HostResult<void>>;
  /** Changes the given fields. OpenCode stores them one after the other, so a process that is killed may leave half. */
  updateSession(
    sessionID: string,
    changes: Partial<Pick<NewSession, "title" | "permission" | "metadata">>,
  ): Promise<HostResult<void>>;
  /**
   * Reads what is stored of a run, as the events with which the host once reported it: the messages since the run's prompt and
   * their parts, oldest first. Nothing for a prompt that the host does not have.
   */
  runEvents(sessionID: string, messageID: string): Promise<HostResult<HostEvent[]>>;
  /** Reads the whole conversation of a session as a transcript, oldest first. */
  conversation(sessionID: string): Promise<HostResult<SpokenMessage[]>>;
  /** Lists this project's sessions that were created or used at or after `at`, in epoch milliseconds. */
  sessionsSince(at: number): Promise<HostResult<ListedSession[]>>;
  /** Returns the ids of all sessions of this project, those in worktrees included. */
  allSessions(): Promise<HostResult<Set<string>>>;
  /**
   * Returns how far a tool call of a session has come: `stored` once its output is in the conversation. Only recent calls
   * are found; for any other the result is `notFound`.
   */
  toolCall(sessionID: string, callID: string): Promise<HostResult<ToolCallStage>>;
  /** Reads all messages of a session in the host's own form, oldest first. */
  rawMessages(sessionID: string): Promise<HostResult<unknown[]>>;
  /** Reads one message. */
  message(sessionID: string, messageID: string): Promise<HostResult<StoredMessage>>;
  /**
   * Passes on a user's reply to a permission request or a question; `notFound` when the request is no longer open.
   * @throws Error when `reply` has neither a reply nor answers, which its schema rules out.
   */
  answerUserRequest(request: UserRequest, reply: Omit<UserReply, "requestId">): Promise<HostResult<void>>;
  /**
   * Rejects a permission request or a question. A permission is rejected with `why`, and the child then continues its
   * turn with that; a question takes no explanation.
   */
  rejectUserRequest(request: UserRequest, why: string): Promise<HostResult<void>>;
  /** Shows a toast in the interface. */
  toast(toast: Toast): Promise<HostResult<void>>;
}
