import {
  inQueueOrder,
  type LimitedRequest,
  laneOf,
  lanesOf,
  type QueuedRun,
  walkQueue,
} from "../../src/machines/task/slot-queue.ts";
import type { QueuePlace } from "../../src/task.ts";

/** A run that holds a slot, or waits for one, of any process. `limits` concern only those that wait. */
export interface SlotRow extends LimitedRequest {
  isHeld: boolean;
  /** When the host asks its provider again, epoch milliseconds; undefined unless the provider refused, and has not answered since. */
  retriesAt?: number | undefined;
}

const inOrder = (one: QueuedRun, other: QueuedRun): number => inQueueOrder(one, other) || one.seq - other.seq;

const walk = (rows: readonly SlotRow[], now: number) => {
  const waiting = rows
    .map((row, seq) => ({ ...row, seq }))
    .filter(({ isHeld }) => !isHeld)
    .sort(inOrder);
  const lanes = new Map(lanesOf(waiting).map((lane) => [laneOf(lane.first), lane]));
  const atWork = rows.filter(({ isHeld }) => isHeld).map((row) => ({ ...row, runs: 1 }));
  return { waiting, lanes, ...walkQueue(atWork, [...lanes.values()], now) };
};

/** Returns the ids of the waiting runs that can start. `rows` are in the order in which they asked. */
export const startable = (rows: readonly SlotRow[], now: number): string[] =>
  walk(rows, now).starting.map(({ taskId }) => taskId);

/** Returns the places of all waiting runs, by task. */
export const queuePlaces = (rows: readonly SlotRow[], now: number): Map<string, QueuePlace> => {
  const { waiting, lanes, placeOf } = walk(rows, now);
  return new Map(
    waiting.flatMap((run) => {
      const lane = lanes.get(laneOf(run));
      return lane ? [[run.taskId, placeOf(run, lane)] as const] : [];
    }),
  );
};
