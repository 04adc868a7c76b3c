// ADR-006, ADR-113 in docs/decisions.md
import { and, assign, enqueueActions, not, stateIn } from "xstate";
import type { TaskError } from "../../task.ts";
import type { Prompt, RunResult, TaskContext, TaskEvent } from "./events.ts";
import { isRefusedTooLong, nextModel } from "./fallback.ts";
import { backoff, interruptionsWith, newestStepAt, TASK_LIMITS, taskSetup, toPrompt, wasSent } from "./setup.ts";
import { slotRequestOf } from "./slot.ts";

const RETRY_BACKOFF = { first: TASK_LIMITS.firstBackoff, longest: TASK_LIMITS.longestBackoff };

const UNANSWERED: TaskError = {
  name: "Unanswered",
  kind: "unanswered",
  message: `OpenCode took the prompt but never answered it, though it was sent ${TASK_LIMITS.sendAttempts} times.`,
};

const SESSION_DELETED: TaskError = {
  name: "SessionGone",
  kind: "sessionGone",
  message: "The task's session was deleted before it answered.",
};

const INTERRUPTED: TaskError = {
  name: "Interrupted",
  kind: "interrupted",
  message: "OpenCode ended while the task ran, and the task was not continued.",
};

const AFTER_ACCEPTANCE = "The host is asked once it has accepted the prompt.";

const CHECK_AGAIN = "It is asked again after a pause.";

/** The newest message of the run that the host has: sent again, it becomes the newest of the session. */
const newestPrompt = (context: TaskContext): Prompt => toPrompt(context, context.storedInstruction ?? context.run);

/** The error that a run ends with. Whatever happens while it is stopped at a limit, the limit is the cause. */
function endError({ context, event }: { context: TaskContext; event: TaskEvent }): TaskError {
  if (context.limitError) return context.limitError;
  return "error" in event && "kind" in event.error ? event.error : UNANSWERED;
}

const emitStop = {
  type: "emitEffect",
  params: ({ context }: { context: TaskContext }) => ({
    type: "stopSession" as const,
    sessionID: context.facts.sessionID,
    messageID: context.run.messageID,
    requests: context.userRequests,
  }),
} as const;

const requestSlot = {
  type: "emitEffect",
  params: ({ context }: { context: TaskContext }) => ({
    type: "requestSlot" as const,
    request: slotRequestOf(context),
  }),
} as const;

/** Asks the host how the run stands; answers to earlier checks no longer count. */
const emitCheck = taskSetup.enqueueActions(({ context, enqueue }) => {
  const { facts, run, storedInstruction, hostError, abortedAt, modelLeftAt, missingSince } = context;
  const checkId = context.checkId + 1;
  enqueue.assign({ checkId, nextDeadline: undefined });
  const messages = { messageID: run.messageID, instructionID: storedInstruction?.messageID };
  const known = { ...messages, hostError, abortedAt, modelLeftAt, wasMissing: missingSince !== undefined };
  enqueue({ type: "emitEffect", params: { type: "checkRun", checkId, sessionID: facts.sessionID, ...known } });
});

/** Reports the end to the other regions. Each transition to `idle` does so, and nothing else ends a run. */
const endRun = (outcome: RunResult["outcome"]) =>
  taskSetup.raise(({ event }) => ({ type: "RUN_ENDED", at: event.at, outcome }));

const endCompleted = endRun("completed");
const endFailed = endRun("error");
const endCancelled = endRun("cancelled");

const recordEventError = { type: "recordError", params: endError } as const;

const seenAtWork = taskSetup.assign({
  sendAttempts: 1,
  failedChecks: 0,
  missingSince: undefined,
  hostError: undefined,
});

const complete = [
  {
    guard: and(["isCurrentCheck", "isSteered"]),
    target: "working",
    description: "An instruction is on its way: the run goes on with it.",
    actions: seenAtWork,
  },
  {
    guard: "isCurrentCheck",
    target: "#idle",
    actions: [
      "recordEnd",
      taskSetup.assign({
        result: ({ context, event }) => (event.type === "CHECKED_ANSWERED" ? event.result : context.result),
        resultRetrievedAt: undefined,
      }),
      endCompleted,
    ],
  },
] as const;

const fail = { target: "#idle", actions: ["recordEnd", recordEventError, endFailed] } as const;

/** As far as the host has said, the run has not ended: whatever still works on it costs money. */
const failAndStop = {
  target: "#idle",
  description: "The run is given up, and whatever still works on it is stopped.",
  actions: ["recordEnd", recordEventError, emitStop, endFailed],
} as const;

