import { retriesAtOf, slotOf, slotRequestOf } from "../../../machines/task/slot.ts";
import {
  type LimitedRequest,
  type SlotLimits,
  type SlotRow,
  startable,
  withoutGivenUp,
} from "../../../machines/task/slot-queue.ts";
import type { TaskRecord } from "../store.ts";

/** The slots of this process while the file cannot be used. Those of other processes are not known then. */
export interface SlotsInMemory {
  /** `now` is epoch milliseconds. */
  grant(requests: readonly LimitedRequest[], records: readonly TaskRecord[], now: number): string[];
  rows(records: readonly TaskRecord[]): SlotRow[];
  /** Forgets what was granted to tasks whose records say it from now on. */
  follow(records: readonly TaskRecord[]): void;
}

export const createSlotsInMemory = (): SlotsInMemory => {
  /** Limits of runs that asked. */
  const limits = new Map<string, SlotLimits>();
  /** Runs that hold a slot, though no record says so yet. */
  const granted = new Map<string, LimitedRequest>();

  const rows = (records: readonly TaskRecord[]): SlotRow[] => {
    const ofRecords = records.flatMap(({ snapshot, task: { sessionID } }): SlotRow[] => {
      const state = slotOf(snapshot);
      if (state === "none" || granted.has(sessionID)) return [];
      const request = slotRequestOf(snapshot.context);
      const retriesAt = retriesAtOf(snapshot);
      return [{ ...request, isHeld: state === "held", limits: limits.get(sessionID) ?? {}, retriesAt }];
    });
    return [...ofRecords, ...[...granted.values()].map((request) => ({ ...request, isHeld: true }))];
  };

  return {
    rows,
    grant: (requests, records, now) => {
      for (const { taskId, limits: of } of requests) limits.set(taskId, of);
      const known = withoutGivenUp(rows(records), requests);
      const ids = new Set(known.map(({ taskId }) => taskId));
      const asking = requests.filter(({ taskId }) => !ids.has(taskId));
      const all = [...known, ...asking.map((request) => ({ ...request, isHeld: false }))];
      const free = new Set(startable(all, now));
      for (const request of requests) if (free.has(request.taskId)) granted.set(request.taskId, request);
      const held = new Set(known.filter(({ isHeld }) => isHeld).map(({ taskId }) => taskId));
      return requests.flatMap(({ taskId }) => (held.has(taskId) || granted.has(taskId) ? taskId : []));
    },
    follow: (records) => {
      for (const { task, snapshot } of records) {
        granted.delete(task.sessionID);
        if (slotOf(snapshot) !== "waiting") limits.delete(task.sessionID);
      }
    },
  };
};
