import { and, assign, not } from "xstate";
import { taskSetup } from "./setup.ts";

const forgetRequests = taskSetup.assign({ userRequests: [], lostRequests: undefined, redoesStep: undefined });

/** The server that worked on the run counts no more. */
const noServer = {
  guard: "isClaimed",
  target: ".none",
  description: "The server does not wait for an answer any more.",
  actions: forgetRequests,
} as const;

const onRequestAsked = [
  { guard: and(["mayAsk", "isQuestion"]), target: "#awaitingUser.question", actions: "addUserRequest" },
  { guard: "mayAsk", target: "#awaitingUser.permission", actions: "addUserRequest" },
] as const;

/** What holds the task up: a request that only a person can answer, or silence. */
export const attention = taskSetup.createStateConfig({
  description: "What holds the task up: a request that only a person can answer, or silence.",
  initial: "none",
  on: {
    RUN_ENDED: { target: ".none", actions: forgetRequests },
    REMOTE_CLAIMED: {
      guard: and(["isInFleet", "isNewClaim"]),
      target: ".none",
      description: "The server before does not wait for an answer any more.",
      actions: forgetRequests,
    },
    REMOTE_LOST: noServer,
    CLOSED: noServer,
    ADOPTED: {
      target: ".none",
      description: "The open requests were lost with the process that has ended: the step that asked is done again.",
      actions: taskSetup.assign(({ context: { userRequests, lostRequests, redoesStep } }) => ({
        userRequests: [],
        lostRequests: userRequests.length > 0 ? userRequests : lostRequests,
        redoesStep: userRequests.some(({ isFromBelow }) => !isFromBelow) || redoesStep,
      })),
    },
    PAUSE: {
      guard: "mayPause",
      target: ".none",
      description: "The open requests are rejected: its agent asks again when it goes on.",
      actions: forgetRequests,
    },
    PROMPT_ACCEPTED: {
      description: "That step is taken back. The steps that follow it waited for nobody.",
      actions: assign({ redoesStep: undefined }),
    },
  },
  states: {
    none: {
      description: "Nothing holds the task up.",
      on: {
        REQUEST_ASKED: onRequestAsked,
        BECAME_STALE: {
          guard: and(["isAgentAtWork", not("isRefusedForNow")]),
          target: "stale",
        },
      },
    },
    stale: {
      description: "OpenCode has reported nothing of the agent for a while.",
      entry: assign({ staleSince: ({ event }) => event.at }),
      exit: assign({ staleSince: undefined }),
      on: { REQUEST_ASKED: onRequestAsked, ACTIVITY_SEEN: { target: "none" } },
    },
    awaitingUser: {
      id: "awaitingUser",
      description: "The agent waits for a person to answer. The oldest request is shown first.",
      initial: "permission",
      on: {
        REQUEST_ASKED: {
          guard: "mayAsk",
          description: "It is shown after the older ones.",
          actions: "addUserRequest",
        },
        REQUEST_ANSWERED: [
          { guard: "onlyRequest", target: "none", description: "It was the only one.", actions: "removeUserRequest" },
          {
            guard: and(["openRequest", "questionNext"]),
            target: ".question",
            description: "The next request is a question.",
            actions: "removeUserRequest",
          },
          {
            guard: and(["openRequest", not("questionNext")]),
            target: ".permission",
            description: "The next request is a permission.",
            actions: "removeUserRequest",
          },
        ],
      },
      states: {
        permission: { description: "The agent asks for a permission." },
        question: { description: "The agent asks a question." },
      },
    },
  },
});
