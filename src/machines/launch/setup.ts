import { assign, setup } from "xstate";
import { backoff, type Phrased, phrasing, readingEvents, requesting } from "../chart.ts";
import type { LaunchContext, LaunchEffect, LaunchEvent, LaunchInput, LaunchRefusal } from "./events.ts";

/** Pauses in milliseconds, and how often something is tried. */
export const LAUNCH_LIMITS = {
  /** How often a session is looked for whose creation was not confirmed. After the last time, the launch is refused. */
  searches: 5,
  /** How often the message before the first prompt is stored before the session is given up. */
  preambles: 6,
  /**
   * From the request for a session to the end of the search for one that nobody waits for. OpenCode had 60 s to create it, and
   * 300 s for a copy. One that appears even later is found by the next process.
   */
  searchFor: 900_000,
} as const;

export const SESSION_SEARCH_BACKOFF = { first: 1_000, longest: 8_000 };
export const PREAMBLE_BACKOFF = { first: 500, longest: 8_000 };
export const REMOVAL_BACKOFF = { first: 3_000, longest: 60_000 };

/** Why a session is given up whose first message OpenCode never showed. */
const NO_PREAMBLE = `its preamble could not be stored in ${LAUNCH_LIMITS.preambles} attempts`;

/** Wraps what reads an event of one type, or of a few. */
const given = readingEvents<LaunchContext, LaunchEvent>();

const when = phrasing<LaunchContext, LaunchEvent>();

const notCreated = (reason: string, isKnown: boolean): { refusal: LaunchRefusal } => ({
  refusal: { why: "notCreated", reason, isKnown },
});

/** The launch chart's types, and every guard and action that it names. */
export const launchSetup = setup({
  types: {
    context: {} as LaunchContext,
    events: {} as LaunchEvent,
    input: {} as LaunchInput,
    tags: {} as "creating",
  },
  actions: {
    /** The only way out of the chart. It does nothing here: the supervisor provides what really happens. */
    emitEffect: (_, _effect: LaunchEffect) => undefined,
    setDeadline: assign({ nextDeadline: ({ event }, delay: number) => event.at + delay }),
    startCounting: assign({ tries: 0 }),
    clearDeadline: assign({ nextDeadline: undefined }),
    countTry: assign({ tries: ({ context }) => context.tries + 1 }),
    /** The next attempt to remove what is left comes after a pause that grows. */
    postponeRemoval: assign(({ context, event }) => ({
      tries: context.tries + 1,
      nextDeadline: event.at + backoff(context.tries + 1, REMOVAL_BACKOFF),
    })),
    recordWorktree: assign(given("WORKTREE_MADE", ({ event: { worktree } }) => ({ worktree }))),
    recordOffer: assign(given("FLEET_ANSWERED", ({ event: { offer, notOffered } }) => ({ offer, notOffered }))),
    /** From now on the session may exist: it is stored before OpenCode is asked for it. */
    recordPending: assign({
      pending: ({ context: { id, parentSessionID, source }, event: { at } }) => ({
        ...{ messageID: id, parentSessionID, at },
        fork: source === "copy",
      }),
    }),
    recordSession: assign(given(["SESSION_CREATED", "SESSION_FOUND"], ({ event: { sessionID } }) => ({ sessionID }))),
    /** The launch goes on with a session of its own, which is stored under another id. */
    turnIntoText: assign(
      given("CONVERSATION_READ", ({ context: { parentSessionID }, event: { at, messageID } }) => ({
        source: "text" as const,
        pending: { messageID, parentSessionID, at, fork: false },
      })),
    ),
    recordForkRefusal: assign({
      forkRefusal: given(
        ["CREATION_REFUSED", "CREATION_UNCONFIRMED", "PREPARATION_FAILED"],
        ({ event: { reason } }) => reason,
      ),
    }),
    recordUnconfirmed: assign(given("CREATION_UNCONFIRMED", ({ event: { reason } }) => notCreated(reason, false))),
    recordFailure: assign(
      given(["CREATION_REFUSED", "PREPARATION_FAILED", "CONVERSATION_NOT_READ"], ({ event: { reason } }) =>
        notCreated(reason, true),
      ),
    ),
    recordNoPreamble: assign(({ context: { source } }) =>
      source === "copy" ? { forkRefusal: NO_PREAMBLE } : notCreated(NO_PREAMBLE, true),
    ),
    recordNoWorktree: assign(
      given("WORKTREE_REFUSED", ({ event: { reason } }) => ({ refusal: { why: "noWorktree" as const, reason } })),
    ),
    recordFault: assign(given("FAULT", ({ event: { reason } }) => ({ refusal: { why: "fault" as const, reason } }))),
    recordStopped: assign({ refusal: { why: "stopped" } }),
    recordNotServed: assign({ refusal: { why: "notServed" } }),
    recordLeft: assign({
      sessions: given("SESSIONS_LEFT", ({ context, event }) => event.sessions ?? context.sessions),
    }),
    /** Nothing of the session is left, or another actor removes it. */
    forgetSession: assign({ pending: undefined, sessionID: undefined, sessions: undefined }),
  },
  guards: {
    isLeft: when("another launch has left something", ({ context }) => context.isLeft),
    needsWorktree: when("the task gets a worktree of its own", ({ context }) => context.needsWorktree),
    asksFleet: when("this server is in a fleet", ({ context }) => context.asksFleet, "this server is in no fleet"),
    isCopy: when("the conversation is copied", ({ context }) => context.source === "copy"),
    isText: when("the conversation is given as a text", ({ context }) => context.source === "text"),
    searchesLeft: when("it may be looked for again", ({ context }) => context.tries < LAUNCH_LIMITS.searches),
    preamblesLeft: when("it may be stored again", ({ context }) => context.tries < LAUNCH_LIMITS.preambles),
    /** OpenCode may have a session that was created for it. */
    mayHaveSession: when(
      "there may be a session",
      ({ context }) => context.pending !== undefined,
      "there can be no session",
    ),
    hasMadeWorktree: when(
      "a worktree was made",
      ({ context }) => context.needsWorktree && context.worktree !== undefined,
      "no worktree was made",
    ),
    isSearchedTooLong: when(
      "it was looked for long enough",
      ({ context: { isFinal, pending }, event }) =>
        !isFinal && pending !== undefined && event.at - pending.at > LAUNCH_LIMITS.searchFor,
    ),
    due: when(
      "the delay is over",
      ({ context: { nextDeadline = Number.POSITIVE_INFINITY }, event }) => event.at >= nextDeadline,
    ),
  } satisfies Record<string, Phrased>,
});

/** Returns an action that requests an effect of the launch; undefined requests nothing. */
export const request = requesting<LaunchContext, LaunchEvent, LaunchEffect>();
