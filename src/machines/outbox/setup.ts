import { assign, setup } from "xstate";
import type { RunEnd } from "../task/events.ts";
import type { NoticePrompt, OutboxContext, OutboxEffect, OutboxEvent } from "./events.ts";

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

export const PACE = { first: outboxPatience.answer, longest: outboxPatience.longestBackoff };
export const SEARCH_PACE = { first: outboxPatience.search, longest: outboxPatience.longestSearch };

/** True when the prompt tells of this end. */
export const isIn = ({ runs }: NoticePrompt, end: RunEnd): boolean =>
  runs.some(({ taskId, run }) => taskId === end.taskId && run === end.run);

/** The vocabulary of the outbox chart: the guards and actions that it names, and those that it shares. */
export const outbox = setup({
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

export const countTry = outbox.assign({ tries: ({ context }) => context.tries + 1, wakeAt: undefined });

export const noteSender = outbox.assign({
  sender: ({ context, event }) => (event.type === "PARENT_READ" ? event.sender : context.sender),
});

export const noteStored = outbox.assign({
  storedAt: ({ context, event }) => (event.type === "CHECKED" ? event.storedAt : context.storedAt),
});

export const announce = outbox.enqueueActions(({ context: { parentSessionID, prompt }, enqueue }) => {
  if (!prompt || prompt.toasts.length === 0) return;
  enqueue({ type: "request", params: { type: "announce", parentSessionID, toasts: prompt.toasts } });
  enqueue.assign({ prompt: { ...prompt, toasts: [] } });
});

/** What is counted and noted of the prompt under way, before anything was done for it. */
export const untried = { tries: 0, absences: 0, refusals: 0, refusal: undefined, storedAt: undefined } as const;

export const acknowledge = outbox.enqueueActions(({ context: { parentSessionID, prompt }, enqueue }) => {
  if (prompt) enqueue({ type: "request", params: { type: "acknowledged", parentSessionID, runs: prompt.runs } });
  enqueue.assign({ ...untried, prompt: undefined, wakeAt: undefined });
});

export const countRefusal = outbox.assign({ refusals: ({ context }) => context.refusals + 1 });

/** What goes wrong first names the cause; what follows is how the host came down. */
export const noteRefusal = outbox.assign({
  refusal: ({ context, event }) => context.refusal ?? ("message" in event ? event.message : undefined) ?? "an error",
});

export const giveUp = outbox.enqueueActions(({ context: { parentSessionID, prompt, refusal }, event, enqueue }) => {
  if (prompt) {
    const { runs } = prompt;
    const reason = event.type === "SEND_REFUSED" ? event.message : (refusal ?? "an error");
    enqueue({ type: "request", params: { type: "givenUp", parentSessionID, runs, reason } });
    enqueue({ type: "request", params: { type: "dropped", parentSessionID, runs } });
  }
  enqueue.assign({ ...untried, prompt: undefined, wakeAt: undefined });
});

export const drop = outbox.enqueueActions(({ context: { parentSessionID, owed, prompt, adopted }, enqueue }) => {
  const formed = prompt ? [prompt, ...adopted] : adopted;
  const runs = [...formed.flatMap(({ runs }) => runs), ...owed.map(({ taskId, run }) => ({ taskId, run }))];
  if (runs.length > 0) enqueue({ type: "request", params: { type: "dropped", parentSessionID, runs } });
  enqueue.assign({ owed: [], prompt: undefined, adopted: [], wakeAt: undefined });
});
