import { and, assertEvent, not } from "xstate";
import type { GateResult } from "../../receipt.ts";
import { type ResultSchema, type TaskError, workDirectory } from "../../task.ts";
import { backoff } from "../chart.ts";
import type { Misfit, Prompt, ReceiptRequest, RunResult, TaskContext, TaskEvent } from "./events.ts";
import { runResult } from "./run-result.ts";
import { given, mayNotCheck, request, TASK_LIMITS, taskSetup, toPrompt } from "./setup.ts";
import { slotRequestOf } from "./slot.ts";

/*
 * What several states of the region `run` have in common: their actions, and where they lead to.
 */

/** The pauses before a prompt or an instruction is sent again. */
export const RETRY_BACKOFF = { first: TASK_LIMITS.firstBackoff, longest: TASK_LIMITS.longestBackoff };

const UNANSWERED: TaskError = {
  name: "Unanswered",
  kind: "unanswered",
  message: `OpenCode took the prompt but never answered it, though it was sent ${TASK_LIMITS.sendAttempts} times.`,
};

export const SESSION_DELETED: TaskError = {
  name: "SessionGone",
  kind: "sessionGone",
  message: "The task's session was deleted before it answered.",
};

const INTERRUPTED: TaskError = {
  name: "Interrupted",
  kind: "interrupted",
  message: "OpenCode ended while the task ran, and the task was not continued.",
};

/** The newest message of the run that the host has: sent again, it becomes the newest of the session. */
export const newestPrompt = (context: TaskContext): Prompt =>
  toPrompt(context, context.storedInstruction ?? context.run);

/** Returns the error of a run whose answer was never checked completely: the check is not repeated without end. */
function uncheckedError({ context: { facts, gate, endedInChecks } }: { context: TaskContext }): TaskError {
  const meanwhile = `OpenCode ended ${endedInChecks} times in a row meanwhile`;
  return gate
    ? {
        name: "GateInterrupted",
        kind: "gate",
        message: `The gate "${facts.gate?.command}" was not run to its end: ${meanwhile}.`,
      }
    : {
        name: "CheckInterrupted",
        kind: "schema",
        message: `The answer was not compared with its JSON Schema to the end: ${meanwhile}.`,
      };
}

/** The schema that answers must fit, to spread into an effect. */
export const schemaOf = ({ facts: { schema } }: TaskContext): { schema?: ResultSchema } => (schema ? { schema } : {});

/** The error that a run ends with. Whatever happens while it is stopped at a limit, the limit is the cause. */
function endError({ context, event }: { context: TaskContext; event: TaskEvent }): TaskError {
  if (context.limitError) return context.limitError;
  return "error" in event && event.error && "kind" in event.error ? event.error : UNANSWERED;
}

/** Requests that the session and its descendants be stopped. */
export const requestStop = request("stopSession", ({ context }) => ({
  taskId: context.facts.sessionID,
  messageID: context.run.messageID,
  requests: context.userRequests,
}));

/** Requests a slot for the newest run. */
export const requestSlot = request("requestSlot", ({ context }) => slotRequestOf(context));

/** How the gate's command ended, if it did; an answer that was given up before that has not come through it. */
const gateResult = ({ facts, gate, gateBefore: before }: TaskContext): GateResult | undefined => {
  if (!facts.gate || !gate?.last) return undefined;
  const { exit, end, files } = gate.last;
  const more = { ...(files ? { files } : {}), ...(before ? { before } : {}) };
  return { command: facts.gate.command, runs: gate.runs, exit, end, ...more };
};

const endedRun = ({ context, event }: { context: TaskContext; event: TaskEvent }): ReceiptRequest => ({
  taskId: context.facts.sessionID,
  messageID: context.run.messageID,
  run: context.run.index,
  directory: workDirectory(context.facts),
  startedAt: context.run.startedAt,
  endedAt: context.completedAt ?? context.run.startedAt,
  gate: gateResult(context),
  incomplete: (event.type === "RUN_ENDED" ? runResult(context, event.outcome) : context.lastRunResult)?.incomplete,
});

/** Requests the run's receipt. */
export const writeReceipt = request("writeReceipt", endedRun);

/** Requests the same, with what the host has stored of the run. */
export const completeReceipt = request("completeReceipt", endedRun);

