import { assign, setup, stateIn } from "xstate";
import { backoff, type Phrased, phrasing, readingEvents, requesting } from "../chart.ts";
import type { RunResult } from "../task/events.ts";
import type { NoticePrompt, OutboxContext, OutboxEffect, OutboxEvent } from "./events.ts";

/**
 * Pauses in milliseconds, and how often something is tried. Sending again is harmless, so an outbox never gives up because
 * of silence while its parent exists; it does when the host refuses each time.
 */
export const OUTBOX_LIMITS = {
  /** From a sent prompt to the first check whether the parent answers it; grows with each send. */
  firstCheck: 2_000,
  longestBackoff: 60_000,
  /** A prompt sent while the parent is failing is stored and never answered; 500 ms later it is safe (measured). */
  coolDown: 500,
  /** From the first answer that the parent is not found to the search for it; doubled each time, up to `longestSearch`. */
  firstSearch: 5_000,
  longestSearch: 600_000,
  /** From one look at what still runs to the next: another process reports nothing about its tasks. */
  recheckBatches: 15_000,
  /** From one look at a parent that is set aside, or was stopped, to the next: events usually come first. Doubled each time. */
  firstLook: 15_000,
  longestLook: 600_000,
  /** How often the parent is read again for runs that ended meanwhile, so that a notice waits for 6 answers at most. */
  readsAgain: 5,
  /** How often in a row a prompt is refused before it is given up. Once in these it is sent without a vanished agent. */
  refusals: 3,
} as const;

export const SEND_BACKOFF = { first: OUTBOX_LIMITS.firstCheck, longest: OUTBOX_LIMITS.longestBackoff };
export const SEARCH_BACKOFF = { first: OUTBOX_LIMITS.firstSearch, longest: OUTBOX_LIMITS.longestSearch };
/** Pauses between two looks at a session that is set aside. */
export const LOOK_BACKOFF = { first: OUTBOX_LIMITS.firstLook, longest: OUTBOX_LIMITS.longestLook };

/** The counts and records of a prompt for which nothing has been tried yet. */
export const FRESH_ATTEMPTS = {
  readsAgain: 0,
  attempts: 0,
  looks: 0,
  notFoundCount: 0,
  refusals: 0,
  refusal: undefined,
  sentAt: undefined,
  storedAt: undefined,
  stoppedAt: undefined,
} as const;

/** True for a result that wakes the parent by itself, whatever the other tasks of its batch do. */
const wakes = ({ wake, outcome }: RunResult): boolean => wake !== "all" || outcome === "error";

/** Characters of a notice beside its result, roughly. */
const NOTICE_CHARS = 700;

/** Characters of notices for which every model has room: about 4,000 tokens. */
const FEW_CHARS = 16_000;

/** True when so much is owed that it may be more than the parent's model has room for. */
export const isMuch = (queue: readonly RunResult[]): boolean =>
  queue.reduce((sum, { result, earlierText = "" }) => sum + (result || earlierText).length + NOTICE_CHARS, 0) >
  FEW_CHARS;

/** True when the prompt carries the notice of this run. */
export const carries = ({ runs }: NoticePrompt, end: RunResult): boolean =>
  runs.some(({ taskId, run }) => taskId === end.taskId && run === end.run);

/** Wraps what reads an event of one type, or of a few. */
export const given = readingEvents<OutboxContext, OutboxEvent>();

const when = phrasing<OutboxContext, OutboxEvent>();

