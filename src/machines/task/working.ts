import { and, assign } from "xstate";
import { isRefusedTooLong } from "./fallback.ts";
import { expectIdle, goOnWithNextModel, requestEndOfTurn, steerAgainLater } from "./run-transitions.ts";
import { taskSetup } from "./setup.ts";

/** State of the region `run`: the child is at work, as far as is known without asking the host. */
export const working = taskSetup.createStateConfig({
  id: "working",
  description: "OpenCode has the prompt, and the agent works on it.",
  initial: "busy",
  on: {
    HOST_RETRYING: { target: ".retrying", actions: "recordRetry" },
    HOST_IDLE: { target: "#verifying" },
    HOST_ERROR: { target: ".busy", ...expectIdle },
    TICK: { guard: "due", target: "#verifying" },
  },
  states: {
    busy: {
      tags: "working",
      description: "The agent is at work.",
      meta: { waitsFor: "agent" },
      on: {
        STEPS_WITHOUT_END: requestEndOfTurn,
        STEERING_STORED: {
          guard: "isOldestInstruction",
          target: "#verifying",
          description: "The agent may have ended its turn just before: OpenCode is asked.",
        },
        STEERING_REFUSED: steerAgainLater,
      },
    },
    retrying: {
      id: "retrying",
      tags: ["working", "retrying"],
      description:
        "The provider refuses the agent's requests for now: a rate limit, or too much load. OpenCode tries again by itself.",
      meta: { waitsFor: "provider" },
      entry: assign({
        nextDeadline: ({ context, event }) => (isRefusedTooLong(context) ? event.at : context.nextDeadline),
      }),
      on: {
        HOST_BUSY: { target: "busy", description: "OpenCode makes the request again." },
        HOST_ANSWERING: { target: "busy", actions: "forgetRetry" },
        STEPS_WITHOUT_END: requestEndOfTurn,
        TICK: { guard: and(["due", "isRefusedTooLong"]), ...goOnWithNextModel },
        STEERING_REFUSED: steerAgainLater,
      },
    },
    awaitingTasks: {
      id: "awaitingTasks",
      tags: "awaitingTasks",
      description: "The agent's turn has ended. It waits for tasks that it launched, and holds no slot.",
      meta: { waitsFor: "tasks" },
      entry: ["beginWait", assign({ nextDeadline: undefined })],
      on: {
        OWN_TASK_ENDED: { target: "busy", description: "Its result is on the way to the agent." },
        STEERING_STORED: {
          guard: "isOldestInstruction",
          target: "#verifying",
          description: "The agent has not seen it: OpenCode is asked, and then the agent is woken.",
        },
        STEERING_REFUSED: { target: "busy", ...steerAgainLater },
        HOST_BUSY: { target: "busy" },
      },
    },
  },
});
