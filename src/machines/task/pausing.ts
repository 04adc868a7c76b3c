// A paused run keeps its session and all that was done, and holds no slot. Before it goes on, OpenCode is asked what became of
// it: days may have passed, and a person may have written to its session (docs/decisions/309-a-pause-is-a-state-of-the-run.md).
import { and, assign } from "xstate";
import type { UserRequest } from "./events.ts";
import {
  askAgain,
  askAgainForSession,
  awaitTasks,
  cancelled,
  complete,
  endCompleted,
  failAndStop,
  failOrGoOn,
  requestCheck,
  seenAtWork,
} from "./run-transitions.ts";
import { given, request, TASK_LIMITS, taskSetup } from "./setup.ts";

/** Returns an action that notes what pauses a run, and what its agent had asked. `isBegun`: something of the run was sent. */
const notePause = (isBegun: boolean) =>
  taskSetup.assign({
    pause: given("PAUSE", ({ context: { pause, userRequests: requests }, event }) => ({
      ...{ by: event.by, requests, attempts: 0 },
      ...(event.by === "provider" ? { refusal: event.refusal } : {}),
      ...(isBegun || pause?.wasSent ? { wasSent: true as const } : {}),
    })),
  });

export const recordPause = notePause(false);

/** The same for a run of which something was sent. */
export const recordPauseOfBegun = notePause(true);

/** What was open when it was paused, and what its agent has asked since. */
const openRequests = (before: readonly UserRequest[] = [], since: readonly UserRequest[]): UserRequest[] => {
  const known = new Set(before.map(({ id }) => id));
  return [...before, ...since.filter(({ id }) => !known.has(id))];
};

/** What was tried may have stopped it all the same, later. */
const goOnAsItIs = {
  target: "#continuing",
  description: "It could not be stopped, and is not paused.",
  actions: taskSetup.assign({ pause: undefined }),
} as const;

const askAnew = { guard: "due", target: "continuing", reenter: true } as const;

/** The run was paused in the middle. Sent again with the same ids, its prompt continues after the last step that was finished. */
const goOnAfterPause = {
  guard: "isCurrentCheck",
  target: "#sending",
  description: "It continues after the last step that was finished.",
  actions: taskSetup.assign({
    sendAttempts: 0,
    hostError: undefined,
    abortedAt: ({ context, event }) =>
      (event.type === "CHECKED_ABORTED" || event.type === "CHECKED_HOST_FAULT" ? event.completedAt : undefined) ??
      context.abortedAt,
  }),
} as const;

const toPause = { guard: "isCurrentCheck", target: "#paused" } as const;

/**
 * State of the region `run`: it is paused. Its turn is ended, and OpenCode is asked whether the run had ended by itself; then nothing
 * works on it until somebody has it go on.
 */
export const pausing = taskSetup.createStateConfig({
  id: "pausing",
  description: "The task is paused: its session and the descendants of that are stopped, until it is to go on.",
  meta: {
    waitsFor: "pause",
    refuses: { PAUSE: "is paused already", CONTINUE: "is still being paused: try again in a moment" },
  },
  initial: "aborting",
  entry: ["beginWait", "forgetRetry", assign({ failedChecks: 0, hostError: undefined })],
  on: {
    ADOPTED: { target: ".aborting", description: "The session is still to be stopped." },
  },
  states: {
    aborting: {
      description: "The abort is on its way.",
      entry: [
        assign({
          nextDeadline: undefined,
          pause: ({ context: { pause } }) => pause && { ...pause, attempts: pause.attempts + 1 },
        }),
        request("stopSession", ({ context: { facts, run, pause, userRequests } }) => ({
          ...{ taskId: facts.sessionID, messageID: run.messageID },
          ...{ requests: openRequests(pause?.requests, userRequests), isPause: true as const },
        })),
      ],
      on: {
        STOPPED: { target: "asking" },
        NOT_STOPPED: [{ guard: "pauseAttemptsLeft", target: "resting" }, goOnAsItIs],
      },
    },
    resting: {
      description: "The session still runs, or its prompt has not arrived yet. It is aborted again after a moment.",
      entry: { type: "setDeadline", params: TASK_LIMITS.stopAgainAfter },
      on: { TICK: { guard: "due", target: "aborting" } },
    },
    asking: {
      description: "It has stopped. OpenCode is asked whether the run had ended just before.",
      entry: requestCheck,
      on: {
        CHECKED_ANSWERED: [
          {
            guard: and(["isCurrentCheck", "isFinal"]),
            target: "#idle",
            description: "It had: there is nothing to pause.",
            actions: ["recordEnd", "recordAnswer", endCompleted],
          },
          { guard: "isCurrentCheck", target: "#paused", description: "What its answer leads to waits as well." },
        ],
        CHECKED_BUSY: [
          { guard: and(["isCurrentCheck", "pauseAttemptsLeft"]), target: "resting" },
          { guard: "isCurrentCheck", ...goOnAsItIs },
        ],
        CHECKED_AWAITING_TASKS: toPause,
        CHECKED_FAILED: toPause,
        CHECKED_HOST_FAULT: toPause,
        CHECKED_ABORTED: toPause,
        CHECKED_UNANSWERED: toPause,
        CHECKED_UNSEEN: toPause,
        CHECKED_NOT_FOUND: toPause,
        CHECK_FAILED: { ...toPause, description: "It is asked again when the run goes on." },
      },
    },
    paused: {
      id: "paused",
      description:
        "It keeps what was done, holds no slot and costs nothing until it is told to go on, or until its provider serves again.",
      meta: { waitsFor: "continue" },
      entry: ["beginWait", assign({ nextDeadline: undefined, failedChecks: 0 })],
      on: {
        CONTINUE: {
          target: "#queued",
          description: "It asks for a slot.",
          actions: assign({ sendAttempts: 0, interruptions: 0 }),
        },
        PAUSE: {
          guard: "waitsForProvider",
          description: "It does not go on by itself any more.",
          actions: recordPause,
        },
        CANCEL: { ...cancelled, description: "There is nothing to stop." },
        ADOPTED: { description: "It stays paused, whatever process supervises it." },
      },
    },
    continuing: {
      id: "continuing",
      description: "It has a slot, and is to go on. OpenCode is asked what became of the run.",
      meta: { waitsFor: "check" },
      entry: ["beginWait", ...requestCheck],
      on: {
        TICK: askAnew,
        STEERING_STORED: { ...askAnew, guard: "isOldestInstruction" },
        ADOPTED: { target: "continuing", reenter: true },
        CHECKED_BUSY: { guard: "isCurrentCheck", target: "#working", actions: seenAtWork },
        CHECKED_AWAITING_TASKS: awaitTasks,
        CHECKED_ANSWERED: complete,
        CHECKED_FAILED: failOrGoOn,
        CHECKED_HOST_FAULT: goOnAfterPause,
        CHECKED_ABORTED: goOnAfterPause,
        CHECKED_UNANSWERED: goOnAfterPause,
        CHECKED_UNSEEN: goOnAfterPause,
        // Elsewhere, the end of its turn by the pause would be taken for one by a person.
        CHECKED_NOT_FOUND: askAgainForSession,
        CHECK_FAILED: [askAgain, { guard: "isCurrentCheck", ...failAndStop }],
      },
    },
  },
});
