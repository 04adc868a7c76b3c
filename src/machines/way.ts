import { withAllAround } from "./place.ts";

/** A step by which an actor came into other states. */
export interface Move {
  /** The innermost states that it left, and those that it entered. */
  left: readonly string[];
  entered: readonly string[];
  /** For each state that it entered, the name of the transition that led there; empty where none did. */
  through: readonly string[];
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

/** Returns the way that these moves make, the oldest first. */
export const wayOf = (moves: readonly Move[]): Way => {
  const passed = new Set<string>();
  const arrivals = new Map<string, { move: Move; index: number }>();
  for (const move of moves) {
    const { left, entered } = move;
    const before = new Set(left.flatMap(withAllAround));
    const after = new Set(entered.flatMap(withAllAround));
    for (const state of before) {
      if (after.has(state)) continue;
      passed.add(state);
      arrivals.delete(state);
    }
    for (const [index, innermost] of entered.entries()) {
      for (const state of withAllAround(innermost)) {
        if (before.has(state)) continue;
        passed.delete(state);
        arrivals.set(state, { move, index });
      }
    }
    if (left.some((state) => AT_REST.includes(state))) passed.clear();
  }
  const known = [...arrivals].flatMap(([state, { move, index }]) => {
    const through = move.through[index];
    return through ? [[state, through] as const] : [];
  });
  return { passed: [...passed], arrivals: Object.fromEntries(known) };
};
