import { expect } from "vitest";

/** Schedules that are played until each situation has occurred that is to. */
export interface PlayUntilOptions {
  seed: number;
  /** Schedules that are played at least, and at a time; and that are played at most. */
  least: number;
  most: number;
  /** In how many schedules each situation has occurred, by name. */
  counts(): ReadonlyMap<string, number>;
  isExpected(situation: string): boolean;
  /** Plays schedules. Resolves to a report on the first that failed, or to undefined. */
  play(options: { runs: number; seed: number; onPlayed: () => void }): Promise<string | undefined>;
}

/** Plays so many schedules, none of which may fail. */
export const playAll = async (runs: number, seed: number, play: PlayUntilOptions["play"]): Promise<void> => {
  let played = 0;
  const report = await play({
    runs,
    seed,
    onPlayed: () => {
      played += 1;
    },
  });
  expect(report, report).toBeUndefined();
  expect(played).toBe(runs);
};

/** Plays schedules until each expected situation has occurred. Fails with the names of those that have not. */
export const playUntil = async ({ seed, least, most, counts, isExpected, play }: PlayUntilOptions): Promise<void> => {
  const missing = () => [...counts()].flatMap(([name, count]) => (count === 0 && isExpected(name) ? name : []));
  let played = 0;
  while (played < least || (missing().length > 0 && played < most)) {
    await playAll(least, seed + played, play);
    played += least;
  }
  const expected = [...counts().keys()].filter(isExpected).length;
  process.stdout.write(`${played} schedules until each of ${expected} situations had occurred\n`);
  expect(missing(), `what ${played} schedules have not come to`).toEqual([]);
};
