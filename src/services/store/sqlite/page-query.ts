// ADR-061 in docs/decisions.md
import type { FoundTask, Match } from "../search/query.ts";
import { byLaunch, searchKey } from "../search/task-summary.ts";
import type { PageFilter } from "../store.ts";
import type { Database } from "./database.ts";
import type { createBlockSearch } from "./search-blocks.ts";

interface KeyRow {
  id: string;
  born: number;
  started_at: number;
}

/** A row with what is left to compare when an index has found it. */
interface TextRow extends KeyRow {
  description: string;
  tally: number;
}

interface TallyRow {
  id: number;
  tasks: number;
}

/** Which tasks are on the page: `limit` of them after the newest `offset`. */
interface Range {
  offset: number;
  limit: number;
}

/** When a page is found in another way. Only tests give other limits. */
export interface PageLimits {
  /**
   * Keys that are read at most to merge the newest tasks of several rows of `tally`: default 4,000, some milliseconds.
   * Beyond that, the index of all tasks is read until the page is full.
   */
  merged: number;
  /**
   * Tasks of a filter whose texts are searched one by one: default 4,000, some milliseconds. Beyond that, the blocks of
   * texts are.
   */
  searched: number;
}

const LIMITS: PageLimits = { merged: 4_000, searched: 4_000 };

const KEYS = "SELECT id, born, started_at FROM listed";
const IN_TALLIES = "tally IN (SELECT value FROM json_each(?))";
const NEWEST_FIRST = "ORDER BY started_at DESC, born DESC";

const toFound = ({ id, born, started_at }: KeyRow): FoundTask => ({ id, createdChange: born, startedAt: started_at });

const newestFirst = (a: FoundTask, b: FoundTask): number => byLaunch(b, a);

const slice = <T>(tasks: readonly T[], { offset, limit }: Range): T[] => tasks.slice(offset, offset + limit);

const sum = (tallies: readonly TallyRow[]): number => tallies.reduce((tasks, tally) => tasks + tally.tasks, 0);

