import type { TaskSnapshot } from "../../machines/task/machine.ts";

/** The snapshots of live tasks, and whose tasks they are. */
export interface LiveTasks {
  /** The newest snapshots by task id. */
  snapshots: ReadonlyMap<string, TaskSnapshot>;
  /** Adds a task, or its newer snapshot. */
  set(snapshot: TaskSnapshot): void;
  delete(taskId: string): void;
  /** True while a live task belongs to this parent session. */
  hasTasksOf(parentSessionID: string): boolean;
  /** True while a live task was launched by this session, or by a session below this task. */
  awaitsTasks(sessionID: string): boolean;
}

/** Says of keys how often each was added and not removed again. */
const createCounts = () => {
  const counts = new Map<string, number>();
  const add = (key: string | undefined, by: 1 | -1) => {
    if (key === undefined) return;
    const count = (counts.get(key) ?? 0) + by;
    if (count > 0) counts.set(key, count);
    else counts.delete(key);
  };
  return { has: (key: string) => counts.has(key), add };
};

/** Creates the list of live tasks. Every question and every change takes the same time, however many live. */
export const createLiveTasks = (): LiveTasks => {
  const snapshots = new Map<string, TaskSnapshot>();
  const ofParentSession = createCounts();
  const ofParentTask = createCounts();

  const count = ({ context: { facts } }: TaskSnapshot, by: 1 | -1) => {
    ofParentSession.add(facts.parentSessionID, by);
    ofParentTask.add(facts.parentTaskId, by);
  };

  return {
    snapshots,
    set: (snapshot) => {
      const { sessionID } = snapshot.context.facts;
      if (!snapshots.has(sessionID)) count(snapshot, 1);
      snapshots.set(sessionID, snapshot);
    },
    delete: (taskId) => {
      const snapshot = snapshots.get(taskId);
      if (snapshot) count(snapshot, -1);
      snapshots.delete(taskId);
    },
    hasTasksOf: ofParentSession.has,
    awaitsTasks: (sessionID) => ofParentSession.has(sessionID) || ofParentTask.has(sessionID),
  };
};
