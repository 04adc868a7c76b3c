// ADR-061 in docs/decisions.md
import { searchKey } from "../search/task-summary.ts";
import type { Database } from "./database.ts";

interface BlockRow {
  from_at: number;
  texts: string | null;
  /** An array of numbers as JSON. */
  tallies: string | null;
}

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

/** The tasks of a block whose text contains what was searched. */
export interface BlockMatch {
  /** How many there are. */
  count: number;
  /** Which they are: their positions among the block's tasks, rising. */
  positions(): number[];
  /** The row of `tally` that counts each of the block's tasks. */
  tallies(): number[];
  block(): SearchBlock;
}

/** Before all times of a launch. */
export const FIRST_BLOCK = -8_640_000_000_000_000;

/** After all times of a launch. */
const END = 8_640_000_000_000_001;

/** How much is read and written at once. Only tests give other sizes. */
export interface BlockSizes {
  /** Tasks of a new block. Default: 96, whose texts of some 40 bytes each just fit on a page of the file. */
  tasks: number;
  /** Blocks that are read at once while searching. Default: 64, together less than a megabyte. */
  read: number;
}

const SIZES: BlockSizes = { tasks: 96, read: 64 };

/** Blocks that `update` brings up to date at most, by default: each takes some 0.2 ms. */
const BLOCKS_UPDATED = 8;

/** Blocks that `update` makes of one at once: a file from before there were blocks has many texts. */
const BLOCKS_MADE = 100;

/** Characters of the text that SQLite looks for. It refuses patterns of 50,000 bytes. */
const PATTERN_LENGTH = 100;

/** A GLOB pattern that matches whatever contains the beginning of the text. */
const globOf = (text: string): string =>
  `*${[...text]
    .slice(0, PATTERN_LENGTH)
    .map((character) => ("*?[".includes(character) ? `[${character}]` : character))
    .join("")}*`;

const countIn = (lines: string, text: string): number => {
  let count = 0;
  for (let at = lines.indexOf(text); at >= 0; at = lines.indexOf(text, lines.indexOf("\n", at))) count += 1;
  return count;
};

const positionsIn = (lines: string, text: string): number[] => {
  const positions: number[] = [];
  let [position, end] = [0, lines.indexOf("\n")];
  for (let at = lines.indexOf(text); at >= 0; at = lines.indexOf(text, end)) {
    for (; end < at; position += 1) end = lines.indexOf("\n", end + 1);
    positions.push(position);
  }
  return positions;
};

const linesOf = (rows: readonly TextRow[]): string =>
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
 * Searches the texts of all tasks. They stand in blocks, one text a line, in the order of launch: reading 1,000 rows of a
 * hundred tasks each takes a tenth of the time of reading 100,000 (measured). A block that lacks a change has no texts, and
 * its tasks are read one by one; so are those of the last block, which the next tasks belong to.
 */
