/** A change that the file does not have: its number, and that of the task's first change of this kind. */
export interface NumberedChange {
  taskId: string;
  change: number;
  first: number;
}

/**
 * Numbers for changes that the file does not have yet. They lie between the newest number that the file was known to
 * have and the next: whatever any process stores later has a higher one, and nobody who follows them misses it.
 */
export interface BufferedChanges {
  changed(taskId: string): void;
  drop(taskId: string): void;
  /** The file has all of them, with numbers of its own. */
  saved(): void;
  /** Each task's newest change, in order. `newest` is the number of the newest change in the file, as far as is known. */
  numbered(newest: number): NumberedChange[];
  /** No number was given out, or seen in the file, that is higher. */
  highest(): number;
}

/** What one number is above another within a file's: exact for 2^33 changes, and a million of them fit in between. */
const STEP = 2 ** -20;

/** Counts from 0. */
export const createBufferedChanges = (): BufferedChanges => {
  /** In the order of their newest changes; without a number until somebody asks. */
  const tasks = new Map<string, { change?: number; first?: number }>();
  let highest = 0;

  return {
    changed: (taskId) => {
      const { first } = tasks.get(taskId) ?? {};
      tasks.delete(taskId);
      tasks.set(taskId, first === undefined ? {} : { first });
    },
    drop: (taskId) => void tasks.delete(taskId),
    saved: () => tasks.clear(),
    numbered: (newest) => {
      highest = Math.max(highest, newest);
      return [...tasks].map(([taskId, known]) => {
        if (known.change === undefined) highest += STEP;
        const change = known.change ?? highest;
        const first = known.first ?? change;
        tasks.set(taskId, { change, first });
        return { taskId, change, first };
      });
    },
    highest: () => highest,
  };
};
