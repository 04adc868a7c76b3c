import { random } from "../../test/e2e/crash/random.ts";

/** Milliseconds that the scripted model takes for each answer. */
export const THINKING_MS = 400;

/** The life of a task, from its launch to the parent's answer to its notice, and how long each part is. */
export const PARTS = [
  { name: "on its first step", within: THINKING_MS },
  { name: "on its answer", within: THINKING_MS },
  // What the host and whoever delivers take for it; seen: 80 to 200 ms on a machine with 2 cores.
  { name: "answered, not delivered", within: 60 },
  // Ends before the answer does: a notice that was answered has been delivered, and nothing of it can be lost.
  { name: "its notice is read", within: 0.75 * THINKING_MS },
] as const;

export type PartName = (typeof PARTS)[number]["name"];

/** When OpenCode is killed. */
export interface Moment {
  /** Counted from 1. */
  number: number;
  part: PartName;
  /** Milliseconds from the begin of that part to the kill. */
  delay: number;
}

/**
 * So many moments, spread evenly over the life of a task, whose parts count alike: one somewhere in each of as many slices
 * of it. The seed decides where in its slice each lies.
 */
export const chooseMoments = (count: number, seed: number): Moment[] => {
  const draw = random(seed);
  return Array.from({ length: count }, (_, index) => {
    const place = ((index + draw()) / count) * PARTS.length;
    const part = PARTS[Math.floor(place)];
    if (!part) throw new Error(`there is no part of a task's life at ${place}`);
    return { number: index + 1, part: part.name, delay: Math.round((place % 1) * part.within) };
  });
};
