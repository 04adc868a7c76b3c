// ADR-049 in docs/decisions.md
import { isRunning, type ProcessIdentity, thisProcessIdentity } from "../platform/process-identity.ts";
import { opencodeDatabase } from "./opencode-database.ts";

/** A process that supervises tasks of one directory. */
export interface Owner extends ProcessIdentity {
  /** Unique for each start of the plugin, even within one process. */
  id: string;
  /** The directory whose tasks it supervises. */
  directory: string;
  /** The OpenCode database that has the sessions of its tasks, see `opencodeDatabase`. Only owners with the same can take them over. */
  database: string;
}

/** An owner as stored, with the time of its last heartbeat. */
export interface KnownOwner extends Omit<Owner, "database"> {
  /** Epoch milliseconds. */
  heartbeatAt: number;
}

/** Milliseconds between two heartbeats. */
export const HEARTBEAT_MS = 3_000;

/**
 * Milliseconds without a heartbeat after which an owner's tasks are free, even if its process is alive: it is suspended or
 * stuck. Five heartbeats, since a busy host may miss some.
 */
export const LEASE_MS = 15_000;

/**
 * Milliseconds of heartbeats without a gap that a process needs before it judges the leases of others. After the whole
 * machine slept, or nobody could write, every lease seems expired: this gives the other processes time to renew theirs.
 */
export const STEADY_MS = 2 * HEARTBEAT_MS;

/** This process as the owner of a directory's tasks. */
export const thisProcess = (id: string, directory: string): Owner => ({
  ...thisProcessIdentity,
  id,
  directory,
  database: opencodeDatabase(),
});

/** When an owner checks the leases of others, and since when its own heartbeats had no gap; epoch milliseconds. */
export interface LeaseCheck {
  now: number;
  since: number;
}

/** True when the owner is certainly dead, as seen by `me`. `running` returns whether a process of this machine is alive. */
export const isGone = (
  owner: KnownOwner,
  me: Owner,
  { now, since }: LeaseCheck,
  running: (process: KnownOwner) => boolean = isRunning,
): boolean => {
  if (owner.id === me.id) return false;
  if (now - owner.heartbeatAt > LEASE_MS && now - since >= STEADY_MS) return true;
  if (owner.machine !== me.machine) return false;
  return owner.pid === me.pid ? owner.startedAt !== me.startedAt : !running(owner);
};