export const createSearchBlocks = (database: Database, sizes = SIZES) => {
  const selectFound = database.prepare<BlockRow>(
    `SELECT from_at, texts, iif(json_valid(tallies), tallies, NULL) AS tallies FROM search_block
     WHERE from_at < ? AND (texts IS NULL OR texts GLOB ?)
     ORDER BY from_at DESC LIMIT ${sizes.read}`,
  );
  const selectNext = database.prepare<{ next: number | null }>(
    "SELECT min(from_at) AS next FROM search_block WHERE from_at > ?",
  );
  const selectOutdated = database.prepare<{ from_at: number; has_texts: number }>(
    `SELECT from_at, texts IS NOT NULL AS has_texts FROM search_block WHERE tallies IS NULL ORDER BY from_at DESC LIMIT ?`,
  );
  const selectTexts = database.prepare<TextRow>(
    `SELECT started_at, description, tally FROM listed INDEXED BY listed_newest
     WHERE started_at >= ? AND started_at < ? ORDER BY started_at, born LIMIT ?`,
  );
  const selectIsFull = database.prepare<{ is_full: number }>(
    `SELECT EXISTS (SELECT 1 FROM listed INDEXED BY listed_newest WHERE started_at >= ? LIMIT 1 OFFSET ${sizes.tasks}) AS is_full`,
  );
  const selectTallies = database.prepare<{ tallies: string }>(
    `SELECT json_group_array(tally) AS tallies FROM (
       SELECT tally FROM listed INDEXED BY listed_newest WHERE started_at >= ? AND started_at < ? ORDER BY started_at, born)`,
  );
  const replace = database.prepare("INSERT OR REPLACE INTO search_block VALUES (?, ?, ?)");
  const replaceTallies = database.prepare("UPDATE search_block SET tallies = ? WHERE from_at = ?");
  const drop = database.prepare("DELETE FROM search_block WHERE from_at = ?");

  const blockFrom = (from: number): SearchBlock => ({ from, to: selectNext.get(from)?.next ?? END });
  const talliesOf = ({ from, to }: SearchBlock): string => selectTallies.get(from, to)?.tallies ?? "[]";
  const textsOf = ({ from, to }: SearchBlock, limit = -1) => selectTexts.all(from, to, limit);

  /** Writes the texts of tasks that are no longer one block, or for the first time. The last block of all has no texts. */
  const store = ({ from, to }: SearchBlock, rows: readonly TextRow[]) => {
    const blocks = cut(rows, sizes.tasks);
    blocks.forEach((block, index) => {
      const isLast = to === END && index === blocks.length - 1;
      const content = isLast ? [null, null] : [linesOf(block), JSON.stringify(block.map(({ tally }) => tally))];
      replace.run(index === 0 ? from : (block[0]?.started_at ?? from), ...content);
    });
    if (blocks.length > 0) return;
    if (from === FIRST_BLOCK && to !== END) replace.run(from, "", "[]");
    else if (from !== FIRST_BLOCK) drop.run(from);
  };

  const updateBlock = (whole: SearchBlock) => {
    const portion = BLOCKS_MADE * sizes.tasks;
    for (let block = whole; ; ) {
      const rows = textsOf(block, portion);
      const blocks = cut(rows, sizes.tasks);
      const rest = rows.length === portion ? blocks.pop()?.[0] : undefined;
      if (!rest) return store(block, rows);
      // More tasks of one millisecond than a portion.
      if (blocks.length === 0) return store(block, textsOf(block));
      store({ from: block.from, to: rest.started_at }, blocks.flat());
      block = { from: rest.started_at, to: block.to };
    }
  };

  return {
    /** Returns the matches of all blocks that have some, newest first. Needs a snapshot. `text` must not be empty. */
    *search(text: string): Generator<BlockMatch> {
      const pattern = globOf(text);
      for (let before = END; ; ) {
        const found = selectFound.all(before, pattern);
        for (const { from_at, texts, tallies } of found) {
          const block = () => blockFrom(from_at);
          const lines = texts ?? linesOf(textsOf(block()));
          const count = countIn(lines, text);
          if (count === 0) continue;
          yield {
            count,
            positions: () => positionsIn(lines, text),
            tallies: () => JSON.parse(tallies ?? talliesOf(block())) as number[],
            block,
          };
        }
        const last = found.at(-1);
        if (!last || found.length < sizes.read) return;
        before = last.from_at;
      }
    },
    /** Brings up to `limit` blocks up to date, newest first, and begins a new one if the last is full. Needs a transaction. */
    update: (limit = BLOCKS_UPDATED) => {
      for (const { from_at, has_texts } of selectOutdated.all(Number.isFinite(limit) ? limit : -1)) {
        const block = blockFrom(from_at);
        if (has_texts) replaceTallies.run(talliesOf(block), from_at);
        else if (block.to !== END || selectIsFull.get(from_at)?.is_full === 1) updateBlock(block);
      }
    },
  };
};
