/** The observed state of a promise: `value` is set once it is fulfilled, `fault` once it is rejected. */
export interface Watched<T> {
  value: T | undefined;
  fault: unknown;
}

export const watched = <T>(promise: Promise<T>): Watched<T> => {
  const seen: Watched<T> = { value: undefined, fault: undefined };
  promise.then(
    (value) => {
      seen.value = value;
    },
    (fault) => {
      seen.fault = fault;
    },
  );
  return seen;
};
