import { withAllAround } from "./place.ts";

/** A step by which an actor came into other states. */
export interface Move {
  /** The innermost states that it left, and those that it entered. */
  left: readonly string[];
  entered: readonly string[];
  /** The names of the transitions by which it entered these and the groups around them, as far as transitions led there. */
  through: Readonly<Record<string, string>>;
}

/** The way by which an actor came to where it is. Of a task, it begins with its newest run; of an outbox, with the newest delivery. */
export interface Way {
  /** The states that it was in on its way, and is not in any more; those around others, too. */
  passed: string[];
  /** The transition by which it came into each state that it is in, as far as that is known. */
  arrivals: Record<string, string>;
}

/** The way of which nothing is known. */
export const NO_WAY: Way = { passed: [], arrivals: {} };

/** A way begins where one of these is left: what came before is no part of it. */
const AT_REST: readonly string[] = ["run.idle", "delivery.idle"];

const withGroups = (states: readonly string[]): Set<string> => new Set(states.flatMap(withAllAround));

/** Returns the states that are not among others, and the groups around them that are not around others. */
export const apartFrom = (states: readonly string[], others: readonly string[]): string[] => {
  const around = withGroups(others);
  return [...withGroups(states)].filter((state) => !around.has(state));
};

/** Returns the way that these moves make, the oldest first. */
export const wayOf = (moves: readonly Move[]): Way => {
  const passed = new Set<string>();
  const arrivals = new Map<string, Move>();
  for (const move of moves) {
    const { left, entered } = move;
    for (const state of apartFrom(left, entered)) {
      passed.add(state);
      arrivals.delete(state);
    }
    for (const state of apartFrom(entered, left)) {
      passed.delete(state);
      arrivals.set(state, move);
    }
    if (left.some((state) => AT_REST.includes(state))) passed.clear();
  }
  const known = [...arrivals].flatMap(([state, { through }]) => {
    const transition = through[state];
    return transition === undefined ? [] : [[state, transition] as const];
  });
  return { passed: [...passed], arrivals: Object.fromEntries(known) };
};
