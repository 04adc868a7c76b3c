import { slotOf } from "../../../machines/task/slot.ts";
import type { LimitedRequest } from "../../../machines/task/slot-queue.ts";
import type { Database } from "../sqlite/driver.ts";
import { createSlotTable } from "../sqlite/slot-table.ts";
import type { SqliteStore } from "../sqlite/sqlite-store.ts";
import type { Store, TaskRecord } from "../store.ts";
import type { Reconnection } from "./reconnect.ts";

type Slots = Pick<Store, "grantSlots" | "startQueued" | "places">;

const NO_PLACES: ReturnType<Slots["places"]> = new Map();

/** All slots in memory are those of this process. */
const OWNER = "this process";

const toRequests = (asked: readonly { request: LimitedRequest }[] = []) => asked.map(({ request }) => request);

/**
 * Keeps slots in the file, or those of this process in memory while the file cannot be used, when those of others are not
 * known. In memory they are a table like that of the file, so that the queue is the same on bad days.
 * @param open opens an empty database in memory, of the newest version
 * @param now epoch milliseconds
 * @param records returns the records of this process's tasks
 */
export const createResilientSlots = (
  { flush, read, isClosed }: Reconnection,
  open: () => Database,
  now: () => number,
  records: () => readonly TaskRecord[],
) => {
  /** Runs that asked for a slot, as long as their records do not say that they have one, or need none. */
  const asked = new Map<string, { request: LimitedRequest; isHeld: boolean }>();
  /** The file in which those are noted. */
  let notedIn: SqliteStore | undefined;
  /** Open while the file cannot be used. */
  let memory: { database: Database; table: ReturnType<typeof createSlotTable> } | undefined;

  const view = () => ({ now: now(), alive: [OWNER], responsive: [OWNER] });

  const requests = () => {
    const { waiting, held } = Object.groupBy(asked.values(), ({ isHeld }) => (isHeld ? "held" : "waiting"));
    return { waiting: toRequests(waiting), held: toRequests(held) };
  };

  /** Begins with the runs that hold slots as their records say, and with those that asked since. */
  const beginInMemory = () => {
    const database = open();
    const table = createSlotTable(database, { id: OWNER });
    const { waiting, held } = requests();
    database.transaction(() => {
      records().forEach(table.follow);
      table.note(waiting, held, view());
    });
    notedIn = undefined;
    return { database, table };
  };

  const inMemory = (): Slots => {
    memory ??= beginInMemory();
    const { database, table } = memory;
    return {
      grantSlots: (runs) => database.transaction(() => table.grant(runs, view())),
      startQueued: (isWanted) => database.transaction(() => table.start(isWanted, view())),
      places: (taskIds, ofEachLane = 0) => table.places(taskIds, ofEachLane, view()),
    };
  };

  const inFile = (store: SqliteStore): Slots => {
    if (notedIn !== store && asked.size > 0) store.noteSlots(requests());
    notedIn = store;
    memory?.database.close();
    memory = undefined;
    return store;
  };

  const use = <T>(work: (slots: Slots) => T, otherwise: T): T => {
    if (isClosed()) return otherwise;
    const done = flush() ? read((store) => work(inFile(store))) : undefined;
    return done ? done.value : work(inMemory());
  };

  const markHeld = (taskIds: string[]): string[] => {
    for (const taskId of taskIds) {
      const run = asked.get(taskId);
      if (run) run.isHeld = true;
    }
    return taskIds;
  };

  return {
    grantSlots: (runs) => {
      for (const request of runs) asked.set(request.taskId, { request, isHeld: false });
      return markHeld(use((slots) => slots.grantSlots(runs), []));
    },
    startQueued: (isWanted) => markHeld(use((slots) => slots.startQueued(isWanted), [])),
    places: (taskIds, ofEachLane) => use((slots) => slots.places(taskIds, ofEachLane), NO_PLACES),
    /** Makes the slots follow from newer records, before these are stored. */
    follow: (newer: readonly TaskRecord[]) => {
      const { database, table } = memory ?? {};
      if (table) database?.transaction(() => newer.forEach(table.follow));
      for (const { task, snapshot } of newer) if (slotOf(snapshot) !== "waiting") asked.delete(task.sessionID);
    },
    /** Forgets what runs asked for whose tasks are gone from here. */
    forget: (taskIds: readonly string[]) => {
      for (const taskId of taskIds) asked.delete(taskId);
    },
  } satisfies Slots & Record<string, unknown>;
};
