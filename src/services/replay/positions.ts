import type { TaskSnapshot } from "../../machines/task/machine.ts";
import type { Regions, ReplayStep, Walk } from "../../machines/task/replay.ts";
import { regionsOf } from "../../machines/task/replay.ts";
import { type AskedFor, askedForAfter } from "./asked-for.ts";
import { type PossibleEvent, possibleEvents } from "./possible-events.ts";

/** A place between two events of a journal. */
export interface Position {
  /** How many events have been taken: the next one has the number after that. */
  taken: number;
  snapshot: TaskSnapshot;
  regions: Regions;
  /** When the next event came, or the last one where there is none; epoch milliseconds. */
  at: number;
  askedFor: readonly AskedFor[];
  possible: PossibleEvent[];
  /** The event that came next; undefined at the end of the journal. */
  next: ReplayStep | undefined;
}

/** Says where the task stood after so many events of a journal. */
export const positionAfter = (walked: Walk, taken: number): Position => {
  const { steps, snapshots } = walked;
  const snapshot = snapshots[taken] ?? snapshots[0];
  const next = steps[taken];
  const at = next?.event.at ?? steps.at(-1)?.event.at ?? snapshot.context.run.startedAt;
  return {
    taken,
    snapshot,
    regions: regionsOf(snapshot),
    at,
    askedFor: askedForAfter(walked, taken),
    possible: possibleEvents(snapshot, at),
    next,
  };
};

/** The numbers of the events of that name, from 1. */
const numbersOf = (steps: readonly ReplayStep[], type: string): number[] =>
  steps.flatMap(({ event }, index) => (event.type === type ? index + 1 : []));

/**
 * Finds the event that somebody names: by its number, by its name, or `end` for what is behind the last one. Of several with
 * that name, the first one after `taken` events.
 * @returns how many events come before it, and the numbers of all with that name; or what was wrong, in a sentence
 */
export const findEvent = (
  { steps }: Pick<Walk, "steps">,
  named: string,
  taken = 0,
): { before: number; numbers: number[] } | { wrong: string } => {
  if (named.toLowerCase() === "end") return { before: steps.length, numbers: [] };
  if (/^\d+$/.test(named)) {
    const number = Number(named);
    if (number >= 1 && number <= steps.length) return { before: number - 1, numbers: [number] };
    return { wrong: `There is no event ${named}: the journal has events 1 to ${steps.length}.` };
  }
  const type = named.toUpperCase().replaceAll("-", "_");
  const numbers = numbersOf(steps, type);
  const number = numbers.find((each) => each > taken);
  if (number !== undefined) return { before: number - 1, numbers };
  if (numbers.length > 0)
    return { wrong: `No ${type} comes after event ${taken}: the last one is event ${numbers.at(-1)}.` };
  const known = [...new Set(steps.map(({ event }) => event.type))].toSorted();
  return { wrong: `The journal has no event "${named}". Give its number, "end", or one of ${known.join(", ")}.` };
};
