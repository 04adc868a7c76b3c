import type { HostEvent, SeenMessage } from "../machines/supervisor-events.ts";
import { joinTexts } from "./host.ts";
import { settle } from "./settle.ts";

interface Sighting {
  busy: boolean;
  /** The newest message, of whichever role. */
  newest: SeenMessage | undefined;
  /** The newest message's own text parts by id. */
  texts: Map<string, string>;
}

/**
 * What the host has told of the children at work. Asking it back costs two calls, and those queue behind the host's own
 * work when many children end together; so a plain answer, which its events tell completely, is read from them.
 */
export interface Sightings {
  note(event: HostEvent): void;
  /** The answer to the prompt, if the events alone show that the run ended with one; else the host has to be asked. */
  answerOf(sessionID: string, messageID: string): { completedAt: number; result: string } | undefined;
  forget(sessionID: string): void;
}

/** `isOurs` tells the sessions that are worth remembering. */
export const createSightings = (isOurs: (sessionID: string) => boolean): Sightings => {
  const sightings = new Map<string, Sighting>();

  const of = (sessionID: string): Sighting => {
    const known = sightings.get(sessionID) ?? { busy: true, newest: undefined, texts: new Map() };
    sightings.set(sessionID, known);
    return known;
  };

  return {
    note: (event) => {
      const { type, sessionID } = event;
      if (!isOurs(sessionID)) return;
      const sighting = of(sessionID);
      if (type === "busy" || type === "idle") sighting.busy = type === "busy";
      if (type === "message" && event.message.id >= (sighting.newest?.id ?? "")) {
        if (event.message.id !== sighting.newest?.id) sighting.texts.clear();
        sighting.newest = event.message;
      }
      if (type === "text" && event.messageID === sighting.newest?.id) sighting.texts.set(event.partID, event.text);
    },
    answerOf: (sessionID, messageID) => {
      const sighting = sightings.get(sessionID);
      if (!sighting?.newest || sighting.busy) return undefined;
      const parts = [...sighting.texts].toSorted(([a], [b]) => (a < b ? -1 : 1));
      const newest = { ...sighting.newest, text: joinTexts(parts.map(([, text]) => text)) };
      const standing = settle({ busy: false, messages: [newest], messageID, hostError: undefined });
      // Without a text, an earlier message may have one.
      if (standing.is !== "answered" || standing.result === "") return undefined;
      return { completedAt: standing.completedAt, result: standing.result };
    },
    forget: (sessionID) => {
      sightings.delete(sessionID);
    },
  };
};
