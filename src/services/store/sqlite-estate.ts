import type { NoticePrompt } from "../../machines/outbox-events.ts";
import type { Database } from "./database.ts";
import { isGone, type Owner, type SeenOwner, type Watch } from "./ownership.ts";
import { parsed, type RecordRow, recordOf } from "./sqlite-rows.ts";
import type { Estate, PendingLaunch, PromptsUnderWay } from "./store.ts";

interface OwnerRow {
  id: string;
  pid: number;
  machine: string;
  started_at: number;
  directory: string;
  beat_at: number;
}

interface LaunchRow {
  seq: number;
  message: string;
  parent: string;
  at: number;
  fork: number;
}

const seenOwner = ({ started_at, beat_at, ...row }: OwnerRow): SeenOwner => ({
  ...row,
  startedAt: started_at,
  beatAt: beat_at,
});

/** A row of a table that belongs to a process which is gone. `?1` is the directory, `?2` the living owners as JSON. */
const FREE = "directory = ?1 AND owner NOT IN (SELECT value FROM json_each(?2))";

/** Prompts by parent, each parent's in the order in which they were stored. */
const grouped = (prompts: { parent: string; prompt: string }[]): PromptsUnderWay[] =>
  Object.entries(Object.groupBy(prompts, ({ parent }) => parent)).map(([parentSessionID, rows = []]) => ({
    parentSessionID,
    prompts: rows.map(({ prompt }) => parsed<NoticePrompt>(prompt)),
  }));

/**
 * Reads and writes the tables `owner`, `prompt` and `launch`, and hands over what is left behind. All but `living` is
 * to be done inside a transaction. `alive` tells whether this machine has a process of that id.
 */
export const createEstateTables = (database: Database, me: Owner, alive?: (pid: number) => boolean) => {
  const upsertOwner = database.prepare(
    `INSERT INTO owner (id, pid, machine, started_at, directory, beat_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at`,
  );
  const deleteOwner = database.prepare("DELETE FROM owner WHERE id = ?");
  const deleteSpentOwners = database.prepare(
    `DELETE FROM owner WHERE id NOT IN (SELECT value FROM json_each(?))
       AND id NOT IN (SELECT owner FROM task WHERE owner IS NOT NULL)
       AND id NOT IN (SELECT owner FROM prompt)
       AND id NOT IN (SELECT owner FROM launch)`,
  );
  const selectOwners = database.prepare<OwnerRow>("SELECT * FROM owner");
  const deletePrompts = database.prepare("DELETE FROM prompt WHERE parent = ? AND owner = ?");
  const insertPrompt = database.prepare("INSERT INTO prompt (parent, owner, directory, prompt) VALUES (?, ?, ?, ?)");
  const upsertLaunch = database.prepare(
    "INSERT OR REPLACE INTO launch (message, parent, owner, directory, at, fork) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const deleteLaunch = database.prepare("DELETE FROM launch WHERE message = ? AND owner = ?");
  const freeTasks = database.prepare<RecordRow & { id: string; parent: string }>(
    `SELECT id, parent, snapshot, progress FROM task WHERE owner IS NOT NULL AND ${FREE} ORDER BY started_at, seq`,
  );
  const freePrompts = database.prepare<{ seq: number; parent: string; prompt: string }>(
    `SELECT seq, parent, prompt FROM prompt WHERE ${FREE} ORDER BY seq`,
  );
  const freeLaunches = database.prepare<LaunchRow>(
    `SELECT message, parent, at, fork FROM launch WHERE ${FREE} ORDER BY at`,
  );
  const takeTask = database.prepare("UPDATE task SET owner = ? WHERE id = ?");
  const takePrompt = database.prepare("UPDATE prompt SET owner = ? WHERE seq = ?");
  const takeLaunch = database.prepare("UPDATE launch SET owner = ? WHERE message = ?");

  const living = (watch: Watch): string[] => [
    me.id,
    ...selectOwners
      .all()
      .map(seenOwner)
      .filter((owner) => !isGone(owner, me, watch, alive))
      .map(({ id }) => id),
  ];

  return {
    /** Shows that the owner lives at `now`, epoch milliseconds. */
    sign: (now: number) => void upsertOwner.run(me.id, me.pid, me.machine, me.startedAt, me.directory, now),
    resign: () => void deleteOwner.run(me.id),
    replacePrompts: ({ parentSessionID, prompts }: PromptsUnderWay) => {
      deletePrompts.run(parentSessionID, me.id);
      for (const prompt of prompts) insertPrompt.run(parentSessionID, me.id, me.directory, JSON.stringify(prompt));
    },
    beginLaunch: ({ messageID, parentSessionID, at, fork }: PendingLaunch) =>
      void upsertLaunch.run(messageID, parentSessionID, me.id, me.directory, at, fork ? 1 : 0),
    endLaunch: (messageID: string) => void deleteLaunch.run(messageID, me.id),

    /** Takes what is free in this owner's directory, of the wanted parents, and forgets the owners that have nothing left. */
    takeOver: (watch: Watch, wants: (parentSessionID: string) => boolean): Estate => {
      const alive = JSON.stringify(living(watch));
      const wanted = <Row extends { parent: string }>(rows: Row[]) => rows.filter(({ parent }) => wants(parent));
      const tasks = wanted(freeTasks.all(me.directory, alive));
      const prompts = wanted(freePrompts.all(me.directory, alive));
      const launches = wanted(freeLaunches.all(me.directory, alive));
      for (const { id } of tasks) takeTask.run(me.id, id);
      for (const { seq } of prompts) takePrompt.run(me.id, seq);
      for (const { message } of launches) takeLaunch.run(me.id, message);
      deleteSpentOwners.run(alive);
      return {
        tasks: tasks.map(recordOf),
        prompts: grouped(prompts),
        launches: launches.map(({ message, parent, at, fork }) => ({
          messageID: message,
          parentSessionID: parent,
          at,
          fork: fork === 1,
        })),
      };
    },
  };
};
