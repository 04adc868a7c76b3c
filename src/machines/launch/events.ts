import type { FleetOffer, Worktree } from "../../task.ts";

/** What is stored of a session while it is created for a task. After a crash, the session is found by this and deleted. */
export interface PendingLaunch {
  /** The id of the task's first prompt, also kept in the session's metadata. */
  messageID: string;
  parentSessionID: string;
  /** Epoch milliseconds. */
  at: number;
  /** True where OpenCode copies a conversation, so that the session has no metadata at first. */
  fork: boolean;
}

/** Sessions that led to no task, and that nobody waits for any more. */
export interface LeftBehind {
  pending: PendingLaunch;
  /** Those that are known; absent while none is. */
  sessions?: readonly string[];
  /** True where OpenCode has ended since: no session can appear any more. */
  isFinal: boolean;
  /** How often they were looked for and removed in vain. */
  tries: number;
  /** When that is tried again, epoch milliseconds. */
  dueAt: number;
}

/** What a launch's chart begins with. What the task is to do is nothing to the chart: services have it, by the launch's id. */
export interface LaunchInput {
  /** The id of the first prompt, chosen before anything else. It names the launch. */
  id: string;
  parentSessionID: string;
  /** True to begin with a copy of the caller's conversation. Default: false. */
  isFork?: boolean;
  /** The worktree that the caller works in, and the task too; absent where it works in none. */
  worktree?: Worktree;
  /** True for a worktree of its own, which is to be made. Default: false. */
  needsWorktree?: boolean;
  /** True where this server is in a fleet, which may be offered the task. Default: false. */
  asksFleet?: boolean;
  /** There where nothing is launched: what another launch has left is removed. */
  left?: LeftBehind;
}

/** How a session begins: empty, as a copy of the conversation, or with the conversation as a text. */
export type SessionSource = "empty" | "copy" | "text";

/** Why nothing was launched. */
export type LaunchRefusal =
  /** `reason`: the sentence for the caller. */
  | { why: "noWorktree"; reason: string }
  /** `reason` quotes OpenCode, without a full stop. `isKnown`: false where it may have created the session all the same. */
  | { why: "notCreated"; reason: string; isKnown: boolean }
  /** OpenCode starts no plugin in the task's worktree. */
  | { why: "notServed" }
  /** The calling turn or session, or OpenCode, was stopped. */
  | { why: "stopped" }
  /** A fault of ours. */
  | { why: "fault"; reason: string };

/** The answer to the call that launches. */
export type LaunchAnswer =
  | {
      is: "started";
      sessionID: string;
      messageID: string;
      /** Why the conversation could not be copied, so that the session has it as text; absent where nothing went wrong. */
      forkRefusal?: string;
      /** Why the task is not offered to the fleet; absent where it is, or is not to be. */
      notOffered?: string;
    }
  | ({ is: "refused" } & LaunchRefusal);

/** What a launch wants done outside, as data. A service performs it and reports back with an event. */
export type LaunchEffect =
  /** Make a worktree. Reported by `WORKTREE_MADE` or `WORKTREE_REFUSED`. */
  | { type: "makeWorktree"; launchId: string }
  /** Find out how the task is offered to the fleet. Reported by `FLEET_ANSWERED`. */
  | { type: "askFleet"; launchId: string }
  /** Wait until few enough sessions are created at once; the turn ends with the answer. Reported by `TURN_TAKEN`. */
  | { type: "takeTurn"; launchId: string }
  /**
   * Store that a session is being created, then create it. Reported by `SESSION_CREATED`, `CREATION_REFUSED` or
   * `CREATION_UNCONFIRMED`.
   */
  | {
      type: "createSession";
      launchId: string;
      pending: PendingLaunch;
      source: SessionSource;
      worktree: Worktree | undefined;
    }
  /** Look for a session whose creation was not confirmed. Reported by `SESSION_FOUND` or `SESSION_NOT_FOUND`. */
  | { type: "findSession"; launchId: string; pending: PendingLaunch }
  /** Mark the copy as ours, and shorten it. Reported by `COPY_CUT` or `PREPARATION_FAILED`. */
  | {
      type: "cutCopy";
      launchId: string;
      sessionID: string;
      pending: PendingLaunch;
      worktree: Worktree | undefined;
    }
  /**
   * Store the message that the agent reads before its first prompt, with the same ids each time. Reported by
   * `PREAMBLE_STORED`, `PREAMBLE_NOT_STORED` or `PREPARATION_FAILED`.
   */
  | { type: "storePreamble"; launchId: string; sessionID: string }
  /**
   * Read the conversation that could not be copied, which has the `reason`. Reported by `CONVERSATION_READ` or
   * `CONVERSATION_NOT_READ`.
   */
  | { type: "readConversation"; launchId: string; parentSessionID: string; reason: string }
  /** Start the task in the session. Reported, at once, by `TASK_STARTED` or `NOT_SERVED`. */
  | {
      type: "startTask";
      launchId: string;
      sessionID: string;
      messageID: string;
      worktree: Worktree | undefined;
      offer: FleetOffer | undefined;
    }
  /** Remove what is stored of a session that was not created. */
  | { type: "endPending"; launchId: string; messageID: string }
  /**
   * Delete the sessions that were created, or look for them where none is known, then remove what is stored of them. Reported
   * by `SESSIONS_REMOVED` or `SESSIONS_LEFT`.
   */
  | {
      type: "removeSessions";
      launchId: string;
      pending: PendingLaunch;
      sessions: readonly string[] | undefined;
      isFinal: boolean;
    }
  /** Remove the worktree that was made. Reported by `WORKTREE_REMOVED`. */
  | { type: "removeWorktree"; launchId: string; worktreeId: string }
  /** The copy could not be removed yet: another actor goes on with that. */
  | { type: "leaveCopy"; launchId: string; left: LeftBehind }
  /** Answer the call that launches. */
  | { type: "answerCall"; launchId: string; answer: LaunchAnswer }
  /** What is stored of the session stays, for the next process. */
  | { type: "leaveToNext"; launchId: string; pending: PendingLaunch };

