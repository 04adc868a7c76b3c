import { retriesAtOf, slotOf, slotRequestOf } from "../../../machines/task/slot.ts";
import {
  type LimitedRequest,
  type SlotLimits,
  type SlotRow,
  startable,
  withoutGivenUp,
} from "../../../machines/task/slot-queue.ts";
import type { Owner } from "../ownership.ts";
import type { TaskRecord } from "../store.ts";
import type { Database } from "./database.ts";
import { parseStored } from "./rows.ts";

interface Row {
  task: string;
  is_held: 0 | 1;
  agent: string;
  provider: string | null;
  model: string | null;
  priority: number;
  since: number;
  limits: string;
  retries_at: number | null;
  goes_on: 0 | 1;
}

/**
 * - A row for each run that holds a slot or waits for one: no task at rest has one, so the table stays small.
 * - `owner` is the task's. It has a column of its own, since a slot is taken before its task is stored for the first time.
 * - `limits` are those that the owner has for the run, as JSON: other processes may have other limits.
 * - `seq` is the order in which runs asked.
 */
export const addSlots = (database: Database): void =>
  database.exec(`
    CREATE TABLE slot (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      task TEXT NOT NULL UNIQUE,
      owner TEXT NOT NULL,
      is_held INTEGER NOT NULL,
      agent TEXT NOT NULL,
      provider TEXT,
      model TEXT,
      priority INTEGER NOT NULL,
      since INTEGER NOT NULL,
      limits TEXT NOT NULL
    ) STRICT;
    CREATE TRIGGER slot_of_deleted_task AFTER DELETE ON task BEGIN
      DELETE FROM slot WHERE task = old.id;
    END;
  `);

/** `retries_at` is when the host asks the provider again that refuses the run for now; null for other runs. */
export const addRetries = "ALTER TABLE slot ADD COLUMN retries_at INTEGER;";

/** `goes_on` is 1 for a run that left a model and goes on with another one, see `SlotRequest`. */
export const addGoesOn = "ALTER TABLE slot ADD COLUMN goes_on INTEGER NOT NULL DEFAULT 0;";

const toSlotRow = ({ task, provider, model, limits, ...row }: Row): SlotRow => ({
  taskId: task,
  isHeld: row.is_held === 1,
  agent: row.agent,
  provider: provider ?? undefined,
  model: model ?? undefined,
  priority: row.priority,
  since: row.since,
  goesOn: row.goes_on === 1,
  limits: parseStored<SlotLimits>(limits),
  retriesAt: row.retries_at ?? undefined,
});

