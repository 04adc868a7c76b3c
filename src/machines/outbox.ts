import { and, assign, enqueueActions, not, type SnapshotFrom, setup, stateIn } from "xstate";
import { backoff } from "./backoff.ts";
import { described } from "./described.ts";
import {
  type NoticePrompt,
  type OutboxContext,
  type OutboxEffect,
  type OutboxEvent,
  outboxEventMeanings,
} from "./outbox-events.ts";
import type { RunEnd } from "./task-events.ts";

/**
 * The patience of an outbox: milliseconds and counts. Sending again is harmless, so silence never ends it while the parent
 * is there; a host that says no each time does.
 */
export const outboxPatience = {
  /** From a sent prompt to the first look whether the parent took it up; grows with each send. */
  answer: 2_000,
  longestBackoff: 60_000,
  /** A prompt sent into a run that is failing is stored and never answered; after 500 ms the host is safe (measured). */
  settle: 500,
  /** From the first answer that the parent is not found to the search for it; doubled each time, up to `longestSearch`. */
  search: 5_000,
  longestSearch: 600_000,
  /** A prompt that was refused so often in a row is given up: one try of these goes without the agent, if that is gone. */
  refusals: 3,
} as const;

const PACE = { first: outboxPatience.answer, longest: outboxPatience.longestBackoff };
const SEARCH_PACE = { first: outboxPatience.search, longest: outboxPatience.longestSearch };

const isIn = ({ runs }: NoticePrompt, end: RunEnd): boolean =>
  runs.some(({ taskId, run }) => taskId === end.taskId && run === end.run);

const outbox = setup({
  types: {
    context: {} as OutboxContext,
    events: {} as OutboxEvent,
    input: {} as { parentSessionID: string },
  },
  actions: {
    /** The one way out; the engine provides what really happens. */
    request: (_, _effect: OutboxEffect) => undefined,
    wakeAfter: assign({ wakeAt: ({ event }, delay: number) => event.at + delay }),
    sleep: assign({ wakeAt: undefined }),
    owe: assign({
      owed: ({ context, event }) => (event.type === "OWE" ? [...context.owed, event.end] : context.owed),
    }),
    adopt: assign({
      adopted: ({ context, event }) =>
        event.type === "ADOPTED" ? [...context.adopted, ...event.prompts] : context.adopted,
    }),
    takeAdopted: assign({
      prompt: ({ context }) => context.adopted[0],
      adopted: ({ context }) => context.adopted.slice(1),
    }),
    withdraw: assign({
      owed: ({ context, event }) =>
        event.type === "WITHDRAW"
          ? context.owed.filter(({ taskId, run }) => taskId !== event.taskId || run !== event.run)
          : context.owed,
    }),
  },
  guards: {
    owes: ({ context }) => context.owed.length > 0,
    /** An adopted task tells of its end again: it may be here already. */
    isNews: ({ context, event }) =>
      event.type === "OWE" &&
      [context.prompt, ...context.adopted].every((prompt) => !prompt || !isIn(prompt, event.end)) &&
      context.owed.every(({ taskId, run }) => taskId !== event.end.taskId || run !== event.end.run),
    hasAdopted: ({ context }) => context.adopted.length > 0,
    due: ({ context, event }) => context.wakeAt !== undefined && event.at >= context.wakeAt,
    settled: ({ context, event }) => context.opensAt !== undefined && event.at >= context.opensAt,
    hasPrompt: ({ context }) => context.prompt !== undefined,
    /**
     * The parent's model was shown our prompt when it answers that one; or a newer one, in a message that began when ours
     * was stored: message ids ascend, and every step sees all messages.
     */
    answersPrompt: ({ context, event }) =>
      event.type === "PARENT_ANSWERED" &&
      context.prompt !== undefined &&
      (event.promptID === context.prompt.messageID ||
        (context.storedAt !== undefined &&
          event.promptID > context.prompt.messageID &&
          event.createdAt >= context.storedAt)),
    /** The answer to a call may come when its prompt was acknowledged already, and the next one is under way. */
    current: ({ context, event }) => "messageID" in event && event.messageID === context.prompt?.messageID,
    answered: ({ event }) => event.type === "CHECKED" && event.standing === "answered",
    pending: ({ event }) => event.type === "CHECKED" && event.standing === "pending",
    retryable: ({ event }) => event.type === "SEND_REFUSED" && event.retryable,
    refused: ({ context }) => context.refusal !== undefined,
    refusalsLeft: ({ context }) => context.refusals + 1 < outboxPatience.refusals,
  },
});

