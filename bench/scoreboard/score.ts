import { median } from "../measuring.ts";
import type { Moment } from "./moments.ts";

/** When the parent's model was shown the notice of an end; `after` is in milliseconds from the new start of OpenCode. */
export type Seen =
  | { when: "before the kill" | "never" }
  /** Somebody had prompted the parent again, or nobody had. */
  | { when: "by itself" | "when prompted"; after: number };

/** What became of the end of one task after OpenCode was killed and started again. */
export interface End {
  seen: Seen;
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
const isLost = (end: End): boolean => end.seen.when === "never" && !isTwice(end);

export const scoreOf = (played: readonly Played[]): Score => {
  const ends = played.flatMap((moment) => moment.ends);
  const times = ends.flatMap(({ seen }) => (seen.when === "by itself" ? seen.after : []));
  const [twice, lost] = [ends.filter(isTwice).length, ends.filter(isLost).length];
  return {
    ends: ends.length,
    once: ends.length - twice - lost,
    twice,
    lost,
    whenPrompted: ends.filter(({ seen }) => seen.when === "when prompted").length,
    median: median(times),
    longest: times.length === 0 ? Number.NaN : Math.max(...times),
  };
};

/** The target: each end is delivered once, without anybody asking for it. */
export const isTargetMet = ({ ends, once, whenPrompted }: Score): boolean =>
  ends > 0 && once === ends && whenPrompted === 0;
