import { and, assign, not, or, setup, stateIn } from "xstate";
import { type Claim, isStop, type RunAnswer, type TaskError, type WaitsFor } from "../../task.ts";
import { type Phrased, phrasing, readingEvents, requesting } from "../chart.ts";
import { ABORTED } from "../host-events.ts";
import type { Instruction, Prompt, TaskContext, TaskEffect, TaskEvent, TaskInput } from "./events.ts";
import { goesOn, isRefusedTooLong, modelOf, nextModelWithout, refusedModelsWith } from "./fallback.ts";
import { retryObstacle } from "./retry-obstacle.ts";
import { runResult } from "./run-result.ts";

/**
 * Pauses in milliseconds, and how often something is tried. An answer may take hours: these only bound how long the host
 * may stay silent or contradict itself.
 */
export const TASK_LIMITS = {
  /** From a check that the host did not answer, or in which it did not find the session, to the next one. */
  recheckAfter: 5_000,
  /** From an error event that no idle follows to the check: the host finishes a failed run within 500 ms (measured). */
  checkAfterError: 1_000,
  /** From an abort to the cancellation: an OpenCode that is ending disposes of its plugins within 100 ms (measured). */
  cancelAfterAbort: 500,
  /** Before a prompt is sent for the second time; doubled each time, up to `longestBackoff`. */
  firstBackoff: 1_000,
  longestBackoff: 30_000,
  /** How often a prompt is sent without a sign of work before the run is given up, after about a minute. */
  sendAttempts: 7,
  /** How many checks in a row the host may leave unanswered: about a minute. */
  failedChecks: 12,
  /** Between two attempts to stop a session whose prompt may still arrive (up to 2 s on a cold start, measured). */
  stopAgainAfter: 300,
  stopAttempts: 10,
  /**
   * How often in a row a run is continued after an interruption without finishing a step in between: it may itself be
   * what makes OpenCode crash. Quitting is no such thing, so a finished step starts the count anew.
   */
  interruptions: 2,
  /** How often in a row a child whose answer does not fit the schema is asked for another one. */
  repairs: 1,
  /** From a request to a server to stop until its answer is waited for no longer: it looks each 20 s. */
  remoteStopTimeout: 70_000,
  /** Between two attempts to close a run in the fleet. */
  closeAgainAfter: 5_000,
} as const;

/** What a run begins with. A task that goes on keeps nothing of the run before but its answer. */
export const NEW_RUN = {
  sendAttempts: 0,
  stopAttempts: 0,
  failedChecks: 0,
  interruptions: 0,
  idleHinted: false,
  missingSince: undefined,
  nextDeadline: undefined,
  hostError: undefined,
  abortedAt: undefined,
  queuedUntil: undefined,
  completedAt: undefined,
  lastStepAt: undefined,
  interruptedAt: undefined,
  lostRequests: undefined,
  redoesStep: undefined,
  blockedCalls: undefined,
  storedInstruction: undefined,
  given: undefined,
  retry: undefined,
  pause: undefined,
  model: undefined,
  refusedModels: undefined,
  modelLeftAt: undefined,
  gate: undefined,
  misfits: undefined,
  endedInChecks: undefined,
  remote: undefined,
  receipt: undefined,
  isReceiptIncomplete: undefined,
} satisfies Partial<TaskContext>;

/** Returns when the step ended that an event reports; where it did not end, as after a fault of OpenCode, when that was noticed. */
export const endedAtIn = (event: TaskEvent): number =>
  ("completedAt" in event ? event.completedAt : undefined) ?? event.at;

const seenStepAt = (event: TaskEvent): number | undefined => ("lastStepAt" in event ? event.lastStepAt : undefined);

/** True when the run has finished a step since it was last interrupted: then it is not what makes OpenCode crash. */
const hasProgressed = (context: TaskContext, event: TaskEvent): boolean =>
  (seenStepAt(event) ?? 0) > (context.lastStepAt ?? 0);

