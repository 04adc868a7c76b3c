// A launch is an actor of its own, since it exists before its task has a session
// (docs/decisions/290-a-launch-is-a-chart.md).
import { not, type SnapshotFrom } from "xstate";
import { withEventDescriptions } from "../chart.ts";
import {
  answerRefused,
  answerStarted,
  endPending,
  leaveToNext,
  onClose,
  requestSessionRemoval,
  requestWorktreeRemoval,
} from "./effects.ts";
import { type LaunchInput, type LeftBehind, launchEventDescriptions } from "./events.ts";
import { preparing } from "./preparing.ts";
import { launchSetup, request } from "./setup.ts";

const NOTHING_NEW = "It made nothing that is not known.";

const givingUp = launchSetup.createStateConfig({
  description: "Nothing is launched: what was made is removed, and the caller is answered.",
  initial: "removingSession",
  on: {
    CANCEL: { description: "The answer says so.", actions: "recordStopped" },
    CLOSE: onClose,
  },
  states: {
    awaitingAnswer: {
      id: "awaitingAnswer",
      description: "A call is under way whose answer says what there is to remove.",
      tags: "creating",
      on: {
        WORKTREE_MADE: { target: "removingSession", actions: "recordWorktree" },
        WORKTREE_REFUSED: { target: "answering", actions: "recordNoWorktree" },
        FLEET_ANSWERED: { target: "removingSession", description: NOTHING_NEW },
        SESSION_CREATED: { target: "removingSession", actions: "recordSession" },
        CREATION_REFUSED: { target: "removingSession", actions: [endPending, "forgetSession"] },
        CREATION_UNCONFIRMED: { target: "removingSession", description: "It is looked for." },
        SESSION_FOUND: { target: "removingSession", actions: "recordSession" },
        SESSION_NOT_FOUND: { target: "removingSession", description: "It is looked for once more." },
        COPY_CUT: { target: "removingSession", description: NOTHING_NEW },
        PREAMBLE_STORED: { target: "removingSession", description: NOTHING_NEW },
        PREAMBLE_NOT_STORED: { target: "removingSession", description: NOTHING_NEW },
        PREPARATION_FAILED: { target: "removingSession", description: NOTHING_NEW },
        SESSIONS_REMOVED: { target: "removingSession", description: "The copy is gone.", actions: "forgetSession" },
        SESSIONS_LEFT: { target: "removingWorktree", description: "The copy is left.", actions: "recordLeft" },
        CONVERSATION_READ: { target: "removingSession", description: NOTHING_NEW },
        CONVERSATION_NOT_READ: { target: "removingSession", description: NOTHING_NEW },
        FAULT: { target: "removingSession", description: NOTHING_NEW },
      },
    },
    removingSession: {
      id: "removingSession",
      description: "The session is deleted, or looked for where none is known.",
      entry: requestSessionRemoval,
      always: { guard: not("mayHaveSession"), target: "removingWorktree", description: "There is none." },
      on: {
        SESSIONS_REMOVED: { target: "removingWorktree", actions: "forgetSession" },
        SESSIONS_LEFT: {
          target: "removingWorktree",
          description: "The caller does not wait for it.",
          actions: "recordLeft",
        },
      },
    },
    removingWorktree: {
      description: "The worktree that was made is removed.",
      entry: requestWorktreeRemoval,
      always: { guard: not("hasMadeWorktree"), target: "answering", description: "There is none." },
      on: {
        WORKTREE_REMOVED: { target: "answering" },
        FAULT: { target: "answering", actions: "recordFault" },
      },
    },
    answering: {
      id: "answering",
      description: "The caller is answered.",
      entry: answerRefused,
      always: [
        {
          guard: "mayHaveSession",
          target: "#pausing",
          description: "Its session is not deleted yet.",
          actions: ["startCounting", "postponeRemoval"],
        },
        { guard: not("mayHaveSession"), target: "#refused", description: "Nothing is left." },
      ],
    },
  },
});

