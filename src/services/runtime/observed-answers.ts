import type { HostEvent, MessageInfo } from "../../machines/supervisor/events.ts";
import { joinTexts } from "../host/host.ts";
import { determineRunOutcome } from "./run-outcome.ts";

interface SessionObservation {
  busy: boolean;
  /** The newest message, of whichever role. */
  newest: MessageInfo | undefined;
  /** The newest message's own text parts by id. */
  texts: Map<string, string>;
}

/**
 * What the host has told of the children at work. Asking it back costs two calls, and those queue behind the host's own
 * work when many children end together; so a plain answer, which its events tell completely, is read from them.
 */
export interface ObservedAnswers {
  onHostEvent(event: HostEvent): void;
  /** The answer to the prompt, if the events alone show that the run ended with one; else the host has to be asked. */
  answerOf(sessionID: string, messageID: string): { completedAt: number; result: string } | undefined;
  forget(sessionID: string): void;
}

/** `isOurs` tells the sessions that are worth remembering. */
export const createObservedAnswers = (isOurs: (sessionID: string) => boolean): ObservedAnswers => {
  const traces = new Map<string, SessionObservation>();

  const of = (sessionID: string): SessionObservation => {
    const known = traces.get(sessionID) ?? { busy: true, newest: undefined, texts: new Map() };
    traces.set(sessionID, known);
    return known;
  };

  return {
    onHostEvent: (event) => {
      const { type, sessionID } = event;
      if (!isOurs(sessionID)) return;
      const trace = of(sessionID);
      if (type === "busy" || type === "idle") trace.busy = type === "busy";
      if (type === "message" && event.message.id >= (trace.newest?.id ?? "")) {
        if (event.message.id !== trace.newest?.id) trace.texts.clear();
        trace.newest = event.message;
      }
      if (type === "text" && event.messageID === trace.newest?.id) trace.texts.set(event.partID, event.text);
    },
    answerOf: (sessionID, messageID) => {
      const trace = traces.get(sessionID);
      if (!trace?.newest || trace.busy) return undefined;
      const parts = [...trace.texts].toSorted(([a], [b]) => (a < b ? -1 : 1));
      const newest = { ...trace.newest, text: joinTexts(parts.map(([, text]) => text)) };
      const standing = determineRunOutcome({
        messages: [newest],
        messageID,
        storedAt: undefined,
        hostError: undefined,
      });
      // Without a text, an earlier message may have one.
      if (standing.is !== "answered" || standing.result === "") return undefined;
      return { completedAt: standing.completedAt, result: standing.result };
    },
    forget: (sessionID) => {
      traces.delete(sessionID);
    },
  };
};
