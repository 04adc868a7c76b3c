// A turn is ended before its run is over, or goes on with another model: a prompt that was accepted may arrive after the
// abort, so the host has to confirm the stop (docs/decisions/006-a-cancel-is-confirmed.md).
import { assign } from "xstate";
import { nextModel } from "./fallback.ts";
import {
  cancelled,
  countFailedCheck,
  endCancelled,
  failAndStop,
  recordEventError,
  requestStop,
  stoppedAtLimit,
} from "./run-transitions.ts";
import { given, request, TASK_LIMITS, taskSetup } from "./setup.ts";

/** State of the region `run`: it was cancelled or is beyond a limit, and is aborted until the host confirms that it has stopped. */
export const stopping = taskSetup.createStateConfig({
  tags: "stopping",
  description:
    "The task was cancelled, or is beyond a limit. Its session and the descendants of that are being stopped.",
  meta: {
    waitsFor: "stop",
    refuses: {
      CANCEL: "is already being cancelled",
      STEER: "is being cancelled",
      PAUSE: "is being cancelled",
      CONTINUE: "is being cancelled",
    },
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
        requestStop,
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
});

/** State of the region `run`: its model is refused. The turn is ended, and then the run queues for the next model. */
export const changingModel = taskSetup.createStateConfig({
  id: "changingModel",
  description: "The model is refused. Its turn is ended, and then the next model of `fallback` goes on.",
  meta: { waitsFor: "model" },
  initial: "ending",
  entry: ["beginWait", assign({ retry: undefined, failedChecks: 0 })],
  states: {
    ending: {
      description: "The turn is being aborted.",
      entry: [
        assign({ nextDeadline: undefined }),
        request("changeModel", ({ context }) => {
          const model = nextModel(context);
          return model && { taskId: context.facts.sessionID, model };
        }),
      ],
      on: {
        MODEL_CHANGED: {
          target: "settling",
          actions: assign({
            model: given("MODEL_CHANGED", ({ event }) => event.model),
            hostError: undefined,
            sendAttempts: 0,
            failedChecks: 0,
          }),
        },
        NOT_STOPPED: [{ guard: "failedChecksLeft", target: "pausing", actions: countFailedCheck }, { ...failAndStop }],
      },
    },
    pausing: {
      description: "The turn still goes on. It is aborted again after a pause.",
      entry: { type: "setDeadline", params: TASK_LIMITS.stopAgainAfter },
      on: { TICK: { guard: "due", target: "ending" } },
    },
    settling: {
      description: "OpenCode may still report the end of that turn. After a moment the run asks for a slot.",
      entry: [
        assign({ modelLeftAt: ({ event }) => event.at }),
        { type: "setDeadline", params: TASK_LIMITS.checkAfterError },
      ],
      on: {
        HOST_ERROR: {
          guard: "isAbort",
          target: "#aborted",
          description: "That turn was over: a person stopped what came after it.",
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
});
