import { and, enqueueActions } from "xstate";
import { taskSetup } from "./setup.ts";

const refusesResume = { refuses: { RESUME: "has an end that is still being told" } };

/** What is owed to the parent about the newest run. */
export const notice = taskSetup.createStateConfig({
  description: "What is owed to the parent about the newest run.",
  initial: "none",
  on: {
    WAIT_BEGAN: { actions: "addWaiter" },
    WAIT_ABANDONED: { guard: "isWaiter", actions: "removeWaiter" },
    WAIT_DELIVERED: { guard: "isWaiter", actions: "removeWaiter" },
  },
  states: {
    none: {
      id: "nothingOwed",
      description: "Nothing is owed to the parent.",
      on: {
        RUN_ENDED: [
          { guard: "waitedFor", target: "held", description: "A tool call waits for it.", actions: "recordRunResult" },
          { target: "due", actions: "recordRunResult" },
        ],
      },
    },
    held: {
      meta: refusesResume,
      description: "The run has ended, and a tool call waits for it. That call's answer will tell the parent.",
      on: {
        WAIT_DELIVERED: { guard: "isWaiter", target: "none", actions: "removeWaiter" },
        WAIT_ABANDONED: {
          guard: and(["isWaiter", "isOnlyWaiter"]),
          target: "due",
          description: "It was the last one.",
          actions: "removeWaiter",
        },
      },
    },
    due: {
      meta: refusesResume,
      description: "The parent is owed the run's end.",
      entry: enqueueActions(({ context: { lastRunResult }, enqueue }) => {
        if (lastRunResult) enqueue({ type: "emitEffect", params: { type: "queueNotice", end: lastRunResult } });
      }),
      on: {
        NOTICE_COMPOSED: { target: "sending" },
        NOTICE_DROPPED: { target: "none" },
        ADOPTED: { target: "due", reenter: true, description: "Its outbox is told once more." },
        WAIT_BEGAN: {
          target: "held",
          description: "The notice is not formed yet, and is withdrawn.",
          actions: [
            "addWaiter",
            {
              type: "emitEffect",
              params: ({ context: { facts, run } }) => ({
                type: "withdrawNotice",
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
      meta: refusesResume,
      description: "The notice is part of a prompt to the parent. Its words and ids are fixed.",
      on: {
        NOTICE_ACKNOWLEDGED: { target: "none" },
        NOTICE_DROPPED: { target: "none" },
        ADOPTED: {
          guard: "noNoticePending",
          target: "due",
          description: "The prompt went with the process that is gone.",
        },
      },
    },
  },
});
