import { and, assign } from "xstate";
import type { TaskError } from "../../task.ts";
import { backoff } from "../backoff.ts";
import type { Prompt, TaskContext, TaskEvent } from "./events.ts";
import { interruptionsWith, newestStepAt, TASK_LIMITS, taskSetup } from "./setup.ts";

const PACE = { first: TASK_LIMITS.firstBackoff, longest: TASK_LIMITS.longestBackoff };

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

const runPrompt = ({ facts, run }: TaskContext): Prompt => ({
  sessionID: facts.sessionID,
  messageID: run.messageID,
  parts: [{ id: run.partID, text: run.prompt }],
  agent: facts.agent,
  model: facts.model,
});

const emitStop = {
  type: "emitEffect",
  params: ({ context }: { context: TaskContext }) => ({
    type: "stopSession" as const,
    sessionID: context.facts.sessionID,
    messageID: context.run.messageID,
    requests: context.userRequests,
  }),
} as const;

function eventError({ event }: { event: TaskEvent }): TaskError {
  return "error" in event && "kind" in event.error ? event.error : UNANSWERED;
}

/** Asks the host how the run stands; answers to earlier looks count no more. */
const emitCheck = taskSetup.enqueueActions(({ context, enqueue }) => {
  const { facts, run, hostError, abortedAt, missingSince } = context;
  const checkId = context.checkId + 1;
  enqueue.assign({ checkId, nextDeadline: undefined });
  const { sessionID } = facts;
  const seen = { sessionID, messageID: run.messageID, hostError, abortedAt, wasMissing: missingSince !== undefined };
  enqueue({ type: "emitEffect", params: { type: "checkRun", checkId, ...seen } });
});

const failure = { type: "recordError", params: eventError } as const;

const backToWorking = {
  guard: "isCurrentCheck",
  target: "working",
  actions: taskSetup.assign({ sendAttempts: 1, failedChecks: 0, missingSince: undefined, hostError: undefined }),
} as const;

const NOTED = "It is looked into once the prompt is accepted.";

const ASKED_AGAIN = "It is asked again after a pause.";

const countFailedCheck = taskSetup.assign({ failedChecks: ({ context }) => context.failedChecks + 1 });

const fail = { target: "#error", actions: ["recordEnd", failure] } as const;

const answered = {
  guard: "isCurrentCheck",
  target: "#completed",
  actions: [
    "recordEnd",
    taskSetup.assign({
      result: ({ context, event }) => (event.type === "CHECKED_ANSWERED" ? event.result : context.result),
      resultRetrievedAt: undefined,
    }),
  ],
} as const;

/** The run has not ended in the host, as far as is known: what still works on it costs. */
const failAndStop = {
  target: "#error",
  description: "The run is given up. What still works on it is stopped.",
  actions: ["recordEnd", failure, emitStop],
} as const;

/** The run was cut off. Sent again with the same ids, its prompt goes on from the last step that was finished. */
const continueOrFail = (sending: "launching" | "prompting") =>
  [
    {
      guard: and(["isCurrentCheck", "mayContinue"]),
      target: sending,
      description: "It was cut off, and goes on from the last step that was finished.",
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
      target: "#error",
      description: "It was cut off, and is not continued.",
      actions: ["recordEnd", { type: "recordError", params: INTERRUPTED }, emitStop],
    },
  ] as const;

