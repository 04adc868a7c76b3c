// A notice counts as delivered when the parent's model was certainly shown it. The order of message ids alone does not show
// that (docs/decisions/015-when-a-notice-counts-as-delivered.md).
import { and, assign, not } from "xstate";
import { backoff } from "../chart.ts";
import {
  acknowledge,
  askBatches,
  carries,
  countAttempt,
  countRefusal,
  drop,
  FRESH_ATTEMPTS,
  given,
  giveUp,
  isMuch,
  lookLater,
  OUTBOX_LIMITS,
  outboxSetup,
  recordRefusal,
  recordSender,
  recordSent,
  recordStopped,
  recordStored,
  reportSetAside,
  request,
  SEARCH_BACKOFF,
  SEND_BACKOFF,
  showToasts,
} from "./setup.ts";

const acknowledged = { target: "#idle", actions: [...showToasts, ...acknowledge] } as const;
const adopted = {
  guard: "hasAdopted",
  target: "#checking",
  description: "A prompt was taken over. It may have been sent and answered already: OpenCode is asked first.",
  actions: "takeAdoptedPrompt",
} as const;
const onNotFound = { PARENT_NOT_FOUND: { target: "#missing" } } as const;
const onError = {
  PARENT_ERROR: {
    description: "The prompt may be the cause: the error counts if the prompt stays unanswered.",
    actions: recordRefusal,
  },
} as const;
const wakes = { guard: "wakesParent", target: "#gathering", description: "The parent is to be notified." } as const;
const nothingOwed = {
  guard: not("hasQueued"),
  target: "#idle",
  description: "Nothing is owed any more.",
  actions: "startAfresh",
} as const;
const found = [
  { guard: "hasPrompt", target: "#checking", description: "The prompt may have arrived already." },
  { target: "#gathering" },
] as const;
const inUse = { target: "#reading", description: "A person may be using it again." } as const;
const givenUp = {
  target: "#idle",
  description: "It was refused too often: the person is notified.",
  actions: giveUp,
} as const;

