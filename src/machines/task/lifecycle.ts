import { and, assign, not, raise, stateIn } from "xstate";
import { runInterrupts, runStates } from "./run-states.ts";
import { taskSetup } from "./setup.ts";

/** How the newest run stands. */
export const lifecycle = taskSetup.createStateConfig({
  description: "How the newest run stands. The name of its top state is the task's status.",
  initial: "running",
  states: {
    running: {
      id: "running",
      description: "The launch prompt is being worked on.",
      meta: { refuses: { RESUME: "only completed tasks can be resumed (this one is running)" } },
      initial: "queued",
      on: runInterrupts,
      states: runStates("launching"),
    },
    resumed: {
      id: "resumed",
      description: "A follow-up prompt is being worked on.",
      meta: { refuses: { RESUME: "is currently being resumed" } },
      initial: "queued",
      on: runInterrupts,
      states: runStates("prompting"),
    },
    completed: {
      id: "completed",
      description: "The newest run was answered.",
      meta: { refuses: { CANCEL: "has already finished (completed)" } },
      entry: raise(({ event }) => ({ type: "RUN_ENDED", at: event.at, outcome: "completed" })),
      on: {
        RESULT_READ: { actions: assign({ resultRetrievedAt: ({ event }) => event.at }) },
        RESUME: {
          guard: and([stateIn("#told"), not("waitedFor")]),
          target: "resumed",
          actions: assign(({ context, event }) => ({
            run: {
              index: context.run.index + 1,
              messageID: event.messageID,
              partID: event.partID,
              prompt: event.prompt,
              startedAt: event.at,
            },
            sendAttempts: 0,
            stopAttempts: 0,
            failedChecks: 0,
            interruptions: 0,
            lastStepAt: undefined,
            hostError: undefined,
            completedAt: undefined,
          })),
        },
      },
    },
    error: {
      id: "error",
      description: "The newest run failed.",
      meta: {
        refuses: {
          CANCEL: "has already finished (error)",
          RESUME: "only completed tasks can be resumed (this one is error)",
        },
      },
      entry: raise(({ event }) => ({ type: "RUN_ENDED", at: event.at, outcome: "error" })),
      on: { RESULT_READ: { actions: assign({ resultRetrievedAt: ({ event }) => event.at }) } },
    },
    cancelled: {
      id: "cancelled",
      description: "The newest run was stopped, by the agent or by a person.",
      meta: {
        refuses: {
          CANCEL: "has already finished (cancelled)",
          RESUME: "only completed tasks can be resumed (this one is cancelled)",
        },
      },
      entry: raise(({ event }) => ({ type: "RUN_ENDED", at: event.at, outcome: "cancelled" })),
      on: { RESULT_READ: { actions: assign({ resultRetrievedAt: ({ event }) => event.at }) } },
    },
  },
});
