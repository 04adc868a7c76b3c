/** Calls that wait until a test says how they end. */
export interface Gates {
  /** Waits at the gate of this name. */
  wait<T>(name: string): Promise<T>;
  /** Lets those through that wait there, the newest with this answer. The others wait for ever: nobody asks for them. */
  open(name: string, answer: unknown): void;
  /** As `open`, but the call throws. */
  fail(name: string, error: Error): void;
  /** How many wait there. */
  waiting(name: string): number;
  /** The process that waited is gone. */
  clear(): void;
}

interface Waiter {
  resolve(answer: never): void;
  reject(error: Error): void;
}

export const createGates = (): Gates => {
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
    open: (name, answer) => take(name).resolve(answer as never),
    fail: (name, error) => take(name).reject(error),
    waiting: (name) => waiters.get(name)?.length ?? 0,
    clear: () => waiters.clear(),
  };
};
