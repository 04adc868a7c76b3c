/** Does what concerns one thing in the order in which it is asked for, and what concerns several at once. */
export interface OneAtATime {
  /** Begins `work` when all that was asked for before is over, however it ended. */
  run<T>(id: string, work: () => Promise<T>): Promise<T>;
  /** Resolves when nothing is under way for it. */
  idle(id: string): Promise<void>;
}

/** Creates an empty set of queues, one for each id. */
export const createOneAtATime = (): OneAtATime => {
  const last = new Map<string, Promise<unknown>>();
  return {
    run: (id, work) => {
      const done = (last.get(id) ?? Promise.resolve()).then(work, work);
      last.set(id, done);
      const forget = () => {
        if (last.get(id) === done) last.delete(id);
      };
      done.then(forget, forget);
      return done;
    },
    idle: async (id) => {
      await Promise.allSettled([last.get(id)]);
    },
  };
};
