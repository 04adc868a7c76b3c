// A task stays a task of the server that launched it while another one works on its run: so this chart knows what is
// recorded in the run's log, and never what runs there (docs/decisions/253-fleets-claim-runs-in-logs.md).
import { and, assign } from "xstate";
import type { TaskError } from "../../task.ts";
import { backoff } from "../backoff.ts";
import {
  claimed,
  closeRun,
  deleted,
  deletedWhileStopping,
  ended,
  failAndClose,
  failAndCloseWith,
  held,
  notOrdered,
  notTaken,
  readRun,
  recallRun,
  sendOrder,
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

/** State of the region `run`: the run is for any server of the fleet, and one of them works on it. */
export const fleet = taskSetup.createStateConfig({
  id: "fleet",
  description:
    "The run is for another server of the fleet, and one works on it. A launch is offered to all of them, a resume to the one that has the conversation.",
  meta: { refuses: { STEER: "works on another server, where it takes no further instructions" } },
  initial: "ordering",
  on: {
    SESSION_DELETED: deleted,
    SUPERVISION_FAILED: { target: "#idle", description: "The server that has it is to stop.", actions: failAndClose },
    ADOPTED: { description: "The log says what became of the run.", actions: readRun },
    REMOTE_ENDED: ended,
    CLOSED: notTaken,
  },
  states: {
    ordering: {
      description: "The order is on its way to the engine of the fleet.",
      meta: { waitsFor: "fleet" },
      entry: [
        "beginWait",
        assign({ sendAttempts: ({ context }) => context.sendAttempts + 1, nextDeadline: undefined }),
        sendOrder,
      ],
      on: {
        ORDERED: { target: "ordered" },
        ORDER_REFUSED: [{ guard: and(["mayOrderAgain", "sendAttemptsLeft"]), target: "pausing" }, ...notOrdered],
        REMOTE_CLAIMED: claimed("away"),
        REMOTE_HELD: held,
        ADOPTED: {
          target: "ordering",
          reenter: true,
          description: "It is sent again. An order that is there already stays the same.",
          actions: assign({ sendAttempts: 0 }),
        },
        CANCEL: { target: "closing", description: "The order may be there already." },
      },
    },
    pausing: {
      description: "The engine did not take the order. It is sent again after a pause.",
      meta: { waitsFor: "fleet" },
      entry: [
        "beginWait",
        { type: "setDeadline", params: ({ context }) => backoff(context.sendAttempts, RETRY_BACKOFF) },
      ],
      on: {
        TICK: { guard: "due", target: "ordering" },
        REMOTE_CLAIMED: claimed("away"),
        REMOTE_HELD: held,
        CANCEL: { target: "closing", description: "The order may be there all the same." },
      },
    },
    ordered: {
      description: "The order waits in the fleet for a server that is free.",
      meta: { waitsFor: "server" },
      entry: ["beginWait", { type: "setDeadline", params: ({ context }) => context.facts.fleet?.patience ?? 0 }],
      on: {
        REMOTE_CLAIMED: claimed("away"),
        REMOTE_HELD: held,
        REMOTE_LOST: {
          target: "ordering",
          description: "The engine has lost it.",
          actions: assign({ sendAttempts: 0 }),
        },
        TICK: { guard: "due", target: "withdrawing" },
        CANCEL: { target: "closing" },
      },
    },
    withdrawing: {
      description: "No server has begun in time. The order is taken back.",
      meta: { waitsFor: "fleet" },
      entry: ["beginWait", closeRun, { type: "setDeadline", params: TASK_LIMITS.closeAgainAfter }],
      on: {
        REMOTE_CLAIMED: claimed("away"),
        REMOTE_HELD: held,
        TICK: { guard: "due", target: "withdrawing", reenter: true },
        CANCEL: { target: "closing" },
      },
    },
    away: {
      id: "away",
      description: "A server works on the run.",
      meta: { waitsFor: "agent" },
      entry: assign({ nextDeadline: undefined }),
      on: {
        REMOTE_CLAIMED: { ...claimed("away"), description: "Another server has begun it anew." },
        REMOTE_LOST: [
          {
            guard: "mayBeginAgain",
            target: "ordering",
            description: "It is begun anew by the next server.",
            actions: assign({ sendAttempts: 0 }),
          },
          {
            target: "#idle",
            description: "It was begun as often as it may.",
            actions: failAndCloseWith(LOST),
          },
        ],
        LIMIT_EXCEEDED: { target: "recalling", actions: "recordLimit" },
        CANCEL: { target: "recalling" },
      },
    },
    recalling: {
      tags: "stopping",
      description: "The server that works on the run is asked to stop.",
      meta: { waitsFor: "stop", refuses: { CANCEL: "is already being cancelled" } },
      entry: [
        "beginWait",
        assign({ stopAttempts: 1 }),
        recallRun,
        { type: "setDeadline", params: TASK_LIMITS.recallFor },
      ],
      on: {
        SESSION_DELETED: deletedWhileStopping,
        CLOSED: [stoppedAtLimit, cancelled],
        REMOTE_CLAIMED: { ...claimed("recalling"), reenter: true, description: "That one is asked as well." },
        REMOTE_LOST: { target: "closing" },
        TICK: { guard: "due", target: "closing", description: "It has not said that it stopped." },
      },
    },
    closing: {
      tags: "stopping",
      description: "The run is closed in the fleet, so that nobody begins it, and nothing that a server says counts.",
      meta: { waitsFor: "stop", refuses: { CANCEL: "is already being cancelled" } },
      entry: [
        "beginWait",
        assign({ stopAttempts: ({ context }) => context.stopAttempts + 1 }),
        closeRun,
        { type: "setDeadline", params: TASK_LIMITS.closeAgainAfter },
      ],
      on: {
        SESSION_DELETED: deletedWhileStopping,
        CLOSED: [stoppedAtLimit, cancelled],
        REMOTE_CLAIMED: { ...claimed("recalling"), description: "A server has begun it before." },
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
});
