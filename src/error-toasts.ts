/** Shows errors to a person. */
export interface ErrorToasts {
  show(message: string): void;
  /** Takes the type of an event of OpenCode: one of a session says that the interface is in use. */
  onEvent(type: string): void;
}

/**
 * Creates what shows errors with `toast`. An interface that is starting may not listen yet, and misses what is shown then
 * (seen on a busy machine): the errors of a start are shown when the first session is used.
 */
export const createErrorToasts = (toast: (message: string) => void): ErrorToasts => {
  let early: string[] | undefined = [];
  return {
    show: (message) => {
      if (early) early.push(message);
      else toast(message);
    },
    onEvent: (type) => {
      if (!early || !type.startsWith("session.")) return;
      for (const message of early) toast(message);
      early = undefined;
    },
  };
};
