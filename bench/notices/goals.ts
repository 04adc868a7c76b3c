import type { Figures, Measure } from "./figures.ts";
import type { Ratio } from "./ratios.ts";

/**
 * What is promised, each next to what was measured: a task of this plugin is as fast and as cheap as the host's own.
 *
 * - `latency`: an agent waits no longer for a plugin's notice than for the host's own. Few ends may take a little longer,
 *   for a plugin calls its host over HTTP and the host calls itself; of one end that is a fourth, of twenty nothing.
 * - `launching turn`, `round's CPU`: as much as the host's own, within what a measurement can tell apart.
 * - `exactly once`: no end is delivered twice and none is kept back.
 * - `one notice`, `turns`: a turn of the parent costs money, so what ends together is delivered together, and with no more
 *   turns than the host's own task ever gets by with.
 * - `bytes`: our tool definitions are paid for on every model request of every agent; 3200 bytes is about 650 tokens.
 */
const limits = { launching: 1.1, cpu: 1.1, toolBytes: 3200 } as const;

/** The greatest ratio of latencies: 1.3 for one end, 1.05 from four on, and 1 from twenty on. */
function latencyLimit(tasks: number): number {
  if (tasks >= 20) return 1;
  return tasks >= 4 ? 1.05 : 1.3;
}

/** What the main thread used meanwhile is printed to explain a latency, and has no limit of its own. */
function limitOf(measure: Measure, tasks: number): number | undefined {
  switch (measure) {
    case "latency":
      return latencyLimit(tasks);
    case "launching turn":
      return limits.launching;
    case "round's CPU":
      return limits.cpu;
    case "latency's CPU":
    case "launching turn's CPU":
      return undefined;
  }
}

/** A goal and how it stands. */
export type Goal = {
  name: string;
  measured: number;
  /** The greatest value that still meets the goal. */
  limit: number;
  met: boolean;
};

/** The goal about a ratio, judged by the median of its pairs; none for a measure without one, nor against another build. */
export function ratioGoal({ measure, tasks, of, to, ofPairs }: Ratio): Goal | undefined {
  const limit = to === "built-in" ? limitOf(measure, tasks) : undefined;
  return limit === undefined ? undefined : goal(`${ends(tasks)}: ${measure}, ${of} / ${to}`, ofPairs.median, limit);
}

/** The goals about how often and in how many turns the parent was notified. */
export function deliveryGoals(ours: Figures, builtIn: Figures): Goal[] {
  return [
    goal(`${ends(ours.tasks)}: children not delivered exactly once`, ours.children - ours.deliveredOnce, 0),
    goal(`${ends(ours.tasks)}: rounds with other than one notice message`, ours.roundsNotInOneNotice, 0),
    goal(
      `${ends(ours.tasks)}: most parent turns in a round, against the built-in's fewest`,
      ours.turns.greatest,
      builtIn.turns.least,
    ),
  ];
}

/** The goal about what our tools add to each model request. */
export function bytesGoal(bytes: number): Goal {
  return goal("bytes of our tools in a model request", bytes, limits.toolBytes);
}

function goal(name: string, measured: number, limit: number): Goal {
  return { name, measured, limit, met: measured <= limit };
}

function ends(tasks: number): string {
  return tasks === 1 ? "1 end" : `${tasks} ends`;
}
