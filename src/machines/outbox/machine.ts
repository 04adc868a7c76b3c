import { assign, type SnapshotFrom } from "xstate";
import { described } from "../event-descriptions.ts";
import { delivery } from "./delivery.ts";
import { type NoticePrompt, outboxEventMeanings } from "./events.ts";
import { outbox, outboxPatience, untried } from "./setup.ts";

export { outboxPatience };

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