/** The run goes on with the next model of the option `fallback`, in the same session. */
const goOnWithNextModel = {
  target: "changingModel",
  description: "Another model is asked.",
  actions: "recordRefusal",
} as const;

const failRefused = { ...fail, actions: ["recordLastRefusal", ...fail.actions] } as const;

const failOrGoOn = [
  { guard: and(["isCurrentCheck", "isRefused"]), ...goOnWithNextModel },
  { guard: "isCurrentCheck", ...failRefused },
] as const;

const cancelled = { target: "#idle", actions: ["recordEnd", endCancelled] } as const;

const stoppedAtLimit = {
  guard: "isBeyondLimit",
  ...fail,
  description: "The run was stopped at a limit, which is its error.",
} as const;

const keepWorking = { guard: "isCurrentCheck", target: "working", actions: seenAtWork } as const;

const stillAtWork = [
  {
    guard: and(["isCurrentCheck", "isRefusedForNow"]),
    target: "retrying",
    description: "The provider refuses for now.",
    actions: seenAtWork,
  },
  keepWorking,
] as const;

const awaitTasks = {
  ...keepWorking,
  target: "awaitingTasks",
  description: "It receives their results, and goes on.",
} as const;

const expectIdle = {
  description: "Idle should follow; if it does not, the host is asked after a moment.",
  actions: ["recordIdleHint", { type: "setDeadline", params: TASK_LIMITS.checkAfterError }],
} as const;

const steerAgainLater = {
  guard: and(["isOldestInstruction", "maySteerAgain"]),
  description: "The host is asked how the run stands after a pause, and then the instruction is sent again.",
  actions: {
    type: "setDeadline",
    params: ({ context }: { context: TaskContext }) => backoff((context.steerAttempts ?? 0) + 1, RETRY_BACKOFF),
  },
} as const;

const countFailedCheck = taskSetup.assign({ failedChecks: ({ context }) => context.failedChecks + 1 });

const checkAgainLater = { type: "setDeadline", params: TASK_LIMITS.recheckAfter } as const;

