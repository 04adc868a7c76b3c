interface Waiter {
  resolve(answer: never): void;
  reject(error: Error): void;
}

/** Calls that wait until a test says how they end. */
export const createGates = () => {
  const waiters = new Map<string, Waiter[]>();
  const take = (name: string): Waiter => {
    const newest = waiters.get(name)?.pop();
    if (!newest) throw new Error(`no call waits at the gate "${name}"`);
    waiters.delete(name);
    return newest;
  };
  return {
    wait: <T>(name: string) =>
      new Promise<T>((resolve, reject) => {
        waiters.set(name, [...(waiters.get(name) ?? []), { resolve, reject }]);
      }),
    /** Lets those through that wait there, the newest with this answer. The others wait for ever: nobody asks for them. */
    open: (name: string, answer: unknown) => take(name).resolve(answer as never),
    /** As `open`, but the call throws. */
    fail: (name: string, error: Error) => take(name).reject(error),
    /** How many wait there. */
    waiting: (name: string) => waiters.get(name)?.length ?? 0,
    /** The process that waited is gone. */
    clear: () => waiters.clear(),
  };
};

export type Gates = ReturnType<typeof createGates>;
