import { and, assign } from "xstate";
import { gating } from "./gating.ts";
import {
  askAgain,
  askAgainForSession,
  awaitTasks,
  checkAgainLater,
  complete,
  completeAfterTakeover,
  continueAfterFault,
  continueOrFail,
  endCancelled,
  failAndStop,
  failOrGoOn,
  failRefused,
  goOnWithNextModel,
  requestCheck,
  stillAtWork,
} from "./run-transitions.ts";
import { endedAtIn, TASK_LIMITS, taskSetup } from "./setup.ts";

/** State of the region `run`: what became of the run is found out. Events are hints, and what the host answers decides. */
export const checking = taskSetup.createStateConfig({
  description: "OpenCode is asked what became of the run. Its answer, and the gate's command, decide.",
  initial: "asking",
  on: {
    HOST_RETRYING: { description: "This is noted: the answer shows where the run is.", actions: "recordRetry" },
  },
  states: {
    asking: {
      id: "asking",
      description: "The question is on its way. Only the answer to the newest one counts.",
      initial: "verifying",
      on: {
        CHECKED_BUSY: stillAtWork,
        CHECKED_AWAITING_TASKS: awaitTasks,
        CHECK_FAILED: { guard: "isCurrentCheck", ...failAndStop },
      },
      states: {
        verifying: {
          id: "verifying",
          description: "The agent seems to have finished. Idle is a hint, not a fact: OpenCode is asked about the run.",
          meta: { waitsFor: "check" },
          entry: ["beginWait", ...requestCheck],
          on: {
            HOST_IDLE: { target: "verifying", reenter: true, description: "OpenCode is asked anew." },
            HOST_ERROR: {
              target: "verifying",
              reenter: true,
              description: "OpenCode is asked anew.",
              actions: "recordIdleHint",
            },
            STEERING_STORED: {
              guard: "isOldestInstruction",
              target: "verifying",
              reenter: true,
              description: "OpenCode is asked anew.",
            },
            CHECKED_ANSWERED: complete,
            CHECKED_FAILED: failOrGoOn,
            CHECKED_HOST_FAULT: continueAfterFault("mayBeInterrupted"),
            CHECKED_ABORTED: { guard: "isCurrentCheck", target: "#aborted" },
            CHECKED_NOT_FOUND: { guard: "isCurrentCheck", target: "#missing", actions: "recordNotFound" },
            CHECKED_UNANSWERED: [
              {
                guard: and(["isCurrentCheck", "sendAttemptsLeft"]),
                target: "#backingOff",
                description: "The prompt is sent again.",
                actions: assign({ failedChecks: 0 }),
              },
              { guard: "isCurrentCheck", ...failAndStop },
            ],
            CHECKED_UNSEEN: [
              {
                guard: and(["isCurrentCheck", "sendAttemptsLeft"]),
                target: "#sending",
                description: "The instruction is sent again, which wakes the agent.",
                actions: assign({ failedChecks: 0 }),
              },
              { guard: "isCurrentCheck", ...failAndStop },
            ],
            CHECK_FAILED: { ...askAgain, target: "#working" },
          },
        },
        recovering: {
          id: "recovering",
          description: "The process that supervised the run has ended. OpenCode is asked what became of the run.",
          meta: { waitsFor: "recovery" },
          entry: requestCheck,
          on: {
            TICK: { guard: "due", target: "recovering", reenter: true },
            CHECKED_ANSWERED: completeAfterTakeover,
            CHECKED_FAILED: [
              {
                guard: and(["isCurrentCheck", "isRefused", "isToContinue"]),
                ...goOnWithNextModel,
                description:
                  "Another model is asked, however often the run was interrupted: this is not what interrupted it.",
              },
              { guard: "isCurrentCheck", ...failRefused },
            ],
            // An abort came with the end of the process: nobody was there to cancel the run.
            CHECKED_HOST_FAULT: continueAfterFault("mayContinue"),
            CHECKED_ABORTED: continueOrFail,
            CHECKED_UNANSWERED: continueOrFail,
            CHECKED_UNSEEN: continueOrFail,
            CHECKED_NOT_FOUND: askAgainForSession,
            CHECK_FAILED: askAgain,
          },
        },
      },
    },
    missing: {
      id: "missing",
      description:
        "OpenCode does not find the task's session. It is asked again after a pause: if it does not find it then either, the session counts as deleted.",
      meta: { waitsFor: "session" },
      entry: checkAgainLater,
      on: {
        TICK: { guard: "due", target: "asking" },
        HOST_ERROR: { description: "OpenCode is asked after the pause.", actions: "recordIdleHint" },
      },
    },
    aborted: {
      id: "aborted",
      description: "The run was aborted: by a person, or because OpenCode is ending. A moment's wait shows which.",
      meta: { waitsFor: "abort", refuses: { STEER: "was just aborted" } },
      entry: [
        assign({ abortedAt: ({ event }) => endedAtIn(event) }),
        { type: "setDeadline", params: TASK_LIMITS.cancelAfterAbort },
      ],
      on: {
        TICK: {
          guard: "due",
          target: "#idle",
          description: "OpenCode has not ended: a person stopped the run.",
          actions: [
            "recordEnd",
            assign({ completedAt: ({ context, event }) => context.abortedAt ?? event.at }),
            endCancelled,
          ],
        },
      },
    },
    gating,
  },
});
