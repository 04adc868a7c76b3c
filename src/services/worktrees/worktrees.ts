import { existsSync, realpathSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { hasEnded, type Task, type Worktree, type WorktreeChanges } from "../../task.ts";
import { createOneAtATime } from "../platform/concurrency.ts";
import { errorMessage } from "../platform/log.ts";
import { makePrivateFolder } from "../platform/private-files.ts";
import { fail, type Outcome } from "../platform/result.ts";
import type { Store } from "../store/store.ts";
import { own, quoteLine } from "../text/own-text.ts";
import { createChangeCounts, type TaskInWorktree } from "./change-counts.ts";
import type { FilesRead } from "./fingerprints.ts";
import { idsIn, isThere, ownWorktreeOf, pathsOf, worktreeIdOf } from "./folders.ts";
import { isLocked, whileLocked } from "./lock.ts";
import type { ReceivedChanges } from "./make-worktree.ts";
import { isAllInPatch, isUndecided, readChanges, readRecord, type WorktreeRecord, writeRecord } from "./record.ts";
import { dropTree, removeAll, type WorktreesContext, whatIsDue } from "./remove-worktree.ts";

/** Where worktrees are, and how they are made and kept. */
export interface WorktreeOptions {
  /** The folder of all worktrees. */
  root: string;
  /** Agents whose tasks each get one. */
  agents: readonly string[];
  /** The command that prepares each; undefined: nothing does. */
  setup: string | undefined;
  /** Milliseconds for which one with changes is kept after its task's end. */
  keep: number;
}

/** What is asked of the worktrees of an engine's tasks. */
export type Worktrees = ReturnType<typeof createWorktrees>;

/** Loads what makes worktrees when a task gets one: most have none. */
const loadMaking = () => import("./make-worktree.ts");

/** Creates the worktrees of an engine. What is done with one of them is done in turn. */
export const createWorktrees = ({
  options,
  newId,
  ...rest
}: Omit<WorktreesContext, "root"> & {
  options: WorktreeOptions;
  /** Returns a new id. */
  newId(): string;
  store: Pick<Store, "get" | "live">;
}) => {
  const { root, agents, setup, keep } = options;
  const context = { root, ...rest };
  const { clock, log } = context;
  const queues = createOneAtATime();
  const counts = createChangeCounts(context, queues);

  /** Returns a worktree as OpenCode names it, which follows symbolic links. */
  const worktreeAt = (id: string, { subfolder }: WorktreeRecord): Worktree => ({
    ...{ id, directory: join(pathsOf(realpathSync(root), id).tree, subfolder), isShared: false },
  });

  /** Returns what `make` makes from a directory, or says why there is nothing. */
  const madeFrom = async <T>(directory: string, make: () => Promise<T>): Promise<Outcome<T>> => {
    try {
      makePrivateFolder(root);
      return { ok: true, value: await make() };
    } catch (error) {
      return fail(own`No worktree could be made from ${quoteLine(directory)}: ${quoteLine(errorMessage(error))}.`);
    }
  };

  const onNotRemoved = (id: string) => (error: unknown) =>
    log.error("a worktree could not be removed", { id, reason: errorMessage(error) });

  /** Removes a worktree with all that is known of it. */
  const remove = (id: string): Promise<void> => queues.run(id, () => removeAll(context, id));

  /** Finishes or undoes what a process that has ended was applying of a worktree. @throws Error where neither can be done */
  const recoverInTurn = (id: string): Promise<void> =>
    queues.run(id, () => whileLocked(context, id, async () => undefined));

  /**
   * Removes the worktree, or what is left of one that is gone, and keeps what is known of it. A worktree that has something
   * which is not in its patch stays.
   */
  const expire = (id: string): Promise<void> =>
    queues.run(id, async () => {
      const paths = pathsOf(root, id);
      const record = readRecord(paths);
      if (!record) return;
      if (record.gone) return dropTree(context, id, record, record.gone);
      const { readChangesIn } = await import("./read-changes.ts");
      // A person may have worked in it since it was counted.
      const read = record.base === undefined ? undefined : await readChangesIn(paths, record, record.base);
      if (read && read.leftOut.length > 0)
        return log.info("a worktree is kept: its patch has not all of it", { id, leftOut: read.leftOut.length });
      await dropTree(context, id, record, { why: "expired", at: clock.now() });
    });

  return {
    ...counts,
    /** True where the options give each task of that agent a worktree. */
    isFor: (agent: string): boolean => agents.includes(agent),
    /** Returns the worktree that a directory lies in, as one that is shared; undefined where it lies in none. */
    around: (directory: string): Worktree | undefined => {
      const id = worktreeIdOf(root, directory);
      return id === undefined ? undefined : { id, directory, isShared: true };
    },
    /** Takes the fingerprint of all files in the working tree that a directory lies in. Never rejects. */
    readFiles: async (directory: string): Promise<FilesRead> => {
      const { readFiles } = await import("./fingerprints.ts");
      return readFiles(root, directory);
    },
    /**
     * Makes a worktree from the tree that a directory lies in, as it is. A failure says why there is none; nothing is left then.
     */
    make: async (request: {
      directory: string;
      project: string;
      signal: AbortSignal;
      /** Makes it from that commit instead, which is fetched where it is missing. */
      commit?: string;
    }): Promise<Outcome<Worktree>> => {
      const id = newId();
      const paths = pathsOf(root, id);
      const made = await queues.run(id, () =>
        madeFrom(request.directory, async () => {
          const { makeWorktree } = await loadMaking();
          return makeWorktree({ ...request, paths, setup, taskId: undefined, now: clock.now() });
        }),
      );
      if (made.ok) return { ok: true, value: worktreeAt(id, made.value) };
      // Nobody else knows of it, and where the disk is full, its lock could not be taken.
      await rm(paths.folder, { recursive: true, force: true }).catch(onNotRemoved(id));
      return made;
    },
    /**
     * Creates a worktree from the patch of a task that worked on another server, unless it exists. A failure says why there is
     * none, and where the patch is kept: here, or on the other server.
     */
    receive: (changes: ReceivedChanges): Promise<Outcome<Worktree>> =>
      queues.run(changes.id, async () => {
        const { id, task } = changes;
        const paths = pathsOf(root, id);
        try {
          makePrivateFolder(root);
          const { makeOfReceived } = await loadMaking();
          const worktree = worktreeAt(id, await makeOfReceived(context, changes));
          counts.expect({ ...task, worktree });
          return { ok: true, value: worktree };
        } catch (error) {
          const why = own`${quoteLine(errorMessage(error))}`;
          return existsSync(paths.received) || existsSync(paths.patch)
            ? fail(own`${why}; the patch is in ${quoteLine(paths.folder)}`)
            : fail(own`${why}; the patch stays on the server that worked on it`);
        }
      }),
    /** Reads what a task that has ended left changed, as a patch; undefined where that is nothing. @throws Error */
    patchOf: async (task: Task): Promise<Uint8Array | undefined> => {
      const changes = await counts.latestChanges(task);
      if (changes?.problem !== undefined) throw new Error(changes.problem);
      if (!task.worktree || !changes || changes.files.length === 0) return undefined;
      return readFile(pathsOf(root, task.worktree.id).patch);
    },
    /** Notes the task that a worktree was made for. */
    assign: (task: TaskInWorktree): void => {
      counts.expect(task);
      const id = ownWorktreeOf(task);
      const record = id === undefined ? undefined : readRecord(pathsOf(root, id));
      if (id !== undefined && record) writeRecord(pathsOf(root, id), { ...record, taskId: task.sessionID });
    },
    /** Recreates the worktree of a task that is to go on, if it is gone. */
    prepare: async (task: Task, signal: AbortSignal): Promise<Outcome<void>> => {
      const { sessionID, worktree } = task;
      if (!worktree) return { ok: true, value: undefined };
      const { id, isShared } = worktree;
      counts.expect(task);
      return queues.run(id, async () => {
        const paths = pathsOf(root, id);
        const record = readRecord(paths);
        if (isLocked(paths, clock.now()))
          return fail(`The changes of task ${sessionID} are being applied or discarded. Try again in a moment.`);
        const isWhole = record === undefined || (record.gone === undefined && record.base !== undefined);
        if (isWhole && isThere(paths)) return { ok: true, value: undefined };
        if (isShared || !record) return fail(`The worktree of task ${sessionID} is gone. Launch a new task.`);
        return madeFrom(join(record.source, record.subfolder), () =>
          whileLocked(context, id, async () => {
            const { makeAgain } = await loadMaking();
            await makeAgain(paths, record, { taskId: sessionID, setup, now: clock.now(), signal });
          }),
        );
      });
    },
    /** Returns why a task cannot be prompted: its worktree is gone. Undefined where it can. */
    obstacleTo: ({ sessionID, worktree }: Pick<Task, "sessionID" | "worktree">): string | undefined =>
      worktree && !existsSync(worktree.directory)
        ? `The worktree of task ${sessionID} is gone: ${worktree.directory} does not exist.`
        : undefined,
    /**
     * Returns what a task left changed that a person has neither applied nor discarded, as it was last counted; with a problem
     * where that is not known. Undefined where nothing is left.
     */
    undecidedChanges: (task: Task): WorktreeChanges | undefined => {
      const id = ownWorktreeOf(task);
      if (id === undefined) return undefined;
      const paths = pathsOf(root, id);
      const record = readRecord(paths);
      const hasSome = record && isUndecided(record) && (isThere(paths) || existsSync(paths.patch));
      if (!hasSome) return undefined;
      const nothing = { run: task.resumeCount, at: clock.now(), files: [] };
      if (!hasEnded(task)) return { ...nothing, problem: "the task still runs" };
      const changes = counts.changesOf(task) ?? { ...nothing, problem: "they were not counted" };
      const isSome = changes.files.length > 0 || changes.leftOut !== undefined || changes.problem !== undefined;
      return isSome ? changes : undefined;
    },
    /**
     * Returns the ids of those tasks of a project whose worktree is there with changes that no person has applied or discarded,
     * as far as is known.
     */
    undecidedTasks: (project: string): string[] =>
      idsIn(root).flatMap((id) => {
        const record = readRecord(pathsOf(root, id));
        const isLeft = record?.project === project && record.gone === undefined && isThere(pathsOf(root, id));
        return isLeft && record.taskId !== undefined ? record.taskId : [];
      }),
    /** Counts what tasks left in the worktrees that are there. */
    countUndecided: async (tasks: readonly Task[]): Promise<void> => {
      const isLeft = ({ worktree }: Task) => worktree !== undefined && isThere(pathsOf(root, worktree.id));
      await Promise.all(tasks.filter(isLeft).map(counts.countAgain));
    },
    /** Removes all that there is of cleared tasks. */
    forget: (tasks: readonly Task[]): void => {
      for (const id of tasks.flatMap((task) => ownWorktreeOf(task) ?? [])) remove(id).catch(onNotRemoved(id));
    },
    expire,
    /** Removes the worktree of a task whose changes the server that launched it has. A resume makes it again with them. */
    putAway: (task: Pick<Task, "worktree">): void => {
      const id = ownWorktreeOf(task);
      if (id === undefined) return;
      const drop = async () => {
        const paths = pathsOf(root, id);
        const record = readRecord(paths);
        const changes = readChanges(paths);
        if (record && !record.gone && (!changes || isAllInPatch(changes)))
          await dropTree(context, id, record, { why: "sent", at: clock.now() });
      };
      queues.run(id, drop).catch(onNotRemoved(id));
    },
    remove,
    /**
     * Finishes or undoes what was being applied when its process ended. Removes the worktrees of tasks that are gone, those of
     * launches that were cut off, and those that were kept for long enough. Only worktrees of this project's tasks are looked
     * at. Returns a promise for each that something is done with, which never rejects.
     */
    sweep: (project: string, taskOf: (sessionID: string) => Task | undefined): Promise<void>[] =>
      idsIn(root).flatMap((id) => {
        const what = whatIsDue({ root, keep, project, now: clock.now() }, id, taskOf);
        if (what === undefined) return [];
        log.info("a worktree is swept", { id, what });
        return { expire, remove, recover: recoverInTurn }[what](id).catch((error) => {
          log.error("a worktree could not be swept", { id, what, reason: errorMessage(error) });
        });
      }),
  };
};