/** Finds pages by indexes, counts and blocks of texts. Each page is of one moment, whatever other processes write. */
export const createPageQuery = (
  database: Database,
  search: ReturnType<typeof createBlockSearch>,
  limits: PageLimits = LIMITS,
) => {
  const selectTallies = database.prepare<TallyRow>(
    `SELECT id, tasks FROM tally
     WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR agent = ?2) AND (?3 IS NULL OR directory = ?3)`,
  );
  const selectNewest = database.prepare<KeyRow>(`${KEYS} INDEXED BY listed_newest ${NEWEST_FIRST} LIMIT ? OFFSET ?`);
  const selectOldest = database.prepare<KeyRow>(
    `${KEYS} INDEXED BY listed_newest ORDER BY started_at, born LIMIT ? OFFSET ?`,
  );
  const selectNewestIn = database.prepare<KeyRow>(
    `${KEYS} INDEXED BY listed_newest WHERE ${IN_TALLIES} ${NEWEST_FIRST} LIMIT ? OFFSET ?`,
  );
  const selectOldestIn = database.prepare<KeyRow>(
    `${KEYS} INDEXED BY listed_newest WHERE ${IN_TALLIES} ORDER BY started_at, born LIMIT ? OFFSET ?`,
  );
  const selectNewestOf = database.prepare<Omit<KeyRow, "id">>(
    `SELECT born, started_at FROM listed INDEXED BY listed_of_tally WHERE tally = ? ${NEWEST_FIRST} LIMIT ?`,
  );
  const selectId = database.prepare<{ id: string }>("SELECT id FROM listed WHERE born = ?");
  const selectTextsIn = database.prepare<TextRow>(
    `SELECT id, born, started_at, description, tally FROM listed INDEXED BY listed_of_tally WHERE ${IN_TALLIES}`,
  );
  const selectBatch = database.prepare<TextRow>(
    "SELECT id, born, started_at, description, tally FROM listed WHERE batch = ?",
  );
  const selectOfParent = database.prepare<TextRow>(
    `SELECT listed.id, born, listed.started_at, description, tally FROM task JOIN listed USING (id)
     WHERE parent = ?1 AND (?2 IS NULL OR batch = ?2)`,
  );
  const selectBlock = database.prepare<KeyRow>(
    `${KEYS} INDEXED BY listed_newest WHERE started_at >= ? AND started_at < ? ORDER BY started_at, born`,
  );

  /** Reads the index of all tasks from the end that is nearer. `tallies` is undefined when all of them are wanted. */
  const walk = (tallies: readonly TallyRow[] | undefined, total: number, { offset, limit }: Range): FoundTask[] => {
    const count = Math.max(0, Math.min(limit, total - offset));
    const isNearEnd = 2 * offset > total;
    const range = [count, isNearEnd ? total - offset - count : offset];
    const ids = JSON.stringify(tallies?.map(({ id }) => id));
    const [all, some] = isNearEnd ? [selectOldest, selectOldestIn] : [selectNewest, selectNewestIn];
    const rows = tallies ? some.all(ids, ...range) : all.all(...range);
    return (isNearEnd ? rows.toReversed() : rows).map(toFound);
  };

  /** Merges the newest tasks of each row of `tally`. */
  const merge = (tallies: readonly TallyRow[], range: Range): FoundTask[] => {
    const newest = tallies.flatMap(({ id }) => selectNewestOf.all(id, range.offset + range.limit));
    const sorted = newest.sort((a, b) => b.started_at - a.started_at || b.born - a.born);
    return slice(sorted, range).map((row) => toFound({ ...row, id: selectId.get(row.born)?.id ?? "" }));
  };

  const filtered = (tallies: readonly TallyRow[], range: Range): Match => {
    const total = sum(tallies);
    const keys = tallies.reduce((count, { tasks }) => count + Math.min(tasks, range.offset + range.limit), 0);
    return { found: keys <= limits.merged ? merge(tallies, range) : walk(tallies, total, range), total };
  };

  const searchRows = (rows: readonly TextRow[], text: string, range: Range): Match => {
    const found = rows.filter(({ description }) => text === "" || searchKey(description).includes(text));
    return { found: slice(found.map(toFound).sort(newestFirst), range), total: found.length };
  };

  const searchBlocks = (tallies: ReadonlySet<number> | undefined, text: string, { offset, limit }: Range): Match => {
    const found: FoundTask[] = [];
    let total = 0;
    for (const { count, positions, block } of search(text, tallies)) {
      if (total + count > offset && found.length < limit) {
        const { from, to } = block();
        const rows = selectBlock.all(from, to);
        const matching = positions().flatMap((position) => rows[position] ?? []);
        const range = { offset: Math.max(0, offset - total), limit: limit - found.length };
        found.push(...slice(matching.toReversed(), range).map(toFound));
      }
      total += count;
    }
    return { found, total };
  };

  /** Returns the tasks of a parent session, of a batch, or of both; undefined when neither is asked for. */
  const launchedTogether = ({ parentSessionID, batchId }: PageFilter): TextRow[] | undefined => {
    if (parentSessionID !== undefined) return selectOfParent.all(parentSessionID, batchId ?? null);
    return batchId === undefined ? undefined : selectBatch.all(batchId);
  };

  return (filter: PageFilter): Match =>
    database.snapshot(() => {
      const { status, agent, directory, search: given = "", offset, limit } = filter;
      const text = searchKey(given);
      const range = { offset, limit };
      const isFiltered = [status, agent, directory].some((given) => given !== undefined);
      const tallies = selectTallies.all(status ?? null, agent ?? null, directory ?? null);
      const ids = new Set(tallies.map(({ id }) => id));
      const together = launchedTogether(filter)?.filter(({ tally }) => ids.has(tally));
      if (together) return searchRows(together, text, range);
      const total = sum(tallies);
      if (text === "") return isFiltered ? filtered(tallies, range) : { found: walk(undefined, total, range), total };
      if (isFiltered && total <= limits.searched) {
        return searchRows(selectTextsIn.all(JSON.stringify([...ids])), text, range);
      }
      return searchBlocks(isFiltered ? ids : undefined, text, range);
    });
};
