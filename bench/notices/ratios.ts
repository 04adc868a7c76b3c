import type { ContenderName } from "./contender.ts";
import { type Measure, measures, roundsOf } from "./figures.ts";
import type { Round } from "./round.ts";
import { quantile, type Spread, spreadOf } from "./spread.ts";

/** How one contender does against another with that many tasks: below 1 it is the better one. */
export type Ratio = {
  measure: Measure;
  tasks: number;
  of: ContenderName;
  to: ContenderName;
  /** The ratios of the single pairs: two rounds, one right after the other, that met the same machine. */
  ofPairs: Spread;
  pairs: number;
  /** Pairs below 1. */
  below: number;
  /** The ratio of the medians over all rounds of each: what the pairs hide when one contender swings more. */
  ofMedians: number;
};

/** All measures that were taken in both rounds of a pair; a pair in which one was not taken is left out of its ratio. */
export function ratiosOf(rounds: Round[], tasks: number, of: ContenderName, to: ContenderName): Ratio[] {
  const partners = new Map(roundsOf(rounds, to, tasks).map((round) => [round.index, round]));
  return Object.entries(measures).flatMap(([name, measure]) => {
    const pairs = roundsOf(rounds, of, tasks).flatMap((round) => {
      const partner = partners.get(round.index);
      const [mine, theirs] = [measure(round), partner && measure(partner)];
      return mine === undefined || theirs === undefined ? [] : [{ mine, theirs }];
    });
    if (pairs.length === 0) return [];
    const ratios = pairs.map(({ mine, theirs }) => mine / theirs);
    const medians = { mine: pairs.map(({ mine }) => mine), theirs: pairs.map(({ theirs }) => theirs) };
    return {
      measure: name as Measure,
      tasks,
      of,
      to,
      ofPairs: spreadOf(ratios),
      pairs: pairs.length,
      below: ratios.filter((ratio) => ratio < 1).length,
      ofMedians: quantile(medians.mine, 0.5) / quantile(medians.theirs, 0.5),
    };
  });
}
