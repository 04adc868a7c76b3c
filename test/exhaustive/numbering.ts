/** Numbers of things that are told apart by their JSON, from 1 on. */
export const createNumbering = <T extends object>() => {
  const numbers = new Map<string, number>();
  const known = new WeakMap<T, number>();
  const things: T[] = [];
  return {
    numberOf: (thing: T): number => {
      const before = known.get(thing);
      if (before !== undefined) return before;
      const key = JSON.stringify(thing);
      const sameAs = numbers.get(key);
      // Copies are not remembered: most are made anew each time, and millions of them would be too much for the garbage collector.
      if (sameAs !== undefined) return sameAs;
      const number = things.push(thing);
      numbers.set(key, number);
      known.set(thing, number);
      return number;
    },
    at: (number: number): T => things[number - 1] as T,
  };
};

export type Numbering<T extends object> = ReturnType<typeof createNumbering<T>>;

/**
 * Wraps things that are the very same into one that is the very same: such a one is told apart without a look at all of it.
 */
export const createWrap = <T extends object, Wrapped extends object>(wrap: (thing: T) => Wrapped) => {
  const known = new WeakMap<T, Wrapped>();
  return (thing: T): Wrapped => {
    const wrapped = known.get(thing) ?? wrap(thing);
    known.set(thing, wrapped);
    return wrapped;
  };
};
