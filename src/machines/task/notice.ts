import { and, enqueueActions } from "xstate";
import { task } from "./setup.ts";

const telling = { refuses: { RESUME: "has an end that is still being told" } };

/** What is owed to the parent about the newest run. */
export const notice = task.createStateConfig({
  description: "What is owed to the parent about the newest run.",
  initial: "none",
  on: {
    WAIT_BEGAN: { actions: "addWaiter" },
    LET_GO: { guard: "waits", actions: "dropWaiter" },
    TOLD: { guard: "waits", actions: "dropWaiter" },
  },
  states: {
    none: {
      id: "told",
      description: "Nothing is owed to the parent.",
      on: {
        RUN_ENDED: [
          { guard: "waitedFor", target: "held", description: "A tool call waits for it.", actions: "noteRunEnd" },
          { target: "due", actions: "noteRunEnd" },
        ],
      },
    },
    held: {
      meta: telling,
      description: "The run has ended, and a tool call waits for it. That call's answer will tell the parent.",
      on: {
        TOLD: { guard: "waits", target: "none", actions: "dropWaiter" },
        LET_GO: {
          guard: and(["waits", "onlyWaiter"]),
          target: "due",
          description: "It was the last one.",
          actions: "dropWaiter",
        },
      },
    },
    due: {
      meta: telling,
      description: "The parent is owed the run's end.",
      entry: enqueueActions(({ context: { end }, enqueue }) => {
        if (end) enqueue({ type: "request", params: { type: "tell", end } });
      }),
      on: {
        NOTICE_FORMED: { target: "sending" },
        NOTICE_DROPPED: { target: "none" },
        ADOPTED: { target: "due", reenter: true, description: "Its outbox is told once more." },
        WAIT_BEGAN: {
          target: "held",
          description: "The notice is not formed yet, and is withdrawn.",
          actions: [
            "addWaiter",
            {
              type: "request",
              params: ({ context: { facts, run } }) => ({
                type: "withdraw",
                taskId: facts.sessionID,
                parentSessionID: facts.parentSessionID,
                run: run.index,
              }),
            },
          ],
        },
      },
    },
    sending: {
      meta: telling,
      description: "The notice is part of a prompt to the parent. Its words and ids are fixed.",
      on: {
        NOTICE_ACKNOWLEDGED: { target: "none" },
        NOTICE_DROPPED: { target: "none" },
        ADOPTED: { guard: "notUnderWay", target: "due", description: "The prompt went with the process that is gone." },
      },
    },
  },
});