/** What each effect asks for, in words that people read. Pictures and tables show it where the chart requests the effect. */
export const launchEffectDescriptions: Record<LaunchEffect["type"], string> = {
  makeWorktree: "A worktree is made.",
  askFleet: "It is decided whether the fleet is offered the task.",
  takeTurn: "The launch gets in line with others that create sessions.",
  createSession: "OpenCode is asked for the session, or for a copy.",
  findSession: "OpenCode is asked which sessions there are.",
  cutCopy: "The copy is marked and shortened.",
  storePreamble: "The message that the agent reads first is stored.",
  readConversation: "The caller's conversation is read as a text.",
  startTask: "The task's actor is started.",
  endPending: "What is stored of a session that was not created is removed.",
  removeSessions: "The session is deleted, or looked for.",
  removeWorktree: "The worktree is removed.",
  leaveCopy: "Another actor removes the copy.",
  answerCall: "The call that launches is answered.",
  leaveToNext: "What is stored of the session stays for the next process.",
};

/** Everything that can happen to a launch. `at` is the time of the event in epoch milliseconds. */
export type LaunchEvent =
  | { type: "WORKTREE_MADE"; at: number; worktree: Worktree }
  /** `reason`: the sentence for the caller. */
  | { type: "WORKTREE_REFUSED"; at: number; reason: string }
  /** `offer`: absent where it is not offered. `notOffered`: why, where its agent is for the fleet all the same. */
  | { type: "FLEET_ANSWERED"; at: number; offer?: FleetOffer; notOffered?: string }
  | { type: "TURN_TAKEN"; at: number }
  | { type: "SESSION_CREATED"; at: number; sessionID: string }
  | { type: "CREATION_REFUSED"; at: number; reason: string }
  | { type: "CREATION_UNCONFIRMED"; at: number; reason: string }
  | { type: "SESSION_FOUND"; at: number; sessionID: string }
  | { type: "SESSION_NOT_FOUND"; at: number }
  | { type: "COPY_CUT"; at: number }
  | { type: "PREAMBLE_STORED"; at: number }
  | { type: "PREAMBLE_NOT_STORED"; at: number }
  | { type: "PREPARATION_FAILED"; at: number; reason: string }
  /** `messageID`: names the session that is created next. */
  | { type: "CONVERSATION_READ"; at: number; messageID: string }
  | { type: "CONVERSATION_NOT_READ"; at: number; reason: string }
  | { type: "TASK_STARTED"; at: number }
  | { type: "NOT_SERVED"; at: number }
  | { type: "SESSIONS_REMOVED"; at: number }
  /** `sessions`: those that are known; absent while none is. */
  | { type: "SESSIONS_LEFT"; at: number; sessions?: readonly string[] }
  | { type: "WORKTREE_REMOVED"; at: number }
  | { type: "FAULT"; at: number; reason: string }
  | { type: "CANCEL"; at: number }
  | { type: "CLOSE"; at: number }
  | { type: "TICK"; at: number };

