import { START } from "../fakes/task-input.ts";

type Payload<Event extends { type: string }, Type extends Event["type"]> = Partial<
  Omit<Extract<Event, { type: Type }>, "type">
>;

/** A chart in the hands of a test, which brings it one event after the other. */
export interface Driven<Event extends { type: string }, Snapshot, Effect> {
  readonly snapshot: Snapshot;
  /**
   * Gives the chart an event, and returns what the chart requests. What the test does not say of the event is as usual;
   * it comes at the time of the last one, and a `TICK` when it is due. Throws when the chart refuses it.
   */
  take<Type extends Event["type"]>(type: Type, said?: Payload<Event, Type>): Effect[];
  /** True when the chart does not take such an event now. */
  refuses<Type extends Event["type"]>(type: Type, said?: Payload<Event, Type>): boolean;
}

/** How a chart is driven. */
export interface Chart<Event, Snapshot, Effect> {
  begin: Snapshot;
  step(before: Snapshot, event: Event): { after: Snapshot; effects: Effect[] };
  /** What an event of that type carries, as things stand, unless a test says otherwise. */
  usual(type: string, before: Snapshot): object;
}

interface Standing<Event> {
  value: unknown;
  context: { nextDeadline: number | undefined };
  can(event: Event): boolean;
}

/** Drives a chart from its beginning, at `START`. */
export const drive = <Event extends { type: string; at: number }, Snapshot extends Standing<Event>, Effect>({
  begin,
  step,
  usual,
}: Chart<Event, Snapshot, Effect>): Driven<Event, Snapshot, Effect> => {
  let snapshot = begin;
  let now = START;
  const eventOf = (type: string, said: object): Event => {
    const at = type === "TICK" ? (snapshot.context.nextDeadline ?? now) : now;
    return { at, ...usual(type, snapshot), ...said, type } as Event;
  };
  return {
    get snapshot() {
      return snapshot;
    },
    take: (type, said = {}) => {
      const event = eventOf(type, said);
      if (!snapshot.can(event)) throw new Error(`${JSON.stringify(snapshot.value)} does not take ${type}`);
      const { after, effects } = step(snapshot, event);
      snapshot = after;
      now = event.at;
      return effects;
    },
    refuses: (type, said = {}) => !snapshot.can(eventOf(type, said)),
  };
};
