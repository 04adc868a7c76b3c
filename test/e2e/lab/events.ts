import type { Event, OpencodeClient } from "@opencode-ai/sdk/v2/client";
import { PATIENCE_MS } from "../../patience.ts";
import { now, record, type WaitOptions } from "./recording.ts";

/** An event as the server sent it, with the time of its arrival in epoch milliseconds. */
export type RecordedEvent = Event & { at: number };

/** The event of that type. */
type EventOf<Type extends RecordedEvent["type"]> = Extract<RecordedEvent, { type: Type }>;

/** Everything the server tells about its sessions, from the subscription on. */
export type Events = {
  all: readonly RecordedEvent[];
  /** The events of one session, in order of arrival. */
  of(sessionID: string): RecordedEvent[];
  /**
   * The first event of that type, or for which the function is true, already recorded or still to come.
   * `sessionID` leaves out other sessions, `after` everything up to and including that event.
   * Rejects after `timeoutMs` (default: `PATIENCE_MS`) with a list of what was recorded.
   */
  waitFor<Type extends RecordedEvent["type"]>(
    what: Type | ((event: RecordedEvent) => boolean),
    options?: WaitOptions<RecordedEvent> & { sessionID?: string },
  ): Promise<EventOf<Type>>;
  /** Resolves when the next event arrives. */
  next(): Promise<void>;
  stop(): void;
};

/** Milliseconds that the server gets to confirm a subscription; it starts its instance for the folder in that time. */
const confirmTimeoutMs = PATIENCE_MS;

/** Subscribes, and resolves when the server has confirmed it: no later event is missed. */
export async function subscribe(client: OpencodeClient): Promise<Events> {
  const events = record<RecordedEvent>(
    "event",
    (event) => `${event.type} ${JSON.stringify(event.properties).slice(0, 160)}`,
  );
  const stopping = new AbortController();
  let broken: unknown;
  const { stream } = await client.event.subscribe(
    {},
    {
      signal: stopping.signal,
      // Once broken it stays so: a subscription that came back by itself would hide a gap.
      sseMaxRetryAttempts: 1,
      onSseError: (error) => {
        broken = error;
      },
    },
  );
  const patience = setTimeout(() => stopping.abort(), confirmTimeoutMs);
  const first = await stream.next();
  clearTimeout(patience);
  if (first.done) throw new Error(`the server does not send events: ${broken ?? "no answer"}`);
  events.add({ ...first.value, at: now() });
  const reading = (async () => {
    for await (const event of stream) events.add({ ...event, at: now() });
  })();
  // A server that is stopped or killed ends the stream, and that is no error of the subscription.
  reading.catch(() => undefined);
  return {
    all: events.all,
    of: (sessionID) => events.all.filter((event) => sessionOf(event) === sessionID),
    async waitFor<Type extends RecordedEvent["type"]>(
      what: Type | ((event: RecordedEvent) => boolean),
      { sessionID, ...options }: WaitOptions<RecordedEvent> & { sessionID?: string } = {},
    ) {
      const matches = typeof what === "function" ? what : (event: RecordedEvent) => event.type === what;
      const found = await events.waitFor(
        (event) => (sessionID === undefined || sessionOf(event) === sessionID) && matches(event),
        options,
      );
      return found as EventOf<Type>;
    },
    next: events.next,
    stop: () => stopping.abort(),
  };
}

/** The session that an event is about, if any. */
function sessionOf(event: RecordedEvent): string | undefined {
  const { properties } = event;
  return "sessionID" in properties && typeof properties.sessionID === "string" ? properties.sessionID : undefined;
}
