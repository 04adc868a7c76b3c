import type { Task, UsedUpLimit } from "../../task.ts";
import { nameOf, type OwnText, own } from "./own-text.ts";

const SUFFIXES = { one: "st", two: "nd", few: "rd", other: "th" } as const;
const ordinals = new Intl.PluralRules("en", { type: "ordinal" });

/** Writes a place, such as `1st` or `12th`. */
export const ordinal = (place: number): OwnText => {
  const suffix = SUFFIXES[ordinals.select(place) as keyof typeof SUFFIXES];
  return own`${place}${suffix}`;
};

/** Names the slot that a limit is about. */
export const slotOfLimit = ({ kind, name }: UsedUpLimit): OwnText => {
  if (kind === "total") return own`a slot`;
  return kind === "agent" ? own`a slot of agent ${nameOf(name)}` : own`a slot of ${nameOf(name)}`;
};

/** Writes where a run stands in the queue, and what it waits for; undefined where it is not queued. */
export const queueSummary = ({ queue }: Pick<Task, "queue">): OwnText | undefined => {
  if (!queue) return undefined;
  const { place, heldUpBy } = queue;
  if (!heldUpBy) return own`queued: starts at once`;
  if (heldUpBy.kind === "rateLimit") {
    const { name, until } = heldUpBy;
    return own`queued: ${ordinal(place)}, waits for ${nameOf(name)}, which refused another task and is asked again at ${nameOf(until)}`;
  }
  const { used, limit } = heldUpBy;
  return own`queued: ${ordinal(place)}, waits for ${slotOfLimit(heldUpBy)} (${used} of ${limit} in use)`;
};
