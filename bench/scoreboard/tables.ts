import { markdownTable } from "../table/markdown.ts";
import { isTargetMet, type Played, scoreOf } from "./score.ts";

/** What one contender made of all moments, in the same order as every other. */
export interface Result {
  name: string;
  played: readonly Played[];
}

const HEAD = ["", "ends", "once", "of these, only when prompted", "twice", "lost", "first seen, median", "longest"];

const seconds = (ms: number): string => (Number.isNaN(ms) ? "never" : `${(ms / 1_000).toFixed(1)} s`);

const inShort = (played: Played): string => {
  const { ends, once, twice, whenPrompted, longest } = scoreOf([played]);
  const words = [`${once} of ${ends} once`];
  if (twice > 0) words.push(`${twice} twice`);
  if (whenPrompted > 0) words.push(`${whenPrompted} when prompted`);
  if (!Number.isNaN(longest)) words.push(`after ${seconds(longest)}`);
  return words.join(", ");
};

/** One line for each contender. */
const scoresTable = (results: readonly Result[]): string =>
  markdownTable(
    HEAD,
    results.map(({ name, played }) => {
      const { ends, once, whenPrompted, twice, lost, median, longest } = scoreOf(played);
      return [name, ...[ends, once, whenPrompted, twice, lost].map(String), seconds(median), seconds(longest)];
    }),
  );

/** One line for each moment. */
const momentsTable = (results: readonly Result[]): string => {
  const [first] = results;
  if (!first) throw new Error("nobody played");
  const rows = first.played.map(({ moment: { number, part, delay } }, index) => [
    `${number}`,
    `${part}, after ${delay} ms`,
    ...results.map(({ played }) => {
      const there = played[index];
      return there ? inShort(there) : "not played";
    }),
  ]);
  return markdownTable(["", "killed", ...results.map(({ name }) => name)], rows);
};

/**
 * The scoreboard as it is printed and written.
 * @param target the name of the contender that the target is for
 * @param measuredOn the day and the machine
 */
export const scoreboard = (results: readonly Result[], target: string, measuredOn: string): string => {
  const judged = results.find(({ name }) => name === target);
  if (!judged) throw new Error(`${target} did not play`);
  const verdict = isTargetMet(scoreOf(judged.played)) ? "met" : "MISSED";
  const lines = `Measured on ${measuredOn}. The target, each end of ${target} once and without a prompt, is ${verdict}.`;
  return [scoresTable(results), momentsTable(results), lines].join("\n\n");
};
