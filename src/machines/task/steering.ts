// An instruction is stored in the child's conversation, not prompted: it starts no turn, so it cannot undo a cancel or an
// end of the same moment (docs/decisions/155-an-instruction-is-stored-not-prompted.md).
import { and, assign } from "xstate";
import { request, taskSetup, toPrompt } from "./setup.ts";

const STORED_AGAIN = "It may be stored already: with the same ids, that changes nothing.";

/** Whether further instructions for the run are on their way into the child's conversation. */
export const steering = taskSetup.createStateConfig({
  description: "Whether further instructions for the run are on their way into the agent's conversation.",
  initial: "none",
  on: {
    CANCEL: { guard: and(["live", "notStopping"]), target: ".none", actions: "dropInstructions" },
    LIMIT_EXCEEDED: {
      guard: and(["live", "notStopping", "wasSent"]),
      target: ".none",
      actions: "dropInstructions",
    },
    RUN_ENDED: { target: ".none", actions: "dropInstructions" },
    INSTRUCTION_SEEN: { guard: and(["live", "isUnseen"]), actions: "recordSeen" },
  },
  states: {
    none: {
      description: "OpenCode has stored every instruction.",
      on: {
        STEER: [
          {
            guard: "hasPrompt",
            target: "sending",
            actions: "addInstruction",
          },
          {
            guard: "takesInstructions",
            target: "waiting",
            description: "It is sent when the run's prompt is known to be there.",
            actions: "addInstruction",
          },
        ],
      },
    },
    waiting: {
      description: "Instructions wait until OpenCode is known to have the run's prompt.",
      on: {
        STEER: { guard: "takesInstructions", actions: "addInstruction" },
        PROMPT_ACCEPTED: { target: "sending" },
        CHECKED_BUSY: { guard: "isCurrentCheck", target: "sending" },
        CHECKED_AWAITING_TASKS: { guard: "isCurrentCheck", target: "sending" },
        CHECKED_ANSWERED: { guard: "isCurrentCheck", target: "sending" },
      },
    },
    sending: {
      description: "The oldest instruction is on its way to OpenCode. The others follow one by one.",
      entry: request("sendSteering", ({ context }) => {
        const { facts, run, instructions } = context;
        const oldest = instructions?.[0];
        const instruction = oldest && toPrompt(context, oldest);
        return instruction && { taskId: facts.sessionID, runMessageID: run.messageID, instruction };
      }),
      on: {
        STEER: {
          guard: "takesInstructions",
          description: "It is sent after the older ones.",
          actions: "addInstruction",
        },
        STEERING_STORED: [
          {
            guard: and(["isOldestInstruction", "moreInstructions"]),
            target: "sending",
            reenter: true,
            description: "The next one follows.",
            actions: "recordStored",
          },
          { guard: "isOldestInstruction", target: "none", actions: "recordStored" },
        ],
        STEERING_REFUSED: {
          guard: and(["isOldestInstruction", "maySteerAgain"]),
          target: "waiting",
          description: "It is sent again once OpenCode answers.",
          actions: assign({ steerAttempts: ({ context }) => (context.steerAttempts ?? 0) + 1 }),
        },
        ADOPTED: { target: "waiting", description: STORED_AGAIN },
        PAUSE: { guard: "mayPause", target: "waiting", description: STORED_AGAIN },
      },
    },
  },
});
