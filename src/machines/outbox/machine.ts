// "One prompt at a time" and "what is due together goes together" are facts about a parent, not about a task: so each
// parent session has an outbox (docs/decisions/001-an-outbox-for-each-parent.md).
import { assign, type SnapshotFrom } from "xstate";
import { withEventDescriptions } from "../chart.ts";
import { delivery } from "./delivery.ts";
import { type NoticePrompt, outboxEventDescriptions } from "./events.ts";
import { FRESH_ATTEMPTS, OUTBOX_LIMITS, outboxSetup } from "./setup.ts";

const parent = outboxSetup.createStateConfig({
  description: "Whether the parent session can be sent a prompt.",
  initial: "open",
  states: {
    open: {
      id: "open",
      description: "The parent can be sent a prompt, whether busy or idle.",
      on: { PARENT_ERROR: { target: "coolingDown" } },
    },
    coolingDown: {
      description: "The parent's work just failed or was aborted. A prompt sent now could get lost.",
      entry: assign({ parentReadyAt: ({ event }) => event.at + OUTBOX_LIMITS.coolDown }),
      exit: assign({ parentReadyAt: undefined }),
      on: {
        PARENT_ERROR: { target: "coolingDown", reenter: true, description: "The wait starts anew." },
        PARENT_IDLE: { target: "coolingDown", reenter: true, description: "The wait starts anew." },
        PARENT_BUSY: { target: "open" },
        TICK: { guard: "parentReady", target: "open" },
      },
    },
  },
});

/** The notices owed to one parent session. Pure: no clock, no randomness, no I/O. */
export const outboxMachine = outboxSetup.createMachine(
  withEventDescriptions(outboxEventDescriptions, {
    id: "outbox",
    description:
      "The notices owed to one parent session: one prompt at a time, composed once, sent until the parent answers it.",
    type: "parallel",
    context: ({ input }) => ({
      parentSessionID: input.parentSessionID,
      queue: [],
      prompt: undefined,
      adoptedPrompts: [],
      sender: undefined,
      room: undefined,
      queuedBefore: 0,
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

/** The snapshot of an outbox's chart as it is stored. */
export type OutboxSnapshot = SnapshotFrom<typeof outboxMachine>;

/** True when the parent is owed nothing and no prompt is under way. */
export const isIdle = ({ value: { delivery } }: OutboxSnapshot): boolean =>
  delivery === "closed" || delivery === "idle";

/** True while it matters what the parent does: a prompt is under way, its work just failed, it is set aside, or it may begin a turn. */
export const watchesParent = (snapshot: OutboxSnapshot): boolean => {
  const { context } = snapshot;
  if (context.prompt !== undefined || context.parentReadyAt !== undefined) return true;
  return snapshot.value.delivery === "setAside" || snapshot.matches({ delivery: { waiting: "gatheringMore" } });
};

/** Returns the prompts that are composed and not yet acknowledged. */
export const pendingPrompts = ({ context: { prompt, adoptedPrompts } }: OutboxSnapshot): NoticePrompt[] =>
  prompt ? [prompt, ...adoptedPrompts] : adoptedPrompts;
