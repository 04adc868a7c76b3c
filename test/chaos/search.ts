import fc from "fast-check";
import { changed } from "./changed-schedule.ts";
import { runSchedule } from "./chaos.ts";
import { newSchedules } from "./drawn-schedules.ts";
import { kept, type RareSchedule, type RareSchedules } from "./rare-schedules.ts";
import type { Schedule } from "./schedule.ts";
import { createSituations, isPlayed } from "./sometimes.ts";

/*
 * Searches for schedules that come to rare situations, as fuzzers search for code that no input has reached: what comes to
 * something rare is kept, and changed a little, again and again.
 */

/** How many schedules that came to the same rare situation are changed further, at most: the newest ones. */
const CHANGED_FURTHER = 4;

/** How many situations count as rare: those that the fewest schedules have come to. */
const RAREST = 60;

/** How many schedules are drawn before it is looked anew which situations are rare. */
const ROUND = 50;

/** What a schedule has by default. What it comes to without its own settings is easier to read. */
const PLAIN: readonly Partial<Schedule>[] = [
  { limits: undefined },
  { lifetime: undefined },
  { toolset: undefined, onParentCancel: undefined },
  { recovery: "continue" },
  { store: "memory" },
  { processes: undefined },
  { slots: 10 },
  { parentsTake: undefined },
];

/** Plays a schedule. Resolves to the names of what occurred in it. Throws an error where an invariant was violated. */
export const situationsOf = async (schedule: Schedule): Promise<ReadonlySet<string>> => {
  const situations = createSituations();
  const { faults } = await runSchedule(schedule, { situations });
  if (faults[0] !== undefined) throw new Error(`${faults[0]}, in ${JSON.stringify(schedule)}`);
  return new Set([...situations.counts()].flatMap(([name, count]) => (count > 0 ? name : [])));
};

/** Returns a shorter, plainer schedule that still comes to a situation. */
const shortened = async (schedule: Schedule, name: string): Promise<Schedule> => {
  const comesToIt = async (one: Schedule): Promise<boolean> =>
    one.steps.length > 0 && (await situationsOf(one).catch(() => new Set())).has(name);
  let shortest = schedule;
  for (const plain of PLAIN) {
    const plainer = { ...shortest, ...plain };
    if (await comesToIt(plainer)) shortest = plainer;
  }
  for (let size = Math.ceil(shortest.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < shortest.steps.length; ) {
      const shorter = { ...shortest, steps: shortest.steps.toSpliced(at, size) };
      if (await comesToIt(shorter)) shortest = shorter;
      else at += size;
    }
  }
  return shortest;
};

/** Draws schedules like those that came to something rare. */
const drawnLike = (rare: readonly (readonly Schedule[])[], seed: number): Schedule[] => {
  const one = fc.constantFrom(...rare).chain((same) => fc.constantFrom(...same));
  const like = fc.tuple(one, one).chain(([first, second]) => changed(first, second));
  const drawn =
    rare.length === 0 ? newSchedules : fc.oneof({ weight: 1, arbitrary: newSchedules }, { weight: 5, arbitrary: like });
  return fc.sample(drawn, { numRuns: ROUND, seed });
};

export interface Search {
  seed: number;
  /** How many schedules are played at most. */
  runs: number;
  /** Is notified of each wanted situation that a schedule has come to, and in which one. */
  onFound(name: string, played: number): void;
  /** Is notified of each schedule in which an invariant was violated. */
  onFault(error: unknown): void;
}

/**
 * How many schedules are drawn to see what is not rare, and how often that must occur in them: so often that the few that
 * `npm test` draws come to it, too.
 */
const [DRAWN, OFTEN] = [300, 15];

/**
 * Searches for all situations that few schedules come to, among those that are kept first. Resolves to a short schedule for
 * each that was found, and to the names of the others.
 */
export const searchForRare = async ({ seed, runs, onFound, onFault }: Search): Promise<RareSchedules> => {
  const situations = createSituations();
  for (const schedule of fc.sample(newSchedules, { numRuns: DRAWN, seed })) await runSchedule(schedule, { situations });
  const wanted = new Set(
    [...situations.counts()].flatMap(([name, count]) => (count < OFTEN && isPlayed(name) ? name : [])),
  );
  const found = new Map<string, Schedule>();
  const cameTo = new Map<string, { times: number; newest: Schedule[] }>();
  let played = 0;
  const play = async (schedule: Schedule) => {
    played += 1;
    const names = await situationsOf(schedule).catch((error: unknown) => {
      onFault(error);
      return [];
    });
    for (const name of names) {
      const { times = 0, newest = [] } = cameTo.get(name) ?? {};
      cameTo.set(name, { times: times + 1, newest: [...newest, schedule].slice(-CHANGED_FURTHER) });
      if (!wanted.has(name) || found.has(name)) continue;
      found.set(name, schedule);
      onFound(name, played);
    }
  };
  for (const { schedule } of kept) await play(schedule);
  for (let round = 0; played < runs && found.size < wanted.size; round += 1) {
    const rare = [...cameTo.values()].sort((one, other) => one.times - other.times).slice(0, RAREST);
    for (const schedule of drawnLike(
      rare.map(({ newest }) => newest),
      seed + round,
    ))
      await play(schedule);
  }
  const short: RareSchedule[] = [];
  for (const [name, schedule] of found) {
    if (short.some(({ comesTo }) => comesTo.includes(name))) continue;
    const shorter = await shortened(schedule, name);
    const names = await situationsOf(shorter);
    short.push({ comesTo: [...wanted].filter((one) => names.has(one)), schedule: shorter });
  }
  return { unreached: [...wanted].filter((name) => !found.has(name)), kept: short };
};
