// ADR-132 in docs/decisions.md
import type { Task, TaskEntry, TaskStatus } from "../../../task.ts";
import type { TaskFilter } from "../store.ts";
import type { Database, Value } from "./database.ts";

interface EntryRow {
  id: string;
  parent: string;
  batch: string;
  status: TaskStatus;
  agent: string;
  description: string;
  resumes: number;
  is_forked: 0 | 1;
  started_at: number;
  run_began_at: number;
  ended_at: number | null;
  tokens: number;
  cost: number;
  incomplete: NonNullable<Task["incomplete"]> | null;
}

const toEntry = (row: EntryRow): TaskEntry => {
  const entry: TaskEntry = {
    sessionID: row.id,
    parentSessionID: row.parent,
    batchId: row.batch,
    status: row.status,
    agent: row.agent,
    description: row.description,
    resumeCount: row.resumes,
    isForked: row.is_forked === 1,
    launchedAt: row.started_at,
    runBeganAt: row.run_began_at,
    ownUsage: { tokens: row.tokens, cost: row.cost },
  };
  if (row.incomplete !== null) entry.incomplete = row.incomplete;
  if (row.ended_at !== null) entry.runEndedAt = row.ended_at;
  return entry;
};

/** The condition of each field of a filter, and the values that it is given. `id` is compared so that its index is used. */
const CONDITIONS: { [Field in keyof TaskFilter]-?: { sql: string; values(value: string): Value[] } } = {
  parentSessionID: { sql: "parent = ?", values: (value) => [value] },
  batchId: { sql: "batch = ?", values: (value) => [value] },
  parentTaskId: { sql: "lead = ?", values: (value) => [value] },
  idPrefix: { sql: "task.id >= ? AND task.id < ? || char(0x10FFFF)", values: (value) => [value, value] },
};

/** Creates a function that lists tasks from the small columns of `task` and `listed`, in one query. */
export const createTaskList = (database: Database) => {
  const select = (where: string) =>
    database.prepare<EntryRow>(
      `SELECT listed.id, parent, batch, listed.status, agent, description, resumes, is_forked, listed.started_at, run_began_at,
         listed.ended_at, tokens, cost, incomplete
       FROM task JOIN listed USING (id) ${where} ORDER BY task.started_at, task.seq`,
    );

  return (filter: TaskFilter): TaskEntry[] => {
    const given = (Object.keys(CONDITIONS) as (keyof TaskFilter)[]).flatMap((field) => {
      const value = filter[field];
      return value === undefined ? [] : { sql: CONDITIONS[field].sql, values: CONDITIONS[field].values(value) };
    });
    const where = given.length > 0 ? `WHERE ${given.map(({ sql }) => sql).join(" AND ")}` : "";
    return select(where)
      .all(...given.flatMap(({ values }) => values))
      .map(toEntry);
  };
};