/** A run may be interrupted so often without finishing a step in between. */
const mayBeInterrupted = (context: TaskContext, event: TaskEvent): boolean =>
  context.interruptions < TASK_LIMITS.interruptions || hasProgressed(context, event);

/** When the run finished its newest known step, epoch milliseconds; undefined before the first one. */
const newestStepAt = (context: TaskContext, event: TaskEvent): number | undefined =>
  hasProgressed(context, event) ? seenStepAt(event) : context.lastStepAt;

/** The number of interruptions in a row, including this one. Progress in between starts the count anew. */
const interruptionsWith = (context: TaskContext, event: TaskEvent): number =>
  hasProgressed(context, event) ? 1 : context.interruptions + 1;

/** What the context keeps of an answer, in place of all that it kept of the one before. */
export const keptAnswer = ({
  result,
  incomplete,
  earlierText,
}: Omit<RunAnswer, "result"> & { result: string | undefined }) => ({
  result,
  incomplete,
  earlierText,
  resultRetrievedAt: undefined,
});

/** True where OpenCode has ended too often while the answer was checked: that may be what ends it. */
export const mayNotCheck = ({ endedInChecks = 0 }: TaskContext): boolean => endedInChecks > TASK_LIMITS.interruptions;

/** True until the host makes the request again that the provider refused for now. */
const isRefusedForNow = ({ retry }: TaskContext, at: number): boolean => retry !== undefined && at < retry.until;

/** Empty lists are stored as undefined. */
const orUndefined = <T>(list: T[]): T[] | undefined => (list.length > 0 ? list : undefined);

/** Returns a message of a run as the host takes it. */
export const toPrompt = (context: TaskContext, { messageID, partID, prompt }: Instruction): Prompt => {
  const { sessionID, agent } = context.facts;
  return { sessionID, messageID, parts: [{ id: partID, text: prompt }], agent, model: modelOf(context) };
};

/** True for a claim of a newer log, or a later one of the same log: the server that wrote it works on the run now. */
export const isNewer = (claim: Claim, than: Claim | undefined): boolean =>
  than === undefined || claim.epoch > than.epoch || (claim.epoch === than.epoch && claim.seq > than.seq);

/** True for two claims of the same place. */
export const isSameClaim = (one: Claim | undefined, other: Claim | undefined): boolean =>
  one !== undefined && one.epoch === other?.epoch && one.seq === other.seq;

/** The events that end the wait of a tool call for a task. */
const WAIT_ENDS = ["WAIT_ABANDONED", "WAIT_DELIVERED"] as const;

/** Wraps what reads an event of one type, or of a few. */
export const given = readingEvents<TaskContext, TaskEvent>();

/** True for a request that the task go on with another model. */
export const namesModel = (event: TaskEvent): boolean =>
  (event.type === "RETRY" || event.type === "NEXT_RUN_ASKED") && event.model !== undefined;

const when = phrasing<TaskContext, TaskEvent>();

