// Counts what tasks changed in worktrees of their own, once for each run, so that a notice can say it without asking git.
import { hasEnded, type Task, type WorktreeChanges } from "../../task.ts";
import type { OneAtATime } from "../platform/concurrency.ts";
import { errorMessage } from "../platform/log.ts";
import type { Store } from "../store/store.ts";
import { isThere, ownWorktreeOf, pathsOf } from "./folders.ts";
import { isAllInPatch, readChanges, readRecord } from "./record.ts";
import { dropTree, type WorktreesContext } from "./remove-worktree.ts";

/** A task as far as worktrees are concerned. */
export type TaskInWorktree = Pick<Task, "sessionID" | "parentSessionID" | "worktree">;

/**
 * Milliseconds for which a notice waits for a count, which takes git seconds in a large repository. A count that takes longer
 * goes on, and the notice does not wait for it.
 */
export const LONGEST_WAIT_MS = 60_000;

/** A count under way. */
interface Count {
  /** The session whose notice waits for it. */
  parent: string;
  /** Epoch milliseconds. */
  since: number;
  done: Promise<void>;
}

/** Creates the counting of changes. A worktree in which nothing was changed is removed. */
export const createChangeCounts = (
  context: WorktreesContext & { store: Pick<Store, "get" | "live"> },
  queues: OneAtATime,
) => {
  const { root, clock, log, store } = context;
  /** The parents of tasks in this process whose newest run is not counted yet, by task. */
  const expected = new Map<string, string>();
  /** By task. */
  const underWay = new Map<string, Count>();
  /** Of tasks whose newest run could not be counted, and where no file says so: why. */
  const uncounted = new Map<string, WorktreeChanges>();

  /** True while an agent works in it. */
  const isInUse = (id: string): boolean => store.live().some(({ task }) => task.worktree?.id === id && !hasEnded(task));

  const isAwaited = ({ since }: Count): boolean => clock.now() - since < LONGEST_WAIT_MS;

  /** @throws Error that says why it could not be counted, where that is not written down */
  const count = async ({ resumeCount: run }: Task, id: string): Promise<void> => {
    const paths = pathsOf(root, id);
    const record = readRecord(paths);
    if (record?.base === undefined || record.gone || !isThere(paths))
      throw new Error(`there is no ${paths.tree} any more`);
    const { countChanges } = await import("./read-changes.ts");
    const counted = await countChanges(paths, record, { base: record.base, run, now: clock.now() });
    const { files, problem } = counted;
    if (problem !== undefined) log.error("what a task changed could not be counted", { id, reason: problem });
    else if (files.length === 0 && isAllInPatch(counted) && !isInUse(id))
      await dropTree(context, id, record, { why: "clean", at: clock.now() });
  };

  const begin = (task: Task, id: string): Promise<void> => {
    const { sessionID, parentSessionID: parent, resumeCount: run } = task;
    expected.delete(sessionID);
    const done = queues
      .run(id, () => count(task, id))
      .catch((error) => {
        if (changesOf(task) !== undefined) return;
        const problem = errorMessage(error);
        log.error("a worktree could not be looked through", { id, reason: problem });
        uncounted.set(sessionID, { run, at: clock.now(), files: [], problem });
      })
      .then(() => {
        if (underWay.get(sessionID)?.done === done) underWay.delete(sessionID);
      });
    underWay.set(sessionID, { parent, since: clock.now(), done });
    return done;
  };

  /**
   * Returns what a task's newest run left changed, or why that could not be counted; undefined where it has no worktree of its
   * own, or that run has not been counted.
   */
  const changesOf = (task: Pick<Task, "sessionID" | "worktree" | "resumeCount">): WorktreeChanges | undefined => {
    const id = ownWorktreeOf(task);
    if (id === undefined) return undefined;
    const { sessionID, resumeCount } = task;
    const paths = pathsOf(root, id);
    const changes = [readChanges(paths), uncounted.get(sessionID)].find((one) => one?.run === resumeCount);
    const why = readRecord(paths)?.gone?.why;
    return changes === undefined || why === undefined || why === "clean" ? changes : { ...changes, became: why };
  };

  /** Returns the same, counted once more: the worktree may have been written to since. */
  const countAgain = async (task: Task): Promise<WorktreeChanges | undefined> => {
    const id = ownWorktreeOf(task);
    if (id === undefined || !hasEnded(task)) return undefined;
    await begin(task, id);
    return changesOf(task);
  };

  return {
    /** Notes that a run of a task is to be counted when it has ended. */
    expect: (task: TaskInWorktree): void => {
      if (ownWorktreeOf(task) === undefined) return;
      const { sessionID, parentSessionID } = task;
      expected.set(sessionID, parentSessionID);
      uncounted.delete(sessionID);
    },
    /** Counts, now that a run of a task has ended. */
    onRunEnded: (task: Task): void => {
      if (!task.worktree) return;
      const { id } = task.worktree;
      const owner = readRecord(pathsOf(root, id))?.taskId;
      const isOwner = owner === undefined || owner === task.sessionID;
      const counted = isOwner ? task : store.get(owner)?.task;
      // What a task of that task did is counted with it, and once more if that was stopped after it.
      if (counted && hasEnded(counted) && (!isOwner || expected.has(task.sessionID))) void begin(counted, id);
    },
    /**
     * Resolves once it is counted what those of this parent's tasks have changed whose runs have ended, or after
     * `LONGEST_WAIT_MS`; undefined where nothing is to be waited for.
     */
    untilCounted: (parentSessionID: string): Promise<void> | undefined => {
      // The outbox asks when the end is stored, which is before the reactions to that end.
      for (const [taskId, parent] of expected) {
        const task = parent === parentSessionID ? store.get(taskId)?.task : undefined;
        if (task?.worktree && hasEnded(task)) void begin(task, task.worktree.id);
      }
      const awaited = [...underWay.values()].filter((one) => one.parent === parentSessionID && isAwaited(one));
      if (awaited.length === 0) return undefined;
      return new Promise((resolve) => {
        const cancelTimer = clock.after(LONGEST_WAIT_MS, resolve);
        void Promise.all(awaited.map(({ done }) => done)).then(() => {
          cancelTimer();
          resolve();
        });
      });
    },
    /**
     * True while what an ended task changed is being counted, and a text about it has to wait; false after `LONGEST_WAIT_MS`.
     * Begins the count where nothing has.
     */
    isCounting: (task: Task): boolean => {
      const id = ownWorktreeOf(task);
      if (id === undefined || !hasEnded(task) || changesOf(task) !== undefined) return false;
      if (!underWay.has(task.sessionID)) void begin(task, id);
      const count = underWay.get(task.sessionID);
      return count !== undefined && isAwaited(count);
    },
    changesOf,
    /** Returns the same, after it has been counted. */
    latestChanges: async (task: Task): Promise<WorktreeChanges | undefined> => {
      const id = ownWorktreeOf(task);
      if (id === undefined || !hasEnded(task)) return undefined;
      await queues.idle(id);
      return changesOf(task) ?? countAgain(task);
    },
    countAgain,
  };
};
