import { and, assign, not } from "xstate";
import { backoff } from "../chart.ts";
import { gatingBefore } from "./gating.ts";
import { failAndStop, newestPrompt, RETRY_BACKOFF, schemaOf } from "./run-transitions.ts";
import { request, taskSetup } from "./setup.ts";

const AFTER_ACCEPTANCE = "OpenCode is asked once it has accepted the prompt.";

/** State of the region `run`: its newest message is sent, until the host takes it; before the first, its gate may be run. */
export const prompting = taskSetup.createStateConfig({
  description: "A gate may be run, and the prompt is sent.",
  initial: "sending",
  on: {
    HOST_RETRYING: {
      guard: not("isGatedBefore"),
      description: "This is noted: the prompt may have arrived.",
      actions: "recordRetry",
    },
  },
  states: {
    gatingBefore,
    sending: {
      id: "sending",
      description: "The prompt is on its way to OpenCode.",
      meta: { waitsFor: "acceptance" },
      entry: [
        "beginWait",
        assign({
          sendAttempts: ({ context }) => context.sendAttempts + 1,
          endedInChecks: undefined,
          hostError: undefined,
          idleHinted: false,
          missingSince: undefined,
          nextDeadline: undefined,
        }),
        request("sendPrompt", ({ context }) => ({
          taskId: context.facts.sessionID,
          prompt: newestPrompt(context),
          ...schemaOf(context),
          ...(context.redoesStep ? { redoesStep: true as const } : {}),
        })),
      ],
      on: {
        PROMPT_ACCEPTED: [
          { guard: "idleHinted", target: "#verifying", description: "It reported idle or an error before that." },
          { guard: "isRefusedForNow", target: "#retrying", description: "The provider refuses for now." },
          { target: "#working" },
        ],
        PROMPT_REFUSED: [{ guard: and(["retryable", "sendAttemptsLeft"]), target: "backingOff" }, failAndStop],
        SESSION_NOT_FOUND: { target: "#missing", actions: "recordNotFound" },
        HOST_IDLE: { description: AFTER_ACCEPTANCE, actions: "recordIdleHint" },
        HOST_ERROR: { description: AFTER_ACCEPTANCE, actions: "recordIdleHint" },
      },
    },
    backingOff: {
      id: "backingOff",
      description:
        "The prompt was refused or not answered, or a fault of OpenCode interrupted the run. It is sent again, with the same ids, after a pause.",
      meta: { waitsFor: "retry" },
      entry: [
        "beginWait",
        {
          type: "setDeadline",
          // After a fault of the host, the pause grows with each one.
          params: ({ context }) => backoff(context.sendAttempts || context.interruptions + 1, RETRY_BACKOFF),
        },
      ],
      on: {
        TICK: { guard: "due", target: "sending" },
        HOST_IDLE: { target: "#verifying" },
        HOST_ERROR: {
          guard: "wasSentSinceFault",
          target: "#verifying",
          description: "Right after a fault of OpenCode, it is a consequence of that.",
          actions: "recordIdleHint",
        },
      },
    },
  },
});
