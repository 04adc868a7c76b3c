import { and, assign, enqueueActions, not, stateIn } from "xstate";
import { backoff } from "../backoff.ts";
import {
  acknowledge,
  announce,
  countRefusal,
  countTry,
  drop,
  giveUp,
  isIn,
  noteRefusal,
  noteSender,
  noteStored,
  outbox,
  outboxPatience,
  PACE,
  SEARCH_PACE,
  untried,
} from "./setup.ts";

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

/** What becomes of the notices that are owed. */
export const delivery = outbox.createStateConfig({
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
