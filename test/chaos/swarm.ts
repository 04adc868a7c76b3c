import fc from "fast-check";

/** Kinds of steps, each with its weight among those that are drawn. */
export interface Kinds<T> {
  needed: [number, fc.Arbitrary<T>][];
  optional: [number, fc.Arbitrary<T>][];
}

/** Which of so many things are there. Not shrunk: with other kinds, everything that follows would be drawn anew. */
const someOf = (count: number) =>
  fc.noShrink(fc.noBias(fc.array(fc.boolean(), { minLength: count, maxLength: count })));

/**
 * Draws from the needed kinds and from a random half of the optional ones, another one for each `draw`: what a kind of step
 * hides or undoes is seen where that kind is missing, and few kinds meet more often than many.
 */
export const fromSome = <T, Drawn>(
  { needed, optional }: Kinds<T>,
  draw: (step: fc.Arbitrary<T>) => fc.Arbitrary<Drawn>,
): fc.Arbitrary<Drawn> =>
  someOf(optional.length).chain((isThere) => {
    const kinds = [...needed, ...optional.filter((_, index) => isThere[index])];
    return draw(fc.oneof(...kinds.map(([weight, arbitrary]) => ({ weight, arbitrary }))));
  });

/** Draws from all kinds. */
export const fromAll = <T>({ needed, optional }: Kinds<T>): fc.Arbitrary<T> =>
  fc.oneof(...[...needed, ...optional].map(([weight, arbitrary]) => ({ weight, arbitrary })));
