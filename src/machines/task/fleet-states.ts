// A task stays a task of the server that launched it while another one works on its run: so this chart knows what is
// recorded in the run's log, and never what runs there (docs/decisions/253-fleets-claim-runs-in-logs.md).
import { and, assign } from "xstate";
import type { TaskError } from "../../task.ts";
import { backoff } from "../chart.ts";
import {
  closeRun,
  deleted,
  deletedWhileStopping,
  ended,
  enqueueJob,
  failAndClose,
  failAndCloseWith,
  held,
  notEnqueued,
  notTaken,
  onClaim,
  readRun,
  requestRemoteStop,
} from "./fleet-transitions.ts";
import { cancelled, endCancelled, RETRY_BACKOFF, stoppedAtLimit } from "./run-transitions.ts";
import { TASK_LIMITS, taskSetup } from "./setup.ts";

const LOST: TaskError = {
  name: "ServerLost",
  kind: "fleet",
  message: "The servers that worked on the task are gone, and it may not be begun on another one.",
};

const NOT_WITHDRAWN: TaskError = {
  name: "NotWithdrawn",
  kind: "fleet",
  message:
    "The fleet could not be reached to stop the task. A server that has it may work on until it reaches the fleet.",
};

/**
 * State of the region `run`: the run is for any server of the fleet, and one of them works on it. Messages may be lost or late, so
 * the run's log decides what happened (docs/decisions/253-fleets-claim-runs-in-logs.md).
 */
export const fleet = taskSetup.createStateConfig({
  id: "fleet",
  description:
    "The run is for another server of the fleet, and one works on it. A launch is offered to all of them, a resume to the one that has the conversation.",
  meta: {
    refuses: {
      STEER: "works on another server, where it takes no further instructions",
      PAUSE: "works on another server, where it cannot be paused",
    },
  },
  initial: "unclaimed",
  on: {
    SESSION_DELETED: deleted,
    SUPERVISION_FAILED: {
      target: "#idle",
      description: "The server that has it is asked to stop.",
      actions: failAndClose,
    },
    ADOPTED: { description: "The log says what became of the run.", actions: readRun },
    REMOTE_ENDED: ended,
    CLOSED: notTaken,
  },
  states: {
    unclaimed: {
      description: "No server works on the run, as far as is known.",
      initial: "enqueuing",
      on: {
        REMOTE_CLAIMED: onClaim("claimed"),
        REMOTE_HELD: held,
        CANCEL: { target: "#closing", description: "The job may be queued already." },
      },
      states: {
        enqueuing: {
          id: "enqueuing",
          description: "The job is on its way to the broker of the fleet.",
          meta: { waitsFor: "fleet" },
          entry: [
            "beginWait",
            assign({ sendAttempts: ({ context }) => context.sendAttempts + 1, nextDeadline: undefined }),
            enqueueJob,
          ],
          on: {
            JOB_ENQUEUED: { target: "enqueued" },
            JOB_REFUSED: [{ guard: and(["mayEnqueueAgain", "sendAttemptsLeft"]), target: "pausing" }, ...notEnqueued],
            ADOPTED: {
              target: "enqueuing",
              reenter: true,
              description: "It is sent again. A job that is queued already stays the same.",
              actions: assign({ sendAttempts: 0 }),
            },
          },
        },
        pausing: {
          description: "The broker did not take the job. It is sent again after a pause.",
          meta: { waitsFor: "fleet" },
          entry: [
            "beginWait",
            { type: "setDeadline", params: ({ context }) => backoff(context.sendAttempts, RETRY_BACKOFF) },
          ],
          on: {
            TICK: { guard: "due", target: "enqueuing" },
          },
        },
        enqueued: {
          description: "The job waits in the fleet for a server that is free.",
          meta: { waitsFor: "server" },
          entry: ["beginWait", { type: "setDeadline", params: ({ context }) => context.facts.fleet?.patience ?? 0 }],
          on: {
            REMOTE_LOST: {
              target: "enqueuing",
              description: "The broker has lost it.",
              actions: assign({ sendAttempts: 0 }),
            },
            TICK: { guard: "due", target: "withdrawing" },
          },
        },
        withdrawing: {
          description: "No server has begun in time. The job is withdrawn.",
          meta: { waitsFor: "fleet" },
          entry: ["beginWait", closeRun, { type: "setDeadline", params: TASK_LIMITS.closeAgainAfter }],
          on: {
            TICK: { guard: "due", target: "withdrawing", reenter: true },
          },
        },
      },
    },
    claimed: {
      id: "claimed",
      description: "A server works on the run.",
      meta: { waitsFor: "agent" },
      entry: assign({ nextDeadline: undefined }),
      on: {
        REMOTE_CLAIMED: { ...onClaim("claimed"), description: "Another server has begun it anew." },
        REMOTE_LOST: [
          {
            guard: "mayBeginAgain",
            target: "#enqueuing",
            description: "It is begun anew by the next server.",
            actions: assign({ sendAttempts: 0 }),
          },
          {
            target: "#idle",
            description: "It was begun as often as it may.",
            actions: failAndCloseWith(LOST),
          },
        ],
        LIMIT_EXCEEDED: { target: "stopping", actions: "recordLimit" },
        CANCEL: { target: "stopping" },
      },
    },
    stopping: {
      tags: "stopping",
      description: "The run was cancelled, or is beyond a limit: nobody is to work on it.",
      meta: { waitsFor: "stop", refuses: { CANCEL: "is already being cancelled" } },
      initial: "requesting",
      on: {
        SESSION_DELETED: deletedWhileStopping,
        CLOSED: [stoppedAtLimit, cancelled],
        REMOTE_CLAIMED: { ...onClaim(".requesting"), description: "The server that has claimed it is asked to stop." },
      },
      states: {
        requesting: {
          description: "The server that works on the run is asked to stop.",
          entry: [
            "beginWait",
            assign({ stopAttempts: 1 }),
            requestRemoteStop,
            { type: "setDeadline", params: TASK_LIMITS.remoteStopTimeout },
          ],
          on: {
            REMOTE_LOST: { target: "closing" },
            TICK: { guard: "due", target: "closing", description: "It has not confirmed that it stopped." },
          },
        },
        closing: {
          id: "closing",
          description: "The run is closed in the fleet, so that nobody begins it, and no report of a server counts.",
          entry: [
            "beginWait",
            assign({ stopAttempts: ({ context }) => context.stopAttempts + 1 }),
            closeRun,
            { type: "setDeadline", params: TASK_LIMITS.closeAgainAfter },
          ],
          on: {
            TICK: [
              { guard: and(["due", "stopAttemptsLeft"]), target: "closing", reenter: true },
              { ...stoppedAtLimit, guard: and(["due", "isBeyondLimit"]) },
              {
                guard: "due",
                target: "#idle",
                description: "It was tried often enough; the task says so.",
                actions: ["recordEnd", { type: "recordError", params: NOT_WITHDRAWN }, endCancelled],
              },
            ],
          },
        },
      },
    },
  },
});
