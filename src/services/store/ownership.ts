import { readdirSync, readlinkSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { isRunning, type ProcessIdentity, thisProcessIdentity } from "../platform/process-identity.ts";

/** A process that supervises tasks of one directory. */
export interface Owner extends ProcessIdentity {
  /** Unique for each start of the plugin, even within one process. */
  id: string;
  /** The directory whose tasks it supervises. */
  directory: string;
  /** The OpenCode database that has the sessions of its tasks, see `opencodeDatabase`. Only owners with the same can take them over. */
  database: string;
  /**
   * Milliseconds of silence after which it takes over from a process of this machine that still lives. Such a process is
   * slow: it has the model requests and tool calls of its tasks under way, which whoever took them over would do again.
   */
  takesOverAfter: number;
}

/** An owner as stored, with the time of its last heartbeat. */
export interface KnownOwner extends Omit<Owner, "database" | "takesOverAfter"> {
  /** Epoch milliseconds. */
  heartbeatAt: number;
}

/** Milliseconds between two heartbeats. */
export const HEARTBEAT_MS = 3_000;

/**
 * Milliseconds without a heartbeat after which an owner counts as dead whose process cannot be looked at: five heartbeats,
 * since a busy host may miss some.
 */
export const LEASE_MS = 15_000;

/**
 * Milliseconds of heartbeats without a gap that a process needs before it judges the leases of others. After the whole
 * machine slept, or nobody could write, every lease seems expired: this gives the other processes time to renew theirs.
 */
export const STEADY_MS = 2 * HEARTBEAT_MS;

/** This process as the owner of a directory's tasks. */
export const thisProcess = (id: string, directory: string, takesOverAfter: number): Owner => ({
  ...thisProcessIdentity,
  id,
  directory,
  database: opencodeDatabase(),
  takesOverAfter,
});

/** When an owner checks the leases of others, and since when its own heartbeats had no gap; epoch milliseconds. */
export interface LeaseCheck {
  now: number;
  since: number;
}

/**
 * Milliseconds of silence after which the owner's tasks are free, as seen by `me`: 0 where its process is dead, and a lease
 * where that cannot be seen. `running` returns whether a process of this machine is alive.
 */
export const patienceWith = (
  owner: KnownOwner,
  me: Owner,
  running: (process: KnownOwner) => boolean = isRunning,
): number => {
  if (owner.machine !== me.machine) return LEASE_MS;
  // What is silent in this very process was closed: its heartbeats come from the same loop as this one's.
  if (owner.pid === me.pid) return owner.startedAt === me.startedAt ? LEASE_MS : 0;
  return running(owner) ? me.takesOverAfter : 0;
};

/** True when an owner has sent no heartbeat for more than `patience` milliseconds, as far as the check can judge that. */
export const isSilent = ({ heartbeatAt }: KnownOwner, patience: number, { now, since }: LeaseCheck): boolean =>
  now - heartbeatAt > patience && now - since >= STEADY_MS;

/** True when the owner's tasks are free, as seen by `me`: it is dead, or has been silent for too long. */
export const isGone = (
  owner: KnownOwner,
  me: Owner,
  check: LeaseCheck,
  running?: (process: KnownOwner) => boolean,
): boolean => {
  if (owner.id === me.id) return false;
  const patience = patienceWith(owner, me, running);
  return patience === 0 || isSilent(owner, patience, check);
};

type Environment = Readonly<Record<string, string | undefined>>;

/** The name of the database that OpenCode's releases use by default. */
const DEFAULT_DATABASE = "opencode.db";

/** The prefix of the names of in-memory databases, each of which is gone with its process. */
export const IN_MEMORY = ":memory:";

const attempt = <T>(read: () => T, otherwise: T): T => {
  try {
    return read();
  } catch {
    // It does not exist, or not any more.
    return otherwise;
  }
};

/** Returns the files that this process has open, if the system lists them, as Linux does. */
const openFiles = (): string[] =>
  attempt(() => readdirSync("/proc/self/fd"), []).flatMap((descriptor) =>
    attempt(() => [readlinkSync(`/proc/self/fd/${descriptor}`)], []),
  );

const real = (path: string): string => attempt(() => realpathSync(path), path);

/** Builds of other release channels use other files. Only a build's open files show which channel it is of. */
const ofChannel = (folder: string, open: readonly string[]): string => {
  const names = open.filter((path) => dirname(path) === real(folder)).map((path) => basename(path));
  const databases = new Set(names.filter((name) => /^opencode(-[\w.-]+)?\.db$/.test(name)));
  const [only = DEFAULT_DATABASE] = databases.size === 1 ? databases : [];
  return only;
};

/**
 * Returns a name for the database in which this OpenCode keeps its sessions: an OpenCode with another database does not
 * have them. The name is the file's name within OpenCode's data folder, its path elsewhere, and unique to the process for
 * an in-memory database. OpenCode 1.18 uses `OPENCODE_DB` (`:memory:`, or a path relative to the data folder) if that is
 * set, and else the file of its release channel in the data folder.
 */
export const opencodeDatabase = (
  env: Environment = process.env,
  open: () => readonly string[] = openFiles,
  { pid, machine, startedAt }: ProcessIdentity = thisProcessIdentity,
): string => {
  if (env.OPENCODE_DB === IN_MEMORY) return `${IN_MEMORY} of process ${pid}, started at ${startedAt}, ${machine}`;
  const folder = join(env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode");
  if (!env.OPENCODE_DB) return ofChannel(folder, open());
  const path = real(resolve(folder, env.OPENCODE_DB));
  return dirname(path) === real(folder) ? basename(path) : path;
};

/** Processes of one boot, or of one host name, read the same clock. */
export const clockOf = ({ machine }: Pick<Owner, "machine">): string => machine.split(",", 1)[0] ?? machine;

/**
 * Creates a memory of when one owner last saw a heartbeat of each other owner, by its own clock. A heartbeat that is new since the
 * last look was made since then, whatever time it carries, be it the first one of an owner: the clock may have been set back and
 * forward meanwhile. Of one that is seen at the first look, the time counts if it was made by the same clock and is not of the
 * future; the clock of another machine may be minutes off.
 */
export const createHeardOwners = (me: Pick<Owner, "machine">) => {
  const heard = new Map<string, { beatAt: number; at: number }>();
  /** Until when the memory is of use: what was noted before the clock was set, or while this process slept, is not. */
  let since = Number.NaN;
  let [firstLookAt, newestLookAt] = [Number.NaN, Number.NaN];

  return {
    /**
     * Returns the owner with the time of its last heartbeat by the clock of `me`. To be given each owner at every look: a
     * heartbeat that is new is one that was heard by then.
     */
    hear: (owner: KnownOwner, check: LeaseCheck): KnownOwner => {
      if (check.since !== since) {
        heard.clear();
        [since, firstLookAt, newestLookAt] = [check.since, check.now, check.now];
      }
      // The clock was set back, which the next heartbeat of this process will show.
      if (check.now < newestLookAt) {
        heard.clear();
        return { ...owner, heartbeatAt: check.now };
      }
      newestLookAt = check.now;
      const known = heard.get(owner.id);
      const isFirstByThisClock = known === undefined && check.now === firstLookAt && clockOf(owner) === clockOf(me);
      const newestAt = isFirstByThisClock ? Math.min(owner.heartbeatAt, check.now) : check.now;
      const heartbeatAt = known?.beatAt === owner.heartbeatAt ? known.at : newestAt;
      heard.set(owner.id, { beatAt: owner.heartbeatAt, at: heartbeatAt });
      return { ...owner, heartbeatAt };
    },
  };
};
