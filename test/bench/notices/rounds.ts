import type { Delivery, Round } from "../../../bench/notices/round.ts";

/** A round of one contender in which all went well, unless it is said otherwise. */
export const roundOf = (changes: Partial<Round> = {}): Round => ({
  contender: "ours",
  index: 1,
  children: deliveries(100),
  launching: { ms: 50, mainThreadMs: 40 },
  cpu: 600,
  noticeMessages: 1,
  turns: 1,
  benchLoad: 0.02,
  ...changes,
});

/** Children that were delivered once each, after so many milliseconds. */
export const deliveries = (...latencies: number[]): Delivery[] =>
  latencies.map((latency) => ({ latency, cpu: latency / 2, stored: 1 }));
