import type { HostEvent } from "../../../machines/host-events.ts";
import type { Host } from "../../host/host.ts";
import { shareCalls } from "../../platform/concurrency.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import { remember } from "../../platform/remember.ts";

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
