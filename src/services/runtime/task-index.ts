import type { TaskSnapshot } from "../../machines/task/machine.ts";

/** Creates sets of task ids by what the tasks have in common. */
const createGroups = () => {
  const groups = new Map<string, Set<string>>();
  return {
    add: (key: string | undefined, taskId: string) => {
      if (key !== undefined) groups.set(key, (groups.get(key) ?? new Set()).add(taskId));
    },
    remove: (key: string | undefined, taskId: string) => {
      const group = key === undefined ? undefined : groups.get(key);
      if (key !== undefined && group?.delete(taskId) && group.size === 0) groups.delete(key);
    },
    has: (key: string) => groups.has(key),
    of: (key: string): Iterable<string> => groups.get(key) ?? [],
  };
};

/**
 * Creates the list of the snapshots of live tasks, and of whose tasks they are. Every question and every change takes the same
 * time, however many others live.
 */
export const createTaskIndex = () => {
  const snapshots = new Map<string, TaskSnapshot>();
  const ofParentSession = createGroups();
  const ofParentTask = createGroups();
  const active = new Set<string>();

  const snapshotsOf = (taskIds: Iterable<string>) => [...taskIds].flatMap((taskId) => snapshots.get(taskId) ?? []);

  return {
    /** The newest snapshots by task id. */
    snapshots,
    /** Adds a task, or its newer snapshot. */
    set: (snapshot: TaskSnapshot) => {
      const { sessionID, parentSessionID, parentTaskId } = snapshot.context.facts;
      ofParentSession.add(parentSessionID, sessionID);
      ofParentTask.add(parentTaskId, sessionID);
      snapshots.set(sessionID, snapshot);
      if (snapshot.value.run === "queued" && snapshot.value.attention === "none") active.delete(sessionID);
      else active.add(sessionID);
    },
    delete: (taskId: string) => {
      const facts = snapshots.get(taskId)?.context.facts;
      ofParentSession.remove(facts?.parentSessionID, taskId);
      ofParentTask.remove(facts?.parentTaskId, taskId);
      active.delete(taskId);
      snapshots.delete(taskId);
    },
    /** Returns those that do more than wait for a slot: few, however many wait. */
    active: (): TaskSnapshot[] => snapshotsOf(active),
    /** Returns the live tasks of a parent session. */
    of: (parentSessionID: string): TaskSnapshot[] => snapshotsOf(ofParentSession.of(parentSessionID)),
    /** Returns the live tasks that were launched by this session, or by a descendant session of this task. */
    awaitedBy: (sessionID: string): TaskSnapshot[] =>
      snapshotsOf(new Set([...ofParentSession.of(sessionID), ...ofParentTask.of(sessionID)])),
    /** True while a live task belongs to this parent session. */
    hasTasksOf: ofParentSession.has,
    /** True while a live task was launched by this session, or by a descendant session of this task. */
    awaitsTasks: (sessionID: string): boolean => ofParentSession.has(sessionID) || ofParentTask.has(sessionID),
  };
};
