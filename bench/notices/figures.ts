import type { Contender } from "./contender.ts";
import type { Round } from "./round.ts";

/** Milliseconds over all children of all rounds, each percentile a value that was measured (nearest rank). */
export type Latency = { median: number; p90: number; max: number };

/** One contender with that many tasks ending together. */
export type Figures = {
  contender: Contender["name"];
  tasks: number;
  rounds: number;
  latency: Latency;
  /** Children of all rounds. */
  children: number;
  /** Of these: their notice stands once in the parent's messages, and the parent's model was shown it. */
  toldOnce: number;
  /** Of these: their notice stands there more than once. */
  toldTwice: number;
  /** Of these: their notice was never shown to the parent's model, whether it is stored or not. */
  untold: number;
  /** Model requests of the parent that the ends caused, a mean over the rounds. */
  turns: number;
};

/** @throws Error when there is no such round. */
export function figuresOf(rounds: Round[], contender: Contender["name"], tasks: number): Figures {
  const those = rounds.filter((round) => round.contender === contender && round.children.length === tasks);
  if (those.length === 0) throw new Error(`no round of ${contender} with ${tasks} tasks was run`);
  const children = those.flatMap((round) => round.children);
  const latencies = children.flatMap(({ latency }) => latency ?? []).toSorted((a, b) => a - b);
  return {
    contender,
    tasks,
    rounds: those.length,
    latency: { median: percentile(latencies, 50), p90: percentile(latencies, 90), max: percentile(latencies, 100) },
    children: children.length,
    toldOnce: children.filter(({ latency, stored }) => latency !== undefined && stored === 1).length,
    toldTwice: children.filter(({ stored }) => stored > 1).length,
    untold: children.length - latencies.length,
    turns: those.reduce((sum, round) => sum + round.turns, 0) / those.length,
  };
}

/** The nearest-rank percentile; NaN when nothing was measured, which meets no goal. */
function percentile(ascending: number[], percent: number): number {
  return ascending[Math.max(0, Math.ceil((percent / 100) * ascending.length) - 1)] ?? Number.NaN;
}