const leftBehind = launchSetup.createStateConfig({
  description:
    "Nobody waits any more. The session may still be there, or appear later: it is deleted as soon as it can be.",
  initial: "pausing",
  on: {
    CLOSE: { target: "#closed", description: "What is stored of the session stays, for the next process." },
  },
  states: {
    pausing: {
      id: "pausing",
      description: "Some time passes until the next attempt, more each time.",
      exit: "clearDeadline",
      on: {
        TICK: { guard: "due", target: "removing" },
      },
    },
    removing: {
      description: "The session is deleted, or looked for where none is known.",
      entry: requestSessionRemoval,
      on: {
        SESSIONS_REMOVED: { target: "#removed" },
        SESSIONS_LEFT: [
          { guard: "isSearchedTooLong", target: "#leftToNext", actions: leaveToNext },
          { target: "pausing", actions: ["recordLeft", "postponeRemoval"] },
        ],
      },
    },
  },
});

/** One launch, until its task begins. Pure: no clock, no randomness, no I/O. */
export const launchMachine = launchSetup.createMachine(
  withEventDescriptions(launchEventDescriptions, {
    id: "launch",
    description:
      "One launch: it makes what the task needs, and ends when the task begins, or when everything half made is removed.",
    context: ({
      input: { id, parentSessionID, needsWorktree = false, asksFleet = false, isFork, worktree, left },
    }) => ({
      ...{ id, parentSessionID, needsWorktree, asksFleet, worktree },
      source: isFork ? "copy" : "empty",
      isLeft: left !== undefined,
      pending: left?.pending,
      sessions: left?.sessions,
      isFinal: left?.isFinal ?? false,
      tries: left?.tries ?? 0,
      nextDeadline: left?.dueAt,
      sessionID: undefined,
      offer: undefined,
      notOffered: undefined,
      forkRefusal: undefined,
      refusal: undefined,
    }),
    initial: "beginning",
    states: {
      beginning: {
        description: "It is decided what comes first.",
        always: [
          { guard: "isLeft", target: "leftBehind", description: "Another launch has left something." },
          { guard: "needsWorktree", target: "preparing", description: "The task gets a worktree of its own." },
          { guard: "asksFleet", target: "#askingFleet", description: "This server is in a fleet." },
          { guard: not("asksFleet"), target: "#waiting", description: "Only a session is to be created." },
        ],
      },
      preparing,
      starting: {
        id: "starting",
        description: "The session is ready, and the task's actor is started.",
        entry: request("startTask", ({ context: { id: launchId, sessionID, pending, worktree, offer } }) =>
          sessionID === undefined || !pending
            ? undefined
            : { launchId, sessionID, messageID: pending.messageID, worktree, offer },
        ),
        on: {
          TASK_STARTED: { target: "started", actions: answerStarted },
          NOT_SERVED: { target: "#removingSession", actions: "recordNotServed" },
          FAULT: { target: "#removingSession", actions: "recordFault" },
        },
      },
      givingUp,
      leftBehind,
      started: { type: "final", description: "The task has begun, and its own chart goes on." },
      refused: { id: "refused", type: "final", description: "Nothing was launched, and nothing is left." },
      removed: { id: "removed", type: "final", description: "Nothing is left." },
      leftToNext: {
        id: "leftToNext",
        type: "final",
        description: "It is still not known whether there is a session: the next process looks again.",
      },
      closed: { id: "closed", type: "final", description: "The plugin was disposed of." },
    },
  }),
);

/** Returns what a chart begins with that removes what a launch has left. */
export const leftLaunch = (left: LeftBehind): LaunchInput => ({
  id: `${left.pending.messageID}/left`,
  parentSessionID: left.pending.parentSessionID,
  left,
});

/** The snapshot of a launch's chart. */
export type LaunchSnapshot = SnapshotFrom<typeof launchMachine>;

/** The part of it from which another actor goes on: all that the chart has. */
export type StoredLaunchSnapshot = Pick<LaunchSnapshot, "value" | "context">;

/** True while a copy of the parent's conversation may exist that is not marked as ours yet. */
export const isCopying = (snapshot: LaunchSnapshot): boolean =>
  snapshot.hasTag("creating") && snapshot.context.pending?.fork === true;
