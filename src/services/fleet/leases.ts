import type { ModelRef } from "../../task.ts";
import type { Broker } from "./broker.ts";

/** Returns a lease that `holder` took at that place; 0 where it may have been lost since. */
export const heldLease = (broker: Broker, name: string, holder: string, place: number) => {
  let seq = place;
  const acquire = async (after: number) => {
    const held = await broker.acquire(name, holder, after);
    if (held.is === "held") seq = held.seq;
    return held.is;
  };
  return {
    name,
    holder,
    /** Keeps it for another period. `lost`: somebody else has it. `unknown`: the broker did not answer. */
    renew: async (): Promise<"kept" | "lost" | "unknown"> => {
      const renewed = await acquire(seq);
      if (renewed === "held") return "kept";
      if (renewed !== "conflict") return "unknown";
      const now = await broker.holder(name);
      if (now.is !== "read") return "unknown";
      if (now.lease && now.lease.holder !== holder) return "lost";
      // It has expired, or an answer was lost: it is acquired at its present place.
      const again = await acquire(now.lease?.seq ?? 0);
      return again === "held" ? "kept" : "unknown";
    },
    release: () => broker.release(name, seq),
  };
};

/** A lease that this server has taken. */
export type HeldLease = ReturnType<typeof heldLease>;

/*
 * The limits of a fleet: how many tasks of a model run at once on all its servers together. Each limit has as many leases, the
 * permits, and whoever works on such a task holds one of them.
 */

/** Names the limit of a model, whatever the variant: `provider/model`. Empty where a task has no model of its own. */
export const limitKey = (model: ModelRef | undefined): string => (model ? `${model.providerID}/${model.modelID}` : "");

const permitName = (key: string, index: number): string => `limit.${key}.${index}`;

/** The topic of permits that were released. */
export const PERMIT_TOPIC = "permit";

/** Takes a permit for a task of that key; `holder` is nobody else's. Undefined: all are taken, or the broker does not answer. */
export const takePermit = async (
  broker: Broker,
  key: string,
  limit: number,
  holder: string,
): Promise<HeldLease | undefined> => {
  // Not all begin with the same one.
  const first = [...holder].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
  for (let step = 0; step < limit; step += 1) {
    const name = permitName(key, (first + step) % limit);
    const held = await broker.acquire(name, holder, 0);
    if (held.is === "held") return heldLease(broker, name, holder, held.seq);
    if (held.is !== "conflict") return undefined;
  }
  return undefined;
};
