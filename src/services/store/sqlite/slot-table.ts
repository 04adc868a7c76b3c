import { isStoppedForPause, retriesAtOf, slotOf, slotRequestOf } from "../../../machines/task/slot.ts";
import {
  type Lane,
  type LimitedRequest,
  laneOf,
  lanesOf,
  type QueuedRun,
  type QueueWalk,
  type RunsAtWork,
  walkQueue,
} from "../../../machines/task/slot-queue.ts";
import type { QueuePlace } from "../../../task.ts";
import type { Owner } from "../ownership.ts";
import type { TaskRecord } from "../store.ts";
import type { Database } from "./driver.ts";
import { COUNT_AHEAD } from "./slot-schema.ts";
import { parseStored } from "./text-table.ts";

/**
 * What the row of a run says in `state`: that it waits for a slot, that it holds one, or that it holds none and waits until its
 * provider serves again, at the time in `retries_at`.
 */
const [WAITING, HELD, REFUSED] = [0, 1, 2] as const;
type RowState = typeof WAITING | typeof HELD | typeof REFUSED;

/** What the row of a task's run is to say; undefined where it needs none. That of a waiting one is written when it asks. */
const rowStateOf = (snapshot: TaskRecord["snapshot"]): RowState | undefined => {
  const slot = slotOf(snapshot);
  if (slot !== "none") return slot === "held" ? HELD : WAITING;
  return isStoppedForPause(snapshot) && retriesAtOf(snapshot) !== undefined ? REFUSED : undefined;
};

/** The columns from which the request of a run is read. */
interface StoredRequest {
  task: string;
  agent: string;
  provider: string | null;
  model: string | null;
  priority: number;
  since: number;
  limits: string;
  goes_on: 0 | 1;
}

/** Selects a `StoredRequest`. */
const REQUEST_COLUMNS = "task, agent, provider, model, priority, since, limits, goes_on";

const toRequest = ({
  task,
  provider,
  model,
  limits,
  goes_on,
  agent,
  priority,
  since,
}: StoredRequest): LimitedRequest => ({
  taskId: task,
  agent,
  provider: provider ?? undefined,
  model: model ?? undefined,
  priority,
  since,
  goesOn: goes_on === 1,
  limits: parseStored<LimitedRequest["limits"]>(limits),
});

/** A row of a run that waits. */
interface WaitingRow extends StoredRequest {
  seq: number;
  owner: string;
  lane: string;
  rank: number;
}

const WAITING_COLUMNS = `seq, slot.owner, slot.lane, rank, ${REQUEST_COLUMNS}`;

/** When the queue is looked at, and whose runs count. */
export interface QueueView {
  /** Epoch milliseconds. */
  now: number;
  /** The ids of the living owners, whose slots count. */
  alive: readonly string[];
  /** The ids of those of them that can start what waits: what a silent one has waiting keeps no room from others. */
  responsive: readonly string[];
}

interface WorkRow {
  provider: string | null;
  model: string | null;
  agent: string;
  runs: number;
  retries_at: number | null;
}

const toQueuedRun = (row: WaitingRow): QueuedRun => ({ ...toRequest(row), seq: row.seq });

const toRunsAtWork = ({ provider, model, agent, runs, retries_at }: WorkRow): RunsAtWork => ({
  provider: provider ?? undefined,
  model: model ?? undefined,
  agent,
  runs,
  retriesAt: retries_at ?? undefined,
});

