import type { PendingLaunch } from "../../../machines/launch/events.ts";
import { LAUNCH_LIMITS } from "../../../machines/launch/setup.ts";
import type { NoticePrompt } from "../../../machines/outbox/events.ts";
import { isRunning, type ProcessIdentity } from "../../platform/process-identity.ts";
import {
  clockOf,
  createHeardOwners,
  IN_MEMORY,
  isGone,
  isSilent,
  type KnownOwner,
  LEASE_MS,
  type LeaseCheck,
  type Owner,
  patienceWith,
} from "../ownership.ts";
import {
  type AbandonedWork,
  COMMAND_LIFE_MS,
  type CommandOutcome,
  type OtherSupervisor,
  type PendingCommand,
  type PendingPrompts,
  type RemoteCommand,
  type StoredLaunch,
  taskNotFound,
} from "../store.ts";
import type { Database, Statement } from "./driver.ts";
import { OWNER_COLUMNS } from "./schema.ts";
import { RECORD_COLUMNS, type RecordRow, type RowReader } from "./text-table.ts";

/** Matches a row whose owner is dead. `?1` has the ids of the living owners as JSON. */
const ORPHANED = "owner NOT IN (SELECT value FROM json_each(?1))";

/** Matches such a row that this owner can take over. `?2` is its directory, `?3` its OpenCode database. */
const FREE = `${ORPHANED} AND directory = ?2 AND database = ?3`;

/** Matches such a row that nobody can take over: its sessions were in the memory of a dead process. */
const LOST = `${ORPHANED} AND substr(database, 1, ${IN_MEMORY.length}) = '${IN_MEMORY}'`;

interface LaunchRow extends Omit<PendingLaunch, "fork">, ProcessIdentity {
  parent: string;
  fork: 0 | 1;
}

/** Groups prompts by parent. Each parent's prompts keep their order. */
const byParent = (prompts: { parent: string; prompt: NoticePrompt }[]): PendingPrompts[] =>
  Object.entries(Object.groupBy(prompts, ({ parent }) => parent)).map(([parentSessionID, of = []]) => ({
    parentSessionID,
    prompts: of.map(({ prompt }) => prompt),
  }));

/**
 * Reads and writes the tables `owner`, `prompt` and `launch`, and takes over the work of dead owners. All methods but
 * `livingOwners`, `queueOwners`, `hasOrphans`, `launches`, `otherSupervisor`, `isAlone` and `isAttended` need a transaction. `running`
 * returns whether a process of this machine is alive.
 */
