import { and, assign, not } from "xstate";
import { taskSetup } from "./setup.ts";

const asked = [
  { guard: and(["live", "newQuestion"]), target: "#awaitingUser.question", actions: "addUserRequest" },
  { guard: and(["live", "newRequest"]), target: "#awaitingUser.permission", actions: "addUserRequest" },
] as const;

/** What holds the task up: a request that only a person can answer, or silence. */
export const attention = taskSetup.createStateConfig({
  description: "What holds the task up: a request that only a person can answer, or silence.",
  initial: "none",
  on: {
    RUN_ENDED: { target: ".none", actions: assign({ userRequests: [], staleSince: undefined }) },
    ADOPTED: {
      target: ".none",
      description: "What was asked went with the process that is gone.",
      actions: assign({ userRequests: [], staleSince: undefined }),
    },
  },
  states: {
    none: {
      description: "Nothing holds the task up.",
      on: { REQUEST_ASKED: asked, BECAME_STALE: { guard: "live", target: "stale" } },
    },
    stale: {
      description: "The child has not been heard of for a while.",
      entry: assign({ staleSince: ({ event }) => event.at }),
      exit: assign({ staleSince: undefined }),
      on: { REQUEST_ASKED: asked, ACTIVITY_SEEN: { target: "none" } },
    },
    awaitingUser: {
      id: "awaitingUser",
      description: "The child asks something that only a person can answer. The oldest request is shown first.",
      initial: "permission",
      on: {
        REQUEST_ASKED: { guard: "newRequest", description: "It waits for its turn.", actions: "addUserRequest" },
        REQUEST_ANSWERED: [
          { guard: "onlyRequest", target: "none", description: "It was the only one.", actions: "removeUserRequest" },
          {
            guard: and(["openRequest", "questionNext"]),
            target: ".question",
            description: "A question is next.",
            actions: "removeUserRequest",
          },
          {
            guard: and(["openRequest", not("questionNext")]),
            target: ".permission",
            description: "A permission is next.",
            actions: "removeUserRequest",
          },
        ],
      },
      states: {
        permission: { description: "It asks for a permission." },
        question: { description: "It asks a question." },
      },
    },
  },
});