/** Reads and writes the table `slot`. All methods but `places` and `mayStart` need a transaction. */
export const createSlotTable = (database: Database, me: Pick<Owner, "id">) => {
  const selectAtWork = database.prepare<WorkRow>(
    `SELECT provider, model, agent, count(*) AS runs, max(retries_at) AS retries_at FROM slot
     WHERE state = ${HELD} AND owner IN (SELECT value FROM json_each(?1)) GROUP BY provider, model, agent
     UNION ALL
     SELECT provider, NULL, agent, 0, max(retries_at) FROM slot
     WHERE state = ${REFUSED} AND owner IN (SELECT value FROM json_each(?1)) GROUP BY provider`,
  );
  // SQLite finds the next lane in the index, whatever number of runs the one before has.
  const selectFirst = database.prepare<WaitingRow>(
    `WITH RECURSIVE line (owner, lane) AS (
       SELECT value, (SELECT min(lane) FROM slot WHERE state = 0 AND owner = value) FROM json_each(?)
       UNION ALL
       SELECT owner, (SELECT min(lane) FROM slot WHERE state = 0 AND owner = line.owner AND lane > line.lane)
       FROM line WHERE lane IS NOT NULL
     )
     SELECT ${WAITING_COLUMNS} FROM line JOIN slot ON seq = (
       SELECT seq FROM slot WHERE state = 0 AND owner = line.owner AND lane = line.lane ORDER BY rank, since, seq LIMIT 1
     )`,
  );
  const selectFrom = database.prepare<WaitingRow>(
    `SELECT ${WAITING_COLUMNS} FROM slot
     WHERE state = 0 AND owner = ? AND lane = ? AND (rank, since, seq) >= (?, ?, ?) ORDER BY rank, since, seq LIMIT ?`,
  );
  const countAhead = database.prepare<{ runs: number }>(COUNT_AHEAD);
  const selectWaiting = database.prepare<WaitingRow>(
    `SELECT ${WAITING_COLUMNS} FROM slot WHERE task = ? AND state = 0`,
  );
  const selectState = database.prepare<{ owner: string; state: RowState }>(
    "SELECT owner, state FROM slot WHERE task = ?",
  );
  const upsert = database.prepare(
    `INSERT INTO slot (task, owner, state, agent, provider, model, priority, since, goes_on, limits, lane, retries_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (task) DO UPDATE SET owner = excluded.owner, state = max(state, excluded.state),
       provider = excluded.provider, model = excluded.model, goes_on = excluded.goes_on, limits = excluded.limits,
       retries_at = excluded.retries_at`,
  );
  const selectAnyWaiting = database.prepare(
    "SELECT 1 FROM slot WHERE state = 0 AND owner IN (SELECT value FROM json_each(?)) LIMIT 1",
  );
  const selectOfOther = database.prepare("SELECT 1 FROM task WHERE id = ? AND owner <> ?");
  const markHeld = database.prepare("UPDATE slot SET state = 1 WHERE task = ?");
  const updateLimits = database.prepare("UPDATE slot SET limits = ?, lane = ? WHERE task = ?");
  const remove = database.prepare("DELETE FROM slot WHERE task = ?");
  const removeMine = database.prepare("DELETE FROM slot WHERE task = ? AND owner = ?");
  const removeMineOfLostTasks = database.prepare(
    "DELETE FROM slot WHERE owner = ?1 AND task NOT IN (SELECT id FROM task WHERE owner = ?1)",
  );
  const removeUnowned = database.prepare(
    `DELETE FROM slot WHERE owner NOT IN (SELECT value FROM json_each(?)) AND task NOT IN (SELECT id FROM task)`,
  );
  const take = database.prepare(
    `UPDATE slot SET owner = ?1, state = ?2, retries_at = CASE ?2 WHEN ${REFUSED} THEN retries_at END WHERE task = ?3`,
  );
  /** What the row of each task was last written from, so that most commits write none. */
  const writtenFrom = new Map<string, string>();

  const write = (request: LimitedRequest, state: RowState, retriesAt: number | null = null) => {
    const { taskId, agent, provider = null, model = null, priority, since, goesOn, limits } = request;
    const values = [agent, provider, model, priority, since, goesOn ? 1 : 0, JSON.stringify(limits), laneOf(request)];
    upsert.run(taskId, me.id, state, ...values, retriesAt);
  };

  /** Leaves out what another process has by now: one that was stopped may ask for it all the same. */
  const withoutOthers = (requests: readonly LimitedRequest[]): LimitedRequest[] =>
    requests.filter(({ taskId }) => selectOfOther.get(taskId, me.id) === undefined);

  const laneFrom = (first: WaitingRow): Lane => {
    const { owner, lane } = first;
    return {
      first: toQueuedRun(first),
      after: ({ priority, since, seq }) => {
        const row = selectFrom.get(owner, lane, -priority, since, seq + 1, 1);
        return row && toQueuedRun(row);
      },
      ahead: ({ priority, since, seq }) => countAhead.get(owner, lane, -priority, since, seq)?.runs ?? 0,
    };
  };

  /** Returns those that can start of runs that ask while none waits. */
  const startingOf = (asking: readonly LimitedRequest[], { alive, now }: QueueView): ReadonlySet<string> => {
    const atWork = selectAtWork.all(JSON.stringify(alive)).map(toRunsAtWork);
    const lanes = lanesOf(asking.map((request, seq) => ({ ...request, seq })));
    return new Set(walkQueue(atWork, lanes, now).starting.map(({ taskId }) => taskId));
  };

  const keyOf = ({ owner, lane }: Pick<WaitingRow, "owner" | "lane">): string => `${owner} ${lane}`;

  const walk = ({
    alive,
    responsive,
    now,
  }: QueueView): QueueWalk & { lanes: ReadonlyMap<string, { row: WaitingRow; lane: Lane }> } => {
    const waiting = selectFirst.all(JSON.stringify(responsive));
    const lanes = new Map(waiting.map((row) => [keyOf(row), { row, lane: laneFrom(row) }]));
    const atWork = selectAtWork.all(JSON.stringify(alive)).map(toRunsAtWork);
    return {
      ...walkQueue(
        atWork,
        [...lanes.values()].map(({ lane }) => lane),
        now,
      ),
      lanes,
    };
  };

  const startingIn = (view: QueueView): string[] => walk(view).starting.map(({ taskId }) => taskId);

  /** Returns whether a run that asks has a slot already, waits for one already, or is new here. */
  const stateOf = (request: LimitedRequest, alive: ReadonlySet<string>): "held" | "waiting" | "new" => {
    const known = selectState.get(request.taskId);
    writtenFrom.delete(request.taskId);
    // One that goes on with another model gives up the slot that it has.
    const isKept = known && alive.has(known.owner) && known.state !== REFUSED && !(known.state && request.goesOn);
    if (isKept) return known.state === HELD ? "held" : "waiting";
    // A dead process may have left one, or the run itself, of its model before.
    if (known) remove.run(request.taskId);
    return "new";
  };

  /** Notes that a run asks. False where it holds a slot already. */
  const noteOne = (request: LimitedRequest, alive: ReadonlySet<string>): boolean => {
    const state = stateOf(request, alive);
    if (state === "waiting") updateLimits.run(JSON.stringify(request.limits), laneOf(request), request.taskId);
    if (state === "new") write(request, WAITING);
    return state !== "held";
  };

  return {
    /** Returns the places of those of these runs that wait, and of the first `ofEachLane` of every lane. */
    places: (taskIds: readonly string[], ofEachLane: number, view: QueueView): Map<string, QueuePlace> => {
      return database.snapshot(() => {
        const { placeOf, lanes } = walk(view);
        const rows = taskIds.flatMap((taskId) => selectWaiting.get(taskId) ?? []);
        for (const { row } of ofEachLane > 0 ? lanes.values() : []) {
          rows.push(...selectFrom.all(row.owner, row.lane, row.rank, row.since, row.seq, ofEachLane));
        }
        return new Map(
          rows.flatMap((row): [string, QueuePlace][] => {
            const known = lanes.get(keyOf(row));
            return known ? [[row.task, placeOf(toQueuedRun(row), known.lane)]] : [];
          }),
        );
      });
    },
    /** True when `start` would start one: asked first, since it would wait for the write lock. */
    mayStart: (isWanted: (taskId: string) => boolean, view: QueueView): boolean => startingIn(view).some(isWanted),
    /** Gives slots to those of the wanted runs that can start, and returns them. */
    start: (isWanted: (taskId: string) => boolean, view: QueueView): string[] => {
      const started = startingIn(view).filter(isWanted);
      for (const taskId of started) markHeld.run(taskId);
      return started;
    },
    /** Notes runs that asked before, in a table that has lost them, or was not there then. */
    note: (waiting: readonly LimitedRequest[], held: readonly LimitedRequest[], { alive }: QueueView) => {
      const living = new Set(alive);
      for (const request of withoutOthers(waiting)) noteOne(request, living);
      for (const request of withoutOthers(held)) write(request, HELD);
    },
    /**
     * Notes that these runs ask, and gives slots to those that can start. Returns those of them that hold one.
     */
    grant: (asking: readonly LimitedRequest[], view: QueueView): string[] => {
      const requests = withoutOthers(asking);
      const alive = new Set(view.alive);
      if (!selectAnyWaiting.get(JSON.stringify(view.alive))) {
        const fresh = requests.filter((request) => stateOf(request, alive) === "new");
        const held = startingOf(fresh, view);
        // A run that starts at once is never counted among those that wait: that takes as long as all the rest.
        for (const request of fresh) write(request, held.has(request.taskId) ? HELD : WAITING);
        const waiting = new Set(fresh.flatMap(({ taskId }) => (held.has(taskId) ? [] : taskId)));
        return requests.flatMap(({ taskId }) => (waiting.has(taskId) ? [] : taskId));
      }
      const waiting = new Set(requests.flatMap((request) => (noteOne(request, alive) ? request.taskId : [])));
      const starting = new Set(startingIn(view));
      const granted = requests.flatMap(({ taskId }) => (waiting.has(taskId) && starting.has(taskId) ? taskId : []));
      for (const taskId of granted) markHeld.run(taskId);
      return [...requests.flatMap(({ taskId }) => (waiting.has(taskId) ? [] : taskId)), ...granted];
    },
    /** Makes the row of a stored task follow from its snapshot. That of a waiting one was written when it asked. */
    follow: ({ snapshot, task: { sessionID } }: TaskRecord) => {
      const state = rowStateOf(snapshot);
      const retriesAt = retriesAtOf(snapshot);
      const request = slotRequestOf(snapshot.context);
      const current = `${state} ${request.model} ${retriesAt}`;
      if (state === WAITING || writtenFrom.get(sessionID) === current) return;
      if (state === undefined) remove.run(sessionID);
      else write({ ...request, limits: {} }, state, retriesAt);
      writtenFrom.set(sessionID, current);
    },
    /** Removes the slot of a task that is not this owner's any more. */
    drop: (taskId: string) => void removeMine.run(taskId, me.id),
    /** Forgets what rows were written from: that of this task, or, after a transaction that was rolled back, all. */
    forget: (taskId?: string) => (taskId === undefined ? writtenFrom.clear() : void writtenFrom.delete(taskId)),
    /** A run that was given a slot, and has not noted it, asks again. */
    takeOver: (records: readonly TaskRecord[], alive: readonly string[]) => {
      for (const { task, snapshot } of records) take.run(me.id, rowStateOf(snapshot) ?? WAITING, task.sessionID);
      removeUnowned.run(JSON.stringify(alive));
    },
    /** Removes slots of this owner whose tasks another process has removed, or taken over while this one was stopped. */
    removeLost: () => void removeMineOfLostTasks.run(me.id),
  };
};