export const createOwnershipTables = (
  database: Database,
  me: Owner,
  rows: RowReader,
  running: (process: Pick<Owner, "pid" | "startedAt">) => boolean = isRunning,
) => {
  const upsertOwner = database.prepare(
    `INSERT INTO owner (id, pid, machine, started_at, directory, beat_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at`,
  );
  const deleteMe = database.prepare("DELETE FROM owner WHERE id = ?");
  const deleteSpentOwners = database.prepare(
    `DELETE FROM owner WHERE id NOT IN (SELECT value FROM json_each(?))
       AND id NOT IN (SELECT owner FROM task WHERE owner IS NOT NULL)
       AND id NOT IN (SELECT owner FROM prompt)
       AND id NOT IN (SELECT owner FROM launch)`,
  );
  const selectOwners = database.prepare<KnownOwner>(`SELECT ${OWNER_COLUMNS} FROM owner`);
  // An owner may have thousands of tasks: the index is asked for the next owner.
  const selectHolders = database.prepare<{ id: string }>(
    `WITH RECURSIVE supervisor (id) AS (
       SELECT min(owner) FROM task WHERE owner IS NOT NULL
       UNION ALL
       SELECT (SELECT min(owner) FROM task WHERE owner > supervisor.id) FROM supervisor WHERE id IS NOT NULL
     )
     SELECT id FROM owner UNION SELECT id FROM supervisor WHERE id IS NOT NULL
     UNION SELECT owner FROM prompt UNION SELECT owner FROM launch`,
  );
  const deletePrompts = database.prepare("DELETE FROM prompt WHERE parent = ? AND owner = ?");
  const insertPrompt = database.prepare(
    "INSERT INTO prompt (parent, owner, directory, database, prompt) VALUES (?, ?, ?, ?, ?)",
  );
  const upsertLaunch = database.prepare(
    `INSERT OR REPLACE INTO launch (message, parent, owner, directory, database, at, fork, pid, machine, started_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const deleteLaunch = database.prepare("DELETE FROM launch WHERE message = ? AND owner = ?");
  const freeTasks = database.prepare<RecordRow & { parent: string }>(
    `SELECT parent, ${RECORD_COLUMNS} FROM task WHERE owner IS NOT NULL AND ${FREE} ORDER BY started_at, seq`,
  );
  const freePrompts = database.prepare<{ seq: number; parent: string; prompt: string }>(
    `SELECT seq, parent, prompt FROM prompt WHERE ${FREE} ORDER BY seq`,
  );
  const freeLaunches = database.prepare<LaunchRow>(
    `SELECT message AS messageID, parent, parent AS parentSessionID, at, fork, pid, machine, started_at AS startedAt
     FROM launch WHERE ${FREE} ORDER BY at`,
  );
  const allLaunches = database.prepare<Omit<PendingLaunch, "fork"> & { owner: string; directory: string; fork: 0 | 1 }>(
    "SELECT message AS messageID, parent AS parentSessionID, at, fork, owner, directory FROM launch ORDER BY at",
  );
  // Live tasks are deleted, since they would seem to run for ever. Ended ones stay in the history.
  const clearLost = [
    `DELETE FROM task WHERE owner IS NOT NULL AND status IN ('running', 'resumed') AND ${LOST}`,
    `UPDATE task SET owner = NULL WHERE owner IS NOT NULL AND ${LOST}`,
    `DELETE FROM prompt WHERE ${LOST}`,
    `DELETE FROM launch WHERE ${LOST}`,
  ].map((sql) => database.prepare(sql));
  const attendedBy = database.prepare<{ is_attended: number }>(
    `SELECT EXISTS (SELECT 1 FROM owner WHERE owner.id IN (SELECT value FROM json_each(?2))
       AND (owner.id = task.owner OR owner.directory = task.directory)) AS is_attended
     FROM task WHERE task.id = ?1`,
  );
  const ownerOf = database.prepare<KnownOwner>(
    `SELECT ${OWNER_COLUMNS} FROM task JOIN owner ON owner.id = task.owner WHERE task.id = ?`,
  );
  const takeTask = database.prepare("UPDATE task SET owner = ? WHERE id = ?");
  const takePrompt = database.prepare("UPDATE prompt SET owner = ? WHERE seq = ?");
  const takeLaunch = database.prepare("UPDATE launch SET owner = ? WHERE message = ?");

  const heard = createHeardOwners(me);

  const livingOthers = (check: LeaseCheck): KnownOwner[] =>
    selectOwners
      .all()
      .map((row) => heard.hear(row, check))
      .filter((owner) => owner.id !== me.id && !isGone(owner, me, check, running));

  /** Since when launches are known that may be taken over later, by this clock; epoch milliseconds. */
  let knownSince = new Map<string, number>();

  /**
   * Returns the launches of which nothing can come any more: the OpenCode that was asked for the session has ended, or has had all
   * the time that it may take. One that lives, though it stands still or has loaded the plugin anew, may still create it; and where
   * it stands still, its launch goes on with the session later. What another clock says of a launch's age does not count.
   */
  const spent = (launches: LaunchRow[], { now }: LeaseCheck): LaunchRow[] => {
    const firstSeen = ({ machine, at }: LaunchRow): number =>
      clockOf({ machine }) === clockOf(me) ? Math.min(at, now) : now;
    knownSince = new Map(
      launches.map((launch) => [launch.messageID, knownSince.get(launch.messageID) ?? firstSeen(launch)]),
    );
    return launches.filter(
      (launch) =>
        (launch.machine === me.machine && !running(launch)) ||
        now - (knownSince.get(launch.messageID) ?? now) > LAUNCH_LIMITS.searchFor,
    );
  };

  const withMe = (others: readonly KnownOwner[]): string[] => [me.id, ...others.map(({ id }) => id)];

  const livingOwners = (check: LeaseCheck): string[] => withMe(livingOthers(check));

  return {
    /** Returns the ids of the owners that live, this one included. */
    livingOwners,
    /** Returns the ids of the owners that live, and of those of them that are not silent; both include this one. */
    queueOwners: (check: LeaseCheck): { alive: string[]; responsive: string[] } => {
      const others = livingOthers(check);
      const responsive = others.filter((owner) => !isSilent(owner, LEASE_MS, check));
      return { alive: withMe(others), responsive: withMe(responsive) };
    },
    /** Stores that this owner is alive at `now`, epoch milliseconds. */
    heartbeat: (now: number) => void upsertOwner.run(me.id, me.pid, me.machine, me.startedAt, me.directory, now),
    deleteOwner: () => void deleteMe.run(me.id),
    replacePrompts: ({ parentSessionID, prompts }: PendingPrompts) => {
      deletePrompts.run(parentSessionID, me.id);
      for (const prompt of prompts)
        insertPrompt.run(parentSessionID, me.id, me.directory, me.database, JSON.stringify(prompt));
    },
    beginLaunch: ({ messageID, parentSessionID, at, fork }: PendingLaunch) =>
      void upsertLaunch.run(
        ...[messageID, parentSessionID, me.id, me.directory, me.database, at, fork ? 1 : 0],
        ...[me.pid, me.machine, me.startedAt],
      ),
    endLaunch: (messageID: string) => void deleteLaunch.run(messageID, me.id),
    /** See `Store`. */
    launches: (check: LeaseCheck): StoredLaunch[] => {
      const alive = new Set(livingOwners(check));
      return allLaunches.all().map(({ owner, directory, fork, ...launch }) => ({
        pending: { ...launch, fork: fork === 1 },
        directory,
        of: owner === me.id ? "own" : alive.has(owner) ? "other" : "ended",
      }));
    },

    /** See `Store`. True for a task that does not exist, too. */
    isAttended: (taskId: string, check: LeaseCheck): boolean =>
      attendedBy.get(taskId, JSON.stringify(livingOwners(check)))?.is_attended !== 0,

    /** See `Store`. */
    otherSupervisor: (taskId: string, check: LeaseCheck): OtherSupervisor | undefined => {
      const row = ownerOf.get(taskId);
      if (!row || row.id === me.id) return undefined;
      const owner = heard.hear(row, check);
      if (isGone(owner, me, check, running)) return undefined;
      const { pid, heartbeatAt } = owner;
      return { pid, heartbeatAt, freeAt: heartbeatAt + patienceWith(owner, me, running) };
    },
    /** True when no other owner lives. */
    isAlone: (check: LeaseCheck): boolean => livingOthers(check).length === 0,
    /** True when `takeOver` may have something to do. Asked first, since mostly it has not, and would wait for the write lock. */
    hasOrphans: (check: LeaseCheck): boolean => {
      const alive = new Set(livingOwners(check));
      return selectHolders.all().some(({ id }) => !alive.has(id));
    },
    /**
     * Takes over the free work in this owner's directory and OpenCode database, of the wanted parents. Deletes work that
     * nobody can take over, and owners without work. Leaves damaged rows as they are.
     */
    takeOver: (check: LeaseCheck, wants: (parentSessionID: string) => boolean): AbandonedWork => {
      const alive = JSON.stringify(livingOwners(check));
      const allFree = <Row extends { parent: string }>(select: Statement<Row>) =>
        select.all(alive, me.directory, me.database);
      const free = <Row extends { parent: string }>(select: Statement<Row>) =>
        allFree(select).filter(({ parent }) => wants(parent));
      const tasks = free(freeTasks).flatMap((row) => rows.record(row) ?? []);
      const prompts = free(freePrompts).flatMap(({ seq, parent, prompt }) => {
        const value = rows.value<NoticePrompt>("prompt", `${seq} to session ${parent}`, prompt);
        return value ? { seq, parent, prompt: value } : [];
      });
      const launches = spent(allFree(freeLaunches), check).filter(({ parent }) => wants(parent));
      for (const { task } of tasks) takeTask.run(me.id, task.sessionID);
      for (const { seq } of prompts) takePrompt.run(me.id, seq);
      for (const { messageID } of launches) takeLaunch.run(me.id, messageID);
      for (const statement of clearLost) statement.run(alive);
      deleteSpentOwners.run(alive);
      return {
        tasks,
        prompts: byParent(prompts),
        launches: launches.map(({ messageID, parentSessionID, at, fork }) => ({
          ...{ messageID, parentSessionID, at },
          fork: fork === 1,
        })),
      };
    },
  };
};

interface WaitingRow {
  id: string;
  task: string;
  request: string;
  is_there: number;
}

/** The outcome of a command whose row is damaged. */
const UNREADABLE: CommandOutcome = { refused: "the command, or its outcome, was damaged in the database: try again" };

/** Reads and writes the table `request`. All methods but `isForMe` and `hasOutcome` need a transaction. */
export const createCommandTable = (database: Database, me: Owner, rows: RowReader) => {
  const insert = database.prepare("INSERT OR IGNORE INTO request (id, task, request, at) VALUES (?, ?, ?, ?)");
  const deleteOld = database.prepare("DELETE FROM request WHERE at < ?");
  const selectWaiting = database.prepare<WaitingRow>(
    `SELECT request.id, request.task, request, task.id IS NOT NULL AS is_there
     FROM request LEFT JOIN task ON task.id = request.task
     WHERE NOT is_taken AND request.at >= ?3
       AND (task.id IS NULL OR owner = ?1 OR (owner IS NULL AND directory = ?2 AND database = ?4))
     ORDER BY request.rowid`,
  );
  const markTaken = database.prepare("UPDATE request SET is_taken = 1 WHERE id = ?");
  const updateOutcome = database.prepare("UPDATE request SET is_taken = 1, answer = ? WHERE id = ?");
  const selectOutcome = database.prepare<{ answer: string }>(
    "SELECT answer FROM request WHERE id = ? AND answer IS NOT NULL",
  );
  const deleteCommand = database.prepare("DELETE FROM request WHERE id = ?");

  const waiting = (now: number) => selectWaiting.all(me.id, me.directory, now - COMMAND_LIFE_MS, me.database);
  const storeOutcome = (id: string, outcome: CommandOutcome) => void updateOutcome.run(JSON.stringify(outcome), id);
  const outcomeOf = (id: string): CommandOutcome | undefined => {
    const row = selectOutcome.get(id);
    return row && (rows.value<CommandOutcome>("request", id, row.answer) ?? UNREADABLE);
  };

  return {
    submit: ({ id, taskId, command }: PendingCommand, at: number) => {
      deleteOld.run(at - COMMAND_LIFE_MS);
      insert.run(id, taskId, JSON.stringify(command), at);
    },
    /** True when `take` has something to do. Asked first, since mostly it has not, and would wait for the write lock. */
    isForMe: (now: number): boolean => waiting(now).length > 0,
    /** Takes the commands for this owner, and refuses those for tasks that no longer exist. */
    take: (now: number): PendingCommand[] =>
      waiting(now).flatMap(({ id, task, request, is_there }) => {
        if (!is_there) {
          storeOutcome(id, taskNotFound(task));
          return [];
        }
        const command = rows.value<RemoteCommand>("request", id, request);
        if (!command) {
          storeOutcome(id, UNREADABLE);
          return [];
        }
        markTaken.run(id);
        return [{ id, taskId: task, command }];
      }),
    storeOutcome,
    hasOutcome: (id: string): boolean => outcomeOf(id) !== undefined,
    takeOutcome: (id: string): CommandOutcome | undefined => {
      const outcome = outcomeOf(id);
      if (outcome) deleteCommand.run(id);
      return outcome;
    },
  };
};
