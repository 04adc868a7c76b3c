import { createInspector, type StatelyActorEvent, type StatelyInspectionEvent } from "@statelyai/inspect";
import type { Inspect } from "../runtime/actor-system.ts";

/** The task's chart is nine levels deep down to the events of `stopping.pausing`; what lies deeper is cut off. */
const DEPTH = 20;

/** The states alone: the rest of a snapshot is the machine itself, or what somebody said. */
const bare = (message: StatelyInspectionEvent): StatelyInspectionEvent => {
  if (!("snapshot" in message)) return message;
  const { status, value } = message.snapshot as StatelyActorEvent["snapshot"];
  return { ...message, snapshot: { status, value, context: {} } } as StatelyInspectionEvent;
};

/**
 * Puts what XState tells into the messages of Stately's inspector, without contexts and without what events carry. In a
 * file of its own, so that the package is loaded only when somebody wants it.
 */
export const createStatelyInspector = (send: (message: StatelyInspectionEvent) => void): Inspect => {
  const { inspect } = createInspector(
    { send },
    {
      serializationDepthLimit: DEPTH,
      sanitizeEvent: ({ type }) => ({ type }),
      sanitizeContext: () => ({}),
      serialize: bare,
    },
  );
  return (told) => inspect.next?.(told);
};
