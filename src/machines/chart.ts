// What an event means is written once, beside its type, and put on each transition from there: the pictures and the API
// show it.
type Transition = string | { target?: string; description?: string };

interface State {
  on?: Record<string, Transition | Transition[]>;
  states?: Record<string, State>;
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
 * Returns the chart with a description at each transition: first the meaning of its event, which is the same in every
 * state, then the transition's own description. Nothing else changes.
 */
export const withEventDescriptions = <const Chart>(meanings: Record<string, string>, chart: Chart): Chart =>
  withMeanings(meanings, chart as State) as Chart;

/** A machine's state in XState's form: nested by the names of the states. */
export type StateValue = string | { [name: string]: StateValue | undefined };

/** Returns the innermost states of a state value as dotted paths, such as `run.working`. */
export const statePaths = (value: StateValue | undefined): string[] => {
  if (value === undefined) return [];
  if (typeof value === "string") return [value];
  return Object.entries(value).flatMap(([name, inner]) => {
    const below = statePaths(inner);
    return below.length === 0 ? [name] : below.map((path) => `${name}.${path}`);
  });
};

/** Returns the pause before the next try, in milliseconds: `first` after the first one, doubled each time, up to `longest`. */
export const backoff = (tries: number, { first, longest }: { first: number; longest: number }): number =>
  Math.min(first * 2 ** (tries - 1), longest);
