import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { isRunning, thisProcessIdentity } from "../platform/process-identity.ts";
import { isCutOff, pathsOf, type WorktreePaths } from "./folders.ts";
import type { CutOff } from "./git/placing.ts";
import { readJson } from "./record.ts";

/**
 * While a process applies, discards, removes or makes a worktree again, a numbered file in the worktree's folder says so. The
 * file with the highest number counts. One whose process has ended is never removed: the next process creates the file with
 * the number after it, which only one can.
 */
const FILE = /^lock-(\d+)\.json$/;

const Holder = z.object({
  pid: z.int(),
  machine: z.string(),
  startedAt: z.number(),
  /** Epoch milliseconds. */
  at: z.number(),
});

/** Milliseconds after which a lock does not count any more. Git takes seconds, a setup command ten minutes at most. */
const LONGEST_MS = 3_600_000;

const fileOf = ({ folder }: Pick<WorktreePaths, "folder">, number: number): string =>
  join(folder, `lock-${number}.json`);

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);

/** The highest number of a lock's file; 0 where there is none. */
const newest = ({ folder }: Pick<WorktreePaths, "folder">): number =>
  existsSync(folder) ? Math.max(0, ...readdirSync(folder).map((name) => Number(FILE.exec(name)?.[1] ?? 0))) : 0;

/** Returns whether the file with that number counts; undefined where it was removed in the meantime. */
const isValid = (file: string, now: number): boolean | undefined => {
  try {
    // One that says nothing is being written at this moment, or its process has ended while it wrote.
    const holder = readJson(file, Holder);
    if (now - (holder?.at ?? statSync(file).mtimeMs) >= LONGEST_MS) return false;
    return holder?.machine !== thisProcessIdentity.machine || isRunning(holder);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
};

/** Finds the newest file, and whether it counts. */
const look = (paths: Pick<WorktreePaths, "folder">, now: number): { number: number; isLocked: boolean } => {
  for (;;) {
    const number = newest(paths);
    const isLocked = number === 0 ? false : isValid(fileOf(paths, number), now);
    // Looked for again, since the file before it may be the newest now.
    if (isLocked !== undefined) return { number, isLocked };
  }
};

/** True while a process has the lock of a worktree: no agent may begin to work in it. `now` is epoch milliseconds. */
export const isLocked = (paths: Pick<WorktreePaths, "folder">, now: number): boolean => look(paths, now).isLocked;

/**
 * Takes the lock of a worktree. Returns the function that gives it back; undefined where another process has it.
 * @param now epoch milliseconds
 * @throws Error where the worktree's folder cannot be written to
 */
export const lock = (paths: Pick<WorktreePaths, "folder">, now: number): (() => void) | undefined => {
  const last = look(paths, now);
  if (last.isLocked) return undefined;
  const file = fileOf(paths, last.number + 1);
  const release = () => rmSync(file, { force: true });
  const holder: z.infer<typeof Holder> = { ...thisProcessIdentity, at: now };
  try {
    writeFileSync(file, JSON.stringify(holder), { flag: "wx", mode: 0o600 });
  } catch (error) {
    const code = codeOf(error);
    // Another process was quicker, or is removing the worktree's folder.
    if (code === "EEXIST" || code === "ENOENT") return undefined;
    release();
    throw error;
  }
  return release;
};

/**
 * Finishes or undoes what a process that has ended was applying of a worktree, whose lock the caller has. Returns what became of
 * that; undefined where there was nothing.
 * @throws Error where neither can be done
 */
export const recoverCutOff = async (paths: WorktreePaths): Promise<CutOff | undefined> =>
  isCutOff(paths) ? (await import("./git/placing.ts")).recover(paths) : undefined;

/**
 * Calls `work` while no other process uses the worktree, after `recoverCutOff`.
 * @throws Error where that fails, or another process uses it, and what `work` throws
 */
export const whileLocked = async <T>(
  { root, clock, log }: { root: string; clock: Clock; log: Log },
  id: string,
  work: () => Promise<T>,
): Promise<T> => {
  const paths = pathsOf(root, id);
  const release = lock(paths, clock.now());
  if (!release) throw new Error("its changes are being applied or discarded");
  try {
    const cutOff = await recoverCutOff(paths);
    if (cutOff) log.info("applying changes was cut off", { id, ...cutOff, files: cutOff.files.length });
    return await work();
  } finally {
    release();
  }
};
