import type { ToolCallStage } from "../../machines/supervisor/events.ts";
import type { Prompt, UserRequest } from "../../machines/task/events.ts";
import type { ModelRef } from "../../task.ts";
import type { UserReply } from "../../user-request.ts";
import type { ForkedMessage, ForkedPart, HostMessage, SpokenMessage, StoredMessage } from "./messages.ts";

/**
 * Why a call to the host failed.
 * - `notFound`: the session or message does not exist (any more)
 * - `refused`: the host said no; the same call would fail again
 * - `unavailable`: no answer came in time, or the host has a fault of its own; what was asked for may be done all the
 *   same, now or later
 */
export interface HostFailure {
  kind: "notFound" | "refused" | "unavailable";
  name: string;
  message: string;
}

/** The answer to a call. A host call never throws. */
export type HostResult<T> = { ok: true; value: T } | { ok: false; failure: HostFailure };

/** An agent that the host has. */
export interface HostAgent {
  name: string;
  /** Kept from people and models: the host's own helpers, such as the one that writes titles. */
  hidden: boolean;
  model: ModelRef | undefined;
}

/** One rule of a session; of several that fit, the last one counts. */
export interface PermissionRule {
  permission: string;
  pattern: string;
  action: "allow" | "deny" | "ask";
}

/** A session, and what it works with now. */
export interface HostSession {
  id: string;
  parentID: string | undefined;
  agent: string | undefined;
  model: ModelRef | undefined;
  permission: PermissionRule[];
  title: string;
}

/** A session as a list shows it. */
export interface ListedSession {
  id: string;
  parentID: string | undefined;
  title: string;
  metadata: Record<string, unknown>;
  /** Epoch milliseconds. */
  createdAt: number;
}

/** A child session to be made. */
export interface NewSession {
  parentID: string;
  title: string;
  agent: string;
  model: ModelRef | undefined;
  permission: PermissionRule[];
  /** Kept by the host and read back: tells our sessions from others after a crash. */
  metadata: Record<string, unknown>;
}

/** A few words that the interface shows for a moment. */
export interface Toast {
  message: string;
  variant: "success" | "error" | "info";
}

/** What the engine needs of a host. */
export interface Host {
  agents(): Promise<HostResult<HostAgent[]>>;
  session(sessionID: string): Promise<HostResult<HostSession>>;
  createSession(session: NewSession): Promise<HostResult<{ id: string }>>;
  deleteSession(sessionID: string): Promise<HostResult<void>>;
  /** The ids of the sessions directly below. */
  children(sessionID: string): Promise<HostResult<string[]>>;
  /** Stores the prompt and has it answered; with the same ids again, nothing is stored or answered twice. */
  prompt(prompt: Prompt): Promise<HostResult<void>>;
  /** Stores a message that nobody is to answer, and succeeds when it is stored; with the same ids again, nothing changes. */
  storeMessage(message: Omit<Prompt, "noReply">): Promise<HostResult<void>>;
  abort(sessionID: string): Promise<HostResult<void>>;
  /** The ids of all sessions that work or wait to try again. */
  busy(): Promise<HostResult<Set<string>>>;
  /** The newest `limit` messages, oldest first. */
  messages(sessionID: string, limit: number): Promise<HostResult<HostMessage[]>>;
  /** A copy of the session's conversation up to the message, which is left out, in a session of its own. */
  fork(sessionID: string, messageID: string): Promise<HostResult<{ id: string }>>;
  /** The conversation of a forked session, to be cut down. */
  forkedMessages(sessionID: string): Promise<HostResult<ForkedMessage[]>>;
  /** Gives a part another text. */
  rewritePart(sessionID: string, messageID: string, part: ForkedPart): Promise<HostResult<void>>;
  deleteMessage(sessionID: string, messageID: string): Promise<HostResult<void>>;
  /** Changes the given fields. OpenCode stores them one after the other, so a process that is killed may leave half. */
  updateSession(
    sessionID: string,
    changes: Partial<Pick<NewSession, "title" | "permission" | "metadata">>,
  ): Promise<HostResult<void>>;
  /** The whole conversation as it was spoken, oldest first. */
  conversation(sessionID: string): Promise<HostResult<SpokenMessage[]>>;
  /** This directory's sessions that were made or used since then, epoch milliseconds. */
  sessionsSince(at: number): Promise<HostResult<ListedSession[]>>;
  /** The ids of all of this directory's sessions. */
  allSessions(): Promise<HostResult<Set<string>>>;
  /** How far a tool call of a session has come; `stored` when its answer is in the conversation. Only recent ones are found. */
  toolCall(sessionID: string, callID: string): Promise<HostResult<ToolCallStage>>;
  /** All messages of a session in the host's own form, oldest first. */
  rawMessages(sessionID: string): Promise<HostResult<unknown[]>>;
  message(sessionID: string, messageID: string): Promise<HostResult<StoredMessage>>;
  /** Gives a person's answer to a permission or a question; `notFound` when it is not open any more. */
  answerUserRequest(request: UserRequest, answer: Omit<UserReply, "requestId">): Promise<HostResult<void>>;
  /** Says no to a permission or a question. With a permission goes `why`, for the child, which goes on with that. */
  rejectUserRequest(request: UserRequest, why: string): Promise<HostResult<void>>;
  toast(toast: Toast): Promise<HostResult<void>>;
}