/** Requests a check of the run in the host; answers to earlier checks no longer count. */
export const requestCheck = [
  taskSetup.assign({ checkId: ({ context }) => context.checkId + 1, nextDeadline: undefined }),
  request("checkRun", ({ context }) => {
    const { checkId, facts, run, storedInstruction, hostError, abortedAt, modelLeftAt, missingSince } = context;
    const messages = { messageID: run.messageID, instructionID: storedInstruction?.messageID };
    const known = { ...messages, hostError, abortedAt, modelLeftAt, wasMissing: missingSince !== undefined };
    const schema = mayNotCheck(context) ? {} : schemaOf(context);
    return { checkId, taskId: facts.sessionID, ...known, ...schema };
  }),
] as const;

/** Tells the other regions that the run has ended. Each transition to `idle` does so, and nothing else ends a run. */
const endRun = (outcome: RunResult["outcome"]) =>
  taskSetup.raise(({ event }) => ({ type: "RUN_ENDED", at: event.at, outcome }));

export const endCompleted = endRun("completed");
export const endFailed = endRun("error");
export const endCancelled = endRun("cancelled");

/** The run fails with this error. The host has not reported an end, so the session is stopped as well. */
export const failAndStopWith = (error: TaskError) =>
  ["recordEnd", { type: "recordError", params: error }, requestStop, endFailed] as const;

/** Records the error that the event brings, or the limit at which the run was stopped. */
export const recordEventError = { type: "recordError", params: endError } as const;

/** The host has shown that it works on the run: what was tried in vain before counts no longer. */
export const seenAtWork = taskSetup.assign({
  sendAttempts: 1,
  failedChecks: 0,
  endedInChecks: undefined,
  missingSince: undefined,
  hostError: undefined,
  redoesStep: undefined,
});

/** What the check found out about an answer that does not fit the schema. */
const misfitOf = (event: TaskEvent): Misfit | undefined => {
  assertEvent(event, "CHECKED_ANSWERED");
  return event.misfit;
};

/** The run is answered, unless an instruction is still on its way, or the answer does not fit the schema. */
export const complete = [
  {
    guard: and(["isCurrentCheck", "isSteered"]),
    target: "#working",
    description: "An instruction is on its way: the run goes on with it.",
    actions: seenAtWork,
  },
  {
    guard: and(["isCurrentCheck", "isMisfit", "mayRepair"]),
    target: "#sending",
    description: "The answer does not fit the schema: the agent is given what is wrong with it, and goes on.",
    actions: [
      seenAtWork,
      taskSetup.assign(({ context: { misfits = 0 }, event }) => {
        const { messageID = "", partID = "", prompt = "" } = misfitOf(event) ?? {};
        return { sendAttempts: 0, misfits: misfits + 1, storedInstruction: { messageID, partID, prompt } };
      }),
    ],
  },
  {
    guard: and(["isCurrentCheck", "isMisfit"]),
    target: "#idle",
    description: "It does not fit once more. The answer is kept.",
    actions: [
      "recordEnd",
      taskSetup.assign(given("CHECKED_ANSWERED", ({ event }) => ({ error: event.misfit?.error }))),
      "recordAnswer",
      endFailed,
    ],
  },
  {
    guard: and(["isCurrentCheck", "hasGate"]),
    target: "#gating",
    description: "The answer must pass the gate.",
  },
  {
    guard: "isCurrentCheck",
    target: "#idle",
    actions: ["recordEnd", "recordAnswer", endCompleted],
  },
] as const;

/** The same in a process that has taken the run over: the one before may have ended by the check of this answer. */
export const completeAfterTakeover = [
  {
    guard: and(["isCurrentCheck", "mayNotCheck", not("isSteered")]),
    target: "#idle",
    description:
      "OpenCode ended three times while the answer was checked, which is not begun again. The answer is kept.",
    actions: ["recordEnd", { type: "recordError", params: uncheckedError }, "recordAnswer", endFailed],
  },
  ...complete,
] as const;

const fail = { target: "#idle", actions: ["recordEnd", recordEventError, endFailed] } as const;

/** The run fails though the host has not reported an end: the session is stopped as well, since what still works on it costs money. */
export const failAndStop = {
  target: "#idle",
  description: "The run is given up, and whatever still works on it is stopped.",
  actions: ["recordEnd", recordEventError, requestStop, endFailed],
} as const;

/** The run goes on with the next model of the option `fallback`, in the same session. */
export const goOnWithNextModel = {
  target: "#changingModel",
  description: "Another model is asked.",
  actions: "recordRefusal",
} as const;

/** The run fails; where other models refused it before, the last one joins them. */
export const failRefused = { ...fail, actions: ["recordLastRefusal", "recordSaid", ...fail.actions] } as const;

/** The run failed: another model may do where its own is refused. */
export const failOrGoOn = [
  { guard: and(["isCurrentCheck", "isRefused"]), ...goOnWithNextModel },
  { guard: "isCurrentCheck", ...failRefused },
] as const;

