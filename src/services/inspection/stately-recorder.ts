import type { StatelyActorEvent, StatelyInspectionEvent } from "@statelyai/inspect";
import { createListeners, type LiveSource } from "../platform/listeners.ts";
import { MAX_STEPS } from "./protocol.ts";
import type { Recording } from "./recorder.ts";
import type { StatelyMessages } from "./stately-protocol.ts";

/** The messages of all directories that are to be watched on Stately's page. */
export interface StatelyRecorder extends LiveSource {
  since(number: number): StatelyMessages;
  /** Loads Stately's package. */
  watch(): Promise<Recording>;
}

/** Each actor is introduced by a message, which a page that opens late needs too, and with the state that it has by then. */
const createMessages = () => {
  const actors = new Map<string, StatelyActorEvent>();
  let recent: { number: number; message: StatelyInspectionEvent }[] = [];
  let count = 0;
  return {
    add: (message: StatelyInspectionEvent) => {
      const { sessionId } = message;
      if (message.type === "@xstate.actor") actors.set(sessionId, message);
      if (message.type === "@xstate.snapshot") {
        const { snapshot } = message;
        const actor = actors.get(sessionId);
        if (snapshot.status !== "active") actors.delete(sessionId);
        else if (actor) actors.set(sessionId, { ...actor, snapshot });
      }
      count += 1;
      recent.push({ number: count, message });
      if (recent.length > MAX_STEPS) recent.shift();
    },
    since: (number: number): StatelyMessages => {
      const messages = recent.flatMap((one) => (one.number > number ? one.message : []));
      if (number > 0) return { upTo: count, messages };
      const happened = messages.filter(({ type, sessionId }) => type !== "@xstate.actor" && actors.has(sessionId));
      return { upTo: count, messages: [...actors.values(), ...happened] };
    },
    clear: () => {
      actors.clear();
      recent = [];
    },
  };
};

/** Keeps nothing, and loads nothing, while nothing is watched. */
export const createStatelyRecorder = (): StatelyRecorder => {
  const messages = createMessages();
  const watches = new Set<Recording>();
  const listeners = createListeners();
  return {
    isOn: () => watches.size > 0,
    since: messages.since,
    onChange: listeners.add,
    watch: async () => {
      const { createStatelyInspector } = await import("./stately-adapter.ts");
      const watch: Recording = {
        inspect: createStatelyInspector((message) => {
          if (!watches.has(watch)) return;
          messages.add(message);
          listeners.tell();
        }),
        end: () => {
          watches.delete(watch);
          if (watches.size === 0) messages.clear();
          listeners.tell();
        },
      };
      watches.add(watch);
      return watch;
    },
  };
};
