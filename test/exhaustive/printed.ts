import { type Exploration, explore, type Space } from "./explore.ts";

/** Explores a space, and prints how large it is and how long that took. */
export const explored = <World>(
  name: string,
  space: Space<World>,
  limits: Parameters<typeof explore>[1],
): Exploration => {
  const began = performance.now();
  const exploration = explore(space, limits);
  const { worlds, moves, depth } = exploration;
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  console.log(`${name}: ${worlds} worlds, ${moves} moves, up to ${depth} deep, ${seconds} s`);
  return exploration;
};

/** Explores all of a space. More worlds than this, none has. */
export const exploredWhole = <World>(name: string, space: Space<World>): Exploration =>
  explored(name, space, { most: 10_000_000 });

/** Looks for a mistake that is planted in a space, and prints the shortest way to each fault. Some have no end of worlds. */
export const faultsOfMistake = <World>(name: string, space: Space<World>): Exploration["faults"] => {
  const { faults } = explored(name, space, { most: 100_000, isFirstFaultEnough: true });
  for (const { what, trail } of faults) console.log(`${name}: ${what}:\n  ${trail.join("\n  ")}`);
  return faults;
};

/** Milliseconds that exploring one family may take: the largest takes 24 s of computing, and other work may have the cores. */
export const EXPLORING_MS = 1_200_000;