const countTry = outbox.assign({ tries: ({ context }) => context.tries + 1, wakeAt: undefined });

const noteSender = outbox.assign({
  sender: ({ context, event }) => (event.type === "PARENT_READ" ? event.sender : context.sender),
});

const noteStored = outbox.assign({
  storedAt: ({ context, event }) => (event.type === "CHECKED" ? event.storedAt : context.storedAt),
});

const announce = outbox.enqueueActions(({ context: { parentSessionID, prompt }, enqueue }) => {
  if (!prompt || prompt.toasts.length === 0) return;
  enqueue({ type: "request", params: { type: "announce", parentSessionID, toasts: prompt.toasts } });
  enqueue.assign({ prompt: { ...prompt, toasts: [] } });
});

/** What is counted and noted of the prompt under way, before anything was done for it. */
const untried = { tries: 0, absences: 0, refusals: 0, refusal: undefined, storedAt: undefined } as const;

const acknowledge = outbox.enqueueActions(({ context: { parentSessionID, prompt }, enqueue }) => {
  if (prompt) enqueue({ type: "request", params: { type: "acknowledged", parentSessionID, runs: prompt.runs } });
  enqueue.assign({ ...untried, prompt: undefined, wakeAt: undefined });
});

const countRefusal = outbox.assign({ refusals: ({ context }) => context.refusals + 1 });

/** What goes wrong first names the cause; what follows is how the host came down. */
const noteRefusal = outbox.assign({
  refusal: ({ context, event }) => context.refusal ?? ("message" in event ? event.message : undefined) ?? "an error",
});

const giveUp = outbox.enqueueActions(({ context: { parentSessionID, prompt, refusal }, event, enqueue }) => {
  if (prompt) {
    const { runs } = prompt;
    const reason = event.type === "SEND_REFUSED" ? event.message : (refusal ?? "an error");
    enqueue({ type: "request", params: { type: "givenUp", parentSessionID, runs, reason } });
    enqueue({ type: "request", params: { type: "dropped", parentSessionID, runs } });
  }
  enqueue.assign({ ...untried, prompt: undefined, wakeAt: undefined });
});

const drop = outbox.enqueueActions(({ context: { parentSessionID, owed, prompt, adopted }, enqueue }) => {
  const formed = prompt ? [prompt, ...adopted] : adopted;
  const runs = [...formed.flatMap(({ runs }) => runs), ...owed.map(({ taskId, run }) => ({ taskId, run }))];
  if (runs.length > 0) enqueue({ type: "request", params: { type: "dropped", parentSessionID, runs } });
  enqueue.assign({ owed: [], prompt: undefined, adopted: [], wakeAt: undefined });
});

const acknowledged = { target: "idle", actions: [announce, acknowledge] } as const;
const adopted = {
  guard: "hasAdopted",
  target: "checking",
  description: "A prompt was taken over. It may have been sent, and answered, before: the host is asked first.",
  actions: "takeAdopted",
} as const;
const onAnswer = {
  PARENT_ANSWERED: { guard: "answersPrompt", description: "It was shown the prompt.", ...acknowledged },
} as const;
const onMissing = { PARENT_MISSING: { target: "missing" } } as const;
const onError = {
  PARENT_ERROR: {
    description: "It may be the prompt's fault: that counts if it stays unanswered.",
    actions: noteRefusal,
  },
} as const;
const found = [
  { guard: "hasPrompt", target: "checking", description: "The prompt may have come through before." },
  { target: "gathering" },
] as const;
const givenUp = {
  target: "idle",
  description: "It was refused often enough: the person is told.",
  actions: giveUp,
} as const;

