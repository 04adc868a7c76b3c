import { byLaunch, type SortKey, type TaskSummary } from "./task-summary.ts";

/** Some tasks that follow each other, and their texts as one: a search through that is five times as quick. */
export interface IndexBlock {
  readonly entries: readonly TaskSummary[];
  /** Where the tasks are whose text has that part, which is not empty. */
  search(text: string): number[];
  put(listed: TaskSummary): void;
  drop(place: SortKey): void;
  /** How its first task stands to a place in the order of launch. */
  compareFirst(place: SortKey): number;
}

/** The lowest number below `end` from which on all fit; `end` when none does. */
const firstFrom = (end: number, fits: (index: number) => boolean): number => {
  let [low, high] = [0, end];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (fits(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
};

const createBlock = (entries: TaskSummary[]): IndexBlock => {
  /** No text has the end of a line in it. `ends` are where the texts end, each with the end of its line. */
  let joined: { text: string; ends: number[] } | undefined;

  const join = () => {
    let end = 0;
    const ends = entries.map(({ text }) => {
      end += text.length + 1;
      return end;
    });
    return { text: entries.map(({ text }) => `${text}\n`).join(""), ends };
  };

  const indexOf = (place: SortKey) =>
    firstFrom(entries.length, (index) => {
      const listed = entries[index];
      return listed !== undefined && byLaunch(listed, place) >= 0;
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
    put: (listed) => {
      const index = indexOf(listed);
      const known = entries[index]?.born === listed.born ? entries[index] : undefined;
      entries.splice(index, known ? 1 : 0, listed);
      if (known?.text !== listed.text) joined = undefined;
    },
    drop: (place) => {
      const index = indexOf(place);
      if (entries[index]?.born !== place.born) return;
      entries.splice(index, 1);
      joined = undefined;
    },
    compareFirst: (place) => (entries[0] ? byLaunch(entries[0], place) : 0),
  };
};

/** Tasks in the order of their launch, kept up to date one by one. */
export interface SummaryIndex {
  /** All tasks, in order: so many on a shelf. */
  shelves(): readonly IndexBlock[];
  entries(): TaskSummary[];
  /** Adds a task, or takes the place of what was listed of it. */
  put(listed: TaskSummary): void;
  drop(place: SortKey): void;
}

/** Tasks on a shelf: enough that a search of their joined texts is quick, and few enough to join them again. */
const BLOCK_SIZE = 512;

/** A listing of what is given, in whatever order that is. */
export const createSummaryIndex = (given: TaskSummary[] = []): SummaryIndex => {
  const sorted = given.toSorted(byLaunch);
  const shelves: IndexBlock[] = [];
  for (let index = 0; index < sorted.length; index += BLOCK_SIZE) {
    shelves.push(createBlock(sorted.slice(index, index + BLOCK_SIZE)));
  }

  /** The shelf where it is, or would be. */
  const shelfOf = (place: SortKey): number =>
    Math.max(0, firstFrom(shelves.length, (index) => (shelves[index]?.compareFirst(place) ?? 0) > 0) - 1);

  return {
    shelves: () => shelves,
    entries: () => shelves.flatMap(({ entries }) => entries),
    put: (listed) => {
      const index = shelfOf(listed);
      const shelf = shelves[index];
      if (!shelf) return void shelves.push(createBlock([listed]));
      shelf.put(listed);
      const { entries } = shelf;
      if (entries.length <= 2 * BLOCK_SIZE) return;
      shelves.splice(index, 1, createBlock(entries.slice(0, BLOCK_SIZE)), createBlock(entries.slice(BLOCK_SIZE)));
    },
    drop: (place) => {
      const index = shelfOf(place);
      shelves[index]?.drop(place);
      if (shelves[index]?.entries.length === 0) shelves.splice(index, 1);
    },
  };
};
