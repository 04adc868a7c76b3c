import { hasEnded, type Task, type WorktreeChanges } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import type { Store } from "../store/store.ts";
import { isThere, pathsOf } from "./folders.ts";
import type { OneAtATime } from "./one-at-a-time.ts";
import { readChanges, readRecord } from "./record.ts";
import type { WorktreeRemoval } from "./remove-worktree.ts";

/** A task as far as worktrees are concerned. */
export type TaskInWorktree = Pick<Task, "sessionID" | "parentSessionID" | "worktree">;

/** Counts what tasks have changed in worktrees of their own, once for each run. */
export interface ChangeCounts {
  /** Notes that a run of a task is to be counted when it has ended. */
  expect(task: TaskInWorktree): void;
  /** Counts, now that a run of a task has ended. */
  onRunEnded(task: Task): void;
  /** Resolves once it is counted what those of this parent's tasks have changed whose runs have ended; undefined where it is. */
  untilCounted(parentSessionID: string): Promise<void> | undefined;
  /** What a task's newest run left changed; undefined where it has no worktree of its own, or that run has not been counted. */
  changesOf(task: Pick<Task, "worktree" | "resumeCount">): WorktreeChanges | undefined;
  /** The same, after it has been counted. */
  latestChanges(task: Task): Promise<WorktreeChanges | undefined>;
}

/** What changes are counted with. */
export interface ChangeCountsDeps {
  root: string;
  queues: OneAtATime;
  removal: Pick<WorktreeRemoval, "drop">;
  clock: Clock;
  log: Log;
  store: Pick<Store, "get" | "live">;
}

/** Creates the counting of changes. A worktree in which nothing was changed is removed. */
export const createChangeCounts = ({ root, queues, removal, clock, log, store }: ChangeCountsDeps): ChangeCounts => {
  /** The parents of tasks in this process whose newest run is not counted yet, by task. */
  const expected = new Map<string, string>();
  /** Counts under way, with the parent that they are to be told to. */
  const underWay = new Map<Promise<void>, string>();

  /** True while an agent works in it. */
  const isInUse = (id: string): boolean => store.live().some(({ task }) => task.worktree?.id === id && !hasEnded(task));

  const count = async ({ resumeCount: run }: Task, id: string): Promise<void> => {
    const paths = pathsOf(root, id);
    const record = readRecord(paths);
    if (record?.base === undefined || record.gone || !isThere(paths)) return;
    const { countChanges } = await import("./count-changes.ts");
    const { files, problem } = await countChanges(paths, { base: record.base, run, now: clock.now() });
    if (problem !== undefined) log.error("what a task changed could not be counted", { id, reason: problem });
    else if (files.length === 0 && !isInUse(id)) await removal.drop(id, record, "clean");
  };

  const begin = (task: Task, id: string): Promise<void> => {
    expected.delete(task.sessionID);
    const counted = queues
      .run(id, () => count(task, id))
      .catch((error) => log.error("a worktree could not be looked through", { id, reason: errorMessage(error) }));
    underWay.set(counted, task.parentSessionID);
    void counted.then(() => underWay.delete(counted));
    return counted;
  };

  const changesOf: ChangeCounts["changesOf"] = ({ worktree, resumeCount }) => {
    if (!worktree || worktree.isShared) return undefined;
    const paths = pathsOf(root, worktree.id);
    const changes = readChanges(paths);
    if (changes?.run !== resumeCount) return undefined;
    const why = readRecord(paths)?.gone?.why;
    return why === undefined || why === "clean" ? changes : { ...changes, became: why };
  };

  return {
    expect: ({ sessionID, parentSessionID, worktree }) => {
      if (worktree && !worktree.isShared) expected.set(sessionID, parentSessionID);
    },
    onRunEnded: (task) => {
      if (!task.worktree) return;
      const { id } = task.worktree;
      const owner = readRecord(pathsOf(root, id))?.taskId;
      const isOwner = owner === undefined || owner === task.sessionID;
      const counted = isOwner ? task : store.get(owner)?.task;
      // What a task below it did is counted with it, and once more if that was stopped after it.
      if (counted && hasEnded(counted) && (!isOwner || expected.has(task.sessionID))) void begin(counted, id);
    },
    untilCounted: (parentSessionID) => {
      // The outbox asks when the end is stored, which is before anybody is told of it.
      for (const [taskId, parent] of expected) {
        const task = parent === parentSessionID ? store.get(taskId)?.task : undefined;
        if (task?.worktree && hasEnded(task)) void begin(task, task.worktree.id);
      }
      const awaited = [...underWay].flatMap(([counted, parent]) => (parent === parentSessionID ? counted : []));
      return awaited.length === 0 ? undefined : Promise.all(awaited).then(() => undefined);
    },
    changesOf,
    latestChanges: async (task) => {
      const { worktree } = task;
      if (!worktree || worktree.isShared || !hasEnded(task)) return undefined;
      await queues.idle(worktree.id);
      if (changesOf(task) === undefined) await begin(task, worktree.id);
      return changesOf(task);
    },
  };
};