const delivery = outbox.createStateConfig({
  description: "What becomes of the notices that are owed.",
  initial: "idle",
  states: {
    idle: {
      description: "Nothing is owed, and nothing is under way.",
      always: [adopted, { guard: "owes", target: "gathering", description: "Something is owed." }],
      on: onMissing,
    },
    gathering: {
      description: "Something is owed. It waits until the parent can take it.",
      always: [
        adopted,
        { guard: not("owes"), target: "idle", description: "Nothing is owed any more." },
        { guard: stateIn("#open"), target: "reading", description: "The parent can take a prompt." },
      ],
      on: onMissing,
    },
    reading: {
      description: "The parent's agent and model are read. What else ends meanwhile goes into the same prompt.",
      entry: [
        "sleep",
        {
          type: "request",
          params: ({ context: { parentSessionID, refusals } }) => ({
            type: "read",
            parentSessionID,
            wasRefused: refusals > 0,
          }),
        },
      ],
      on: {
        ...onAnswer,
        ...onMissing,
        PARENT_READ: [
          { guard: "hasPrompt", target: "sending", description: "The prompt is formed already.", actions: noteSender },
          { guard: and(["owes", stateIn("#open")]), target: "forming", actions: noteSender },
          { target: "gathering", description: "It cannot take a prompt any more, or is owed nothing." },
        ],
        READ_FAILED: { target: "backingOff", actions: countTry },
      },
    },
    forming: {
      description: "Words, counts and ids are found for everything that is owed.",
      entry: {
        type: "request",
        params: ({ context: { parentSessionID, owed } }) => ({ type: "form", parentSessionID, owed }),
      },
      on: {
        FORM_FAILED: { target: "backingOff", actions: countTry },
        FORMED: {
          target: "sending",
          actions: [
            {
              type: "request",
              params: ({ context: { parentSessionID }, event: { prompt } }) => ({
                type: "formed",
                parentSessionID,
                runs: prompt.runs,
              }),
            },
            assign({
              ...untried,
              prompt: ({ event }) => event.prompt,
              owed: ({ context, event }) => context.owed.filter((end) => !isIn(event.prompt, end)),
            }),
          ],
        },
      },
    },
    sending: {
      description: "The prompt is on its way to the parent.",
      entry: [
        countTry,
        assign({ refusal: undefined }),
        enqueueActions(({ context: { parentSessionID, prompt, sender }, enqueue }) => {
          if (!prompt || !sender) return;
          enqueue({ type: "request", params: { type: "send", parentSessionID, prompt, sender } });
        }),
      ],
      on: {
        ...onAnswer,
        ...onError,
        PARENT_MISSING: { target: "missing", actions: noteRefusal },
        SENT: { guard: "current", target: "awaiting", actions: [announce, assign({ absences: 0 })] },
        SEND_REFUSED: [
          { guard: and(["current", "retryable"]), target: "backingOff" },
          {
            guard: and(["current", "refusalsLeft"]),
            target: "backingOff",
            description: "For good, it says. It may be for an agent that is no more.",
            actions: countRefusal,
          },
          { guard: "current", ...givenUp },
        ],
      },
    },
    awaiting: {
      description: "The host took the prompt. The parent has not begun to answer it.",
      entry: { type: "wakeAfter", params: ({ context }) => backoff(context.tries, PACE) },
      on: {
        ...onAnswer,
        ...onMissing,
        ...onError,
        PARENT_IDLE: {
          description: "It should have begun to answer: the host is asked after a moment.",
          actions: { type: "wakeAfter", params: outboxPatience.settle },
        },
        TICK: { guard: "due", target: "checking" },
      },
    },
    checking: {
      description: "The host is asked whether the prompt was taken up.",
      entry: [
        "sleep",
        enqueueActions(({ context: { parentSessionID, prompt }, enqueue }) => {
          if (!prompt) return;
          enqueue({
            type: "request",
            params: { type: "check", parentSessionID, messageID: prompt.messageID },
          });
        }),
      ],
      on: {
        ...onAnswer,
        ...onMissing,
        ...onError,
        CHECKED: [
          { guard: and(["current", "answered"]), description: "It has.", ...acknowledged },
          {
            guard: and(["current", "pending"]),
            target: "awaiting",
            description: "It is about to.",
            actions: [countTry, noteStored],
          },
          {
            guard: and(["current", "refused", "refusalsLeft"]),
            target: "reading",
            description: "It has not, and an error was heard of: the prompt is sent again, perhaps without the agent.",
            actions: countRefusal,
          },
          { guard: and(["current", "refused"]), ...givenUp },
          {
            guard: "current",
            target: "reading",
            description: "It has not: the prompt is sent again.",
            actions: assign({ refusals: 0 }),
          },
        ],
        CHECK_FAILED: { guard: "current", target: "awaiting", description: "It is asked again after a pause." },
      },
    },
    backingOff: {
      description: "The host refused a call. It is tried again after a pause; a prompt keeps its ids.",
      entry: { type: "wakeAfter", params: ({ context }) => backoff(context.tries, PACE) },
      on: { ...onAnswer, ...onMissing, TICK: { guard: "due", target: "reading" } },
    },
    missing: {
      description: "The host does not find the parent. Nothing is sent, and nothing is removed: that may pass.",
      entry: [
        assign({ absences: ({ context }) => context.absences + 1 }),
        { type: "wakeAfter", params: ({ context }) => backoff(context.absences, SEARCH_PACE) },
      ],
      on: { ...onAnswer, PARENT_PRESENT: found, TICK: { guard: "due", target: "searching" } },
    },
    searching: {
      description:
        "The host is asked for the parent again, and for all its sessions: where it is in neither, it is gone.",
      entry: [
        "sleep",
        { type: "request", params: ({ context: { parentSessionID } }) => ({ type: "search", parentSessionID }) },
      ],
      on: { ...onAnswer, PARENT_PRESENT: found, PARENT_FOUND: found, SEARCH_FAILED: { target: "missing" } },
    },
    closed: {
      description: "The parent session was deleted, or stopped for good. There is nobody to tell.",
      entry: drop,
      on: {
        OWE: { description: "Nobody is left to tell.", actions: ["owe", drop] },
        ADOPTED: { description: "Nobody is left to tell.", actions: ["adopt", drop] },
        PARENT_PRESENT: { target: "idle" },
      },
    },
  },
});