/** The run ends as cancelled. */
export const cancelled = { target: "#idle", actions: ["recordEnd", endCancelled] } as const;

/** A run that was stopped at a limit fails; this comes before what ends other stopped runs. */
export const stoppedAtLimit = {
  guard: "isBeyondLimit",
  ...fail,
  description: "The run was stopped at a limit, which is its error.",
} as const;

const keepWorking = { guard: "isCurrentCheck", target: "#working", actions: seenAtWork } as const;

/** The check shows the child at work, or that its provider refuses for now. */
export const stillAtWork = [
  {
    guard: and(["isCurrentCheck", "isRefusedForNow"]),
    target: "#retrying",
    description: "The provider refuses for now.",
    actions: seenAtWork,
  },
  keepWorking,
] as const;

/** The child's turn has ended, and tasks that it launched run. */
export const awaitTasks = {
  ...keepWorking,
  target: "#awaitingTasks",
  description: "It receives their results, and goes on.",
} as const;

/** An error in the session: the run is likely to have failed. */
export const expectIdle = {
  description: "Idle should follow; if it does not, OpenCode is asked after a moment.",
  actions: ["recordIdleHint", { type: "setDeadline", params: TASK_LIMITS.checkAfterError }],
} as const;

/** The host did not take the instruction, and may the next time. */
export const steerAgainLater = {
  guard: and(["isOldestInstruction", "maySteerAgain"]),
  description: "OpenCode is asked about the run after a pause, and then the instruction is sent again.",
  actions: {
    type: "setDeadline",
    params: ({ context }: { context: TaskContext }) => backoff((context.steerAttempts ?? 0) + 1, RETRY_BACKOFF),
  },
} as const;

/** Requests that the turn be ended: the host would otherwise ask the model for ever. */
export const requestEndOfTurn = {
  description: "That turn is ended. If OpenCode does not report it as idle then, it is asked after a moment.",
  actions: [
    { type: "setDeadline", params: TASK_LIMITS.checkAfterError },
    request("endTurn", ({ context }) => ({ taskId: context.facts.sessionID })),
  ],
} as const;

export const countFailedCheck = taskSetup.assign({ failedChecks: ({ context }) => context.failedChecks + 1 });

/** Requests another check after a moment. */
export const checkAgainLater = { type: "setDeadline", params: TASK_LIMITS.recheckAfter } as const;

const ASKED_AGAIN = "It is asked again after a moment.";

/** The host did not answer the check, and may be asked again. */
export const askAgain = {
  guard: and(["isCurrentCheck", "failedChecksLeft"]),
  description: ASKED_AGAIN,
  actions: [countFailedCheck, checkAgainLater],
} as const;

/** The host did not find the session, which may pass. */
export const askAgainForSession = {
  guard: "isCurrentCheck",
  description: ASKED_AGAIN,
  actions: ["recordNotFound", checkAgainLater],
} as const;

/**
 * A fault of the host, such as a database that is locked, interrupted the run. It is no failure of the model: as after the end
 * of a process, the run goes on, unless that happens again and again.
 * @param whether the other condition: after the end of a process, its recovery says whether runs go on
 */
export const continueAfterFault = (whether: "mayContinue" | "mayBeInterrupted") =>
  [
    {
      guard: and(["isCurrentCheck", whether]),
      target: "#backingOff",
      description: "It was interrupted, and continues after the last step that was finished.",
      actions: [
        "countInterruption",
        taskSetup.assign({
          sendAttempts: 0,
          abortedAt: ({ context, event }) =>
            (event.type === "CHECKED_HOST_FAULT" ? event.completedAt : undefined) ?? context.abortedAt,
        }),
      ],
    },
    { guard: "isCurrentCheck", ...failAndStop },
  ] as const;

/** The run was interrupted. Sent again with the same ids, its prompt continues after the last step that was finished. */
export const continueOrFail = [
  {
    guard: and(["isCurrentCheck", "mayContinue"]),
    target: "#sending",
    description: "It was interrupted, and continues after the last step that was finished.",
    actions: [
      "countInterruption",
      taskSetup.assign({
        sendAttempts: 0,
        interruptedAt: ({ event }) => event.at,
        abortedAt: ({ context, event }) => (event.type === "CHECKED_ABORTED" ? event.completedAt : context.abortedAt),
      }),
    ],
  },
  {
    guard: "isCurrentCheck",
    target: "#idle",
    description: "It was interrupted, and is not continued.",
    actions: failAndStopWith(INTERRUPTED),
  },
] as const;
