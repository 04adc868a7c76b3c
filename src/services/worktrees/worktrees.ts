// ADR-244, ADR-246, ADR-247 in docs/decisions.md
import { existsSync, realpathSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { hasEnded, type Task, type Worktree, type WorktreeChanges } from "../../task.ts";
import type { Host } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import { createOneAtATime } from "../platform/one-at-a-time.ts";
import { makePrivateFolder } from "../platform/private-files.ts";
import { fail, type Outcome } from "../platform/result.ts";
import type { Store } from "../store/store.ts";
import { own, quoteLine } from "../text/own-text.ts";
import { type ChangeCounts, createChangeCounts, type TaskInWorktree } from "./change-counts.ts";
import { idsIn, isThere, pathsOf, worktreeIdOf } from "./folders.ts";
import { isLocked, lock } from "./lock.ts";
import type { WorktreePlan } from "./make-worktree.ts";
import { isUndecided, readChanges, readRecord, type WorktreeRecord, writeRecord } from "./record.ts";
import { createWorktreeRemoval } from "./remove-worktree.ts";

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

/** The worktrees of an engine's tasks. */
export interface Worktrees extends ChangeCounts {
  /** True where the options give each task of that agent one. */
  isFor(agent: string): boolean;
  /** The worktree that a directory lies in, as one that is shared; undefined where it lies in none. */
  around(directory: string): Worktree | undefined;
  /** Makes one from the tree that a directory lies in, as it stands. A failure says why there is none; nothing is left then. */
  make(request: {
    directory: string;
    home: string;
    signal: AbortSignal;
    /** Makes it from that commit instead, which is fetched where it is missing. */
    commit?: string;
  }): Promise<Outcome<Worktree>>;
  /**
   * Makes one of what a task changed on another server, where that is not done yet. A failure says why there is none; the
   * patch is kept even then, where it says: here, or on the other server.
   */
  receive(request: ReceivedChanges): Promise<Outcome<Worktree>>;
  /** Reads what a task that has ended left changed, as a patch; undefined where that is nothing. @throws Error */
  patchOf(task: Task): Promise<Uint8Array | undefined>;
  /** Notes the task that one was made for. */
  assign(task: TaskInWorktree): void;
  /** Sees to it that a task which is to go on has its worktree: one that is gone is made again. */
  prepare(task: Task, signal: AbortSignal): Promise<Outcome<void>>;
  /** Says why a task cannot be prompted: its worktree is gone. Undefined where it can. */
  obstacleTo(task: Pick<Task, "sessionID" | "worktree">): string | undefined;
  /**
   * What a task left changed that a person has neither applied nor discarded, as it was last counted; with a problem where
   * that is not known. Undefined where nothing is left.
   */
  undecidedChanges(task: Task): WorktreeChanges | undefined;
  /**
   * Returns the ids of those tasks of a directory whose worktree is there with changes that no person has applied or discarded,
   * as far as is known.
   */
  undecidedTasks(home: string): string[];
  /** Counts what tasks left in the worktrees that are there. */
  countUndecided(tasks: readonly Task[]): Promise<void>;
  /** Removes all that there is of cleared tasks. */
  forget(tasks: readonly Task[]): void;
  /**
   * Removes the worktree, or what is left of one that is gone, and keeps what is known of it. A worktree that has something
   * which is not in its patch stays.
   */
  expire(id: string): Promise<void>;
  /** Finishes or undoes what a process that has ended was applying of a worktree. @throws Error where neither can be done */
  recover(id: string): Promise<void>;
  /** Removes the worktree of a task whose changes its home has. It is made again with them if the task is resumed. */
  putAway(task: Pick<Task, "worktree">): void;
  /** Removes a worktree with all that is known of it. */
  remove(id: string): Promise<void>;
}

/** What a task changed on another server. */
export interface ReceivedChanges {
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

/** What worktrees are made and removed with. */
export interface WorktreesDeps {
  options: WorktreeOptions;
  host: Pick<Host, "closeDirectory">;
  clock: Clock;
  log: Log;
  /** Returns a new id. */
  newId(): string;
  store: Pick<Store, "get" | "live">;
}

/** True where there is still that commit in the repository that a directory belongs to. */
const hasCommit = async (directory: string, commit: string | undefined): Promise<boolean> => {
  const [{ treeAt }, { has }] = await Promise.all([import("./git/working-tree.ts"), import("./git/commit.ts")]);
  const tree = await treeAt(directory).catch(() => undefined);
  return tree !== undefined && commit !== undefined && has(tree, commit);
};

/** Creates the worktrees of an engine. What is done with one of them is done in turn. */
export const createWorktrees = ({ options, host, clock, log, newId, store }: WorktreesDeps): Worktrees => {
  const { root, agents, setup } = options;
  const queues = createOneAtATime();
  const removal = createWorktreeRemoval({ root, host, clock, log });
  const counts = createChangeCounts({ root, queues, removal, clock, log, store });
  const remove = (id: string) => queues.run(id, () => removal.remove(id));

  /** Makes the worktree of that id, or says why there is none. `hasChanges`: with those that are kept of it. */
  const make = async (
    id: string,
    plan: Pick<WorktreePlan, "directory" | "home" | "taskId" | "signal" | "commit" | "before">,
    hasChanges = false,
  ): Promise<Outcome<WorktreeRecord>> => {
    try {
      makePrivateFolder(root);
      const whole = { ...plan, paths: pathsOf(root, id), setup, now: clock.now() };
      // Loaded when a task gets a worktree: most have none.
      const { makeWorktree } = await import("./make-worktree.ts");
      if (!hasChanges) return { ok: true, value: await makeWorktree(whole) };
      const { makeWithChanges } = await import("./receive-changes.ts");
      return { ok: true, value: await makeWithChanges(whole) };
    } catch (error) {
      return fail(own`No worktree could be made from ${quoteLine(plan.directory)}: ${quoteLine(errorMessage(error))}.`);
    }
  };

  /** Makes the worktree of a task again, where it is gone. The caller holds its lock. */
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
    await removal.recover(id);
    await dropWorktree(paths, before, gone);
    const directory = join(record.source, record.below);
    // What nobody has decided about must not get lost: the agent goes on with it.
    const hasChanges = record.gone?.why === "sent" || (isUndecided(record) && existsSync(paths.patch));
    const isFromBase = hasChanges && record.gone?.why !== "sent" && (await hasCommit(record.source, record.base));
    const commit = isFromBase ? record.base : record.commit;
    const plan = { directory, home: record.home, taskId: sessionID, signal, commit, before };
    const made = await make(id, plan, hasChanges);
    if (made.ok) return { ok: true, value: undefined };
    writeRecord(paths, record);
    return made;
  };

  return {
    ...counts,
    isFor: (agent) => agents.includes(agent),
    around: (directory) => {
      const id = worktreeIdOf(root, directory);
      return id === undefined ? undefined : { id, directory, isShared: true };
    },
    make: async (request) => {
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
      return { ok: true, value: { id, directory: join(tree, made.value.below), isShared: false } };
    },
    receive: ({ id, task, directory, commit, patch, before }) =>
      queues.run(id, async () => {
        const paths = pathsOf(root, id);
        try {
          makePrivateFolder(root);
          const { receiveChanges } = await import("./receive-changes.ts");
          const { signal } = new AbortController();
          const plan = { paths, directory, home: directory, commit, taskId: task.sessionID, now: clock.now(), signal };
          const last = before === undefined ? undefined : readRecord(pathsOf(root, before.id));
          const { below } = await receiveChanges(plan, patch, last, (work) => removal.whileLocked(id, work));
          const worktree = { id, directory: join(pathsOf(realpathSync(root), id).tree, below), isShared: false };
          counts.expect({ ...task, worktree });
          return { ok: true, value: worktree };
        } catch (error) {
          const why = own`${quoteLine(errorMessage(error))}`;
          return existsSync(paths.received) || existsSync(paths.patch)
            ? fail(own`${why}; the patch is in ${quoteLine(paths.folder)}`)
            : fail(own`${why}; the patch stays on the server that worked on it`);
        }
      }),
    patchOf: async (task) => {
      const changes = await counts.latestChanges(task);
      if (changes?.problem !== undefined) throw new Error(changes.problem);
      if (!task.worktree || !changes || changes.files.length === 0) return undefined;
      return readFile(pathsOf(root, task.worktree.id).patch);
    },
    assign: (task) => {
      counts.expect(task);
      const { worktree, sessionID } = task;
      const paths = worktree && !worktree.isShared ? pathsOf(root, worktree.id) : undefined;
      const record = paths && readRecord(paths);
      if (record) writeRecord(paths, { ...record, taskId: sessionID });
    },
    prepare: async (task, signal) => {
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
    obstacleTo: ({ sessionID, worktree }) =>
      worktree && !existsSync(worktree.directory)
        ? `The worktree of task ${sessionID} is gone: ${worktree.directory} does not exist.`
        : undefined,
    undecidedChanges: (task) => {
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
    undecidedTasks: (home) =>
      idsIn(root).flatMap((id) => {
        const record = readRecord(pathsOf(root, id));
        const isLeft = record?.home === home && record.gone === undefined && isThere(pathsOf(root, id));
        return isLeft && record.taskId !== undefined ? record.taskId : [];
      }),
    countUndecided: async (tasks) => {
      const isLeft = ({ worktree }: Task) => worktree !== undefined && isThere(pathsOf(root, worktree.id));
      await Promise.all(tasks.filter(isLeft).map(counts.countAgain));
    },
    forget: (tasks) => {
      for (const { worktree } of tasks) {
        if (!worktree || worktree.isShared) continue;
        const { id } = worktree;
        remove(id).catch((error) => log.error("a worktree could not be removed", { id, reason: errorMessage(error) }));
      }
    },
    expire: (id) =>
      queues.run(id, async () => {
        const paths = pathsOf(root, id);
        const record = readRecord(paths);
        if (!record) return;
        if (record.gone) return removal.drop(id, record, record.gone);
        const { readChangesIn } = await import("./read-changes.ts");
        // A person may have worked in it since it was counted.
        const read = record.base === undefined ? undefined : await readChangesIn(paths, record, record.base);
        if (read && read.leftOut.length > 0)
          return log.info("a worktree is kept: its patch has not all of it", { id, leftOut: read.leftOut.length });
        await removal.drop(id, record, { why: "expired", at: clock.now() });
      }),
    recover: (id) => queues.run(id, () => removal.whileLocked(id, async () => undefined)),
    putAway: ({ worktree }) => {
      if (!worktree || worktree.isShared) return;
      const { id } = worktree;
      const drop = async () => {
        const paths = pathsOf(root, id);
        const record = readRecord(paths);
        const { isKept } = await import("./count-changes.ts");
        const changes = readChanges(paths);
        if (record && !record.gone && (!changes || isKept(changes)))
          await removal.drop(id, record, { why: "sent", at: clock.now() });
      };
      queues
        .run(id, drop)
        .catch((error) => log.error("a worktree could not be removed", { id, reason: errorMessage(error) }));
    },
    remove,
  };
};
