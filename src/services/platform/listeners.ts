/** A set of functions that are called when something happens. `Args` are the arguments that each call passes. */
export interface Listeners<Args extends readonly unknown[] = []> {
  /** Adds a listener. Returns a function that removes it; calling that again does nothing. */
  add(listener: (...args: Args) => void): () => void;
  /** Calls the listeners that are there when the call begins, in the order in which they were added. */
  notify(...args: Args): void;
}

/**
 * Creates an empty set of listeners. A function that is added twice is called once.
 * @param onError Called with the error that a listener throws, and with the arguments; the remaining listeners are still
 * called. Without it `notify` throws the error and calls no further listener.
 * @example
 * const changes = createListeners<[task: Task]>((error, task) => log.error("a listener failed", { taskId: task.sessionID }));
 * const unsubscribe = changes.add((task) => render(task));
 * changes.notify(task);
 */
export const createListeners = <Args extends readonly unknown[] = []>(
  onError?: (error: unknown, ...args: Args) => void,
): Listeners<Args> => {
  const listeners = new Set<(...args: Args) => void>();
  return {
    add: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    notify: (...args) => {
      for (const listener of [...listeners]) {
        try {
          listener(...args);
        } catch (error) {
          if (!onError) throw error;
          onError(error, ...args);
        }
      }
    },
  };
};
