/** True where a state is that state, or inside it. Both are paths such as `run.working.busy`; the empty path is none. */
export const isInState = (state: string, path: string): boolean =>
  path !== "" && (state === path || state.startsWith(`${path}.`));

/** Returns the state around a state; empty for a region, which only the chart is around. */
export const stateAround = (state: string): string => state.split(".").slice(0, -1).join(".");

/**
 * Returns the state around what matters of a task now: what it asks; else where its run is; once that has ended, the notice of its
 * end while it is delivered, and then how it ended.
 * @param states the states that it is in, one of each region
 */
export const placeOf = (states: readonly string[]): string => {
  const isAsking = states.some((state) => isInState(state, "attention.awaitingUser"));
  if (isAsking) return "attention";
  const find = (region: string, except: string) => states.find((state) => isInState(state, region) && state !== except);
  const place = find("run", "run.idle") ?? find("notice", "notice.none") ?? find("lifecycle", "");
  return place === undefined ? "run" : stateAround(place);
};
