import { errorMessage, type Log } from "./log.ts";

/**
 * Creates an empty set of functions that are called when something happens, with `Args`. A function that is added twice is called once.
 * @param onError Called with the error that a listener throws, and with the arguments; the remaining listeners are still
 * called. Without it `notify` throws the error and calls no further listener.
 * @example
 * const changes = createListeners<[task: Task]>((error, task) => log.error("a listener failed", { taskId: task.sessionID }));
 * const unsubscribe = changes.add((task) => render(task));
 * changes.notify(task);
 */
export const createListeners = <Args extends readonly unknown[] = []>(
  onError?: (error: unknown, ...args: Args) => void,
) => {
  const listeners = new Set<(...args: Args) => void>();
  return {
    /** Adds a listener. Returns a function that removes it; calling that again does nothing. */
    add: (listener: (...args: Args) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    /** Calls the listeners that are there when the call begins, in the order in which they were added. */
    notify: (...args: Args) => {
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

/**
 * Lets parts hear of each other without knowing each other. `Events` maps the name of each event to what comes with it.
 *
 * @example
 * const bus = createEventBus<{ sessionDeleted: { sessionID: string } }>(log);
 * const unsubscribe = bus.on("sessionDeleted", ({ sessionID }) => notes.delete(sessionID));
 * bus.emit("sessionDeleted", { sessionID: "ses_1" });
 */
export interface EventBus<Events> {
  /** Calls `listener` with each event of that name. Returns how to stop that. */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void;
  /** Calls the listeners in the order in which they subscribed. A listener that fails is logged, and stops no other. */
  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void;
  /**
   * Does the same, and resolves once all that the listeners began is done.
   * @throws what the first listener that failed threw, after all others are done
   */
  emitAndWait<Name extends keyof Events>(name: Name, event: Events[Name]): Promise<void>;
}

/** May go on in the background: a promise that it returns is only looked at if it rejects. */
type Listener<Event> = (event: Event) => void | Promise<void>;

/** Creates a bus without listeners. */
export const createEventBus = <Events>(log: Log): EventBus<Events> => {
  const listeners: { [Name in keyof Events]?: Set<Listener<Events[Name]>> } = {};

  /** Returns a copy, so that a listener that is added during an event hears the next one first. */
  const listenersOf = <Name extends keyof Events>(name: Name): Listener<Events[Name]>[] => [...(listeners[name] ?? [])];

  const logFault = (name: keyof Events, error: unknown) =>
    log.error("a listener failed", { event: String(name), reason: errorMessage(error) });

  return {
    on: (name, listener) => {
      const ofName = listeners[name] ?? new Set();
      listeners[name] = ofName;
      ofName.add(listener);
      return () => void ofName.delete(listener);
    },
    emit: (name, event) => {
      for (const listener of listenersOf(name)) {
        try {
          const work = listener(event);
          if (work instanceof Promise) work.catch((error) => logFault(name, error));
        } catch (error) {
          logFault(name, error);
        }
      }
    },
    emitAndWait: async (name, event) => {
      const results = await Promise.allSettled(listenersOf(name).map(async (listener) => listener(event)));
      const failed = results.find((result) => result.status === "rejected");
      if (failed) throw failed.reason;
    },
  };
};