/** The task chart's types, and every guard and action that it names. */
export const taskSetup = setup({
  types: {
    context: {} as TaskContext,
    events: {} as TaskEvent,
    input: {} as TaskInput,
    meta: {} as {
      /** Why the state refuses an event, in words that follow "task …". */
      refuses?: Partial<Record<TaskEvent["type"], string>>;
      /** What a run waits for in the state. Each state of the region `run` but `idle` says it. */
      waitsFor?: WaitsFor;
    },
    tags: {} as "working" | "retrying" | "awaitingTasks" | "stopping",
  },
  actions: {
    /** The only way out of the chart. It does nothing here: the supervisor provides what really happens. */
    emitEffect: (_, _effect: TaskEffect) => undefined,
    setDeadline: assign({ nextDeadline: ({ event }, delay: number) => event.at + delay }),
    recordIdleHint: assign({
      idleHinted: true,
      // The first error names the cause; later ones are its consequences.
      hostError: ({ context, event }) => context.hostError ?? (event.type === "HOST_ERROR" ? event.error : undefined),
    }),
    recordEnd: assign({
      completedAt: ({ event }) => endedAtIn(event),
      nextDeadline: undefined,
      missingSince: undefined,
      waitingSince: undefined,
    }),
    recordRetry: assign({
      retry: given("HOST_RETRYING", ({ context: { retry }, event }) => {
        const { at, attempt, message, until } = event;
        return { attempt, message, until, since: (attempt > 1 && retry?.since) || at };
      }),
    }),
    forgetRetry: assign({ retry: undefined }),
    /** The model that was asked joins those that refused the run, with what the provider said last. */
    recordRefusal: assign({
      refusedModels: ({ context, event }) =>
        event.type === "CHECKED_FAILED"
          ? refusedModelsWith(context, event.error.message, event.model)
          : refusedModelsWith(context, context.retry?.message ?? ""),
    }),
    /** Where others refused it before, the last one joins them. */
    recordLastRefusal: assign({
      refusedModels: given("CHECKED_FAILED", ({ context, event }) =>
        context.refusedModels && event.error.refusal
          ? refusedModelsWith(context, event.error.message, event.model)
          : context.refusedModels,
      ),
    }),
    beginWait: assign({ waitingSince: ({ event }) => event.at }),
    recordNotFound: assign({ missingSince: ({ context, event }) => context.missingSince ?? event.at }),
    recordError: assign({ error: (_, error: TaskError) => error }),
    /** What the child said so far becomes the result. It may have said something in an earlier run only: that is no part of it. */
    recordLimit: assign(
      given("LIMIT_EXCEEDED", ({ event }) => ({ limitError: event.error, ...keptAnswer({ result: event.said }) })),
    ),
    /** The answer becomes the result, of which it may be known that it is not whole. */
    recordAnswer: assign(given("CHECKED_ANSWERED", ({ event }) => keptAnswer(event))),
    /** Where the answer itself is what failed, what was said of it becomes the result; otherwise that of the run before is kept. */
    recordSaid: assign(
      given("CHECKED_FAILED", ({ event }) => (isStop(event.error) ? keptAnswer({ result: event.said }) : {})),
    ),
    /** The run was interrupted, and goes on. */
    countInterruption: assign(({ context, event }) => ({
      failedChecks: 0,
      hostError: undefined,
      interruptions: interruptionsWith(context, event),
      lastStepAt: newestStepAt(context, event),
    })),
    recordReceipt: assign({
      receipt: given("RECEIPT_WRITTEN", ({ event }) => event.receipt),
      isReceiptIncomplete: undefined,
    }),
    recordRunResult: assign({
      lastRunResult: given("RUN_ENDED", ({ context, event }) => runResult(context, event.outcome)),
    }),
    addInstruction: assign(
      given("STEER", ({ context: { instructions = [], given: all = [] }, event }) => {
        const { at, messageID, partID, prompt, text, from } = event;
        return {
          instructions: [...instructions, { messageID, partID, prompt }],
          given: [...all, { messageID, text, from, at }],
        };
      }),
    ),
    /** They are stored in the order in which they were given: a step that was shown one was shown those before it. */
    recordSeen: assign({
      given: given("INSTRUCTION_SEEN", ({ context: { given: all = [] }, event }) => {
        const newest = all.findIndex(({ messageID }) => messageID === event.messageID);
        return all.map((each, index) => (index > newest || each.seenAt ? each : { ...each, seenAt: event.at }));
      }),
    }),
    /** Takes the oldest instruction off the list: the host has it. */
    recordStored: assign(({ context: { instructions = [] } }) => ({
      instructions: instructions.length > 1 ? instructions.slice(1) : undefined,
      storedInstruction: instructions[0],
      steerAttempts: undefined,
    })),
    dropInstructions: assign({ instructions: undefined, steerAttempts: undefined }),
    addUserRequest: assign({
      userRequests: given("REQUEST_ASKED", ({ context, event }) => [...context.userRequests, event.request]),
      lostRequests: undefined,
      redoesStep: undefined,
      // A child that asks is at work. One whose request is rejected may stop, and must be sent its prompt again.
      sendAttempts: ({ context }) => Math.min(context.sendAttempts, 1),
    }),
    removeUserRequest: assign({
      userRequests: given("REQUEST_ANSWERED", ({ context, event }) =>
        context.userRequests.filter(({ id }) => id !== event.id),
      ),
    }),
    addBlockedCall: assign({
      blockedCalls: given("CALL_BLOCKED", ({ context: { blockedCalls = [] }, event }) => {
        const { call: blocked, taskIds, at } = event;
        return [...blockedCalls.filter(({ call }) => call !== blocked), { call: blocked, taskIds, since: at }];
      }),
    }),
    removeBlockedCall: assign({
      blockedCalls: given("CALL_RETURNED", ({ context: { blockedCalls = [] }, event }) =>
        orUndefined(blockedCalls.filter(({ call }) => call !== event.call)),
      ),
    }),
    removeBlockingTask: assign({
      blockedCalls: given("OWN_TASK_ENDED", ({ context: { blockedCalls = [] }, event }) =>
        orUndefined(
          blockedCalls
            .map((call) => ({ ...call, taskIds: call.taskIds.filter((taskId) => taskId !== event.taskId) }))
            .filter(({ taskIds }) => taskIds.length > 0),
        ),
      ),
    }),
    addWaiter: assign({
      waiters: given("WAIT_BEGAN", ({ context, event }) => [...context.waiters, event.call]),
    }),
    removeWaiter: assign({
      waiters: given(WAIT_ENDS, ({ context, event }) => context.waiters.filter((call) => call !== event.call)),
    }),
  },
  guards: {
    due: when(
      "the delay is over",
      ({ context: { nextDeadline = Number.POSITIVE_INFINITY }, event }) => event.at >= nextDeadline,
    ),
    idleHinted: when(
      "OpenCode reported the session idle, or an error in it, before that",
      ({ context }) => context.idleHinted,
    ),
    live: when("the run has not ended", ({ context }) => context.completedAt === undefined),
    isCompleted: when(
      "it was answered",
      given("RUN_ENDED", ({ event }) => event.outcome === "completed"),
    ),
    isFailed: when(
      "it failed",
      given("RUN_ENDED", ({ event }) => event.outcome === "error"),
    ),
    mayEndOtherwise: when(
      "the next run may end otherwise",
      ({ context, event }) => retryObstacle(context.error, namesModel(event)) === undefined,
    ),
    retryable: when(
      "OpenCode may take it the next time",
      given("PROMPT_REFUSED", ({ event }) => event.retryable),
    ),
    /** False from an interruption until the run is sent again. */
    wasSentSinceFault: when(
      "the prompt was sent since the last interruption",
      ({ context }) => context.sendAttempts > 0,
    ),
    sendAttemptsLeft: when(
      "the prompt may be sent again",
      ({ context }) => context.sendAttempts < TASK_LIMITS.sendAttempts,
    ),
    failedChecksLeft: when(
      "OpenCode may be asked again",
      ({ context }) => context.failedChecks + 1 < TASK_LIMITS.failedChecks,
    ),
    notStopping: when("the run is not being stopped", ({ context }) => context.stopAttempts === 0),
    mayPause: when("the run is at work or waits for that", or(["isQueued", stateIn("#active")])),
    hasBegunBefore: when(
      "something was sent before the pause",
      ({ context: { pause } }) => pause?.wasSent === true,
      "nothing was sent before the pause",
    ),
    waitsForProvider: when(
      "it waits for its provider to serve again",
      ({ context: { pause } }) => pause?.refusal !== undefined,
    ),
    pauseAttemptsLeft: when(
      "it may be tried again",
      ({ context: { pause } }) => (pause?.attempts ?? 0) < TASK_LIMITS.stopAttempts,
    ),
    isFinal: when("the answer ends the run", and([not("isSteered"), not("isMisfit"), not("hasGate")])),
    isBeyondLimit: when("the run is beyond a limit", ({ context }) => context.limitError !== undefined),
    stopAttemptsLeft: when("it may be tried again", ({ context }) => context.stopAttempts < TASK_LIMITS.stopAttempts),
    isCurrentCheck: when(
      "it answers the newest question",
      ({ context, event }) => "checkId" in event && event.checkId === context.checkId,
    ),
    goesOn: when(
      "the run has left the task's own model",
      ({ context }) => goesOn(context),
      "the run has the task's own model",
    ),
    hasRetry: when("the provider had refused the request", ({ context }) => context.retry !== undefined),
    isRefusedForNow: when(
      "the provider refuses for now",
      ({ context, event }) => isRefusedForNow(context, event.at),
      "the provider does not refuse for now",
    ),
    isRefused: when(
      "the model is refused while another one is left",
      given(
        "CHECKED_FAILED",
        ({ context, event }) =>
          event.error.refusal !== undefined && nextModelWithout(context, event.model) !== undefined,
      ),
    ),
    isToContinue: when("interrupted runs go on", ({ context }) => context.recovery === "continue"),
    isAbort: when(
      "the error is an abort",
      given("HOST_ERROR", ({ event }) => event.error.name === ABORTED),
    ),
    isRefusedTooLong: when("the provider refuses for too long while another model is left", ({ context }) =>
      isRefusedTooLong(context),
    ),
    isBlockedCall: when(
      "that call was waiting",
      given("CALL_RETURNED", ({ context: { blockedCalls = [] }, event }) =>
        blockedCalls.some(({ call }) => call === event.call),
      ),
    ),
    blockedByTask: when(
      "a tool call waits for that task",
      given("OWN_TASK_ENDED", ({ context: { blockedCalls = [] }, event }) =>
        blockedCalls.some(({ taskIds }) => taskIds.includes(event.taskId)),
      ),
    ),
    isMisfit: when(
      "the answer does not fit the schema",
      given("CHECKED_ANSWERED", ({ event }) => event.misfit !== undefined),
    ),
    /** The process ended as often as it may while this answer was checked: the check is not begun again. */
    mayNotCheck: when("OpenCode ended too often while this answer was checked", ({ context }) => mayNotCheck(context)),
    hasSchema: when("the answer must fit a schema", ({ context }) => context.facts.schema !== undefined),
    mayRepair: when("the agent may correct it", ({ context: { misfits = 0 } }) => misfits < TASK_LIMITS.repairs),
    hasGate: when("the answer must pass a gate", ({ context }) => context.facts.gate !== undefined),
    isGateBeforeDue: when(
      "the gate is run first",
      // A run that was cancelled early has sent its agent nothing: the retry is then the first that does.
      ({ context: { facts, gateBefore } }) => facts.gate?.before === true && gateBefore === undefined,
    ),
    mayGateBeforeAgain: when(
      "OpenCode has not ended too often while the command ran",
      ({ context: { endedInChecks = 0 } }) => endedInChecks < TASK_LIMITS.interruptions,
    ),
    isCurrentGate: when(
      "it is the newest start of the command",
      given("GATE_ENDED", ({ context, event }) => event.gateRun === context.gate?.runs),
    ),
    hasPassed: when(
      "the command succeeded",
      given("GATE_ENDED", ({ event }) => event.end.exit === 0),
    ),
    mayTryGateAgain: when(
      "the agent may try again",
      given(
        "GATE_ENDED",
        ({ context: { facts, gate }, event }) =>
          event.end.end !== "notRun" && (gate?.failures ?? 0) < (facts.gate?.tries ?? 0),
      ),
    ),
    isForFleet: when(
      "the run is for the fleet",
      ({ context: { facts, run, remote } }) => facts.fleet !== undefined && (run.index === 0 || remote !== undefined),
    ),
    isLaunch: when("it is the task's first run", ({ context: { run } }) => run.index === 0),
    /** The run is for other servers, and none is to be at work on it: none has claimed it, or it is being stopped. */
    noServerWorks: when(
      "the run waits for a server",
      and(["isInFleet", not("isClaimed")]),
      "the run waits for no server",
    ),
    isNewClaim: when(
      "the claim is newer than the one that is known",
      given(
        "REMOTE_CLAIMED",
        ({ context: { remote }, event }) => event.isNewestForgotten === true || isNewer(event.claim, remote?.claim),
      ),
    ),
    isNewestClaim: when(
      "it comes from the server that claimed the run last",
      given(
        ["REMOTE_ENDED", "REMOTE_HELD"],
        ({ context: { remote }, event }) =>
          remote !== undefined && remote.attempts.length > 0 && isSameClaim(event.claim, remote.claim),
      ),
    ),
    isRemotelyCompleted: when(
      "it was answered there",
      given("REMOTE_ENDED", ({ event }) => event.outcome === "completed"),
    ),
    isRemotelyFailed: when(
      "it failed there",
      given("REMOTE_ENDED", ({ event }) => event.outcome === "error"),
    ),
    mayEnqueueAgain: when(
      "the broker may take it the next time",
      given("JOB_REFUSED", ({ event }) => event.retryable),
    ),
    mayBeginAgain: when(
      "another server may begin the run anew",
      ({ context: { facts, remote } }) => (remote?.attempts.length ?? 0) < (facts.fleet?.attempts ?? 0),
    ),
    hasReceipt: when("the receipt is written already", ({ context }) => context.receipt !== undefined),
    isReceiptOfRun: when(
      "it is the newest run's, which has none yet",
      given(
        "RECEIPT_WRITTEN",
        ({ context, event }) => context.receipt === undefined && event.receipt.run === context.run.index,
      ),
    ),
    lacksReceipt: when(
      "the ended run has no receipt",
      ({ context }) => context.completedAt !== undefined && context.receipt === undefined,
    ),
    isReceiptIncomplete: when("the receipt is incomplete", ({ context }) => context.isReceiptIncomplete === true),
    waitedFor: when(
      "a tool call waits for the run",
      ({ context }) => context.waiters.length > 0,
      "no tool call waits for the run",
    ),
    isWaiter: when(
      "that call was waiting",
      given(WAIT_ENDS, ({ context, event }) => context.waiters.includes(event.call)),
    ),
    isOnlyWaiter: when(
      "no other call waits",
      given(WAIT_ENDS, ({ context, event }) => context.waiters.every((call) => call === event.call)),
    ),
    mayContinue: when(
      "this run goes on when it is interrupted",
      ({ context, event }) => context.recovery === "continue" && mayBeInterrupted(context, event),
    ),
    mayBeInterrupted: when("the run was not interrupted too often", ({ context, event }) =>
      mayBeInterrupted(context, event),
    ),
    noNoticePending: when(
      "no prompt carries the notice any more",
      given("ADOPTED", ({ event }) => !event.isNoticePending),
    ),
    newRequest: when(
      "the request is new",
      given("REQUEST_ASKED", ({ context, event }) => context.userRequests.every(({ id }) => id !== event.request.id)),
    ),
    isQuestion: when(
      "it is a question",
      given("REQUEST_ASKED", ({ event }) => event.request.kind === "question"),
    ),
    isSteered: when(
      "an instruction is on its way to the agent",
      ({ context }) => context.instructions !== undefined,
      "no instruction is on its way to the agent",
    ),
    isOldestInstruction: when(
      "it is the oldest instruction",
      ({ context, event }) => "messageID" in event && context.instructions?.[0]?.messageID === event.messageID,
    ),
    isUnseen: when(
      "the run was given it, and it was not seen before",
      given("INSTRUCTION_SEEN", ({ context: { given: all = [] }, event }) =>
        all.some(({ messageID, seenAt }) => messageID === event.messageID && seenAt === undefined),
      ),
    ),
    moreInstructions: when(
      "further instructions wait",
      ({ context: { instructions = [] } }) => instructions.length > 1,
    ),
    maySteerAgain: when(
      "the instruction may be sent again",
      given(
        "STEERING_REFUSED",
        ({ context: { steerAttempts = 0 }, event }) => event.retryable && steerAttempts + 1 < TASK_LIMITS.sendAttempts,
      ),
      "the instruction was refused too often",
    ),
    openRequest: when(
      "that request is open",
      given("REQUEST_ANSWERED", ({ context, event }) => context.userRequests.some(({ id }) => id === event.id)),
    ),
    onlyRequest: when(
      "no other request is open",
      given("REQUEST_ANSWERED", ({ context, event }) => context.userRequests.every(({ id }) => id === event.id)),
    ),
    questionNext: when(
      "the next request is a question",
      given(
        "REQUEST_ANSWERED",
        ({ context, event }) => context.userRequests.find(({ id }) => id !== event.id)?.kind === "question",
      ),
      "no question is next",
    ),
    isQueued: when("the run waits for a slot", stateIn("#queued"), "the run waits for no slot"),
    isGatedBefore: when(
      "the gate's command runs before the agent begins",
      stateIn("#gatingBefore"),
      "no command runs before the agent begins",
    ),
    isInFleet: when("the run is for the fleet", stateIn("#fleet")),
    isClaimed: when("a server works on the run", stateIn("#claimed")),
    isAgentAtWork: when(
      "the agent is to be at work",
      or([and([stateIn("#active"), not("isGatedBefore")]), "isClaimed"]),
    ),
    /** Whether the host has an answer shows only in the check that looks for it. */
    isAnswerChecked: when(
      "an answer may be under a check",
      or([stateIn("#gating"), and(["hasSchema", stateIn("#asking")])]),
    ),
    /** True once something of the run was sent to an agent, here or on another server: there may be work to stop. */
    wasSent: when("something of the run was sent to an agent", or(["isAgentAtWork", "goesOn", "hasBegunBefore"])),
    hasPrompt: when("the agent has the prompt", or([stateIn("#working"), stateIn("#gating")])),
    takesInstructions: when(
      "the run takes instructions",
      and(["live", "notStopping", not(stateIn("#aborted")), not("isInFleet")]),
    ),
    mayAsk: when("it is a new request", and(["live", "newRequest", not("noServerWorks")])),
    isNextRunWanted: when("that is not cancelled yet", ({ context: { nextRun } }) => nextRun?.isCancelled !== true),
    isNothingOwed: when("its notice is delivered", stateIn("#nothingOwed")),
    mayGoOn: when(
      "the result of its newest run is delivered",
      and(["isNothingOwed", not("waitedFor")]),
      "the result of its newest run is still being delivered",
    ),
    fitsItsEnd: when(
      "it fits how the newest run ended",
      given(
        "NEXT_RUN_ASKED",
        ({ context: { completedAt, lastRunResult }, event }) =>
          completedAt !== undefined && (event.begins === "RESUME") === (lastRunResult?.outcome === "completed"),
      ),
    ),
    isCancelledBefore: when("it was cancelled before", ({ context: { run } }) => run.isCancelled === true),
  } satisfies Record<string, Phrased>,
});

/** Returns an action that requests an effect, whose other fields `build` returns; undefined requests nothing. */
export const request = requesting<TaskContext, TaskEvent, TaskEffect>();
