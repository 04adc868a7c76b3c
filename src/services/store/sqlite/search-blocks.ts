// ADR-061 in docs/decisions.md

import { createBlockRows, END, type SearchBlock } from "./block-rows.ts";
import type { Database } from "./database.ts";

interface BlockRow {
  from_at: number;
  texts: string | null;
  /** An array of numbers as JSON. */
  tallies: string | null;
}

/** A block as it is searched. What is outdated in the file is undefined, and read from its tasks. */
interface BlockTexts {
  from: number;
  lines: string | undefined;
  /** The row of `tally` that counts each task. */
  tallies: number[] | undefined;
}

/** The tasks of a block that match a search. */
export interface BlockMatch {
  /** How many there are. */
  count: number;
  /** Returns which they are: their positions among the block's tasks, rising. */
  positions(): number[];
  block(): SearchBlock;
}

/** How much is read at once, and kept. Only tests give other sizes. */
export interface SearchSizes {
  /** Blocks that are read at once. Default: 64, together less than a megabyte. */
  read: number;
  /** The newest blocks, whose texts are kept in memory. Default: 1,280, those of some 120,000 tasks. */
  kept: number;
}

const SIZES: SearchSizes = { read: 64, kept: 1_280 };

/** Characters that are kept at most: 8 MB, or twice as much where an alphabet needs two bytes a character. */
const KEPT_CHARACTERS = 8_000_000;

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

const positionsIn = (lines: string, text: string, isWanted: (position: number) => boolean): number[] => {
  const positions: number[] = [];
  let [position, end] = [0, lines.indexOf("\n")];
  for (let at = lines.indexOf(text); at >= 0; at = lines.indexOf(text, end)) {
    for (; end < at; position += 1) end = lines.indexOf("\n", end + 1);
    if (isWanted(position)) positions.push(position);
  }
  return positions;
};

/**
 * Searches the texts of all tasks, which stand in blocks, one text a line, in the order of launch: reading 1,000 rows of a
 * hundred texts each takes a tenth of the time of reading 100,000 (measured). Those of the newest blocks are kept in memory,
 * up to a bound, and read anew when they changed.
 */
export const createBlockSearch = (database: Database, { read, kept }: SearchSizes = SIZES) => {
  const rows = createBlockRows(database);
  // A damaged array is as good as none.
  const columns = "from_at, texts, iif(json_valid(tallies), tallies, NULL) AS tallies";
  const selectFound = database.prepare<BlockRow>(
    `SELECT ${columns} FROM search_block WHERE from_at < ? AND (texts IS NULL OR texts GLOB ?)
     ORDER BY from_at DESC LIMIT ${read}`,
  );
  const selectStamps = database.prepare<{ stamps: string }>(
    `SELECT json_group_array(json_array(from_at, stamp)) AS stamps FROM (
       SELECT from_at, stamp FROM search_block INDEXED BY search_block_stamp ORDER BY from_at DESC LIMIT ${kept})`,
  );
  const selectSome = database.prepare<BlockRow>(
    `SELECT ${columns} FROM search_block WHERE from_at IN (SELECT value FROM json_each(?))`,
  );

  let known = new Map<number, { stamp: number; texts: BlockTexts }>();

  const toTexts = ({ from_at, texts, tallies }: BlockRow): BlockTexts => ({
    from: from_at,
    lines: texts ?? undefined,
    tallies: tallies === null ? undefined : (JSON.parse(tallies) as number[]),
  });

  /** Returns the newest blocks, newest first. Reads those that are not kept yet, or changed. */
  const newest = (): BlockTexts[] => {
    const stamps = JSON.parse(selectStamps.get()?.stamps ?? "[]") as [from: number, stamp: number][];
    const current = new Map<number, { stamp: number; texts: BlockTexts }>();
    let characters = 0;
    for (let index = 0; index < stamps.length && characters < KEPT_CHARACTERS; index += read) {
      const some = stamps.slice(index, index + read);
      const unknown = some.filter(([from, stamp]) => known.get(from)?.stamp !== stamp).map(([from]) => from);
      const found = unknown.length === 0 ? [] : selectSome.all(JSON.stringify(unknown)).map(toTexts);
      const fresh = new Map(found.map((texts) => [texts.from, texts]));
      for (const [from, stamp] of some) {
        const texts = fresh.get(from) ?? known.get(from)?.texts;
        if (!texts) continue;
        current.set(from, { stamp, texts });
        characters += texts.lines?.length ?? 0;
      }
    }
    known = current;
    return [...current.values()].map(({ texts }) => texts);
  };

  const matchOf = (
    { from, lines: kept, tallies }: BlockTexts,
    text: string,
    wanted: ReadonlySet<number> | undefined,
  ): BlockMatch => {
    const block = () => rows.blockFrom(from);
    const lines = kept ?? rows.linesOf(block());
    if (!wanted) {
      return { count: countIn(lines, text), positions: () => positionsIn(lines, text, () => true), block };
    }
    if (!lines.includes(text)) return { count: 0, positions: () => [], block };
    const counted = tallies ?? rows.talliesOf(block());
    const positions = positionsIn(lines, text, (position) => wanted.has(counted[position] ?? 0));
    return { count: positions.length, positions: () => positions, block };
  };

  /**
   * Returns the tasks that contain `text`, which must not be empty, and are counted in one of the rows `tallies` of the
   * table `tally`; by default, in any. Newest blocks first. Needs a snapshot.
   */
  return function* search(text: string, tallies?: ReadonlySet<number>): Generator<BlockMatch> {
    const inMemory = newest();
    for (const block of inMemory) yield matchOf(block, text, tallies);
    const pattern = globOf(text);
    for (let before = inMemory.at(-1)?.from ?? END; ; ) {
      const found = selectFound.all(before, pattern);
      for (const row of found) yield matchOf(toTexts(row), text, tallies);
      const last = found.at(-1);
      if (!last || found.length < read) return;
      before = last.from_at;
    }
  };
};
