// What all charts have in common, and what is said of any of them.
import { assertEvent, type EventObject, enqueueActions, type MachineContext } from "xstate";

type Transition = string | { target?: string; description?: string };

interface State {
  on?: Record<string, Transition | Transition[]>;
  states?: Record<string, State>;
}

/** A state that says in a sentence what it is, as do all states inside it. */
interface Described {
  description: string;
  states?: Record<string, Described>;
}

const mapped = <Value, Result>(record: Record<string, Value>, change: (value: Value, key: string) => Result) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));

const withMeanings = (meanings: Record<string, string>, state: State): State => ({
  ...state,
  ...(state.on && {
    on: mapped(state.on, (transitions, event) => {
      const describe = (transition: Transition) => {
        const own = typeof transition === "string" ? { target: transition } : transition;
        return { ...own, description: [meanings[event], own.description].filter(Boolean).join(" ") };
      };
      return Array.isArray(transitions) ? transitions.map(describe) : describe(transitions);
    }),
  }),
  ...(state.states && { states: mapped(state.states, (inner) => withMeanings(meanings, inner)) }),
});

/**
 * Returns the chart with a description at each transition: first the meaning of its event, which is written once, beside its
 * type, then the transition's own description. The pictures and the API show it. Nothing else changes. A state without a
 * description does not compile.
 */
export const withEventDescriptions = <const Chart>(
  meanings: Record<string, string>,
  chart: Chart & (Chart extends Described ? unknown : Described),
): Chart => withMeanings(meanings, chart as unknown as State) as Chart;

/** A machine's state in XState's form: nested by the names of the states. */
export type StateValue = string | { [name: string]: StateValue | undefined };

/** Returns the innermost states of a state value as dotted paths, such as `run.active.working`. */
export const statePaths = (value: StateValue | undefined): string[] => {
  if (value === undefined) return [];
  if (typeof value === "string") return [value];
  return Object.entries(value).flatMap(([name, inner]) => {
    const below = statePaths(inner);
    return below.length === 0 ? [name] : below.map((path) => `${name}.${path}`);
  });
};

/** Formats a region's state, such as `stopping.aborting`. */
export const statePath = (value: unknown): string =>
  typeof value === "object" && value !== null
    ? Object.entries(value)
        .map(([name, inner]) => `${name}.${statePath(inner)}`)
        .join(" ")
    : String(value);

/** Returns the pause before the next try, in milliseconds: `first` after the first one, doubled each time, up to `longest`. */
export const backoff = (tries: number, { first, longest }: { first: number; longest: number }): number =>
  Math.min(first * 2 ** (tries - 1), longest);

/** A guard with what people read for it: phrases that follow "if", such as "a notice is owed" and "no notice is owed". */
export interface Phrased {
  phrase: string;
  /** What is so where the guard does not hold; absent where no transition asks for that. */
  otherwise?: string | undefined;
}

/** Returns what a chart wraps its guards in, so that each has the phrases that pictures and tables show for it. */
export const phrasing =
  <Context, Event extends EventObject>() =>
  <Guard extends (args: { context: Context; event: Event }, params: undefined) => boolean>(
    phrase: string,
    guard: Guard,
    otherwise?: string,
  ): Guard & Phrased =>
    Object.assign(guard, { phrase, otherwise });

/**
 * Returns what makes the actions of a chart that request effects. Each has the effect's name, which pictures and tables show, and
 * builds its other fields when it is carried out; undefined requests nothing.
 */
export const requesting =
  <Context extends MachineContext, Event extends EventObject, Effect extends { type: string }>() =>
  <Type extends Effect["type"]>(
    type: Type,
    build: (args: { context: Context; event: Event }) => Omit<Extract<Effect, { type: Type }>, "type"> | undefined,
  ) =>
    Object.assign(
      enqueueActions<
        Context,
        Event,
        undefined,
        Event,
        never,
        { type: "emitEffect"; params: Effect },
        never,
        never,
        never
      >(({ context, event, enqueue }) => {
        const fields = build({ context, event });
        // The compiler cannot tell that these are an effect of that type.
        if (fields) enqueue({ type: "emitEffect", params: { type, ...fields } } as never);
      }),
      { effect: type },
    );

/**
 * Returns what a chart wraps functions of its actions and guards in that read an event of one type, or of a few: they are
 * used with no other.
 */
export const readingEvents =
  <Context, Event extends EventObject>() =>
  <const Type extends Event["type"], Result>(
    types: Type | readonly Type[],
    read: (args: { context: Context; event: Extract<Event, { type: Type }> }) => Result,
  ) =>
  ({ context, event }: { context: Context; event: Event }): Result => {
    assertEvent(event as EventObject, types);
    return read({ context, event: event as Extract<Event, { type: Type }> });
  };
