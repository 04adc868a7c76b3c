import type { HostEvent, RequestCost } from "../../../machines/host-events.ts";
import type { NoticePrompt } from "../../../machines/outbox/events.ts";
import { addUpWakes, type WakeCosts } from "../../../task.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import type { ProgressLog } from "../../runtime/progress.ts";
import { asksAgain } from "../../runtime/run-outcome.ts";
import type { Store } from "../../store/store.ts";

/** A notice to which no answer is complete. */
interface SentNotice {
  parentSessionID: string;
  /** The tasks whose ends it delivers, each once. */
  taskIds: string[];
}

// See docs/decisions/313-a-wake-costs-its-first-request.md.

/** Divides what a wake cost among the tasks whose ends it delivered, so that the sum stays the same. */
export const sharesOf = ({ tokens, cachedTokens, cost }: RequestCost, tasks: number): WakeCosts[] => {
  const part = (whole: number, index: number) => Math.floor(whole / tasks) + (index < whole % tasks ? 1 : 0);
  return Array.from({ length: tasks }, (_, index) => ({
    wakes: index === 0 ? 1 : 0,
    tokens: part(tokens, index),
    cachedTokens: part(cachedTokens, index),
    cost: cost / tasks,
  }));
};

/**
 * Creates what notes for each task what it cost to wake the agent that launched it: the first request of a turn that a notice
 * began. It reads the whole conversation again; what the agent goes on to do is its work. A notice that a turn under way takes in
 * wakes nobody. A wake is not counted where its OpenCode ends during that request, or where another process goes on with the
 * task meanwhile.
 */
export const createWakeCosts = (
  store: Pick<Store, "get" | "storeProgress">,
  progress: Pick<ProgressLog, "of" | "addWakeCosts">,
  log: Log,
) => {
  /** By message id. */
  const sent = new Map<string, SentNotice>();
  /** Sessions whose newest complete message called a tool: the same turn goes on with the next one. */
  const inTurn = new Set<string>();

  const forget = (sessionID: string) => {
    inTurn.delete(sessionID);
    for (const [messageID, { parentSessionID }] of sent) if (parentSessionID === sessionID) sent.delete(messageID);
  };

  const add = (taskId: string, costs: WakeCosts) => {
    try {
      const before = progress.of(taskId) ?? store.get(taskId)?.task.progress;
      if (!before) return;
      progress.addWakeCosts(taskId, costs);
      store.storeProgress(new Map([[taskId, { ...before, wakeCosts: addUpWakes([before.wakeCosts, costs]) }]]));
    } catch (error) {
      // No reason to keep the event from what decides by it.
      log.error("what a wake cost could not be stored", { taskId, reason: errorMessage(error) });
    }
  };

  return {
    /** Notes that a notice is being sent, once or again. */
    expect: (parentSessionID: string, { messageID, runs }: Pick<NoticePrompt, "messageID" | "runs">) => {
      sent.set(messageID, { parentSessionID, taskIds: [...new Set(runs.map(({ taskId }) => taskId))] });
    },
    onHostEvent: (event: Extract<HostEvent, { type: "message" | "idle" | "deleted" }>): void => {
      const { sessionID } = event;
      if (event.type === "idle") inTurn.delete(sessionID);
      if (event.type === "deleted") forget(sessionID);
      if (event.type !== "message") return;
      const { role, promptID = "", completedAt, isSummary, requestCost } = event.message;
      if (role !== "assistant" || isSummary || completedAt === undefined) return;
      const notice = sent.get(promptID);
      sent.delete(promptID);
      if (notice && requestCost && !inTurn.has(sessionID)) {
        const shares = sharesOf(requestCost, notice.taskIds.length);
        for (const [index, share] of shares.entries()) add(notice.taskIds[index] ?? "", share);
      }
      if (asksAgain(event.message)) inTurn.add(sessionID);
      else inTurn.delete(sessionID);
    },
  };
};
