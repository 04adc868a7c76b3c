import fc from "fast-check";

const given = process.env.TEST_SEED;

const read = (): number => {
  if (given === undefined) return 1;
  if (given === "random") return Math.trunc(Math.random() * 2 ** 31);
  const number = Number(given);
  if (Number.isInteger(number)) return number;
  throw new Error(`TEST_SEED is an integer, or "random" for another one in each file; it was "${given}"`);
};

/**
 * What decides all that is random in the tests: each run takes the same walks and plays the same schedules, so that no
 * change fails by the bad luck of its day. `TEST_SEED` gives another one; what fails prints the seed that it failed with.
 */
export const seed = read();

/**
 * How often to try a property that has nothing to do with the runtime: that often on Node, a third of it on Bun. What Bun
 * shows beyond Node is that the runtime makes no difference.
 */
export const pureRuns = (onNode: number): number => (process.versions.bun ? Math.ceil(onNode / 3) : onNode);

// Set up before each file of tests: it holds for every property that names no seed of its own. Bun has another seed.
fc.configureGlobal({ seed: process.versions.bun ? seed + 1 : seed, numRuns: pureRuns(100) });
