import { assign, type SnapshotFrom } from "xstate";
import { withEventDescriptions } from "../event-descriptions.ts";
import { delivery } from "./delivery.ts";
import { type NoticePrompt, outboxEventDescriptions } from "./events.ts";
import { FRESH_ATTEMPTS, OUTBOX_LIMITS, outboxSetup } from "./setup.ts";

const parent = outboxSetup.createStateConfig({
  description: "Whether the parent session can take a prompt.",
  initial: "open",
  states: {
    open: {
      id: "open",
      description: "The parent can take a prompt, busy or idle.",
      on: { PARENT_ERROR: { target: "coolingDown" } },
    },
    coolingDown: {
      description: "A run of the parent just failed or was aborted. What is sent now could get lost in it.",
      entry: assign({ parentReadyAt: ({ event }) => event.at + OUTBOX_LIMITS.coolDown }),
      exit: assign({ parentReadyAt: undefined }),
      on: {
        PARENT_ERROR: { target: "coolingDown", reenter: true, description: "The wait begins anew." },
        PARENT_IDLE: { target: "coolingDown", reenter: true, description: "The wait begins anew." },
        PARENT_BUSY: { target: "open" },
        TICK: { guard: "parentReady", target: "open" },
      },
    },
  },
});

/** The notices owed to one parent session: one prompt at a time, formed once, sent until it is taken up. Pure. */
export const outboxMachine = outboxSetup.createMachine(
  withEventDescriptions(outboxEventDescriptions, {
    id: "outbox",
    description:
      "The notices owed to one parent session: one prompt at a time, formed once, sent until it is taken up.",
    type: "parallel",
    context: ({ input }) => ({
      parentSessionID: input.parentSessionID,
      queue: [],
      prompt: undefined,
      adoptedPrompts: [],
      sender: undefined,
      ...FRESH_ATTEMPTS,
      nextDeadline: undefined,
      parentReadyAt: undefined,
    }),
    on: {
      NOTICE_DUE: { guard: "isNew", actions: "enqueue" },
      ADOPTED: { actions: "adoptPrompts" },
      PARENT_STORED: { guard: "isCurrentPrompt", actions: assign({ storedAt: ({ event }) => event.createdAt }) },
      WITHDRAW: { actions: "withdraw" },
      PARENT_CLOSED: { target: [".delivery.closed", ".parent.open"] },
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
export const isIdle = ({ value, context }: OutboxSnapshot): boolean =>
  value.delivery === "closed" || (value.delivery === "idle" && context.queue.length === 0);

/** The prompts that are formed and not acknowledged. */
export const pendingPrompts = ({ context: { prompt, adoptedPrompts } }: OutboxSnapshot): NoticePrompt[] =>
  prompt ? [prompt, ...adoptedPrompts] : adoptedPrompts;
