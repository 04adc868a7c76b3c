import { median } from "../measuring.ts";
import type { Moment } from "./moments.ts";

/** What became of the end of one task after OpenCode was killed and started again. */
export interface End {
  /**
   * Milliseconds from the new start of OpenCode to the first model request of the parent that carries the notice; absent
   * when there was none.
   */
  seenAfter?: number;
  /** True when it was seen only after somebody had prompted the parent again. */
  whenPrompted: boolean;
  /** How often the notice stands in the parent's stored messages. */
  stored: number;
}

/** The ends of the tasks that lived at one moment, of one contender. */
export interface Played {
  moment: Moment;
  ends: End[];
}

/** What all moments come to. Once, twice and lost together are all ends. */
export interface Score {
  ends: number;
  once: number;
  twice: number;
  lost: number;
  /** Of those delivered: only when the parent was prompted again. */
  whenPrompted: number;
  /** Milliseconds, of those that came by themselves; NaN when none did. */
  median: number;
  longest: number;
}

const isTwice = ({ stored }: End): boolean => stored > 1;
const isLost = (end: End): boolean => end.seenAfter === undefined && !isTwice(end);

export const scoreOf = (played: readonly Played[]): Score => {
  const ends = played.flatMap((moment) => moment.ends);
  const times = ends.flatMap(({ seenAfter, whenPrompted }) =>
    seenAfter === undefined || whenPrompted ? [] : seenAfter,
  );
  const [twice, lost] = [ends.filter(isTwice).length, ends.filter(isLost).length];
  return {
    ends: ends.length,
    once: ends.length - twice - lost,
    twice,
    lost,
    whenPrompted: ends.filter(({ seenAfter, whenPrompted }) => seenAfter !== undefined && whenPrompted).length,
    median: median(times),
    longest: times.length === 0 ? Number.NaN : Math.max(...times),
  };
};

/** The target: each end is delivered once, without anybody asking for it. */
export const isTargetMet = ({ ends, once, whenPrompted }: Score): boolean =>
  ends > 0 && once === ends && whenPrompted === 0;
