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
