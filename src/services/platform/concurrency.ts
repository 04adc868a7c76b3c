/**
 * Creates a function that does works, at most so many at the same time. The others wait, the first that came first.
 * @example
 * const inTurn = atMost(20);
 * await Promise.all(requests.map((request) => inTurn(() => send(request))));
 */
export const atMost = (most: number): (<T>(work: () => Promise<T>) => Promise<T>) => {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => void waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      // The next one takes this one's place.
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
};

/** Work that is done in the order in which it is asked for, where it concerns the same thing. */
export type OneAtATime = ReturnType<typeof createOneAtATime>;

/** Creates an empty set of queues, one for each id. */
export const createOneAtATime = () => {
  const last = new Map<string, Promise<unknown>>();
  return {
    /** Begins `work` when all that was asked for before is over, however it ended. */
    run: <T>(id: string, work: () => Promise<T>): Promise<T> => {
      const done = (last.get(id) ?? Promise.resolve()).then(work, work);
      last.set(id, done);
      const forget = () => {
        if (last.get(id) === done) last.delete(id);
      };
      done.then(forget, forget);
      return done;
    },
    /** Resolves when nothing is under way for it. */
    idle: async (id: string): Promise<void> => {
      await Promise.allSettled([last.get(id)]);
    },
  };
};

/**
 * Wraps a call so that those who make it with the same `key` while it is under way share its result. Once it has ended, nothing
 * is kept.
 */
export const shareCalls = <T>(call: (key: string) => Promise<T>): ((key: string) => Promise<T>) => {
  const underWay = new Map<string, Promise<T>>();
  return (key) => {
    const shared = underWay.get(key) ?? call(key).finally(() => underWay.delete(key));
    underWay.set(key, shared);
    return shared;
  };
};
