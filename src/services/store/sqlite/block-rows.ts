// ADR-061 in docs/decisions.md
import { searchKey } from "../search/task-summary.ts";
import type { Database } from "./database.ts";

interface TextRow {
  started_at: number;
  description: string;
  tally: number;
}

/** Consecutive tasks in the order of their launch. */
export interface SearchBlock {
  /** Epoch milliseconds: the block has the tasks launched from this time on. */
  from: number;
  /** Epoch milliseconds: the block has the tasks launched before this time. */
  to: number;
}

/** Before all times of a launch. */
export const FIRST_BLOCK = -8_640_000_000_000_000;

/** After all times of a launch. */
export const END = 8_640_000_000_000_001;

/** Tasks of a new block: their texts, of some 40 bytes each, just fit on a page of the file. Only tests give another. */
const BLOCK_SIZE = 96;

/** Blocks that `update` brings up to date at most, by default: each takes some 0.2 ms. */
const BLOCKS_UPDATED = 32;

/** Blocks that `update` makes of one at once: a file from before there were blocks has many texts. */
const BLOCKS_MADE = 100;

/** Another number at each change of a block. */
export const STAMP = "abs(random() % 9007199254740992)";

const toLines = (rows: readonly TextRow[]): string =>
  rows.map(({ description }) => `${searchKey(description)}\n`).join("");

/** Cuts rows into blocks. Tasks launched in the same millisecond stay together, since blocks begin at a time. */
const cut = (rows: readonly TextRow[], size: number): TextRow[][] => {
  const blocks: TextRow[][] = [];
  for (const row of rows) {
    const last = blocks.at(-1);
    if (last && (last.length < size || last.at(-1)?.started_at === row.started_at)) last.push(row);
    else blocks.push([row]);
  }
  return blocks;
};

/**
 * Writes the table `search_block`: texts of many tasks in a row. Triggers set to NULL what a change made outdated; until it
 * is written anew, it is read from the tasks themselves. So is the last block, which the next tasks belong to.
 */
export const createBlockRows = (database: Database, size = BLOCK_SIZE) => {
  const selectNext = database.prepare<{ next: number | null }>(
    "SELECT min(from_at) AS next FROM search_block WHERE from_at > ?",
  );
  const selectOutdated = database.prepare<{ from_at: number; has_texts: number }>(
    `SELECT from_at, texts IS NOT NULL AS has_texts FROM search_block INDEXED BY search_block_outdated
     WHERE tallies IS NULL ORDER BY from_at DESC LIMIT ?`,
  );
  const selectTexts = database.prepare<TextRow>(
    `SELECT started_at, description, tally FROM listed INDEXED BY listed_newest
     WHERE started_at >= ? AND started_at < ? ORDER BY started_at, born LIMIT ?`,
  );
  const selectTallies = database.prepare<{ tallies: string }>(
    `SELECT json_group_array(tally) AS tallies FROM (
       SELECT tally FROM listed INDEXED BY listed_newest WHERE started_at >= ? AND started_at < ? ORDER BY started_at, born)`,
  );
  const selectIsFull = database.prepare<{ is_full: number }>(
    `SELECT EXISTS (SELECT 1 FROM listed INDEXED BY listed_newest WHERE started_at >= ? LIMIT 1 OFFSET ${size}) AS is_full`,
  );
  const replace = database.prepare(
    `INSERT OR REPLACE INTO search_block (from_at, texts, tallies, stamp) VALUES (?, ?, ?, ${STAMP})`,
  );
  const replaceTallies = database.prepare(`UPDATE search_block SET tallies = ?, stamp = ${STAMP} WHERE from_at = ?`);
  const drop = database.prepare("DELETE FROM search_block WHERE from_at = ?");

  const blockFrom = (from: number): SearchBlock => ({ from, to: selectNext.get(from)?.next ?? END });
  const textsOf = ({ from, to }: SearchBlock, limit = -1) => selectTexts.all(from, to, limit);
  const talliesIn = ({ from, to }: SearchBlock): string => selectTallies.get(from, to)?.tallies ?? "[]";

  /** Writes the rows as one or more blocks in the place of the block that they are of. The last of all gets no texts. */
  const store = ({ from, to }: SearchBlock, rows: readonly TextRow[]) => {
    const blocks = cut(rows, size);
    blocks.forEach((block, index) => {
      const isLast = to === END && index === blocks.length - 1;
      const content = isLast ? [null, null] : [toLines(block), JSON.stringify(block.map(({ tally }) => tally))];
      replace.run(index === 0 ? from : (block[0]?.started_at ?? from), ...content);
    });
    if (blocks.length > 0) return;
    if (from === FIRST_BLOCK && to !== END) replace.run(from, "", "[]");
    else if (from !== FIRST_BLOCK) drop.run(from);
  };

  const updateTexts = (outdated: SearchBlock) => {
    const portion = BLOCKS_MADE * size;
    for (let block = outdated; ; ) {
      const rows = textsOf(block, portion);
      const blocks = cut(rows, size);
      const rest = rows.length === portion ? blocks.pop()?.[0] : undefined;
      if (!rest) return store(block, rows);
      // More tasks of one millisecond than a portion.
      if (blocks.length === 0) return store(block, textsOf(block));
      store({ from: block.from, to: rest.started_at }, blocks.flat());
      block = { from: rest.started_at, to: block.to };
    }
  };

  return {
    blockFrom,
    /** Returns the texts of a block, each with the end of a line after it. */
    linesOf: (block: SearchBlock): string => toLines(textsOf(block)),
    /** Returns the row of `tally` that counts each task of a block. */
    talliesOf: (block: SearchBlock): number[] => JSON.parse(talliesIn(block)),
    /** Brings up to `limit` blocks up to date, newest first, and begins a new one if the last is full. Needs a transaction. */
    update: (limit = BLOCKS_UPDATED) => {
      for (const { from_at, has_texts } of selectOutdated.all(Number.isFinite(limit) ? limit : -1)) {
        const block = blockFrom(from_at);
        if (has_texts) replaceTallies.run(talliesIn(block), from_at);
        else if (block.to !== END || selectIsFull.get(from_at)?.is_full === 1) updateTexts(block);
      }
    },
  };
};
