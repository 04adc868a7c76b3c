import type { Bus } from "./bus.ts";

/** A hold that this server has taken. */
export interface Holding {
  name: string;
  holder: string;
  /** Keeps it for another lease. `lost`: somebody else has it. `unknown`: the engine did not answer. */
  renew(): Promise<"kept" | "lost" | "unknown">;
  drop(): Promise<void>;
}

/** Returns a hold that `holder` took at that place; 0 where it may have been lost since. */
export const holdingOf = (bus: Bus, name: string, holder: string, place: number): Holding => {
  let seq = place;
  const hold = async (after: number) => {
    const held = await bus.hold(name, holder, after);
    if (held.is === "held") seq = held.seq;
    return held.is;
  };
  return {
    name,
    holder,
    renew: async () => {
      const renewed = await hold(seq);
      if (renewed === "held") return "kept";
      if (renewed !== "outrun") return "unknown";
      const now = await bus.holder(name);
      if (now.is !== "read") return "unknown";
      if (now.hold && now.hold.holder !== holder) return "lost";
      // It has lapsed, or an answer was lost: it is taken up where it stands.
      const again = await hold(now.hold?.seq ?? 0);
      return again === "held" ? "kept" : "unknown";
    },
    drop: () => bus.drop(name, seq),
  };
};
