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
