import type { ModelRef } from "../../task.ts";
import type { Bus } from "./bus.ts";
import { type Holding, holdingOf } from "./holding.ts";

/*
 * The limits of a fleet: how many tasks of a model are at work on all its servers together. Each limit has as many holds, and
 * whoever works on such a task has one of them.
 */

/** Names the limit of a model, whatever the variant: `provider/model`. Empty where a task has no model of its own. */
export const limitKey = (model: ModelRef | undefined): string => (model ? `${model.providerID}/${model.modelID}` : "");

const permitName = (key: string, index: number): string => `limit.${key}.${index}`;

/** The bell that is rung when a permit is free again. */
export const PERMIT_BELL = "permit";

/** Takes a permit for a task of that key; `holder` is nobody else's. Undefined: all are taken. */
export const takePermit = async (
  bus: Bus,
  key: string,
  limit: number,
  holder: string,
): Promise<Holding | undefined | "unavailable"> => {
  // Not all begin with the same one.
  const first = [...holder].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
  for (let step = 0; step < limit; step += 1) {
    const name = permitName(key, (first + step) % limit);
    const held = await bus.hold(name, holder, 0);
    if (held.is === "held") return holdingOf(bus, name, holder, held.seq);
    if (held.is !== "outrun") return "unavailable";
  }
  return undefined;
};
