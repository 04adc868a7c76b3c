import { createInspector, type StatelyActorEvent, type StatelyInspectionEvent } from "@statelyai/inspect";
import type { Inspect } from "../runtime/actor-system.ts";

/** The task's chart nests nine levels deep, down to the events of `stopping.pausing`; anything deeper is cut off. */
const MAX_DEPTH = 20;

/** Keeps the states of a snapshot only: the rest is the machine itself, or text of a conversation. */
const withoutContext = (message: StatelyInspectionEvent): StatelyInspectionEvent => {
  if (!("snapshot" in message)) return message;
  const { status, value } = message.snapshot as StatelyActorEvent["snapshot"];
  return { ...message, snapshot: { status, value, context: {} } } as StatelyInspectionEvent;
};

/**
 * Translates XState's inspection events into the messages of Stately's inspector, without contexts and without the
 * payloads of events. It has a file of its own so that the package is loaded only where it is wanted.
 */
export const createStatelyInspector = (send: (message: StatelyInspectionEvent) => void): Inspect => {
  const { inspect } = createInspector(
    { send },
    {
      serializationDepthLimit: MAX_DEPTH,
      sanitizeEvent: ({ type }) => ({ type }),
      sanitizeContext: () => ({}),
      serialize: withoutContext,
    },
  );
  return (event) => inspect.next?.(event);
};
