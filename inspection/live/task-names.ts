/** Tasks that are read at once. All that the page shows are usually among the newest. */
const NEWEST = 200;

/** The descriptions of tasks, from the status API: the recorded steps have none. */
export interface TaskNames {
  /** Returns the description of a task; undefined while it is not known. */
  of(id: string): string | undefined;
  /** Finds out those that are not known. */
  find(ids: readonly string[]): void;
}

interface NamedTask {
  sessionID: string;
  description: string;
}

const read = async <T>(path: string): Promise<T | undefined> => {
  try {
    const response = await fetch(path);
    return response.ok ? await response.json() : undefined;
  } catch {
    // The server has gone: the tasks keep their ids until it is back.
    return undefined;
  }
};

/** Creates the names. `onFound` is called when there are more of them. */
export const createTaskNames = (onFound: () => void): TaskNames => {
  const names = new Map<string, string>();
  const asked = new Set<string>();

  const keep = (tasks: readonly NamedTask[]) => {
    for (const { sessionID, description } of tasks) names.set(sessionID, description);
    if (tasks.length > 0) onFound();
  };

  const findAll = async (ids: readonly string[]) => {
    const page = await read<{ tasks: NamedTask[] }>(`/v1/tasks?limit=${NEWEST}`);
    keep(page?.tasks ?? []);
    for (const id of ids.filter((one) => !names.has(one))) {
      const task = await read<NamedTask>(`/v1/tasks/${encodeURIComponent(id)}`);
      // A task that is not stored yet is asked for again with its next step.
      if (task) keep([task]);
      else asked.delete(id);
    }
  };

  return {
    of: (id) => names.get(id),
    find: (ids) => {
      const unknown = ids.filter((id) => id !== "" && !asked.has(id));
      if (unknown.length === 0) return;
      for (const id of unknown) asked.add(id);
      void findAll(unknown);
    },
  };
};
