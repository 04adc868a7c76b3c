// A run is a region of its own, so that each of its states is there once, for launches and for resumes. A cancel is one of
// these states, because OpenCode has to confirm it (docs/decisions/006-a-cancel-is-confirmed.md).
import { and, assign, not, stateIn } from "xstate";
import { backoff } from "../chart.ts";
import { fleet } from "./fleet-states.ts";
import { gating } from "./gating.ts";
import {
  awaitTasks,
  cancelled,
  checkAgainLater,
  complete,
  completeAfterTakeover,
  completeReceipt,
  continueAfterFault,
  continueOrFail,
  countFailedCheck,
  emitCheck,
  emitEndOfTurn,
  endCancelled,
  expectIdle,
  failAndStop,
  failAndStopWith,
  failOrGoOn,
  failRefused,
  goOnWithNextModel,
  newestPrompt,
  RETRY_BACKOFF,
  requestSlot,
  SESSION_DELETED,
  schemaOf,
  steerAgainLater,
  stillAtWork,
  writeReceipt,
} from "./run-transitions.ts";
import { given, isAnswerChecked, TASK_LIMITS, taskSetup, wasSent } from "./setup.ts";
import { isRefusedTooLong } from "./slot.ts";
import { changingModel, stopping } from "./stopping.ts";

const AFTER_ACCEPTANCE = "The host is asked once it has accepted the prompt.";

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

const CHECK_AGAIN = "It is asked again after a pause.";

