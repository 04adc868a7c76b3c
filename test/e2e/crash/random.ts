import { noTerminal } from "../lab/terminal.ts";
import { type Moment, moments } from "./plays.ts";

/** Numbers between 0 and 1 that a seed decides (mulberry32). */
export const random = (seed: number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

/** A moment at which OpenCode is killed, and how the OpenCode that recovers from that ends, if it does. */
export interface DrawnPlay extends Moment {
  /** Counted from 0; with the seed, it decides all numbers of the play. */
  number: number;
  /** Milliseconds from the moment to the kill. */
  delay: number;
  again?: { end: "killed" | "quit"; delay: number };
}

/** The second ends of the rounds through all moments; where there is no terminal, nobody quits one. */
const ROUNDS = ["none", "killed", "killed", noTerminal === undefined ? "quit" : "killed", "killed", "none"] as const;

/** How many plays there are. */
export const PLAYS = ROUNDS.length * moments.length;

/** Milliseconds within which an OpenCode that recovers is ended again: most of what it has to do is done by then. */
const RECOVERY = 2_500;

/** The play of that number. Each draws for itself, so that one alone is the same as among all. */
export const drawPlay = (seed: number, number: number): DrawnPlay => {
  const draw = random(seed ^ Math.imul(number + 1, 0x9e3779b1));
  const moment = moments[number % moments.length];
  const end = ROUNDS[Math.floor(number / moments.length)];
  if (!moment || !end) throw new Error(`there is no play ${number}: the plays are 0 to ${PLAYS - 1}`);
  const delay = Math.round(draw() * moment.within);
  if (end === "none") return { ...moment, number, delay };
  return { ...moment, number, delay, again: { end, delay: Math.round(draw() * RECOVERY) } };
};