const parent = outbox.createStateConfig({
  description: "Whether the parent session can take a prompt.",
  initial: "open",
  states: {
    open: {
      id: "open",
      description: "The parent can take a prompt, busy or idle.",
      on: { PARENT_ERROR: { target: "settling" } },
    },
    settling: {
      description: "A run of the parent just failed or was aborted. What is sent now could get lost in it.",
      entry: assign({ opensAt: ({ event }) => event.at + outboxPatience.settle }),
      exit: assign({ opensAt: undefined }),
      on: {
        PARENT_ERROR: { target: "settling", reenter: true, description: "The wait begins anew." },
        PARENT_IDLE: { target: "settling", reenter: true, description: "The wait begins anew." },
        PARENT_BUSY: { target: "open" },
        TICK: { guard: "settled", target: "open" },
      },
    },
  },
});

/** The notices owed to one parent session: one prompt at a time, formed once, sent until it is taken up. Pure. */
export const outboxMachine = outbox.createMachine(
  described(outboxEventMeanings, {
    id: "outbox",
    description:
      "The notices owed to one parent session: one prompt at a time, formed once, sent until it is taken up.",
    type: "parallel",
    context: ({ input }) => ({
      parentSessionID: input.parentSessionID,
      owed: [],
      prompt: undefined,
      adopted: [],
      sender: undefined,
      ...untried,
      wakeAt: undefined,
      opensAt: undefined,
    }),
    on: {
      OWE: { guard: "isNews", actions: "owe" },
      ADOPTED: { actions: "adopt" },
      PARENT_STORED: { guard: "current", actions: assign({ storedAt: ({ event }) => event.createdAt }) },
      WITHDRAW: { actions: "withdraw" },
      PARENT_GONE: { target: [".delivery.closed", ".parent.open"] },
    },
    states: {
      delivery,
      parent,
    },
  }),
);

/** An outbox as it stands. */
export type OutboxSnapshot = SnapshotFrom<typeof outboxMachine>;

/** True when nothing is owed or under way. */
export const isEmpty = ({ value, context }: OutboxSnapshot): boolean =>
  value.delivery === "closed" || (value.delivery === "idle" && context.owed.length === 0);

/** The prompts that are formed and not acknowledged. */
export const underWay = ({ context: { prompt, adopted } }: OutboxSnapshot): NoticePrompt[] =>
  prompt ? [prompt, ...adopted] : adopted;