/** Where the newest run is: the same way for a launch and for a resume. */
export const run = taskSetup.createStateConfig({
  description: "Where the newest run is: from its place in the queue to its end.",
  initial: "idle",
  on: {
    CANCEL: { guard: and(["live", "notStopping"]), target: ".stopping" },
    LIMIT_EXCEEDED: {
      guard: and(["live", "notStopping", wasSent]),
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
        guard: and(["live", isAnswerChecked]),
        target: ".recovering",
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
      { guard: "live", target: ".recovering", actions: adopt },
    ],
    HOST_RETRYING: {
      guard: and([
        "live",
        "notStopping",
        not(stateIn("#changingModel")),
        not(stateIn("#queued")),
        not(stateIn("#fleet")),
      ]),
      description:
        "Where the child is not known to be at work, this is only noted. Of a model that is left, it is not.",
      actions: "recordRetry",
    },
    HOST_ANSWERING: {
      guard: and(["live", "hasRetry"]),
      description: "It did not refuse the request again.",
      actions: "forgetRetry",
    },
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
        RUN_BEGAN: [{ guard: "isForFleet", target: "fleet" }, { target: "queued" }],
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
          description: "The process that asked the host has ended.",
          actions: completeReceipt,
        },
      },
    },
    queued: {
      id: "queued",
      description: "The child session exists. The run waits for a slot.",
      meta: { waitsFor: "slot" },
      entry: ["beginWait", assign({ nextDeadline: undefined }), requestSlot],
      on: {
        SLOT_GRANTED: {
          target: "sending",
          actions: taskSetup.assign({
            queuedUntil: ({ context: { queuedUntil, run, waitingSince = run.startedAt }, event }) =>
              event.at > waitingSince ? event.at : queuedUntil,
          }),
        },
        ADOPTED: { description: "Nothing is under way: the run asks for a slot here.", actions: requestSlot },
        CANCEL: { guard: not("goesOn"), ...cancelled, description: "Nothing was sent yet: there is nothing to stop." },
      },
    },
    sending: {
      description: "The prompt is on its way to the host.",
      meta: { waitsFor: "acceptance" },
      entry: [
        "beginWait",
        assign({
          sendAttempts: ({ context }) => context.sendAttempts + 1,
          endedInChecks: undefined,
          hostError: undefined,
          idleHinted: false,
          missingSince: undefined,
          nextDeadline: undefined,
        }),
        {
          type: "emitEffect",
          params: ({ context }) => ({
            type: "sendPrompt",
            taskId: context.facts.sessionID,
            prompt: newestPrompt(context),
            ...schemaOf(context),
            ...(context.redoesStep ? { redoesStep: true } : {}),
          }),
        },
      ],
      on: {
        PROMPT_ACCEPTED: [
          { guard: "idleHinted", target: "verifying", description: "It reported idle or an error before that." },
          { guard: "isRefusedForNow", target: "retrying", description: "The provider refuses for now." },
          { target: "working" },
        ],
        PROMPT_REFUSED: [{ guard: and(["retryable", "sendAttemptsLeft"]), target: "backingOff" }, failAndStop],
        SESSION_NOT_FOUND: { target: "missing", actions: "recordNotFound" },
        HOST_IDLE: { description: AFTER_ACCEPTANCE, actions: "recordIdleHint" },
        HOST_ERROR: { description: AFTER_ACCEPTANCE, actions: "recordIdleHint" },
      },
    },
    backingOff: {
      description:
        "The prompt was refused or not answered, or a fault of the host interrupted the run. It is sent again, with the same ids, after a pause.",
      meta: { waitsFor: "retry" },
      entry: [
        "beginWait",
        {
          type: "setDeadline",
          // After a fault of the host, the pause grows with each one.
          params: ({ context }) => backoff(context.sendAttempts || context.interruptions + 1, RETRY_BACKOFF),
        },
      ],
      on: {
        TICK: { guard: "due", target: "sending" },
        HOST_IDLE: { target: "verifying" },
        HOST_ERROR: {
          guard: "wasSentSinceFault",
          target: "verifying",
          description: "Right after a fault of the host, it is a consequence of that.",
          actions: "recordIdleHint",
        },
      },
    },
    working: {
      id: "working",
      tags: "working",
      description: "The child is at work.",
      meta: { waitsFor: "agent" },
      on: {
        HOST_IDLE: { target: "verifying" },
        HOST_ERROR: expectIdle,
        TICK: { guard: "due", target: "verifying" },
        STEPS_WITHOUT_END: emitEndOfTurn,
        STEERING_STORED: {
          guard: "isOldestInstruction",
          target: "verifying",
          description: "The child may have ended its turn just before: the host is asked.",
        },
        STEERING_REFUSED: steerAgainLater,
        HOST_RETRYING: { target: "retrying", actions: "recordRetry" },
      },
    },
    retrying: {
      id: "retrying",
      tags: ["working", "retrying"],
      description:
        "The provider refuses the child's requests for now: a rate limit, or too much load. The host tries again by itself.",
      meta: { waitsFor: "provider" },
      entry: assign({
        nextDeadline: ({ context, event }) => (isRefusedTooLong(context) ? event.at : context.nextDeadline),
      }),
      on: {
        HOST_RETRYING: { target: "retrying", reenter: true, actions: "recordRetry" },
        HOST_BUSY: { target: "working", description: "The host makes the request again." },
        HOST_ANSWERING: { target: "working", actions: "forgetRetry" },
        STEPS_WITHOUT_END: emitEndOfTurn,
        HOST_IDLE: { target: "verifying" },
        HOST_ERROR: { target: "working", ...expectIdle },
        TICK: [
          { guard: and(["due", "isRefusedTooLong"]), ...goOnWithNextModel },
          { guard: "due", target: "verifying" },
        ],
        STEERING_REFUSED: steerAgainLater,
      },
    },
    changingModel,
    awaitingTasks: {
      id: "awaitingTasks",
      tags: "awaitingTasks",
      description: "The child's turn has ended. It waits for tasks that it launched, and holds no slot.",
      meta: { waitsFor: "tasks" },
      entry: ["beginWait", assign({ nextDeadline: undefined })],
      on: {
        OWN_TASK_ENDED: { target: "working", description: "Its result is on the way to the child." },
        STEERING_STORED: {
          guard: "isOldestInstruction",
          target: "verifying",
          description: "The child has not seen it: the host is asked, and then the child is woken.",
        },
        STEERING_REFUSED: { target: "working", ...steerAgainLater },
        HOST_BUSY: { target: "working" },
        HOST_RETRYING: { target: "retrying", actions: "recordRetry" },
        HOST_IDLE: { target: "verifying" },
        HOST_ERROR: { target: "working", ...expectIdle },
      },
    },
    verifying: {
      id: "verifying",
      description: "The child seems to have finished. Idle is a hint, not a fact: the host is asked about the run.",
      meta: { waitsFor: "check" },
      entry: ["beginWait", emitCheck],
      on: {
        HOST_IDLE: { target: "verifying", reenter: true, description: "The host is asked anew." },
        HOST_ERROR: {
          target: "verifying",
          reenter: true,
          description: "The host is asked anew.",
          actions: "recordIdleHint",
        },
        STEERING_STORED: {
          guard: "isOldestInstruction",
          target: "verifying",
          reenter: true,
          description: "The host is asked anew.",
        },
        CHECKED_BUSY: stillAtWork,
        CHECKED_AWAITING_TASKS: awaitTasks,
        CHECKED_ANSWERED: complete,
        CHECKED_FAILED: failOrGoOn,
        CHECKED_HOST_FAULT: continueAfterFault("mayBeInterrupted"),
        CHECKED_ABORTED: { guard: "isCurrentCheck", target: "aborted" },
        CHECKED_NOT_FOUND: { guard: "isCurrentCheck", target: "missing", actions: "recordNotFound" },
        CHECKED_UNANSWERED: [
          {
            guard: and(["isCurrentCheck", "sendAttemptsLeft"]),
            target: "backingOff",
            description: "The prompt is sent again.",
            actions: assign({ failedChecks: 0 }),
          },
          { guard: "isCurrentCheck", ...failAndStop },
        ],
        CHECKED_UNSEEN: [
          {
            guard: and(["isCurrentCheck", "sendAttemptsLeft"]),
            target: "sending",
            description: "The instruction is sent again, which wakes the child.",
            actions: assign({ failedChecks: 0 }),
          },
          { guard: "isCurrentCheck", ...failAndStop },
        ],
        CHECK_FAILED: [
          {
            guard: and(["isCurrentCheck", "failedChecksLeft"]),
            target: "working",
            description: CHECK_AGAIN,
            actions: [countFailedCheck, checkAgainLater],
          },
          { guard: "isCurrentCheck", ...failAndStop },
        ],
      },
    },
    gating,
    fleet,
    missing: {
      description:
        "The host does not find the child session. It is asked again after a pause: only the second answer counts.",
      meta: { waitsFor: "session" },
      entry: checkAgainLater,
      on: {
        TICK: { guard: "due", target: "verifying" },
        HOST_ERROR: { description: "The host is asked after the pause.", actions: "recordIdleHint" },
      },
    },
    aborted: {
      id: "aborted",
      description: "The run was aborted: by a person, or because OpenCode is ending. A moment's wait shows which.",
      meta: { waitsFor: "abort", refuses: { STEER: "was just aborted" } },
      entry: [
        assign({ abortedAt: ({ event }) => ("completedAt" in event ? event.completedAt : event.at) }),
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
    recovering: {
      id: "recovering",
      description: "The process that supervised the run has ended. The host is asked what became of the run.",
      meta: { waitsFor: "recovery" },
      entry: emitCheck,
      on: {
        TICK: { guard: "due", target: "recovering", reenter: true },
        CHECKED_BUSY: stillAtWork,
        CHECKED_AWAITING_TASKS: awaitTasks,
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
        CHECKED_NOT_FOUND: {
          guard: "isCurrentCheck",
          description: CHECK_AGAIN,
          actions: ["recordNotFound", checkAgainLater],
        },
        CHECK_FAILED: [
          {
            guard: and(["isCurrentCheck", "failedChecksLeft"]),
            description: CHECK_AGAIN,
            actions: [countFailedCheck, checkAgainLater],
          },
          { guard: "isCurrentCheck", ...failAndStop },
        ],
      },
    },
    stopping,
  },
});