/** The outbox chart's types, and the guards and actions that it names. */
export const outboxSetup = setup({
  types: {
    context: {} as OutboxContext,
    events: {} as OutboxEvent,
    input: {} as { parentSessionID: string },
  },
  actions: {
    /** The only way out of the chart. It does nothing here: the supervisor provides what really happens. */
    emitEffect: (_, _effect: OutboxEffect) => undefined,
    setDeadline: assign({ nextDeadline: ({ event }, delay: number) => event.at + delay }),
    clearDeadline: assign({ nextDeadline: undefined }),
    enqueue: assign({
      queue: given("NOTICE_DUE", ({ context, event }) => [...context.queue, event.end]),
    }),
    adoptPrompts: assign({
      adoptedPrompts: given("ADOPTED", ({ context, event }) => [...context.adoptedPrompts, ...event.prompts]),
    }),
    startAfresh: assign(FRESH_ATTEMPTS),
    takeAdoptedPrompt: assign({
      ...FRESH_ATTEMPTS,
      prompt: ({ context }) => context.adoptedPrompts[0],
      adoptedPrompts: ({ context }) => context.adoptedPrompts.slice(1),
    }),
    /** Applies to the results that are queued now: later ones are asked about anew. */
    markEnded: assign({
      queue: given("BATCHES_CHECKED", ({ context, event }) =>
        context.queue.map((end) => (event.ended.includes(end.batchId) ? { ...end, wake: "each" } : end)),
      ),
    }),
    withdraw: assign({
      queue: given("WITHDRAW", ({ context, event }) =>
        context.queue.filter(({ taskId, run }) => taskId !== event.taskId || run !== event.run),
      ),
    }),
  },
  guards: {
    hasQueued: when("a notice is owed", ({ context }) => context.queue.length > 0, "no notice is owed"),
    /** A task that was taken over queues its notice again, which may be here already. */
    isNew: when(
      "the notice is new",
      given(
        "NOTICE_DUE",
        ({ context, event }) =>
          [context.prompt, ...context.adoptedPrompts].every((prompt) => !prompt || !carries(prompt, event.end)) &&
          context.queue.every(({ taskId, run }) => taskId !== event.end.taskId || run !== event.end.run),
      ),
    ),
    /**
     * True when a queued result wakes the parent: that of a task which wakes it each time, an error, or the last one of a batch.
     * Whatever else is queued goes into the same prompt.
     */
    wakesParent: when(
      "a notice is owed that wakes the parent",
      ({ context: { queue } }) => queue.some(wakes),
      "no notice is owed that wakes the parent",
    ),
    /** A turn that comes a little later, and still finds the conversation in the provider's cache, may deliver further ends. */
    mayGatherMore: when(
      "more ends are worth waiting for",
      given(
        "PARENT_READ",
        ({ context: { queue }, event: { at, gatherUntil = at } }) =>
          gatherUntil > at && queue.every(({ outcome }) => outcome !== "error"),
      ),
    ),
    /** The same for a run that ended after a person stopped the parent's turn: its notice was not what that person stopped. */
    wakesSinceStop: when(
      "a notice that wakes the parent came after the stop",
      ({ context: { queue, stoppedAt = Number.NEGATIVE_INFINITY } }) =>
        queue.some((end) => wakes(end) && end.endedAt >= stoppedAt),
    ),
    /** So much came to be owed while the parent was read that its room has to be known. */
    lacksRoom: when(
      "much is owed while the room in its model is unknown",
      given("PARENT_READ", ({ context: { queue }, event }) => event.room === undefined && isMuch(queue)),
    ),
    isSetAside: when(
      "a person has set the parent aside",
      given("PARENT_READ", ({ event }) => event.setAside !== undefined),
    ),
    /**
     * What was stopped before this process sent the prompt says nothing: OpenCode may have been ending then. Nor does it
     * where the host reported a fault, which leaves the same message behind as a person who stops the turn.
     */
    stopped: when(
      "a person stopped the turn that was to answer",
      given(
        "CHECKED",
        ({ context: { sentAt, refusal }, event }) =>
          event.standing === "stopped" && sentAt !== undefined && !refusal?.fault,
      ),
    ),
    hasAdopted: when("a prompt was taken over", ({ context }) => context.adoptedPrompts.length > 0),
    due: when(
      "the delay is over",
      ({ context: { nextDeadline = Number.POSITIVE_INFINITY }, event }) => event.at >= nextDeadline,
    ),
    parentReady: when(
      "the parent has had its pause",
      ({ context: { parentReadyAt = Number.POSITIVE_INFINITY }, event }) => event.at >= parentReadyAt,
    ),
    hasPrompt: when("a prompt is composed", ({ context }) => context.prompt !== undefined, "no prompt is composed"),
    /** Runs are ending one after the other: the next one may be about to. */
    moreMayEnd: when(
      "runs ended meanwhile while others may be about to",
      given(
        "PARENT_READ",
        ({ context, event }) =>
          event.othersRun &&
          context.queue.length > context.queuedBefore &&
          context.readsAgain < OUTBOX_LIMITS.readsAgain,
      ),
    ),
    /**
     * The parent's model has read our prompt when it answers it; or when it answers a newer one in a message that began
     * after ours was stored, since message ids ascend and every step sees all messages.
     */
    answersPrompt: when(
      "the model has read the prompt",
      given("PARENT_ANSWERED", ({ context: { prompt, storedAt = Number.POSITIVE_INFINITY }, event }) => {
        if (!prompt) return false;
        if (event.promptID === prompt.messageID) return true;
        return event.promptID > prompt.messageID && event.createdAt >= storedAt;
      }),
    ),
    /** A late answer may concern a prompt that is acknowledged already, while the next one is under way. */
    isCurrentPrompt: when(
      "it is about the prompt under way",
      ({ context, event }) => "messageID" in event && event.messageID === context.prompt?.messageID,
    ),
    answered: when(
      "the prompt is answered",
      given("CHECKED", ({ event }) => event.standing === "answered"),
    ),
    pending: when(
      "the prompt is about to be answered",
      given("CHECKED", ({ event }) => event.standing === "pending"),
    ),
    retryable: when(
      "OpenCode may take it the next time",
      given("SEND_REFUSED", ({ event }) => event.retryable),
    ),
    refused: when("an error was reported since it was sent", ({ context }) => context.refusal !== undefined),
    refusalsLeft: when("it was not refused too often", ({ context }) => context.refusals + 1 < OUTBOX_LIMITS.refusals),
    isOpen: when("the parent can be sent a prompt", stateIn("#open")),
  } satisfies Record<string, Phrased>,
});