/** The run was interrupted. Sent again with the same ids, its prompt continues after the last step that was finished. */
const continueOrFail = [
  {
    guard: and(["isCurrentCheck", "mayContinue"]),
    target: "sending",
    description: "It was interrupted, and continues after the last step that was finished.",
    actions: taskSetup.assign({
      sendAttempts: 0,
      failedChecks: 0,
      interruptions: ({ context, event }) => interruptionsWith(context, event),
      lastStepAt: ({ context, event }) => newestStepAt(context, event),
      abortedAt: ({ context, event }) => (event.type === "CHECKED_ABORTED" ? event.completedAt : context.abortedAt),
    }),
  },
  {
    guard: "isCurrentCheck",
    target: "#idle",
    description: "It was interrupted, and is not continued.",
    actions: ["recordEnd", { type: "recordError", params: INTERRUPTED }, emitStop, endFailed],
  },
] as const;

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
      actions: ["recordEnd", { type: "recordError", params: SESSION_DELETED }, emitStop, endFailed],
    },
    SUPERVISION_FAILED: { guard: "live", ...failAndStop },
    STEERING_REFUSED: { guard: and(["isOldestInstruction", not("maySteerAgain")]), ...failAndStop },
    ADOPTED: {
      guard: "live",
      target: ".recovering",
      actions: taskSetup.assign(({ context, event }) => ({
        recovery: event.type === "ADOPTED" ? event.recovery : context.recovery,
        waitingSince: event.at,
        hostError: undefined,
        idleHinted: false,
        failedChecks: 0,
        missingSince: undefined,
        blockedCalls: undefined,
        retry: undefined,
      })),
    },
    HOST_RETRYING: {
      guard: and(["live", "notStopping", not(stateIn("#changingModel")), not(stateIn("#queued"))]),
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
      description: "No run is under way.",
      on: { RUN_BEGAN: { target: "queued" } },
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
      id: "sending",
      description: "The prompt is on its way to the host.",
      meta: { waitsFor: "acceptance" },
      entry: [
        "beginWait",
        assign({
          sendAttempts: ({ context }) => context.sendAttempts + 1,
          idleHinted: false,
          missingSince: undefined,
          nextDeadline: undefined,
        }),
        { type: "emitEffect", params: ({ context }) => ({ type: "sendPrompt", prompt: newestPrompt(context) }) },
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
      description: "The prompt was refused or not answered. It is sent again, with the same ids, after a pause.",
      meta: { waitsFor: "retry" },
      entry: [
        "beginWait",
        { type: "setDeadline", params: ({ context }) => backoff(context.sendAttempts, RETRY_BACKOFF) },
      ],
      on: {
        TICK: { guard: "due", target: "sending" },
        HOST_IDLE: { target: "verifying" },
        HOST_ERROR: { target: "verifying", actions: "recordIdleHint" },
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
        HOST_IDLE: { target: "verifying" },
        HOST_ERROR: { target: "working", ...expectIdle },
        TICK: [
          { guard: and(["due", "isRefusedTooLong"]), ...goOnWithNextModel },
          { guard: "due", target: "verifying" },
        ],
        STEERING_REFUSED: steerAgainLater,
      },
    },
    changingModel: {
      id: "changingModel",
      description: "The model is refused. Its turn is ended, and then the next model of `fallback` goes on.",
      meta: { waitsFor: "model" },
      initial: "ending",
      entry: ["beginWait", assign({ retry: undefined, failedChecks: 0 })],
      states: {
        ending: {
          description: "The turn is being aborted.",
          entry: enqueueActions(({ context, enqueue }) => {
            const model = nextModel(context);
            enqueue.assign({ nextDeadline: undefined });
            if (model) {
              const { sessionID } = context.facts;
              enqueue({ type: "emitEffect", params: { type: "changeModel", sessionID, model } });
            }
          }),
          on: {
            MODEL_CHANGED: {
              target: "settling",
              actions: assign({
                model: ({ context, event }) => (event.type === "MODEL_CHANGED" ? event.model : context.model),
                hostError: undefined,
                sendAttempts: 0,
                failedChecks: 0,
              }),
            },
            NOT_STOPPED: [
              { guard: "failedChecksLeft", target: "pausing", actions: countFailedCheck },
              { ...failAndStop },
            ],
          },
        },
        pausing: {
          description: "The turn still goes on. It is aborted again after a pause.",
          entry: { type: "setDeadline", params: TASK_LIMITS.stopAgainAfter },
          on: { TICK: { guard: "due", target: "ending" } },
        },
        settling: {
          description: "The host may still report the end of that turn. After a moment the run asks for a slot.",
          entry: [
            assign({ modelLeftAt: ({ event }) => event.at }),
            { type: "setDeadline", params: TASK_LIMITS.checkAfterError },
          ],
          on: {
            HOST_ERROR: {
              guard: "isAbort",
              target: "#aborted",
              description: "That turn had ended: a person stopped what came after it.",
            },
            TICK: {
              guard: "due",
              target: "#queued",
              description: "The next model has limits of its own. Of those that wait, the oldest come first.",
              actions: assign({ modelLeftAt: ({ event }) => event.at }),
            },
          },
        },
      },
    },
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
      description:
        "The child seems to have finished. Idle is a hint, not a fact: the host is asked how the run stands.",
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
      description: "The process that supervised the run has ended. The host is asked what became of the run.",
      meta: { waitsFor: "recovery" },
      entry: emitCheck,
      on: {
        TICK: { guard: "due", target: "recovering", reenter: true },
        CHECKED_BUSY: stillAtWork,
        CHECKED_AWAITING_TASKS: awaitTasks,
        CHECKED_ANSWERED: complete,
        CHECKED_FAILED: [
          { guard: and(["isCurrentCheck", "isRefused", "mayContinue"]), ...goOnWithNextModel },
          { guard: "isCurrentCheck", ...failRefused },
        ],
        // An abort came with the end of the process: nobody was there to cancel the run.
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
    stopping: {
      tags: "stopping",
      description: "The task was cancelled, or is beyond a limit. Its session, and all below it, is being stopped.",
      meta: {
        waitsFor: "stop",
        refuses: { CANCEL: "is already being cancelled", STEER: "is being cancelled" },
      },
      initial: "aborting",
      entry: ["beginWait", "forgetRetry"],
      on: {
        SESSION_DELETED: [stoppedAtLimit, cancelled],
        ADOPTED: { target: ".aborting", description: "The session is still to be stopped." },
      },
      states: {
        aborting: {
          description: "The abort is on its way.",
          entry: [
            assign({ stopAttempts: ({ context }) => context.stopAttempts + 1, nextDeadline: undefined }),
            emitStop,
          ],
          on: {
            STOPPED: [stoppedAtLimit, cancelled],
            NOT_STOPPED: [
              { guard: "stopAttemptsLeft", target: "pausing" },
              stoppedAtLimit,
              {
                target: "#idle",
                description: "It was tried often enough; the task says why.",
                actions: ["recordEnd", recordEventError, endCancelled],
              },
            ],
          },
        },
        pausing: {
          description: "The session still runs, or its prompt has not arrived yet. It is aborted again after a pause.",
          entry: { type: "setDeadline", params: TASK_LIMITS.stopAgainAfter },
          on: { TICK: { guard: "due", target: "aborting" } },
        },
      },
    },
  },
});
