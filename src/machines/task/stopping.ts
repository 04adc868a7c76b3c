// ADR-006 in docs/decisions.md
import { assign } from "xstate";
import { cancelled, emitStop, endCancelled, recordEventError, stoppedAtLimit } from "./run-transitions.ts";
import { TASK_LIMITS, taskSetup } from "./setup.ts";

/** State of the region `run`: it was cancelled or is beyond a limit, and is aborted until the host confirms that it has stopped. */
export const stopping = taskSetup.createStateConfig({
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
      entry: [assign({ stopAttempts: ({ context }) => context.stopAttempts + 1, nextDeadline: undefined }), emitStop],
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
