import { and, assign, not, raise, stateIn } from "xstate";
import { interruptions, runStates } from "./run-states.ts";
import { task } from "./setup.ts";

/** How the newest run stands. */
export const lifecycle = task.createStateConfig({
  description: "How the newest run stands. The name of its top state is the task's status.",
  initial: "running",
  states: {
    running: {
      id: "running",
      description: "The launch prompt is being worked on.",
      meta: { refuses: { RESUME: "only completed tasks can be resumed (this one is running)" } },
      initial: "queued",
      on: interruptions,
      states: runStates("launching"),
    },
    resumed: {
      id: "resumed",
      description: "A follow-up prompt is being worked on.",
      meta: { refuses: { RESUME: "is currently being resumed" } },
      initial: "queued",
      on: interruptions,
      states: runStates("prompting"),
    },
    completed: {
      id: "completed",
      description: "The newest run was answered.",
      meta: { refuses: { CANCEL: "has already finished (completed)" } },
      entry: raise(({ event }) => ({ type: "RUN_ENDED", at: event.at, outcome: "completed" })),
      on: {
        RETRIEVED: { actions: assign({ resultRetrievedAt: ({ event }) => event.at }) },
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
            sends: 0,
            stops: 0,
            misses: 0,
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
      on: { RETRIEVED: { actions: assign({ resultRetrievedAt: ({ event }) => event.at }) } },
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
      on: { RETRIEVED: { actions: assign({ resultRetrievedAt: ({ event }) => event.at }) } },
    },
  },
});
