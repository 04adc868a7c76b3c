// A tool that waits for a run holds its notice back until OpenCode has stored the tool's output: before that, a person may
// abort the turn (docs/decisions/012-a-waiting-tool-holds-the-notice-back.md).
import { and } from "xstate";
import type { TaskContext } from "./events.ts";
import { given, request, taskSetup } from "./setup.ts";

/** What the task that launched this one learns of its end; undefined where no task did. */
const endToReport = ({ sessionID: taskId, parentTaskId }: TaskContext["facts"]) =>
  parentTaskId === undefined ? undefined : { taskId, parentTaskId };

/** Requests that the task that launched this one be notified in the same step: from then on it is at work again. */
const reportEnd = request("reportEnd", ({ context: { facts } }) => endToReport(facts));

/** The same, unless the end waits for the others of its batch: then it wakes nobody. */
const reportWakingEnd = request(
  "reportEnd",
  given("RUN_ENDED", ({ context: { facts }, event }) =>
    facts.wake !== "all" || event.outcome === "error" ? endToReport(facts) : undefined,
  ),
);

const withdraw = request("withdrawNotice", ({ context: { facts, run } }) => ({
  taskId: facts.sessionID,
  parentSessionID: facts.parentSessionID,
  run: run.index,
}));

/** Whether the parent is owed the notice of the newest run, and how far its delivery has come. */
export const notice = taskSetup.createStateConfig({
  description: "Whether the parent is owed the notice of the newest run, and how far its delivery has come.",
  initial: "none",
  on: {
    WAIT_BEGAN: { actions: "addWaiter" },
    WAIT_ABANDONED: { guard: "isWaiter", actions: "removeWaiter" },
    WAIT_DELIVERED: { guard: "isWaiter", actions: "removeWaiter" },
  },
  states: {
    none: {
      id: "nothingOwed",
      description: "The parent is owed nothing.",
      on: {
        RUN_ENDED: [
          {
            guard: "waitedFor",
            target: "held",
            description: "A tool call waits for its result.",
            actions: ["recordRunResult", withdraw, reportEnd],
          },
          { target: "due", actions: ["recordRunResult", reportWakingEnd] },
        ],
      },
    },
    held: {
      description: "The run has ended, and a tool call that waits for it is to deliver the result.",
      on: {
        WAIT_DELIVERED: { guard: "isWaiter", target: "none", actions: "removeWaiter" },
        WAIT_ABANDONED: {
          guard: and(["isWaiter", "isOnlyWaiter"]),
          target: "due",
          description: "It was the last one that waited.",
          actions: "removeWaiter",
        },
      },
    },
    due: {
      description: "The parent is owed the notice.",
      entry: request("queueNotice", ({ context: { lastRunResult } }) => lastRunResult && { end: lastRunResult }),
      on: {
        NOTICE_COMPOSED: { target: "sending" },
        NOTICE_DROPPED: { target: "none" },
        ADOPTED: { target: "due", reenter: true, description: "The notice is queued in this process's outbox." },
        WAIT_BEGAN: {
          target: "held",
          description: "The notice is not composed yet, and is withdrawn.",
          actions: ["addWaiter", withdraw],
        },
      },
    },
    sending: {
      description: "The notice is part of a prompt to the parent. Its words and ids are fixed.",
      on: {
        NOTICE_ACKNOWLEDGED: { target: "none" },
        NOTICE_DROPPED: { target: "none" },
        ADOPTED: {
          guard: "noNoticePending",
          target: "due",
          description: "The prompt was lost with the process that has ended.",
        },
      },
    },
  },
});
