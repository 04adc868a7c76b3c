import type { PageFilter } from "../store.ts";
import type { Database, Value } from "./database.ts";
import type { FoundTask, Match } from "./task-query.ts";
import { searchKey } from "./task-query.ts";

interface KeyRow {
  id: string;
  born: number;
  started_at: number;
}

interface TallyRow {
  id: number;
  tasks: number;
}

/**
 * Tasks of a status, agent or directory up to which all of them are read and sorted, in some milliseconds. Of more, the newest
 * of all tasks are read until the page is full.
 */
const FEW = 4_000;

/** One condition of a filter, with what takes the place of its `?`. */
type Condition = readonly [sql: string, value: Value];

/** Chooses what is read: `INDEXED BY` makes SQLite fail, not slow, where an index would not do. */
const sourceOf = ({ parentSessionID, batchId }: PageFilter, isRare: boolean): string => {
  if (parentSessionID !== undefined) return "task CROSS JOIN listed USING (id)";
  if (batchId !== undefined) return "listed INDEXED BY listed_of_batch";
  return `listed INDEXED BY ${isRare ? "listed_of_tally" : "listed_newest"}`;
};

/**
 * Finds pages of the table `listed`, each of one moment, whatever other processes write. A search compares every text that the
 * other conditions leave, in an index that has them in the order of launch.
 * @param few see `FEW`; only tests give another
 */
export const createPageQuery = (database: Database, few = FEW) => {
  const selectTallies = database.prepare<TallyRow>(
    `SELECT id, tasks FROM tally
     WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR agent = ?2) AND (?3 IS NULL OR directory = ?3)`,
  );

  return (filter: PageFilter): Match =>
    database.snapshot(() => {
      const { status = null, agent = null, directory = null, parentSessionID, batchId, offset, limit } = filter;
      const text = searchKey(filter.search ?? "");
      const tallies = selectTallies.all(status, agent, directory);
      const counted = tallies.reduce((tasks, tally) => tasks + tally.tasks, 0);
      if (counted === 0) return { found: [], total: 0 };

      const isCounted = [status, agent, directory].some((given) => given !== null);
      const compared: Condition[] = [];
      if (parentSessionID !== undefined) compared.push(["parent = ?", parentSessionID]);
      if (batchId !== undefined) compared.push(["batch = ?", batchId]);
      if (text !== "") compared.push(["instr(text, ?) > 0", text]);
      const ofTallies: Condition = [
        "tally IN (SELECT value FROM json_each(?))",
        JSON.stringify(tallies.map(({ id }) => id)),
      ];
      // Texts first: few match, and only of those is it looked up what they are counted in.
      const conditions = isCounted ? [...compared, ofTallies] : compared;
      const where = conditions.length === 0 ? "" : `WHERE ${conditions.map(([sql]) => sql).join(" AND ")}`;
      const values = conditions.map(([, value]) => value);
      const source = sourceOf(filter, isCounted && counted <= few);

      const found = database
        .prepare<KeyRow>(
          `SELECT id, born, listed.started_at FROM ${source} ${where}
           ORDER BY listed.started_at DESC, born DESC LIMIT ? OFFSET ?`,
        )
        .all(...values, limit, offset)
        .map(({ id, born, started_at }): FoundTask => ({ id, createdChange: born, startedAt: started_at }));
      if (compared.length === 0) return { found, total: counted };
      // The last page shows how many there are, which saves a second look at all texts.
      if (found.length < limit && (found.length > 0 || offset === 0)) return { found, total: offset + found.length };
      const count = database.prepare<{ tasks: number }>(`SELECT count(*) AS tasks FROM ${source} ${where}`);
      return { found, total: count.get(...values)?.tasks ?? 0 };
    });
};
