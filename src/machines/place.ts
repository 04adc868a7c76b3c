/** True where a state is that state, or inside it. Both are paths such as `run.active.working.busy`; the empty path is none. */
export const isInState = (state: string, path: string): boolean =>
  path !== "" && (state === path || state.startsWith(`${path}.`));

/** Returns the state around a state; empty where only the chart is around it. */
export const stateAround = (state: string): string => state.split(".").slice(0, -1).join(".");

/** Returns a state and those around it, the innermost first. */
export const withAllAround = (state: string): string[] =>
  state === "" ? [] : [state, ...withAllAround(stateAround(state))];

/**
 * Returns the state around what matters of a task now: what it asks; else where its run is; once that has ended, the notice of its
 * end while it is delivered, and then how it ended.
 * @param states the states that it is in, one of each region
 */
const placeOfTask = (states: readonly string[]): string => {
  const isAsking = states.some((state) => isInState(state, "attention.awaitingUser"));
  if (isAsking) return "attention";
  const find = (region: string, except: string) => states.find((state) => isInState(state, region) && state !== except);
  const place = find("run", "run.idle") ?? find("notice", "notice.none") ?? find("lifecycle", "");
  return place === undefined ? "run" : stateAround(place);
};

/** Returns the name of the sheet that shows what is directly inside a state; the empty path is the chart itself. */
export const sheetInside = (chart: string, state: string): string => (state === "" ? chart : `${chart}.${state}`);

/** Returns the name of the sheet on which one sees where an actor of that chart is. Of an outbox, that is its delivery. */
export const sheetOfPlace = (chart: string, states: readonly string[]): string =>
  sheetInside(chart, chart === "task" ? placeOfTask(states) : stateAround(states[0] ?? ""));
