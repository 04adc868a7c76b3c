// The failure of a gate is given to the agent as an instruction, so that it is sent again, answered and recovered as every
// instruction is (docs/decisions/238-a-gate-is-a-state.md).

import { and, assign } from "xstate";
import { type TaskError, workDirectory } from "../../task.ts";
import type { GateEnd, TaskContext } from "./events.ts";
import { recordPause } from "./pausing.ts";
import { cancelled, endCompleted, endFailed, seenAtWork, steerAgainLater } from "./run-transitions.ts";
import { given, keptAnswer, request, taskSetup } from "./setup.ts";

/** Characters of the command's output that the error of a run quotes. */
const OUTPUT_CHARS = 500;

const endText = ({ exit, end, output }: GateEnd): string => {
  if (end === "notRun") return `could not be run: ${output}`;
  return end === "timedOut" ? "did not end within its time" : `ended with exit code ${exit}`;
};

/** Why a run ends whose answer did not pass. */
const gateError = ({ facts, gate }: TaskContext, end: GateEnd): TaskError => {
  const times = (gate?.failures ?? 0) + 1;
  const output = end.end === "notRun" ? "" : end.output.trim().slice(-OUTPUT_CHARS);
  return {
    name: "GateFailed",
    kind: "gate",
    message: `The answer did not pass the gate "${facts.gate?.command}", which ${endText(end)}${times > 1 ? ` (failure ${times})` : ""}.${output === "" ? "" : ` The end of its output: ${output}`}`,
  };
};

/** Records how the command ended. */
const recordGateEnd = taskSetup.assign({
  gate: given(
    "GATE_ENDED",
    ({ context: { gate }, event }) =>
      gate && { ...gate, failures: gate.failures + (event.end.exit === 0 ? 0 : 1), last: event.end },
  ),
});

/** Requests that the command be ended: it is not needed any more. */
const stopGate = request("stopGate", ({ context: { facts } }) => ({ taskId: facts.sessionID }));

/** The answer that was checked, as the context keeps it. */
const gatedAnswer = ({ gate }: TaskContext) => keptAnswer({ ...gate, result: gate?.answer });

/** The agent begins: its time counts from now on. */
const begin = taskSetup.assign({ queuedUntil: ({ event }) => event.at });

/** State within `prompting`: the gate's command shows whether it passed before the agent had done anything. */
export const gatingBefore = taskSetup.createStateConfig({
  id: "gatingBefore",
  description:
    "The run has its slot. Before the agent begins, the gate's command is run once, to be compared with later.",
  meta: { waitsFor: "gateBefore" },
  entry: [
    "beginWait",
    request("runGateBefore", ({ context: { facts } }) => {
      const { gate, sessionID: taskId } = facts;
      return gate && { taskId, directory: workDirectory(facts), gate };
    }),
  ],
  exit: stopGate,
  on: {
    GATE_ENDED_BEFORE: {
      target: "#sending",
      description: "However it ended, the agent begins.",
      actions: [begin, assign({ gateBefore: given("GATE_ENDED_BEFORE", ({ event }) => event.end) })],
    },
    CANCEL: { ...cancelled, description: "Nothing was sent yet: only the command is ended." },
    PAUSE: { target: "#paused", description: "Nothing was sent yet: the command is run anew.", actions: recordPause },
    ADOPTED: [
      {
        guard: "mayGateBeforeAgain",
        target: "#gatingBefore",
        reenter: true,
        description: "The command ended with that process, and is run again.",
        actions: assign({ endedInChecks: ({ context: { endedInChecks = 0 } }) => endedInChecks + 1 }),
      },
      {
        target: "#sending",
        description: "The command may be what ends OpenCode. How it ends is not known, and the agent begins.",
        actions: [begin, assign({ gateBefore: { end: "interrupted" } })],
      },
    ],
  },
});

/** State of the region `run`: the child has answered, and a command of the options checks what it did. */
export const gating = taskSetup.createStateConfig({
  id: "gating",
  description: "The agent has answered, and the gate's command checks what it did.",
  meta: { waitsFor: "gate" },
  entry: [
    "beginWait",
    assign({
      // The child was at work. That its process ended while this answer was checked is not forgotten.
      ...{ sendAttempts: 1, failedChecks: 0, missingSince: undefined, hostError: undefined },
      nextDeadline: undefined,
      misfits: undefined,
      gate: given("CHECKED_ANSWERED", ({ context: { gate }, event }) => {
        const { result: answer, incomplete, earlierText } = event;
        const { runs = 0, failures = 0 } = gate ?? {};
        return { runs: runs + 1, failures, answer, incomplete, earlierText, last: undefined };
      }),
    }),
    request("runGate", ({ context: { facts, gate: state } }) => {
      const { gate, sessionID: taskId } = facts;
      return gate && state && { taskId, gateRun: state.runs, directory: workDirectory(facts), gate };
    }),
  ],
  exit: stopGate,
  on: {
    GATE_ENDED: [
      {
        guard: and(["isCurrentGate", "isSteered"]),
        target: "#working",
        description: "An instruction is on its way: the run goes on with it.",
        actions: [recordGateEnd, seenAtWork],
      },
      {
        guard: and(["isCurrentGate", "hasPassed"]),
        target: "#idle",
        description: "The answer counts.",
        actions: [recordGateEnd, "recordEnd", assign(({ context }) => gatedAnswer(context)), endCompleted],
      },
      {
        guard: and(["isCurrentGate", "mayTryGateAgain"]),
        target: "#sending",
        description: "The agent is given what the command said, and goes on.",
        actions: [
          recordGateEnd,
          assign({
            sendAttempts: 0,
            failedChecks: 0,
            storedInstruction: given("GATE_ENDED", ({ event }) => {
              const { messageID, partID, prompt } = event;
              return { messageID, partID, prompt };
            }),
          }),
        ],
      },
      {
        guard: "isCurrentGate",
        target: "#idle",
        description: "It failed as often as it may be tried. The answer is kept.",
        actions: [
          assign(
            given("GATE_ENDED", ({ context, event }) => ({
              error: gateError(context, event.end),
              ...gatedAnswer(context),
            })),
          ),
          recordGateEnd,
          "recordEnd",
          endFailed,
        ],
      },
    ],
    STEERING_STORED: {
      guard: "isOldestInstruction",
      target: "#verifying",
      description: "The agent has not seen it: OpenCode is asked, and then the agent is woken.",
    },
    STEERING_REFUSED: { ...steerAgainLater, target: "#working" },
  },
});