/** Reads and writes the table `slot`. All methods but `read` and `maySucceed` need a transaction. */
export const createSlotTable = (database: Database, me: Owner) => {
  const select = database.prepare<Row>(
    "SELECT * FROM slot WHERE owner IN (SELECT value FROM json_each(?)) ORDER BY seq",
  );
  const upsert = database.prepare(
    `INSERT INTO slot (task, owner, is_held, agent, provider, model, priority, since, goes_on, limits, retries_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (task) DO UPDATE SET owner = excluded.owner, is_held = max(is_held, excluded.is_held),
       provider = excluded.provider, model = excluded.model, goes_on = excluded.goes_on, limits = excluded.limits,
       retries_at = excluded.retries_at`,
  );
  const isOfOther = database.prepare("SELECT 1 FROM task WHERE id = ? AND owner <> ?");
  const hold = database.prepare("UPDATE slot SET is_held = 1 WHERE task = ?");
  const updateLimits = database.prepare("UPDATE slot SET limits = ? WHERE task = ?");
  const remove = database.prepare("DELETE FROM slot WHERE task = ?");
  const removeMine = database.prepare("DELETE FROM slot WHERE task = ? AND owner = ?");
  const removeMineOfLostTasks = database.prepare(
    "DELETE FROM slot WHERE owner = ?1 AND task NOT IN (SELECT id FROM task WHERE owner = ?1)",
  );
  const removeUnowned = database.prepare(
    `DELETE FROM slot WHERE owner NOT IN (SELECT value FROM json_each(?)) AND task NOT IN (SELECT id FROM task)`,
  );
  const take = database.prepare("UPDATE slot SET owner = ?, is_held = ?, retries_at = NULL WHERE task = ?");
  /** Tasks whose row says what their snapshot does, so that most commits write none. */
  const settled = new Map<string, string>();

  const write = (request: LimitedRequest, isHeld: boolean, retriesAt: number | null = null) => {
    const { taskId, agent, provider = null, model = null, priority, since, goesOn, limits } = request;
    const values = [agent, provider, model, priority, since, goesOn ? 1 : 0, JSON.stringify(limits), retriesAt];
    upsert.run(taskId, me.id, isHeld ? 1 : 0, ...values);
  };

  const read = (alive: readonly string[]): SlotRow[] => select.all(JSON.stringify(alive)).map(toSlotRow);

  /** The rows, with the limits that this process has for those that ask now: a row may have those of the process before it. */
  const readFor = (requests: readonly LimitedRequest[], alive: readonly string[]): SlotRow[] => {
    const asking = new Map(requests.map((request) => [request.taskId, request]));
    return withoutGivenUp(read(alive), requests).map((row) => ({
      ...row,
      limits: asking.get(row.taskId)?.limits ?? row.limits,
    }));
  };

  const held = (rows: readonly SlotRow[], requests: readonly LimitedRequest[]): string[] => {
    const ids = new Set(rows.filter(({ isHeld }) => isHeld).map(({ taskId }) => taskId));
    return requests.flatMap(({ taskId }) => (ids.has(taskId) ? taskId : []));
  };

  return {
    read,
    /** False when `grant` would change nothing: asked first, since it would wait for the write lock. */
    maySucceed: (requests: readonly LimitedRequest[], alive: readonly string[], now: number): boolean => {
      const rows = read(alive);
      const noted = new Map(rows.map(({ taskId, limits }) => [taskId, JSON.stringify(limits)]));
      const free = new Set(startable(rows, now));
      return (
        requests.some(({ taskId, limits }) => noted.get(taskId) !== JSON.stringify(limits) || free.has(taskId)) ||
        held(rows, requests).length > 0
      );
    },
    /**
     * Notes that these runs ask, and gives slots to those that can start. Returns those of them that hold one. A process that
     * was stopped may ask for what another one has by now: that one's slot is left as it is.
     */
    grant: (asking: readonly LimitedRequest[], alive: readonly string[], now: number): string[] => {
      const requests = asking.filter(({ taskId }) => isOfOther.get(taskId, me.id) === undefined);
      const rows = readFor(requests, alive);
      const known = new Set(rows.map(({ taskId }) => taskId));
      for (const request of requests) {
        settled.delete(request.taskId);
        if (known.has(request.taskId)) {
          updateLimits.run(JSON.stringify(request.limits), request.taskId);
          continue;
        }
        // A dead process may have left one, or the run itself, of its model before.
        remove.run(request.taskId);
        write(request, false);
        rows.push({ ...request, isHeld: false });
      }
      const free = new Set(startable(rows, now));
      const granted = requests.flatMap(({ taskId }) => (free.has(taskId) ? taskId : []));
      for (const taskId of granted) hold.run(taskId);
      return [...held(rows, requests), ...granted];
    },
    /** Has the row of a stored task say what its snapshot does. That of a waiting one was written when it asked. */
    follow: ({ snapshot, task: { sessionID } }: TaskRecord) => {
      const state = slotOf(snapshot);
      const retriesAt = retriesAtOf(snapshot);
      const request = slotRequestOf(snapshot.context);
      const said = `${state} ${request.model} ${retriesAt}`;
      if (state === "waiting" || settled.get(sessionID) === said) return;
      if (state === "held") write({ ...request, limits: {} }, true, retriesAt);
      else remove.run(sessionID);
      settled.set(sessionID, said);
    },
    /** Removes the slot of a task that is not this owner's any more. */
    drop: (taskId: string) => void removeMine.run(taskId, me.id),
    /** Forgets what rows say: of this task, or, after a transaction that was rolled back, of all. */
    forget: (taskId?: string) => (taskId === undefined ? settled.clear() : void settled.delete(taskId)),
    /** A run that was given a slot, and has not noted it, asks again. */
    takeOver: (records: readonly TaskRecord[], alive: readonly string[]) => {
      for (const { task, snapshot } of records) take.run(me.id, slotOf(snapshot) === "held" ? 1 : 0, task.sessionID);
      removeUnowned.run(JSON.stringify(alive));
    },
    /** Removes slots of this owner whose tasks another process has removed, or taken over while this one was stopped. */
    removeLost: () => void removeMineOfLostTasks.run(me.id),
  };
};