/** How the notices that are owed are delivered. */
export const delivery = outboxSetup.createStateConfig({
  description: "How the notices that are owed are delivered.",
  initial: "idle",
  on: {
    PARENT_ANSWERED: { guard: "answersPrompt", description: "It has read the prompt.", ...acknowledged },
  },
  states: {
    idle: {
      id: "idle",
      description: "Nothing is owed, and nothing is under way.",
      always: [adopted, wakes, { guard: "hasQueued", target: "#holding", description: "A notice is owed." }],
      on: onNotFound,
    },
    waiting: {
      description: "Notices are owed, and nothing is under way.",
      initial: "holding",
      states: {
        holding: {
          id: "holding",
          description: "Notices are owed that do not wake the parent while other tasks of their batch run.",
          entry: [askBatches, { type: "setDeadline", params: OUTBOX_LIMITS.recheckBatches }],
          exit: "clearDeadline",
          always: [adopted, wakes, nothingOwed],
          on: {
            NOTICE_DUE: { guard: "isNew", target: "holding", reenter: true, actions: "enqueue" },
            WITHDRAW: { target: "holding", reenter: true, actions: "withdraw" },
            BATCHES_CHECKED: { actions: "markEnded" },
            TICK: { guard: "due", target: "holding", reenter: true, description: "The batches are checked again." },
          },
        },
        gathering: {
          id: "gathering",
          description: "Notices are owed. They wait until the parent can be sent a prompt.",
          always: [
            adopted,
            nothingOwed,
            {
              guard: not("wakesParent"),
              target: "holding",
              description: "What was to wake the parent is not owed any more.",
            },
            { guard: "isOpen", target: "#reading", description: "The parent can be sent a prompt." },
          ],
          on: onNotFound,
        },
        gatheringMore: {
          id: "gatheringMore",
          description:
            "Notices are owed that wake the parent. They wait for other tasks to end, while the provider has the conversation in its prompt cache.",
          entry: {
            type: "setDeadline",
            params: given("PARENT_READ", ({ event: { at, gatherUntil = at } }) =>
              Math.min(gatherUntil - at, OUTBOX_LIMITS.recheckBatches),
            ),
          },
          exit: "clearDeadline",
          always: [
            adopted,
            {
              guard: not("wakesParent"),
              target: "gathering",
              description: "What was to wake the parent is not owed any more.",
            },
          ],
          on: {
            ...onNotFound,
            NOTICE_DUE: { guard: "isNew", target: "gathering", actions: "enqueue" },
            PARENT_BUSY: { target: "gathering", description: "A turn begins, which can deliver them." },
            TICK: { guard: "due", target: "gathering", description: "It is looked again whether others are at work." },
          },
        },
      },
    },
    preparing: {
      description: "A prompt is prepared: the parent is read, and the text is written.",
      initial: "reading",
      states: {
        reading: {
          id: "reading",
          description: "The parent's agent and model are read. Runs that end meanwhile go into the same prompt.",
          entry: [
            assign({ queuedBefore: ({ context }) => context.queue.length }),
            request("readParent", ({ context: { parentSessionID, refusals, prompt, queue } }) => ({
              parentSessionID,
              wasRefused: refusals > 0,
              asksRoom: prompt === undefined && isMuch(queue),
            })),
          ],
          on: {
            ...onNotFound,
            PARENT_READ: [
              {
                guard: "isSetAside",
                target: "#setAside",
                description: "A person has taken back messages of it, or archived it.",
                actions: reportSetAside,
              },
              {
                guard: and(["hasPrompt", "isOpen"]),
                target: "#sending",
                description: "The prompt is composed already.",
                actions: recordSender,
              },
              { guard: "hasPrompt", target: "#resending", description: "It can no longer be sent a prompt." },
              adopted,
              {
                guard: and(["wakesParent", "mayGatherMore"]),
                target: "#gatheringMore",
                description:
                  "Other tasks are at work, and the provider still has the conversation in its prompt cache.",
              },
              {
                guard: "moreMayEnd",
                target: "reading",
                reenter: true,
                description: "Runs ended meanwhile, and others have not yet: they may be about to.",
                actions: assign({ readsAgain: ({ context }) => context.readsAgain + 1 }),
              },
              {
                guard: "lacksRoom",
                target: "reading",
                reenter: true,
                description: "More came to be owed meanwhile: it is to be known how much its model has room for.",
              },
              {
                guard: and(["wakesParent", "isOpen"]),
                target: "composing",
                actions: recordSender,
              },
              { target: "#gathering", description: "It can no longer be sent a prompt, or is owed nothing." },
            ],
            READ_FAILED: { target: "#backingOff", actions: countAttempt },
          },
        },
        composing: {
          description: "The prompt is written for all notices that are owed: its text, counts and ids.",
          entry: request("composeNotice", ({ context: { parentSessionID, queue, room } }) => ({
            parentSessionID,
            queue,
            ...(room === undefined ? {} : { room }),
          })),
          on: {
            COMPOSE_FAILED: { target: "#backingOff", actions: countAttempt },
            COMPOSED: {
              target: "#sending",
              actions: [
                request(
                  "noticeComposed",
                  given("COMPOSED", ({ context: { parentSessionID }, event }) => ({
                    parentSessionID,
                    runs: event.prompt.runs,
                  })),
                ),
                assign({
                  ...FRESH_ATTEMPTS,
                  prompt: ({ event }) => event.prompt,
                  queue: ({ context, event }) => context.queue.filter((end) => !carries(event.prompt, end)),
                }),
              ],
            },
          },
        },
      },
    },
    delivering: {
      description: "The prompt is sent to the parent, until its model has read it.",
      initial: "sending",
      on: onNotFound,
      states: {
        sending: {
          id: "sending",
          description: "The prompt is on its way to the parent.",
          entry: [
            countAttempt,
            assign({ refusal: undefined }),
            request("sendNotice", ({ context: { parentSessionID, prompt, sender } }) =>
              prompt && sender ? { parentSessionID, prompt, sender } : undefined,
            ),
          ],
          on: {
            ...onError,
            PARENT_NOT_FOUND: { target: "#missing", actions: recordRefusal },
            SENT: { guard: "isCurrentPrompt", target: "awaiting", actions: [...showToasts, recordSent] },
            SEND_REFUSED: [
              { guard: and(["isCurrentPrompt", "retryable"]), target: "backingOff" },
              {
                guard: and(["isCurrentPrompt", "refusalsLeft"]),
                target: "backingOff",
                description: "It is refused for good, perhaps because its agent no longer exists.",
                actions: countRefusal,
              },
              { guard: "isCurrentPrompt", ...givenUp },
            ],
          },
        },
        awaiting: {
          description: "OpenCode accepted the prompt. The parent has not begun to answer it.",
          entry: { type: "setDeadline", params: ({ context }) => backoff(context.attempts, SEND_BACKOFF) },
          exit: "clearDeadline",
          on: {
            ...onError,
            PARENT_IDLE: {
              description: "It should have begun to answer: OpenCode is asked after a moment.",
              actions: { type: "setDeadline", params: OUTBOX_LIMITS.coolDown },
            },
            TICK: { guard: "due", target: "checking" },
          },
        },
        checking: {
          id: "checking",
          description: "OpenCode is asked whether the parent has begun to answer the prompt.",
          entry: request(
            "checkNotice",
            ({ context: { parentSessionID, prompt } }) => prompt && { parentSessionID, messageID: prompt.messageID },
          ),
          on: {
            ...onError,
            CHECKED: [
              { guard: and(["isCurrentPrompt", "answered"]), description: "It has begun.", ...acknowledged },
              {
                guard: and(["isCurrentPrompt", "pending"]),
                target: "awaiting",
                description: "It is about to begin.",
                actions: [countAttempt, recordStored],
              },
              {
                guard: and(["isCurrentPrompt", "stopped"]),
                target: "stopped",
                description: "A person stopped the turn that was to.",
                actions: [recordStored, recordStopped],
              },
              {
                guard: and(["isCurrentPrompt", "refused", "refusalsLeft"]),
                target: "resending",
                description:
                  "It has not, and an error was reported: the prompt is sent again, perhaps without the agent.",
                actions: countRefusal,
              },
              { guard: and(["isCurrentPrompt", "refused"]), ...givenUp },
              {
                guard: "isCurrentPrompt",
                target: "resending",
                description: "It has not: the prompt is sent again.",
                actions: assign({ refusals: 0 }),
              },
            ],
            CHECK_FAILED: {
              guard: "isCurrentPrompt",
              target: "awaiting",
              description: "It is asked again after a pause.",
              actions: countAttempt,
            },
          },
        },
        stopped: {
          description:
            "A person stopped the parent's turn before its model had read the prompt. The prompt is in the conversation: it is read in the next turn, and starts none.",
          entry: [lookLater, askBatches],
          exit: "clearDeadline",
          always: { guard: "wakesSinceStop", target: "resending", description: "A later notice wakes the parent." },
          on: {
            NOTICE_DUE: { guard: "isNew", actions: ["enqueue", askBatches] },
            BATCHES_CHECKED: { actions: "markEnded" },
            PARENT_BUSY: { target: "awaiting", description: "A turn begins, in which the prompt is read." },
            TICK: { guard: "due", target: "checking", description: "It is looked at again." },
          },
        },
        resending: {
          id: "resending",
          description: "The prompt is to be sent again. It waits until the parent can be sent one.",
          always: { guard: "isOpen", target: "#reading", description: "The parent can be sent the prompt." },
        },
        backingOff: {
          id: "backingOff",
          description: "A call to OpenCode failed. It is made again after a pause; a prompt keeps its ids.",
          entry: { type: "setDeadline", params: ({ context }) => backoff(context.attempts, SEND_BACKOFF) },
          exit: "clearDeadline",
          on: { TICK: { guard: "due", target: "#reading" } },
        },
      },
    },
    unreachable: {
      description: "OpenCode does not find the parent. This may pass: nothing is sent, and nothing is removed.",
      initial: "missing",
      on: { PARENT_PRESENT: found },
      states: {
        missing: {
          id: "missing",
          description: "OpenCode does not find the parent. This may pass: nothing is sent, and nothing is removed.",
          entry: [
            assign({ notFoundCount: ({ context }) => context.notFoundCount + 1 }),
            { type: "setDeadline", params: ({ context }) => backoff(context.notFoundCount, SEARCH_BACKOFF) },
          ],
          exit: "clearDeadline",
          on: { TICK: { guard: "due", target: "searching" } },
        },
        searching: {
          description:
            "OpenCode is asked for the parent again, and for all its sessions. A parent found in neither is gone.",
          entry: request("findParent", ({ context: { parentSessionID } }) => ({ parentSessionID })),
          on: { PARENT_FOUND: found, SEARCH_FAILED: { target: "missing" } },
        },
      },
    },
    setAside: {
      id: "setAside",
      description:
        "A person has taken back messages of the parent, which any prompt would delete for good, or has archived it; or it is a task that is paused. Nothing is sent until the parent is used again.",
      entry: lookLater,
      exit: "clearDeadline",
      always: { ...nothingOwed, guard: and([not("hasPrompt"), not("hasQueued")]) },
      on: {
        ...onNotFound,
        PARENT_CHANGED: inUse,
        PARENT_STORED: { guard: not("isCurrentPrompt"), ...inUse, description: "A person writes to it." },
        TICK: { guard: "due", target: "#reading", description: "It is looked at again." },
      },
    },
    closed: {
      description: "The parent session was deleted, or stopped for good. Notices can no longer be delivered.",
      entry: drop,
      on: {
        NOTICE_DUE: { description: "It cannot be delivered.", actions: ["enqueue", ...drop] },
        ADOPTED: { description: "They cannot be delivered.", actions: ["adoptPrompts", ...drop] },
        PARENT_PRESENT: { target: "#idle" },
      },
    },
  },
});