/** Where a run is until it ends. A launch and a resume go the same way; only the name of the sending state differs. */
export const runStates = (sending: "launching" | "prompting") =>
  ({
    queued: taskSetup.createStateConfig({
      description: "The child session exists. The run waits for a slot.",
      on: {
        SLOT_GRANTED: { target: sending },
        ADOPTED: { description: "Nothing was sent yet: the run goes on waiting." },
        CANCEL: {
          target: "#cancelled",
          description: "Nothing was sent yet: there is nothing to stop.",
          actions: "recordEnd",
        },
      },
    }),
    [sending]: taskSetup.createStateConfig({
      description: "The prompt is on its way to the host.",
      entry: [
        assign({
          sendAttempts: ({ context }) => context.sendAttempts + 1,
          idleHinted: false,
          missingSince: undefined,
          nextDeadline: undefined,
        }),
        { type: "emitEffect", params: ({ context }) => ({ type: "sendPrompt", prompt: runPrompt(context) }) },
      ],
      on: {
        PROMPT_ACCEPTED: [
          { guard: "idleHinted", target: "settling", description: "It said idle or error before that." },
          { target: "working" },
        ],
        PROMPT_REFUSED: [{ guard: and(["retryable", "sendAttemptsLeft"]), target: "backingOff" }, failAndStop],
        SESSION_NOT_FOUND: { target: "missing", actions: "recordNotFound" },
        HOST_IDLE: { description: NOTED, actions: "recordIdleHint" },
        HOST_ERROR: { description: NOTED, actions: "recordIdleHint" },
      },
    }),
    backingOff: taskSetup.createStateConfig({
      description: "The prompt was refused, or lies unanswered. It is sent again, with the same ids, after a pause.",
      entry: { type: "setDeadline", params: ({ context }) => backoff(context.sendAttempts, PACE) },
      on: {
        TICK: { guard: "due", target: sending },
        HOST_IDLE: { target: "settling" },
        HOST_ERROR: { target: "settling", actions: "recordIdleHint" },
      },
    }),
    working: taskSetup.createStateConfig({
      tags: "working",
      description: "The child is at work.",
      on: {
        HOST_IDLE: { target: "settling" },
        HOST_ERROR: {
          description: "Idle should follow; if it does not, the host is asked after a moment.",
          actions: ["recordIdleHint", { type: "setDeadline", params: TASK_LIMITS.checkAfterError }],
        },
        TICK: { guard: "due", target: "settling" },
      },
    }),
    settling: taskSetup.createStateConfig({
      description: "The child looks finished. Idle is a hint, not a fact: the host is asked how the run stands.",
      entry: emitCheck,
      on: {
        HOST_IDLE: { target: "settling", reenter: true, description: "It is asked anew." },
        HOST_ERROR: { target: "settling", reenter: true, description: "It is asked anew.", actions: "recordIdleHint" },
        CHECKED_BUSY: backToWorking,
        CHECKED_ANSWERED: answered,
        CHECKED_FAILED: { guard: "isCurrentCheck", ...fail },
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
        CHECK_FAILED: [
          {
            guard: and(["isCurrentCheck", "failedChecksLeft"]),
            target: "working",
            description: ASKED_AGAIN,
            actions: [countFailedCheck, { type: "setDeadline", params: TASK_LIMITS.recheckAfter }],
          },
          { guard: "isCurrentCheck", ...failAndStop },
        ],
      },
    }),
    missing: taskSetup.createStateConfig({
      description: "The host does not find the child session. It is asked again after a pause: only then that counts.",
      entry: { type: "setDeadline", params: TASK_LIMITS.recheckAfter },
      on: {
        TICK: { guard: "due", target: "settling" },
        HOST_ERROR: { description: "It is looked into after the pause.", actions: "recordIdleHint" },
      },
    }),
    aborted: taskSetup.createStateConfig({
      description: "The run was aborted: by a person, or because OpenCode ends. That shows within a moment.",
      entry: [
        assign({ abortedAt: ({ event }) => ("completedAt" in event ? event.completedAt : event.at) }),
        { type: "setDeadline", params: TASK_LIMITS.cancelAfterAbort },
      ],
      on: {
        TICK: {
          guard: "due",
          target: "#cancelled",
          description: "OpenCode has not ended: a person stopped the run.",
          actions: assign({
            completedAt: ({ context, event }) => context.abortedAt ?? event.at,
            nextDeadline: undefined,
          }),
        },
      },
    }),
    reclaiming: taskSetup.createStateConfig({
      description: "The process that supervised the run is gone. The host is asked what became of the run meanwhile.",
      entry: emitCheck,
      on: {
        TICK: { guard: "due", target: "reclaiming", reenter: true },
        CHECKED_BUSY: backToWorking,
        CHECKED_ANSWERED: answered,
        CHECKED_FAILED: { guard: "isCurrentCheck", ...fail },
        // Whatever was aborted, it went down with its process: nobody was there to cancel it.
        CHECKED_ABORTED: continueOrFail(sending),
        CHECKED_UNANSWERED: continueOrFail(sending),
        CHECKED_NOT_FOUND: {
          guard: "isCurrentCheck",
          description: ASKED_AGAIN,
          actions: ["recordNotFound", { type: "setDeadline", params: TASK_LIMITS.recheckAfter }],
        },
        CHECK_FAILED: [
          {
            guard: and(["isCurrentCheck", "failedChecksLeft"]),
            description: ASKED_AGAIN,
            actions: [countFailedCheck, { type: "setDeadline", params: TASK_LIMITS.recheckAfter }],
          },
          { guard: "isCurrentCheck", ...failAndStop },
        ],
      },
    }),
    stopping: taskSetup.createStateConfig({
      tags: "stopping",
      description: "The task was cancelled. Its session, and all below it, is being stopped.",
      meta: { refuses: { CANCEL: "is already being cancelled" } },
      initial: "aborting",
      on: {
        SESSION_DELETED: { target: "#cancelled", actions: "recordEnd" },
        ADOPTED: { target: ".aborting", description: "It goes on stopping the session." },
      },
      states: {
        aborting: {
          description: "The abort is on its way.",
          entry: [
            assign({ stopAttempts: ({ context }) => context.stopAttempts + 1, nextDeadline: undefined }),
            emitStop,
          ],
          on: {
            STOPPED: { target: "#cancelled", actions: "recordEnd" },
            NOT_STOPPED: [
              { guard: "stopAttemptsLeft", target: "pausing" },
              {
                target: "#cancelled",
                description: "It was tried often enough; the task says why.",
                actions: ["recordEnd", failure],
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
    }),
  }) as const;

/** What may come from outside wherever a run is, to end it or to take it over. */
export const runInterrupts = {
  CANCEL: { guard: "notStopping", target: ".stopping" },
  SESSION_DELETED: {
    target: "#error",
    description: "Its model works on until it is aborted.",
    actions: ["recordEnd", { type: "recordError", params: SESSION_DELETED }, emitStop],
  },
  SUPERVISION_FAILED: failAndStop,
  ADOPTED: {
    target: ".reclaiming",
    actions: taskSetup.assign(({ context, event }) => ({
      recovery: event.type === "ADOPTED" ? event.recovery : context.recovery,
      hostError: undefined,
      idleHinted: false,
      failedChecks: 0,
      missingSince: undefined,
    })),
  },
} as const;
