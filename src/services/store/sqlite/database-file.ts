import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { errorMessage } from "../../platform/log.ts";
import { makePrivate } from "../../platform/private-files.ts";
import { DatabaseError, databaseError } from "./driver.ts";

/** Why a file is not used any more. */
type AsideReason = "damaged" | "unreleased";

/** The identities of the two files of a write-ahead log; undefined for one that does not exist. */
export interface LogIdentity {
  wal: string | undefined;
  shm: string | undefined;
}

/** Milliseconds after which a process that was setting the file aside must have died: it takes a few. */
const STALE_LOCK_MS = 10_000;

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);

/** A full disk or quota, which may pass. */
const FULL: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT"]);

const unopenable = (error: unknown): DatabaseError =>
  error instanceof DatabaseError
    ? error
    : new DatabaseError(FULL.has(codeOf(error)) ? "full" : "unopenable", databaseError(error).message, {
        cause: error,
      });

const attempt = <T>(work: () => T): T => {
  try {
    return work();
  } catch (error) {
    throw unopenable(error);
  }
};

const identityOf = (path: string): string | undefined => {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
};

const renameIfThere = (from: string, to: string) => {
  if (existsSync(from)) renameSync(from, to);
};

/** Creates the access to a database file in the file system. Its methods throw `DatabaseError`. */
export const createStoreFile = (path: string) => {
  const lock = `${path}.setting-aside`;

  const identity = () => identityOf(path);

  const lockedByAnother = (): boolean => {
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (since === undefined) return false;
    if (Date.now() - since < STALE_LOCK_MS) return true;
    rmdirSync(lock);
    return false;
  };

  const busy = () => new DatabaseError("busy", "another process is setting it aside");

  const unusedName = (why: AsideReason, now: number): string => {
    const time = new Date(now).toISOString().replaceAll(/[:.]/g, "-");
    for (let count = 1; ; count += 1) {
      const name = `${path}.${why}-${time}${count === 1 ? "" : `-${count}`}`;
      if (!existsSync(name)) return name;
    }
  };

  return {
    path,
    /** Creates the folder (mode 0700) and the file (mode 0600) if they do not exist. */
    prepare: () =>
      attempt(() => {
        if (lockedByAnother()) throw busy();
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        try {
          closeSync(openSync(path, "wx", 0o600));
        } catch (error) {
          // An existing file must not be opened other than by SQLite: closing it would release the locks that this process
          // holds on it, see https://sqlite.org/howtocorrupt.html#posix_advisory_locks_canceled_by_a_separate_thread_doing_close
          if (codeOf(error) !== "EEXIST") throw error;
        }
      }),
    /** Creates and removes an empty file beside it, and fails as that does: SQLite does not say why it could not. */
    tryToCreate: () =>
      attempt(() => {
        const probe = `${path}.probe-${process.pid}`;
        closeSync(openSync(probe, "w", 0o600));
        unlinkSync(probe);
      }),
    /** Removes other users' access to the folder and the files, see `restrictToOwner`. */
    tighten: () => restrictToOwner(path),
    /** Identifies the file, as opposed to others of the same name over time. Undefined when there is none. */
    identity: (): string | undefined => attempt(identity),
    /**
     * Identifies the files of the write-ahead log: `-wal` has the changes that are not in the file itself yet, `-shm` is its
     * index. All processes that have the file open share both.
     */
    log: (): LogIdentity => attempt(() => ({ wal: identityOf(`${path}-wal`), shm: identityOf(`${path}-shm`) })),
    /**
     * Renames the file and its log to an unused name that says why, and returns that name. Does nothing and returns undefined
     * when the file's identity is another: another process has replaced it already.
     */
    setAside: (expected: string | undefined, why: AsideReason, now: number): string | undefined =>
      attempt(() => {
        if (lockedByAnother()) throw busy();
        try {
          mkdirSync(lock);
        } catch (error) {
          throw codeOf(error) === "EEXIST" ? busy() : error;
        }
        try {
          if (identity() !== expected) return undefined;
          const name = unusedName(why, now);
          // The file last: a process that opens it in between must not find the log of another file.
          for (const suffix of ["-wal", "-shm", ""]) renameIfThere(path + suffix, name + suffix);
          return name;
        } finally {
          rmdirSync(lock);
        }
      }),
  };
};

/**
 * Takes a database file, all that belongs to it (its log of changes, what was set aside) and its folder away from other
 * users of the machine, as `makePrivate` does: they contain conversations. Only tests give a `chmod`.
 * @returns those that others could read or write before, and those that they still can, since the system refuses to change it
 */
export const restrictToOwner = (path: string, chmod?: (path: string, mode: number) => void) => {
  const tightened: string[] = [];
  const refused: { path: string; reason: string }[] = [];

  const close = (target: string, kind: "file" | "folder") => {
    try {
      if (makePrivate(target, kind, chmod)) tightened.push(target);
    } catch (error) {
      refused.push({ path: target, reason: errorMessage(error) });
    }
  };

  const folder = dirname(path);
  close(folder, "folder");
  for (const name of namesIn(folder)) if (name.startsWith(basename(path))) close(join(folder, name), "file");
  return { tightened, refused };
};

const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder);
  } catch {
    // Whether it can be used at all shows when the file is opened.
    return [];
  }
};
