import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { DatabaseError, databaseError } from "./database.ts";
import { type PermissionChanges, restrictToOwner } from "./file-permissions.ts";

/** The folder of the plugin's data: `$XDG_DATA_HOME/opencode-taskchart`, or `~/.local/share/opencode-taskchart`. */
export const dataFolder = (env: Readonly<Record<string, string | undefined>> = process.env): string => {
  const given = env.XDG_DATA_HOME;
  // The XDG base directory specification: a relative path is invalid, and to be ignored.
  const base = given && isAbsolute(given) ? given : join(homedir(), ".local", "share");
  return join(base, "opencode-taskchart");
};

/** A database file as the file system knows it. Its methods throw `DatabaseError`. */
export interface StoreFile {
  path: string;
  /** Makes the folder (mode 0700) and the file (mode 0600) where they are not there. */
  prepare(): void;
  /** Takes folder and files away from other users, see `tighten`. */
  tighten(): PermissionChanges;
  /** Tells this file from another of the same name. Undefined: there is none. */
  identity(): string | undefined;
  /**
   * What has not been written into the file itself yet stands in `-wal`, found by `-shm`: all who have the file open share
   * both. Tells these from others of the same names.
   */
  log(): LogIdentity;
  /**
   * Gives the file, with what belongs to it, a new name that no file has. Returns that, or undefined when the file is
   * not the one of that identity: another process has been here.
   */
  setAside(identity: string | undefined, now: number): string | undefined;
}

/** The two files of a log of changes; undefined where one is not there. */
export interface LogIdentity {
  wal: string | undefined;
  shm: string | undefined;
}

/** Milliseconds after which a process that was setting the file aside must have died of it: it takes a few. */
const STUCK = 10_000;

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);

/** A disk without room, or a user without any left on it: that may pass. */
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

export const createStoreFile = (path: string): StoreFile => {
  const lock = `${path}.setting-aside`;

  const identity = () => identityOf(path);

  const lockedByAnother = (): boolean => {
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (since === undefined) return false;
    if (Date.now() - since < STUCK) return true;
    rmdirSync(lock);
    return false;
  };

  const busy = () => new DatabaseError("busy", "another process is setting it aside");

  const unusedName = (now: number): string => {
    const time = new Date(now).toISOString().replaceAll(/[:.]/g, "-");
    for (let count = 1; ; count += 1) {
      const name = `${path}.damaged-${time}${count === 1 ? "" : `-${count}`}`;
      if (!existsSync(name)) return name;
    }
  };

  return {
    path,
    prepare: () =>
      attempt(() => {
        if (lockedByAnother()) throw busy();
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        try {
          closeSync(openSync(path, "wx", 0o600));
        } catch (error) {
          // A file that is there must not be opened past SQLite: closing it would end the locks that this process holds
          // on it, see https://sqlite.org/howtocorrupt.html#posix_advisory_locks_canceled_by_a_separate_thread_doing_close
          if (codeOf(error) !== "EEXIST") throw error;
        }
      }),
    tighten: () => restrictToOwner(path),
    identity: () => attempt(identity),
    log: () => attempt(() => ({ wal: identityOf(`${path}-wal`), shm: identityOf(`${path}-shm`) })),
    setAside: (expected, now) =>
      attempt(() => {
        if (lockedByAnother()) throw busy();
        try {
          mkdirSync(lock);
        } catch (error) {
          throw codeOf(error) === "EEXIST" ? busy() : error;
        }
        try {
          if (identity() !== expected) return undefined;
          const name = unusedName(now);
          // The file last: whoever opens it in between must not find the log of another.
          for (const suffix of ["-wal", "-shm", ""]) renameIfThere(path + suffix, name + suffix);
          return name;
        } finally {
          rmdirSync(lock);
        }
      }),
  };
};
