import type { HostEvent, MessageInfo } from "../../machines/host-events.ts";
import type { RunAnswer } from "../../task.ts";
import { joinTexts } from "../host/host.ts";
import { determineRunOutcome } from "./run-outcome.ts";

interface SessionObservation {
  isBusy: boolean;
  /** The newest message, whatever its role. */
  newest: MessageInfo | undefined;
  /** The newest message's own text parts by id. */
  texts: Map<string, string>;
  /** True once the newest message has called a tool. */
  callsTools: boolean;
}

/**
 * Creates an empty record of what the host's events have shown of the sessions that work on a run. To ask the host for an
 * answer takes two calls, which queue behind its own work when many children end together; a plain answer, which the events give
 * completely, is read from them instead.
 */
export const createObservedAnswers = () => {
  const observations = new Map<string, SessionObservation>();

  const observationOf = (sessionID: string): SessionObservation => {
    const known = observations.get(sessionID) ?? {
      isBusy: true,
      newest: undefined,
      texts: new Map(),
      callsTools: false,
    };
    observations.set(sessionID, known);
    return known;
  };

  return {
    /** Handles an event of a session whose run is under way. */
    onHostEvent: (event: HostEvent) => {
      const { type, sessionID } = event;
      const session = observationOf(sessionID);
      if (type === "busy" || type === "retrying" || type === "idle") session.isBusy = type !== "idle";
      if (type === "message" && event.message.id >= (session.newest?.id ?? "")) {
        if (event.message.id !== session.newest?.id) {
          session.texts.clear();
          session.callsTools = false;
        }
        session.newest = event.message;
      }
      if (type === "toolCall") session.callsTools = true;
      if (type === "text" && event.messageID === session.newest?.id) session.texts.set(event.partID, event.text);
    },
    /** The answer to the prompt, if the events alone show that the run ended with one; otherwise the host has to be asked. */
    answerOf: (sessionID: string, messageID: string): ({ completedAt: number } & RunAnswer) | undefined => {
      const session = observations.get(sessionID);
      if (!session?.newest || session.isBusy) return undefined;
      const parts = [...session.texts].toSorted(([a], [b]) => (a < b ? -1 : 1));
      const newest = {
        ...session.newest,
        ...(session.callsTools ? ({ tools: "called" } as const) : {}),
        text: joinTexts(parts.map(([, text]) => text)),
      };
      const outcome = determineRunOutcome({
        messages: [newest],
        messageID,
        storedAt: undefined,
        earlier: new Set(),
        hostError: undefined,
      });
      // If this message has no text, an earlier one may have it.
      if (outcome.is !== "answered" || outcome.result === "") return undefined;
      const { is: _, isPromptKnown: __, ...answer } = outcome;
      return answer;
    },
    forget: (sessionID: string) => {
      observations.delete(sessionID);
    },
  };
};
