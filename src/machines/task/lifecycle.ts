// ADR-002 in docs/decisions.md
import { and, assign, not, stateIn } from "xstate";
import { NEW_RUN, taskSetup } from "./setup.ts";

/** Has the region `run` begin. Its time is the run's own: entering the chart is no event with one. */
const beginRun = taskSetup.raise(({ context }) => ({ type: "RUN_BEGAN", at: context.run.startedAt }));

const onRunEnded = {
  RUN_ENDED: [
    { guard: "isCompleted", target: "completed" },
    { guard: "isFailed", target: "error" },
    { target: "cancelled" },
  ],
} as const;

const onResultRead = {
  RESULT_READ: { actions: taskSetup.assign({ resultRetrievedAt: ({ event }) => event.at }) },
} as const;

/** How the newest run stands, for everybody outside. The region `run` says where in it the task is. */
export const lifecycle = taskSetup.createStateConfig({
  description: "How the newest run stands. The state's name is the task's status.",
  initial: "running",
  states: {
    running: {
      description: "The launch prompt is being worked on.",
      meta: { refuses: { RESUME: "only completed tasks can be resumed (this one is running)" } },
      entry: beginRun,
      on: onRunEnded,
    },
    resumed: {
      description: "A follow-up prompt is being worked on.",
      meta: { refuses: { RESUME: "is currently being resumed" } },
      entry: beginRun,
      on: onRunEnded,
    },
    completed: {
      description: "The newest run was answered.",
      meta: {
        refuses: {
          CANCEL: "has already finished (completed)",
          STEER: "has already finished (completed): use resume",
        },
      },
      on: {
        ...onResultRead,
        RESUME: {
          guard: and([stateIn("#nothingOwed"), not("waitedFor")]),
          target: "resumed",
          actions: assign(({ context, event }) => ({
            run: {
              index: context.run.index + 1,
              messageID: event.messageID,
              partID: event.partID,
              prompt: event.prompt,
              startedAt: event.at,
              ...(event.order ? { order: event.order } : {}),
            },
            ...NEW_RUN,
            // The server that worked on it has its conversation.
            remote: context.remote && { ...context.remote, attempts: 0 },
          })),
        },
      },
    },
    error: {
      description: "The newest run failed.",
      meta: {
        refuses: {
          CANCEL: "has already finished (error)",
          STEER: "has already finished (error)",
          RESUME: "only completed tasks can be resumed (this one is error)",
        },
      },
      on: onResultRead,
    },
    cancelled: {
      description: "The newest run was stopped, by the agent or by a person.",
      meta: {
        refuses: {
          CANCEL: "has already finished (cancelled)",
          STEER: "has already finished (cancelled)",
          RESUME: "only completed tasks can be resumed (this one is cancelled)",
        },
      },
      on: onResultRead,
    },
  },
});
