import { backoff } from "../chart.ts";
import { endPending, leaveCopy, onClose, requestSessionRemoval } from "./effects.ts";
import { launchSetup, PREAMBLE_BACKOFF, request, SESSION_SEARCH_BACKOFF } from "./setup.ts";

const AS_TEXT = "The agent gets the conversation as a text.";

/** Where a launch goes on once there is a session that OpenCode created anew. */
const onNewSession = [
  { guard: "isText", target: "#informing", actions: "recordSession" },
  { target: "#starting", actions: "recordSession" },
] as const;

const onUnusableCopy = { target: "#removingCopy", description: AS_TEXT, actions: "recordForkRefusal" } as const;

/** The session is created, and gets its conversation. */
const creating = launchSetup.createStateConfig({
  description: "The session of the task is created, and prepared for its first prompt.",
  initial: "requesting",
  states: {
    requesting: {
      description: "OpenCode creates the session, or copies the caller's conversation.",
      tags: "creating",
      entry: request(
        "createSession",
        ({ context: { id: launchId, pending, source, worktree } }) =>
          pending && { launchId, pending, source, worktree },
      ),
      on: {
        SESSION_CREATED: [{ guard: "isCopy", target: "cutting", actions: "recordSession" }, ...onNewSession],
        CREATION_REFUSED: [
          {
            guard: "isCopy",
            target: "readingConversation",
            description: AS_TEXT,
            actions: ["recordForkRefusal", endPending, "forgetSession"],
          },
          { target: "#removingSession", actions: ["recordFailure", endPending, "forgetSession"] },
        ],
        CREATION_UNCONFIRMED: [
          {
            guard: "isCopy",
            target: "removingCopy",
            description: "It cannot be used: it is not marked as ours, and may still be growing.",
            actions: "recordForkRefusal",
          },
          { target: "searching", actions: "recordUnconfirmed" },
        ],
      },
    },
    searching: {
      description: "OpenCode did not say whether it created the session, so it is looked for.",
      initial: "looking",
      entry: "startCounting",
      on: {
        SESSION_FOUND: onNewSession,
        FAULT: { target: "#removingSession", description: "Nothing was found." },
      },
      states: {
        looking: {
          description: "OpenCode is asked which sessions there are.",
          entry: [
            "countTry",
            request("findSession", ({ context: { id: launchId, pending } }) => pending && { launchId, pending }),
          ],
          on: {
            SESSION_NOT_FOUND: [{ guard: "searchesLeft", target: "pausing" }, { target: "#removingSession" }],
          },
        },
        pausing: {
          description: "It may appear a moment later.",
          entry: { type: "setDeadline", params: ({ context }) => backoff(context.tries, SESSION_SEARCH_BACKOFF) },
          exit: "clearDeadline",
          on: {
            TICK: { guard: "due", target: "looking" },
            CANCEL: { target: "#removingSession", description: "Nothing is under way.", actions: "recordStopped" },
          },
        },
      },
    },
    cutting: {
      description: "The copy is marked as ours, and its conversation is shortened to the limits.",
      tags: "creating",
      entry: request("cutCopy", ({ context: { id: launchId, sessionID, pending, worktree } }) =>
        sessionID === undefined || !pending ? undefined : { launchId, sessionID, pending, worktree },
      ),
      on: {
        COPY_CUT: { target: "informing" },
        PREPARATION_FAILED: onUnusableCopy,
      },
    },
    informing: {
      id: "informing",
      description: "The agent is to read first that it has a conversation which may be incomplete.",
      initial: "storing",
      entry: "startCounting",
      states: {
        storing: {
          description: "OpenCode stores that message.",
          entry: [
            "countTry",
            request("storePreamble", ({ context: { id: launchId, sessionID } }) =>
              sessionID === undefined ? undefined : { launchId, sessionID },
            ),
          ],
          on: {
            PREAMBLE_STORED: { target: "#starting" },
            PREAMBLE_NOT_STORED: [
              { guard: "preamblesLeft", target: "pausing" },
              { guard: "isCopy", target: "#removingCopy", description: AS_TEXT, actions: "recordNoPreamble" },
              { target: "#removingSession", actions: "recordNoPreamble" },
            ],
            PREPARATION_FAILED: [
              { guard: "isCopy", ...onUnusableCopy },
              { target: "#removingSession", actions: "recordFailure" },
            ],
          },
        },
        pausing: {
          description: "It is stored again, with the same ids, after a pause.",
          entry: { type: "setDeadline", params: ({ context }) => backoff(context.tries, PREAMBLE_BACKOFF) },
          exit: "clearDeadline",
          on: {
            TICK: { guard: "due", target: "storing" },
            CANCEL: { target: "#removingSession", description: "Nothing is under way.", actions: "recordStopped" },
          },
        },
      },
    },
    removingCopy: {
      id: "removingCopy",
      description: "The conversation could not be copied, and what there is of the copy is deleted.",
      entry: requestSessionRemoval,
      on: {
        SESSIONS_REMOVED: { target: "readingConversation", actions: "forgetSession" },
        SESSIONS_LEFT: {
          target: "readingConversation",
          description: "An actor of its own goes on with that.",
          actions: ["recordLeft", leaveCopy, "forgetSession"],
        },
      },
    },
    readingConversation: {
      description: "The conversation that could not be copied is read.",
      entry: request(
        "readConversation",
        ({ context: { id: launchId, parentSessionID, forkRefusal: reason = "" } }) => ({
          ...{ launchId, parentSessionID, reason },
        }),
      ),
      on: {
        CONVERSATION_READ: {
          target: "requesting",
          description: "A session of its own gets it.",
          actions: "turnIntoText",
        },
        CONVERSATION_NOT_READ: { target: "#removingSession", actions: "recordFailure" },
      },
    },
  },
});

/** All that comes before the task: a worktree, a place in the fleet, a session. */
export const preparing = launchSetup.createStateConfig({
  description: "What the task needs is made: a worktree where it is to have one, and a session.",
  initial: "makingWorktree",
  on: {
    CANCEL: {
      target: "#awaitingAnswer",
      description: "A call that is under way cannot be taken back.",
      actions: "recordStopped",
    },
    FAULT: { target: "#removingSession", actions: "recordFault" },
    CLOSE: onClose,
  },
  states: {
    makingWorktree: {
      description: "A worktree is made for the task.",
      entry: request("makeWorktree", ({ context: { id: launchId } }) => ({ launchId })),
      on: {
        WORKTREE_MADE: [
          { guard: "asksFleet", target: "askingFleet", actions: "recordWorktree" },
          { target: "waiting", actions: "recordWorktree" },
        ],
        WORKTREE_REFUSED: { target: "#answering", actions: "recordNoWorktree" },
      },
    },
    askingFleet: {
      id: "askingFleet",
      description: "It is decided whether other servers are offered the task.",
      entry: request("askFleet", ({ context: { id: launchId } }) => ({ launchId })),
      on: {
        FLEET_ANSWERED: { target: "waiting", actions: "recordOffer" },
      },
    },
    waiting: {
      id: "waiting",
      description: "The launch waits until few enough other sessions are being created.",
      entry: request("takeTurn", ({ context: { id: launchId } }) => ({ launchId })),
      on: {
        TURN_TAKEN: { target: "creating", actions: "recordPending" },
        CANCEL: { target: "#removingSession", description: "Nothing is under way.", actions: "recordStopped" },
      },
    },
    creating,
  },
});
