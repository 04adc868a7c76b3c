// A run is a region of its own, so that each of its states is there once, for launches and for resumes. A cancel is one of
// these states, because OpenCode has to confirm it (docs/decisions/006-a-cancel-is-confirmed.md).
import { and, assign, not } from "xstate";
import { checking } from "./checking.ts";
import { fleet } from "./fleet-states.ts";
import { pausing, recordPause, recordPauseOfBegun } from "./pausing.ts";
import { prompting } from "./prompting.ts";
import {
  cancelled,
  completeReceipt,
  failAndStop,
  failAndStopWith,
  requestSlot,
  SESSION_DELETED,
  writeReceipt,
} from "./run-transitions.ts";
import { given, TASK_LIMITS, taskSetup } from "./setup.ts";
import { changingModel, stopping } from "./stopping.ts";
import { working } from "./working.ts";

/** What was under way in the process that has ended is no more. */
const adopt = taskSetup.assign(
  given("ADOPTED", ({ event }) => ({
    recovery: event.recovery,
    waitingSince: event.at,
    hostError: undefined,
    idleHinted: false,
    failedChecks: 0,
    missingSince: undefined,
    blockedCalls: undefined,
    retry: undefined,
  })),
);

/** A run that waited for its slot, or was paused before it had one, is timed from now on. */
const recordSlot = taskSetup.assign({
  pause: undefined,
  queuedUntil: ({ context: { queuedUntil, run, pause, waitingSince = run.startedAt }, event }) =>
    pause || event.at > waitingSince ? event.at : queuedUntil,
});

/** Where the newest run is: the same way for a launch and for a resume. */
export const run = taskSetup.createStateConfig({
  description: "Where the newest run is: from its place in the queue to its end.",
  initial: "idle",
  on: {
    CANCEL: { guard: and(["live", "notStopping"]), target: ".stopping" },
    LIMIT_EXCEEDED: {
      guard: and(["live", "notStopping", "wasSent"]),
      target: ".stopping",
      actions: "recordLimit",
    },
    SESSION_DELETED: {
      guard: "live",
      target: "#idle",
      description: "Its model keeps working until it is aborted.",
      actions: failAndStopWith(SESSION_DELETED),
    },
    SUPERVISION_FAILED: { guard: "live", ...failAndStop },
    STEERING_REFUSED: { guard: and(["isOldestInstruction", not("maySteerAgain")]), ...failAndStop },
    ADOPTED: [
      {
        guard: and(["live", "isAnswerChecked"]),
        target: "#recovering",
        description: "It ended while an answer was checked, which may be the cause.",
        actions: [
          adopt,
          taskSetup.assign({
            // More often than it may makes no difference.
            endedInChecks: ({ context: { endedInChecks = 0 } }) =>
              Math.min(endedInChecks, TASK_LIMITS.interruptions) + 1,
          }),
        ],
      },
      { guard: "live", target: "#recovering", actions: adopt },
    ],
    CALL_BLOCKED: { guard: "live", actions: "addBlockedCall" },
    CALL_RETURNED: { guard: "isBlockedCall", actions: "removeBlockedCall" },
    OWN_TASK_ENDED: {
      guard: "blockedByTask",
      description: "A tool call waited for it.",
      actions: "removeBlockingTask",
    },
  },
  states: {
    idle: {
      id: "idle",
      description: "No run is under way. What was observed of the newest one is written down.",
      on: {
        RUN_BEGAN: [
          { guard: "isCancelledBefore", ...cancelled, description: "Nothing of it is sent." },
          { guard: "isForFleet", target: "fleet" },
          { target: "queued" },
        ],
        RUN_ENDED: [
          { guard: "hasReceipt", description: "The server that worked on the run has written it." },
          { actions: writeReceipt },
        ],
        RECEIPT_WRITTEN: { guard: "isReceiptOfRun", actions: "recordReceipt" },
        RECEIPT_INCOMPLETE: {
          guard: "lacksReceipt",
          actions: [assign({ isReceiptIncomplete: true }), completeReceipt],
        },
        ADOPTED: {
          guard: "isReceiptIncomplete",
          description: "The process that asked OpenCode has ended.",
          actions: completeReceipt,
        },
      },
    },
    queued: {
      id: "queued",
      description: "The task's session exists. The run waits for a slot.",
      meta: { waitsFor: "slot" },
      entry: ["beginWait", assign({ nextDeadline: undefined }), requestSlot],
      on: {
        SLOT_GRANTED: [
          {
            guard: "hasBegunBefore",
            target: "#continuing",
            // The time in which it was paused does not count.
            actions: taskSetup.assign({ queuedUntil: ({ event }) => event.at, pause: undefined }),
          },
          { guard: "isGateBeforeDue", target: "#gatingBefore", actions: recordSlot },
          { target: "active", actions: recordSlot },
        ],
        PAUSE: [
          { guard: "goesOn", target: "#paused", description: "Its turn is over.", actions: recordPauseOfBegun },
          { target: "#paused", description: "There is nothing to stop.", actions: recordPause },
        ],
        ADOPTED: { description: "Nothing is under way: the run asks for a slot here.", actions: requestSlot },
        CANCEL: { guard: not("goesOn"), ...cancelled, description: "Nothing was sent yet: there is nothing to stop." },
      },
    },
    active: {
      id: "active",
      description: "The agent is given the prompt, works on it, or OpenCode is asked what became of that.",
      initial: "prompting",
      on: {
        PAUSE: { target: "pausing", actions: recordPauseOfBegun },
        HOST_ANSWERING: {
          guard: "hasRetry",
          description: "The provider did not refuse the request again.",
          actions: "forgetRetry",
        },
      },
      states: { prompting, working, changingModel, checking },
    },
    pausing,
    fleet,
    stopping,
  },
});
