import type { HostEvent } from "../../../machines/host-events.ts";
import { hasEnded, type TaskEntry } from "../../../task.ts";
import type { Host } from "../../host/host.ts";
import { shareCalls } from "../../platform/concurrency.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import { remember } from "../../platform/remember.ts";
import type { Store } from "../../store/store.ts";

/** Number of sessions whose newest message is remembered, those that spoke last: about 200 kB. */
const MAX_REMEMBERED = 1_000;

/**
 * Creates an empty record of which turn a message of an agent belongs to. A turn is all that answers one user message, and is
 * named after it.
 */
export const createTurns = (host: Pick<Host, "message">, log: Log) => {
  /** The newest message of each session's agent, and the user message that it answers. */
  const newest = new Map<string, { messageID: string; turn: string }>();

  /** All launches of one message share a call. */
  const ask = shareCalls(async (key): Promise<string | undefined> => {
    const [sessionID = "", messageID = ""] = key.split("/");
    try {
      const message = await host.message(sessionID, messageID);
      return message.ok ? message.value.promptID : undefined;
    } catch (error) {
      // A launch does not fail for want of the name of its batch.
      log.error("it is not known in which turn a task is launched", {
        sessionID,
        messageID,
        reason: errorMessage(error),
      });
      return undefined;
    }
  });

  /**
   * Returns the user message that the agent's message answers. The host's events show it before the agent's tools are
   * called; where they have not, the host is asked. Undefined where it does not say either.
   */
  const turnOf = async (sessionID: string, messageID: string): Promise<string | undefined> => {
    const known = newest.get(sessionID);
    if (known?.messageID === messageID) return known.turn;
    return ask(`${sessionID}/${messageID}`);
  };

  return {
    onHostEvent: (event: HostEvent) => {
      if (event.type === "deleted") newest.delete(event.sessionID);
      if (event.type !== "message" || event.message.promptID === undefined) return;
      const { id: messageID, promptID: turn } = event.message;
      remember(newest, event.sessionID, { messageID, turn }, MAX_REMEMBERED);
    },
    turnOf,
    /** Names the batch of all tasks that are launched in one turn. A message of which no turn is known counts as one. */
    batchOf: async (sessionID: string, messageID: string): Promise<string> => {
      const turn = (await turnOf(sessionID, messageID)) ?? messageID;
      return turn.replace(/^msg_/, "batch_");
    },
  };
};

/**
 * Creates what tracks which batches still have running tasks.
 * @param isHeadless True where the host ends with its agent's answer: nothing is worth waiting for, so all batches have ended.
 */
export const createBusyBatches = (store: Pick<Store, "list" | "get" | "isAttended">, isHeadless: boolean) => {
  const launches = new Set<Pick<TaskEntry, "parentSessionID" | "batchId">>();

  /**
   * True for a task whose end will come by itself and is worth waiting for: not for one that nobody supervises or whose
   * record is damaged, nor for one that waits for a person or has been silent for too long.
   */
  const isAtWork = (entry: TaskEntry): boolean => {
    if (hasEnded(entry)) return false;
    const task = store.get(entry.sessionID)?.task;
    return task !== undefined && task.attention === undefined && store.isAttended(entry.sessionID);
  };

  return {
    /** Marks the batch as busy. Call the returned function once the task is stored, or the launch has failed. */
    beginLaunch: (parentSessionID: string, batchId: string): (() => void) => {
      const launch = { parentSessionID, batchId };
      launches.add(launch);
      return () => void launches.delete(launch);
    },
    /** Returns those of a parent's batches of which no task is at work, in whatever process. */
    ended: (parentSessionID: string, batchIds: string[]): string[] => {
      if (isHeadless) return batchIds;
      const launched = [...launches].filter((launch) => launch.parentSessionID === parentSessionID);
      return batchIds.filter(
        (batchId) =>
          launched.every((launch) => launch.batchId !== batchId) &&
          !store.list({ parentSessionID, batchId }).some(isAtWork),
      );
    },
  };
};
