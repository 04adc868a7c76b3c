import type { LimitedRequest } from "../../../machines/task/slot-queue.ts";
import type { Database } from "../sqlite/driver.ts";
import { createSlotTable } from "../sqlite/slot-table.ts";
import type { Store, TaskRecord } from "../store.ts";

/** What a store does with slots. */
export type SlotKeeper = Pick<Store, "grantSlots" | "startQueued" | "places">;

/** All slots in memory are those of this process. */
const OWNER = "this process";

/**
 * Keeps the slots of this process while the file cannot be used, when those of others are not known: none until `begin`. They
 * are a table like that of the file, so that the queue is the
 * same on bad days.
 * @param open opens an empty database in memory, of the newest version
 * @param now epoch milliseconds
 */
export const createSlotsInMemory = (open: () => Database, now: () => number) => {
  let opened: { database: Database; table: ReturnType<typeof createSlotTable> } | undefined;

  const use = <T>(work: (table: ReturnType<typeof createSlotTable>) => T, otherwise: T): T => {
    if (!opened) return otherwise;
    const { database, table } = opened;
    return database.transaction(() => work(table));
  };

  const view = () => ({ now: now(), alive: [OWNER], responsive: [OWNER] });

  const end = () => {
    opened?.database.close();
    opened = undefined;
  };

  const keeper: SlotKeeper = {
    grantSlots: (requests) => use((table) => table.grant(requests, view()), []),
    startQueued: (isWanted) => use((table) => table.start(isWanted, view()), []),
    places: (taskIds, ofEachLane = 0) => opened?.table.places(taskIds, ofEachLane, view()) ?? new Map(),
  };

  return {
    ...keeper,
    /** Begins with the runs that hold slots as their records say, and with those that asked since. */
    begin: (
      records: readonly TaskRecord[],
      { waiting, held }: { waiting: readonly LimitedRequest[]; held: readonly LimitedRequest[] },
    ) => {
      end();
      const database = open();
      opened = { database, table: createSlotTable(database, { id: OWNER }) };
      use((table) => {
        records.forEach(table.follow);
        table.note(waiting, held, view());
      }, undefined);
    },
    /** Makes the slots follow from newer records. Does nothing before `begin` and after `end`. */
    follow: (records: readonly TaskRecord[]) => use((table) => records.forEach(table.follow), undefined),
    end,
  };
};
