import type { ContenderName } from "./contender.ts";
import type { Round } from "./round.ts";
import { quantile, type Spread, spreadOf } from "./spread.ts";

/**
 * What is compared by ratios, each a number of milliseconds for one round; undefined where nobody tells of the CPU. The CPU
 * of the latency and of the launching turn is that of the server's main thread meanwhile: what they are mostly made of, and
 * steadier than they are on a machine that has something else to do. That of the round is the whole server's.
 */
export const measures = {
  latency: (round: Round): number | undefined => medianOf(round.children.map(({ latency }) => latency)),
  "latency's CPU": (round: Round): number | undefined => medianOf(round.children.map(({ cpu }) => cpu)),
  "launching turn": (round: Round): number | undefined => round.launching.ms,
  "launching turn's CPU": (round: Round): number | undefined => round.launching.mainThreadMs,
  "round's CPU": (round: Round): number | undefined => round.cpu,
} as const;

export type Measure = keyof typeof measures;

/** One contender with that many tasks ending together. */
export type Figures = {
  contender: ContenderName;
  tasks: number;
  rounds: number;
  /** The medians of the rounds in milliseconds. What nobody measures is left out. */
  medians: Partial<Record<Measure, number>>;
  /** Milliseconds over all children of all rounds. */
  latency: { p90: number; max: number };
  /** Children of all rounds. */
  children: number;
  /** Of these: their notice stands once in the parent's messages, and the parent's model was shown it. */
  deliveredOnce: number;
  /** Of these: their notice stands there more than once. */
  deliveredTwice: number;
  /** Of these: their notice was never shown to the parent's model, whether it is stored or not. */
  undelivered: number;
  /** Messages of the parent in a round that carry notices. */
  noticeMessages: Spread;
  /** Rounds in which there was another number of them than one. */
  roundsNotInOneNotice: number;
  /** Model requests of the parent in a round that the ends caused. */
  turns: Spread;
  /** What the bench itself used of one core, 0 to 1, the median of the rounds. */
  benchLoad: number;
};

/** @throws Error when there is no such round. */
export function figuresOf(rounds: Round[], contender: ContenderName, tasks: number): Figures {
  const those = roundsOf(rounds, contender, tasks);
  if (those.length === 0) throw new Error(`no round of ${contender} with ${tasks} tasks was run`);
  const children = those.flatMap((round) => round.children);
  const latencies = children.flatMap(({ latency }) => latency ?? []);
  const medians = Object.entries(measures).map(([name, measure]) => [name, medianOf(those.map(measure))]);
  return {
    contender,
    tasks,
    rounds: those.length,
    medians: Object.fromEntries(medians.filter(([, median]) => median !== undefined)),
    latency: { p90: quantile(latencies, 0.9), max: quantile(latencies, 1) },
    children: children.length,
    deliveredOnce: children.filter(({ latency, stored }) => latency !== undefined && stored === 1).length,
    deliveredTwice: children.filter(({ stored }) => stored > 1).length,
    undelivered: children.length - latencies.length,
    noticeMessages: spreadOf(those.map(({ noticeMessages }) => noticeMessages)),
    roundsNotInOneNotice: those.filter(({ noticeMessages }) => noticeMessages !== 1).length,
    turns: spreadOf(those.map(({ turns }) => turns)),
    benchLoad: spreadOf(those.map(({ benchLoad }) => benchLoad)).median,
  };
}

/** The rounds of one contender with that many tasks, in the order in which they were run. */
export function roundsOf(rounds: Round[], contender: ContenderName, tasks: number): Round[] {
  return rounds.filter((round) => round.contender === contender && round.children.length === tasks);
}

/** The median of what was measured; undefined when nothing was. */
function medianOf(values: (number | undefined)[]): number | undefined {
  const measured = values.filter((value) => value !== undefined);
  return measured.length > 0 ? quantile(measured, 0.5) : undefined;
}
