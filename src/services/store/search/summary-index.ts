// ADR-061 in docs/decisions.md
import { byLaunch, type SortKey, type TaskSummary } from "./task-summary.ts";

/**
 * Consecutive summaries with their texts joined, so that one `indexOf` searches them all: five times as fast as searching
 * each text (bench/history.ts).
 */
export interface IndexBlock {
  readonly entries: readonly TaskSummary[];
  /** Returns the positions of the tasks whose text contains `text`, which must not be empty. */
  search(text: string): number[];
  upsert(summary: TaskSummary): void;
  remove(key: SortKey): void;
  /** Compares the block's first task with a key by the order of launch. */
  compareFirst(key: SortKey): number;
}

/** Binary search: returns the lowest index below `end` from which on `fits` is true, or `end`. */
const lowestIndex = (end: number, fits: (index: number) => boolean): number => {
  let [low, high] = [0, end];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (fits(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
};

const createBlock = (entries: TaskSummary[]): IndexBlock => {
  /** The texts, one per line: no text contains the end of a line. `ends` has the index after each line. Made when needed. */
  let joined: { text: string; ends: number[] } | undefined;

  const join = () => {
    let end = 0;
    const ends = entries.map(({ text }) => {
      end += text.length + 1;
      return end;
    });
    return { text: entries.map(({ text }) => `${text}\n`).join(""), ends };
  };

  const indexOf = (key: SortKey) =>
    lowestIndex(entries.length, (index) => {
      const summary = entries[index];
      return summary !== undefined && byLaunch(summary, key) >= 0;
    });

  return {
    entries,
    search: (text) => {
      joined ??= join();
      const { text: all, ends } = joined;
      const found: number[] = [];
      let index = 0;
      for (let at = all.indexOf(text); at >= 0; at = all.indexOf(text, ends[index - 1])) {
        while ((ends[index] ?? Number.POSITIVE_INFINITY) <= at) index += 1;
        found.push(index);
        index += 1;
      }
      return found;
    },
    upsert: (summary) => {
      const index = indexOf(summary);
      const known = entries[index]?.createdChange === summary.createdChange ? entries[index] : undefined;
      entries.splice(index, known ? 1 : 0, summary);
      if (known?.text !== summary.text) joined = undefined;
    },
    remove: (key) => {
      const index = indexOf(key);
      if (entries[index]?.createdChange !== key.createdChange) return;
      entries.splice(index, 1);
      joined = undefined;
    },
    compareFirst: (key) => (entries[0] ? byLaunch(entries[0], key) : 0),
  };
};

/** The summaries of all tasks in the order of launch, updated one by one. */
export interface SummaryIndex {
  /** The blocks that the index consists of, in order. */
  blocks(): readonly IndexBlock[];
  /** All summaries in order. */
  entries(): TaskSummary[];
  /** Adds a task, or replaces its summary. */
  upsert(summary: TaskSummary): void;
  remove(key: SortKey): void;
}

/** Tasks in a new block, half of the most that it may hold: many enough to search fast, few enough to join again fast. */
const BLOCK_SIZE = 512;

/** Creates an index of summaries given in any order. */
export const createSummaryIndex = (given: TaskSummary[] = []): SummaryIndex => {
  const sorted = given.toSorted(byLaunch);
  const blocks: IndexBlock[] = [];
  for (let index = 0; index < sorted.length; index += BLOCK_SIZE) {
    blocks.push(createBlock(sorted.slice(index, index + BLOCK_SIZE)));
  }

  /** The index of the block in which the key is, or belongs. */
  const blockIndexOf = (key: SortKey): number =>
    Math.max(0, lowestIndex(blocks.length, (index) => (blocks[index]?.compareFirst(key) ?? 0) > 0) - 1);

  return {
    blocks: () => blocks,
    entries: () => blocks.flatMap(({ entries }) => entries),
    upsert: (summary) => {
      const index = blockIndexOf(summary);
      const block = blocks[index];
      if (!block) return void blocks.push(createBlock([summary]));
      block.upsert(summary);
      const { entries } = block;
      if (entries.length <= 2 * BLOCK_SIZE) return;
      blocks.splice(index, 1, createBlock(entries.slice(0, BLOCK_SIZE)), createBlock(entries.slice(BLOCK_SIZE)));
    },
    remove: (key) => {
      const index = blockIndexOf(key);
      blocks[index]?.remove(key);
      if (blocks[index]?.entries.length === 0) blocks.splice(index, 1);
    },
  };
};
