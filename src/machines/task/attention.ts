import { and, assign, not } from "xstate";
import { task } from "./setup.ts";

const asked = [
  { guard: and(["live", "newQuestion"]), target: "#awaitingUser.question", actions: "noteRequest" },
  { guard: and(["live", "newRequest"]), target: "#awaitingUser.permission", actions: "noteRequest" },
] as const;

/** What holds the task up: a request that only a person can answer, or silence. */
export const attention = task.createStateConfig({
  description: "What holds the task up: a request that only a person can answer, or silence.",
  initial: "none",
  on: {
    RUN_ENDED: { target: ".none", actions: assign({ requests: [], quietSince: undefined }) },
    ADOPTED: {
      target: ".none",
      description: "What was asked went with the process that is gone.",
      actions: assign({ requests: [], quietSince: undefined }),
    },
  },
  states: {
    none: {
      description: "Nothing holds the task up.",
      on: { REQUEST_ASKED: asked, WENT_QUIET: { guard: "live", target: "stale" } },
    },
    stale: {
      description: "The child has not been heard of for a while.",
      entry: assign({ quietSince: ({ event }) => event.at }),
      exit: assign({ quietSince: undefined }),
      on: { REQUEST_ASKED: asked, HEARD: { target: "none" } },
    },
    awaitingUser: {
      id: "awaitingUser",
      description: "The child asks something that only a person can answer. The oldest request is shown first.",
      initial: "permission",
      on: {
        REQUEST_ASKED: { guard: "newRequest", description: "It waits for its turn.", actions: "noteRequest" },
        REQUEST_ANSWERED: [
          { guard: "onlyRequest", target: "none", description: "It was the only one.", actions: "dropRequest" },
          {
            guard: and(["openRequest", "questionNext"]),
            target: ".question",
            description: "A question is next.",
            actions: "dropRequest",
          },
          {
            guard: and(["openRequest", not("questionNext")]),
            target: ".permission",
            description: "A permission is next.",
            actions: "dropRequest",
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
