/** A change that the file does not have yet. */
interface NumberedChange {
  taskId: string;
  change: number;
  /** The number of the task's first unsaved change. */
  first: number;
}

/** The distance between two numbers: exact up to 2^33 whole numbers, with room for a million between two of them. */
const STEP = 2 ** -20;

/**
 * Numbers the changes that the file does not have yet. Their numbers lie between the newest number known to be in the
 * file and the next whole one: every later change of any process has a higher number, so a reader who continues from
 * a number misses none.
 */
export const createBufferedChanges = () => {
  /** In the order of the newest changes. */
  const tasks = new Map<string, { change?: number; first?: number }>();
  let highest = 0;

  return {
    /** Notes a change of a task. It gets its number when somebody reads it. */
    add: (taskId: string) => {
      const { first } = tasks.get(taskId) ?? {};
      tasks.delete(taskId);
      tasks.set(taskId, first === undefined ? {} : { first });
    },
    remove: (taskId: string) => void tasks.delete(taskId),
    /** Forgets all changes: the file has them, under whole numbers. */
    clear: () => tasks.clear(),
    /** Returns each task's newest change, in order. `newest` is the newest number known to be in the file. */
    numbered: (newest: number): NumberedChange[] => {
      highest = Math.max(highest, newest);
      return [...tasks].map(([taskId, known]) => {
        if (known.change === undefined) highest += STEP;
        const change = known.change ?? highest;
        const first = known.first ?? change;
        tasks.set(taskId, { change, first });
        return { taskId, change, first };
      });
    },
    /** Returns the highest number that was given to a change here, or passed as `newest`. */
    highest: () => highest,
  };
};