/** Returns an action that requests an effect, whose other fields `build` returns; undefined requests nothing. */
export const request = requesting<OutboxContext, OutboxEvent, OutboxEffect>();

export const countAttempt = outboxSetup.assign({
  attempts: ({ context }) => context.attempts + 1,
});

export const recordSender = outboxSetup.assign({
  room: given("PARENT_READ", ({ event }) => event.room),
  sender: given("PARENT_READ", ({ event }) => event.sender),
});

/** Requests, the first time, that the person be notified: what is owed waits until the parent is used again. */
export const reportSetAside = request(
  "reportSetAside",
  given("PARENT_READ", ({ context: { parentSessionID, queue, looks }, event: { setAside: why } }) =>
    why && looks === 0 && queue.length > 0 ? { parentSessionID, ends: queue, why } : undefined,
  ),
);

/** Schedules the next look at the parent, unless an event says before that a person uses it. */
export const lookLater = outboxSetup.assign({
  looks: ({ context }) => context.looks + 1,
  nextDeadline: ({ context, event }) => event.at + backoff(context.looks + 1, LOOK_BACKOFF),
});

export const recordSent = outboxSetup.assign({
  notFoundCount: 0,
  sentAt: ({ event }) => event.at,
});

export const recordStopped = outboxSetup.assign({
  stoppedAt: given("CHECKED", ({ event }) => event.stoppedAt),
});

/** Requests which batches of the queued results have no running task any more. */
export const askBatches = request("checkBatches", ({ context: { parentSessionID, queue } }) => {
  const batchIds = [...new Set(queue.map(({ batchId }) => batchId))];
  return batchIds.length > 0 ? { parentSessionID, batchIds } : undefined;
});

export const recordStored = outboxSetup.assign({
  storedAt: given("CHECKED", ({ event }) => event.storedAt),
});

/** The prompt under way, where its toasts are still to be shown. */
const withToasts = ({ prompt }: OutboxContext) => (prompt && prompt.toasts.length > 0 ? prompt : undefined);

export const showToasts = [
  request("showToasts", ({ context }) => {
    const prompt = withToasts(context);
    return prompt && { parentSessionID: context.parentSessionID, toasts: prompt.toasts };
  }),
  // A prompt that stays the very same is not stored again.
  outboxSetup.assign(({ context }) => {
    const prompt = withToasts(context);
    return prompt ? { prompt: { ...prompt, toasts: [] } } : {};
  }),
] as const;

const forgetPrompt = outboxSetup.assign({ ...FRESH_ATTEMPTS, prompt: undefined });

/** The runs whose notices the prompt under way carries. */
const carriedRuns = ({ parentSessionID, prompt }: OutboxContext) => prompt && { parentSessionID, runs: prompt.runs };

export const acknowledge = [
  request("noticeAcknowledged", ({ context }) => carriedRuns(context)),
  forgetPrompt,
] as const;

export const countRefusal = outboxSetup.assign({ refusals: ({ context }) => context.refusals + 1 });

/** The first error names the cause; later ones are its consequences. */
export const recordRefusal = outboxSetup.assign({
  refusal: given(["PARENT_ERROR", "PARENT_NOT_FOUND"], ({ context, event }) => {
    const fault = event.type === "PARENT_ERROR" ? event.fault : undefined;
    return context.refusal ?? { message: event.message ?? "an error", ...(fault ? { fault } : {}) };
  }),
});

export const giveUp = [
  request("noticeRejected", ({ context, event }) => {
    const carried = carriedRuns(context);
    const reason = event.type === "SEND_REFUSED" ? event.message : (context.refusal?.message ?? "an error");
    return carried && { ...carried, reason };
  }),
  request("noticeDropped", ({ context }) => carriedRuns(context)),
  forgetPrompt,
] as const;

export const drop = [
  request("noticeDropped", ({ context: { parentSessionID, queue, prompt, adoptedPrompts } }) => {
    const composed = prompt ? [prompt, ...adoptedPrompts] : adoptedPrompts;
    const runs = [...composed.flatMap(({ runs }) => runs), ...queue.map(({ taskId, run }) => ({ taskId, run }))];
    return runs.length > 0 ? { parentSessionID, runs } : undefined;
  }),
  outboxSetup.assign({ ...FRESH_ATTEMPTS, queue: [], prompt: undefined, adoptedPrompts: [] }),
] as const;
