import { isRunning, type ProcessIdentity, thisProcessIdentity } from "../platform/process-identity.ts";
import { opencodeDatabase } from "./opencode-database.ts";

/** A process that supervises tasks of one directory, as others see it. */
export interface Owner extends ProcessIdentity {
  /** Unique for each time that the plugin starts, be it in the same process. */
  id: string;
  /** The directory whose tasks it supervises. */
  directory: string;
  /** OpenCode's database that has the sessions of its tasks, see `opencodeDatabase`. No other owner can go on with them. */
  database: string;
}

/** An owner and its last sign of life, epoch milliseconds. */
export interface KnownOwner extends Omit<Owner, "database"> {
  beatAt: number;
}

/** Milliseconds from one sign of life to the next. */
export const HEARTBEAT_MS = 3_000;

/**
 * Milliseconds without a sign of life after which an owner's tasks are free, be its process alive: it is stopped, or
 * stuck. Five beats: a busy host may miss some.
 */
export const LEASE_MS = 15_000;

/**
 * Milliseconds for which a process has to have shown itself, beat for beat, before it takes leases for expired. Who has
 * slept, with the whole machine perhaps, or could not write, with all the others perhaps, gives them time to show that
 * they live.
 */
export const STEADY_MS = 2 * HEARTBEAT_MS;

/** This process as the owner of a directory's tasks. */
export const thisProcess = (id: string, directory: string): Owner => ({
  ...thisProcessIdentity,
  id,
  directory,
  database: opencodeDatabase(),
});

/** When an owner looks at the others, and since when it has shown itself without a gap; epoch milliseconds. */
export interface LeaseCheck {
  now: number;
  since: number;
}

/** True when the owner is provably gone, as seen from `me`. */
export const isGone = (
  owner: KnownOwner,
  me: Owner,
  { now, since }: LeaseCheck,
  running: (process: KnownOwner) => boolean = isRunning,
): boolean => {
  if (owner.id === me.id) return false;
  if (now - owner.beatAt > LEASE_MS && now - since >= STEADY_MS) return true;
  if (owner.machine !== me.machine) return false;
  return owner.pid === me.pid ? owner.startedAt !== me.startedAt : !running(owner);
};
