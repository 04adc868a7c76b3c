import { settled } from "./virtual-clock.ts";

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

/**
 * Returns what a call returns without waiting for anything.
 * @throws Error if it waits for something, such as a time or the end of a task
 */
export const atOnce = async <T>(call: Promise<T>): Promise<T> => {
  const seen = watched(call);
  await settled();
  if (seen.value === undefined && seen.fault === undefined) throw new Error("The call waits for something.");
  return call;
};
