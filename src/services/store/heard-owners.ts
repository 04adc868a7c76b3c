import type { KnownOwner, LeaseCheck, Owner } from "./ownership.ts";

/** Processes of one boot, or of one host name, read the same clock. */
const clockOf = ({ machine }: Pick<Owner, "machine">): string => machine.split(",", 1)[0] ?? machine;

/**
 * Creates the memory of when one owner last heard the others of its file, by its own clock: of nobody yet. The clock of another machine may be minutes off, so that its
 * heartbeats say nothing by their time: they are taken to be made when they are first seen. On the same machine their time
 * counts, unless it is of the future: then the clock was set back.
 */
export const createHeardOwners = (me: Pick<Owner, "machine">) => {
  const heard = new Map<string, { beatAt: number; at: number }>();
  /** Until when the memory is of use: what was noted before the clock was set, or while this process slept, is not. */
  let since = Number.NaN;

  return {
    /**
     * Returns the owner with the time of its last heartbeat by the clock of `me`. To be given each owner at every look: a
     * heartbeat that is new is one that was heard by then.
     */
    hear: (owner: KnownOwner, check: LeaseCheck): KnownOwner => {
      if (check.since !== since) heard.clear();
      since = check.since;
      const known = heard.get(owner.id);
      const isSame = known !== undefined && known.beatAt === owner.heartbeatAt;
      const at = isSame ? known.at : check.now;
      if (!isSame) heard.set(owner.id, { beatAt: owner.heartbeatAt, at });
      const heartbeatAt = clockOf(owner) === clockOf(me) ? Math.min(owner.heartbeatAt, at) : at;
      return { ...owner, heartbeatAt };
    },
  };
};
