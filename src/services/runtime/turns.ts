// ADR-147 in docs/decisions.md
import type { HostEvent } from "../../machines/host-events.ts";
import type { Host } from "../host/host.ts";
import { shareCalls } from "../platform/concurrency.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import { remember } from "../platform/remember.ts";

/** Knows which turn a message of an agent belongs to. A turn is all that answers one user message, and is named after it. */
export interface Turns {
  onHostEvent(event: HostEvent): void;
  /**
   * Returns the user message that the agent's message answers. The host's events tell it before the agent's tools are
   * called; where they have not, the host is asked. Undefined where it does not say either.
   */
  turnOf(sessionID: string, messageID: string): Promise<string | undefined>;
}

/** Number of sessions whose newest message is remembered, those that spoke last: about 200 kB. */
const MAX_REMEMBERED = 1_000;

/** Creates a record of turns in which no event has come yet. */
export const createTurns = (host: Pick<Host, "message">, log: Log): Turns => {
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

  return {
    onHostEvent: (event) => {
      if (event.type === "deleted") newest.delete(event.sessionID);
      if (event.type !== "message" || event.message.promptID === undefined) return;
      const { id: messageID, promptID: turn } = event.message;
      remember(newest, event.sessionID, { messageID, turn }, MAX_REMEMBERED);
    },
    turnOf: async (sessionID, messageID) => {
      const known = newest.get(sessionID);
      if (known?.messageID === messageID) return known.turn;
      return ask(`${sessionID}/${messageID}`);
    },
  };
};
