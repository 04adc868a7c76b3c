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
import { idsIn, isThere, pathsOf, worktreeIdOf } from "./folders.ts";
import { isLocked, lock } from "./lock.ts";
import type { WorktreePlan } from "./make-worktree.ts";
import { isUndecided, readChanges, readRecord, type WorktreeRecord, writeRecord } from "./record.ts";
import {
  dropTree,
  recoverApplying,
  removeAll,
  type WorktreesContext,
  whatIsDue,
  whileLocked,
} from "./remove-worktree.ts";

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

/** What a task changed on another server. */
interface ReceivedChanges {
  /** Names the worktree: the same for the same changes. */
  id: string;
  task: TaskInWorktree;
  /** The directory that it is to stand for. */
  directory: string;
  /** What the patch is to be applied to. */
  commit: string;
  patch: Uint8Array;
  /** The worktree that was made of its changes in the run before; undefined where there is none. */
  before: Worktree | undefined;
}

/** What is asked of the worktrees of an engine's tasks. */
export type Worktrees = ReturnType<typeof createWorktrees>;

/** True where there is still that commit in the repository that a directory belongs to. */
const hasCommit = async (directory: string, commit: string | undefined): Promise<boolean> => {
  const [{ treeAt }, { has }] = await Promise.all([import("./git/working-tree.ts"), import("./git/commit.ts")]);
  const tree = await treeAt(directory).catch(() => undefined);
  return tree !== undefined && commit !== undefined && has(tree, commit);
};

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

  /** Makes the worktree of that id, or says why there is none. `hasChanges`: with those that are kept of it. */
  const make = async (
    id: string,
    plan: Pick<WorktreePlan, "directory" | "project" | "taskId" | "signal" | "commit" | "before">,
    hasChanges = false,
  ): Promise<Outcome<WorktreeRecord>> => {
    try {
      makePrivateFolder(root);
      const whole = { ...plan, paths: pathsOf(root, id), setup, now: clock.now() };
      // Loaded when a task gets a worktree: most have none.
      const { makeWorktree } = await import("./make-worktree.ts");
      if (!hasChanges) return { ok: true, value: await makeWorktree(whole) };
      const { makeWithChanges } = await import("./make-worktree.ts");
      return { ok: true, value: await makeWithChanges(whole) };
    } catch (error) {
      return fail(own`No worktree could be made from ${quoteLine(plan.directory)}: ${quoteLine(errorMessage(error))}.`);
    }
  };

  /** Makes the worktree of a task again, where it is gone. The caller has its lock. */
  const makeAgain = async (
    id: string,
    sessionID: string,
    record: WorktreeRecord,
    signal: AbortSignal,
  ): Promise<Outcome<void>> => {
    const paths = pathsOf(root, id);
    const { dropWorktree } = await import("./make-worktree.ts");
    // Nobody counts what is half made, so its patch stays as it is.
    const gone = record.gone ?? ({ why: "expired", at: clock.now() } as const);
    const before = { ...record, gone };
    // A process may have died while it made or removed the worktree, of which git may know though its folder is gone.
    await recoverApplying(context, id);
    await dropWorktree(paths, before, gone);
    const directory = join(record.source, record.subfolder);
    // What nobody has decided about must not get lost: the agent goes on with it.
    const hasChanges = record.gone?.why === "sent" || (isUndecided(record) && existsSync(paths.patch));
    const isFromBase = hasChanges && record.gone?.why !== "sent" && (await hasCommit(record.source, record.base));
    const commit = isFromBase ? record.base : record.commit;
    const plan = { directory, project: record.project, taskId: sessionID, signal, commit, before };
    const made = await make(id, plan, hasChanges);
    if (made.ok) return { ok: true, value: undefined };
    writeRecord(paths, record);
    return made;
  };

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
      const made = await queues.run(id, () => make(id, { ...request, taskId: undefined }));
      if (!made.ok) {
        // Nobody else knows of it, and where the disk is full, its lock could not be taken.
        await rm(pathsOf(root, id).folder, { recursive: true, force: true }).catch((error) =>
          log.error("a worktree could not be removed", { id, reason: errorMessage(error) }),
        );
        return made;
      }
      // As OpenCode names it, which follows symbolic links.
      const { tree } = pathsOf(realpathSync(root), id);
      return { ok: true, value: { id, directory: join(tree, made.value.subfolder), isShared: false } };
    },
    /**
     * Creates a worktree from the patch of a task that worked on another server, unless it exists. A failure says why there is
     * none, and where the patch is kept: here, or on the other server.
     */
    receive: ({ id, task, directory, commit, patch, before }: ReceivedChanges): Promise<Outcome<Worktree>> =>
      queues.run(id, async () => {
        const paths = pathsOf(root, id);
        try {
          makePrivateFolder(root);
          const { receiveChanges } = await import("./make-worktree.ts");
          const { signal } = new AbortController();
          const plan = {
            paths,
            directory,
            project: directory,
            commit,
            taskId: task.sessionID,
            now: clock.now(),
            signal,
          };
          const last = before === undefined ? undefined : readRecord(pathsOf(root, before.id));
          const { subfolder } = await receiveChanges(plan, patch, last, (work) => whileLocked(context, id, work));
          const worktree = { id, directory: join(pathsOf(realpathSync(root), id).tree, subfolder), isShared: false };
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
      const { worktree, sessionID } = task;
      const paths = worktree && !worktree.isShared ? pathsOf(root, worktree.id) : undefined;
      const record = paths && readRecord(paths);
      if (record) writeRecord(paths, { ...record, taskId: sessionID });
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
        const inUse = fail(`The changes of task ${sessionID} are being applied or discarded. Try again in a moment.`);
        if (isLocked(paths, clock.now())) return inUse;
        const isWhole = record === undefined || (record.gone === undefined && record.base !== undefined);
        if (isWhole && isThere(paths)) return { ok: true, value: undefined };
        if (isShared || !record) return fail(`The worktree of task ${sessionID} is gone. Launch a new task.`);
        const release = lock(paths, clock.now());
        if (!release) return inUse;
        return makeAgain(id, sessionID, record, signal).finally(release);
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
      const { worktree, resumeCount: run } = task;
      if (!worktree || worktree.isShared) return undefined;
      const paths = pathsOf(root, worktree.id);
      const record = readRecord(paths);
      const hasSome = record && isUndecided(record) && (isThere(paths) || existsSync(paths.patch));
      if (!hasSome) return undefined;
      const nothing = { run, at: clock.now(), files: [] };
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
      for (const { worktree } of tasks) {
        if (!worktree || worktree.isShared) continue;
        const { id } = worktree;
        remove(id).catch((error) => log.error("a worktree could not be removed", { id, reason: errorMessage(error) }));
      }
    },
    expire,
    /** Removes the worktree of a task whose changes the server that launched it has. A resume makes it again with them. */
    putAway: ({ worktree }: Pick<Task, "worktree">): void => {
      if (!worktree || worktree.isShared) return;
      const { id } = worktree;
      const drop = async () => {
        const paths = pathsOf(root, id);
        const record = readRecord(paths);
        const { isAllInPatch } = await import("./read-changes.ts");
        const changes = readChanges(paths);
        if (record && !record.gone && (!changes || isAllInPatch(changes)))
          await dropTree(context, id, record, { why: "sent", at: clock.now() });
      };
      queues
        .run(id, drop)
        .catch((error) => log.error("a worktree could not be removed", { id, reason: errorMessage(error) }));
    },
    /** Removes a worktree with all that is known of it. */
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
