import type { Figures } from "./figures.ts";

/**
 * What the first release promises, each next to what was measured. Every number in here is a goal of the first release.
 *
 * - `latency`: an agent should wait little longer for a plugin's notice than for the host's own, which needs no calls
 *   over HTTP: at most 1.5 times as long, at the median.
 * - `exactly once`: no end is told twice and none is kept back.
 * - `turns`: a turn of the parent costs money, so being told may cost at most as many as with the host's own.
 * - `bytes`: our tool definitions are paid for on every model request of every agent; 3200 bytes is about 650 tokens.
 */
const limits = { latencyRatio: 1.5, toolBytes: 3200 } as const;

/** A goal and how it stands. */
export type Goal = {
  name: string;
  measured: number;
  /** The greatest value that still meets the goal. */
  limit: number;
  met: boolean;
};

/** The goals about one number of tasks that end together. */
export function goalsOf(ours: Figures, builtIn: Figures): Goal[] {
  const together = `${ours.tasks} ends`;
  return [
    goal(
      `${together}: median latency, ours / built-in`,
      ours.latency.median / builtIn.latency.median,
      limits.latencyRatio,
    ),
    goal(`${together}: children of ours not told exactly once`, ours.children - ours.toldOnce, 0),
    goal(`${together}: parent turns per round, ours against built-in`, ours.turns, builtIn.turns),
  ];
}

/** The goal about what our tools add to each model request. */
export function bytesGoal(bytes: number): Goal {
  return goal("bytes of our tools in a model request", bytes, limits.toolBytes);
}

function goal(name: string, measured: number, limit: number): Goal {
  return { name, measured, limit, met: measured <= limit };
}
