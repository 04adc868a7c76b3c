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