/** What each event of a launch means, in every state. The chart shows it at each transition that the event takes. */
export const launchEventDescriptions: Record<LaunchEvent["type"], string> = {
  WORKTREE_MADE: "The worktree is there.",
  WORKTREE_REFUSED: "No worktree could be made, and nothing is left of it.",
  FLEET_ANSWERED: "It is known whether the task is offered to the fleet.",
  TURN_TAKEN: "Few enough other sessions are being created.",
  SESSION_CREATED: "OpenCode has created the session.",
  CREATION_REFUSED: "OpenCode refused to create the session: there is none.",
  CREATION_UNCONFIRMED: "OpenCode did not say whether it created the session: it may have, or may do so later.",
  SESSION_FOUND: "OpenCode lists the session.",
  SESSION_NOT_FOUND: "OpenCode does not list the session, or did not answer.",
  COPY_CUT: "The copied conversation is marked as ours, and short enough.",
  PREAMBLE_STORED: "The message that the agent reads first is stored.",
  PREAMBLE_NOT_STORED: "OpenCode does not show the message that the agent reads first.",
  PREPARATION_FAILED: "OpenCode refused to prepare the session, which cannot be used.",
  CONVERSATION_READ: "The conversation is there as a text.",
  CONVERSATION_NOT_READ: "OpenCode did not return the conversation.",
  TASK_STARTED: "The task's actor has started.",
  NOT_SERVED: "OpenCode starts no plugin of ours in the worktree, so nobody would hear of the task's end.",
  SESSIONS_REMOVED: "Nothing is left of the session.",
  SESSIONS_LEFT: "The session was not deleted, or it is not known whether there is one.",
  WORKTREE_REMOVED: "Nothing is left of the worktree.",
  FAULT: "A service threw, which is a fault of ours.",
  CANCEL: "The calling turn was aborted, or its session stopped.",
  CLOSE: "The plugin is disposed of: OpenCode can be asked nothing any more.",
  TICK: "Time has passed.",
};

/** Each event in a few words, as pictures label their arrows with it. */
export const launchEventWords: Record<LaunchEvent["type"], string> = {
  WORKTREE_MADE: "worktree made",
  WORKTREE_REFUSED: "no worktree could be made",
  FLEET_ANSWERED: "fleet asked",
  TURN_TAKEN: "its turn came",
  SESSION_CREATED: "session created",
  CREATION_REFUSED: "creation refused",
  CREATION_UNCONFIRMED: "creation not confirmed",
  SESSION_FOUND: "session found",
  SESSION_NOT_FOUND: "session not found",
  COPY_CUT: "copy shortened",
  PREAMBLE_STORED: "first message stored",
  PREAMBLE_NOT_STORED: "first message not stored",
  PREPARATION_FAILED: "preparation refused",
  CONVERSATION_READ: "conversation read",
  CONVERSATION_NOT_READ: "conversation not read",
  TASK_STARTED: "task started",
  NOT_SERVED: "no plugin in the worktree",
  SESSIONS_REMOVED: "session deleted",
  SESSIONS_LEFT: "session not deleted",
  WORKTREE_REMOVED: "worktree removed",
  FAULT: "fault in the plugin",
  CANCEL: "cancelled",
  CLOSE: "plugin disposed of",
  TICK: "time passes",
};

/** What a launch remembers: plain JSON. */
export interface LaunchContext
  extends Required<Pick<LaunchInput, "id" | "parentSessionID" | "needsWorktree" | "asksFleet">> {
  /** True where nothing is launched: what another launch has left is removed. */
  isLeft: boolean;
  worktree: Worktree | undefined;
  /** How its session begins. A copy that cannot be had becomes a text. */
  source: SessionSource;
  /** What is stored of the session that is being created; undefined before that, and where nothing is left of it. */
  pending: PendingLaunch | undefined;
  /** The session that was created for it. */
  sessionID: string | undefined;
  offer: FleetOffer | undefined;
  notOffered: string | undefined;
  forkRefusal: string | undefined;
  /** Why nothing is launched; undefined as long as something may be. */
  refusal: LaunchRefusal | undefined;
  /** The sessions to be deleted; undefined while none is known. */
  sessions: readonly string[] | undefined;
  isFinal: boolean;
  /** How often in a row the same was tried: to find the session, to store the preamble, to remove what is left. */
  tries: number;
  /** When `TICK` is due, epoch milliseconds. */
  nextDeadline: number | undefined;
}
