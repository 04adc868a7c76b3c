import type { SlotRequest } from "../../machines/task/events.ts";
import type { QueuePlace } from "../../task.ts";

/** What a limit counts: all tasks, or those of one provider, model or agent. The narrowest is named first. */
const LIMIT_KINDS = ["model", "agent", "provider", "total"] as const;
export type LimitKind = (typeof LIMIT_KINDS)[number];

/** How many tasks may be at work at once, for each limit that concerns a run. */
export type SlotLimits = { [Kind in LimitKind]?: number | undefined };

/** A run that asks for a slot, with the limits that its process has for it. */
export interface LimitedRequest extends SlotRequest {
  limits: SlotLimits;
}

/** A run that holds a slot, or waits for one, of any process. `limits` concern only those that wait. */
export interface SlotRow extends LimitedRequest {
  isHeld: boolean;
}

const nameOf = (row: SlotRequest, kind: LimitKind): string | undefined => (kind === "total" ? "" : row[kind]);

/** Counts runs by all that limits may concern. */
const createCounts = () => {
  const counts = new Map<string, number>();
  const of = (kind: LimitKind, name: string) => counts.get(`${kind} ${name}`) ?? 0;
  const addTo = (kind: LimitKind, name: string) => void counts.set(`${kind} ${name}`, of(kind, name) + 1);
  return {
    of,
    addTo,
    add: (row: SlotRequest): void => {
      for (const kind of LIMIT_KINDS) {
        const name = nameOf(row, kind);
        if (name !== undefined) addTo(kind, name);
      }
    },
  };
};

type Counts = ReturnType<typeof createCounts>;

/** Returns the narrowest limit of a run that is used up. */
const usedUp = (row: SlotRow, counts: Counts): { kind: LimitKind; name: string; limit: number } | undefined => {
  for (const kind of LIMIT_KINDS) {
    const [name, limit] = [nameOf(row, kind), row.limits[kind]];
    if (name !== undefined && limit !== undefined && counts.of(kind, name) >= limit) return { kind, name, limit };
  }
  return undefined;
};

/** Those that wait, in order: the higher priority first, then the older. Of equals, the one that asked first. */
const inOrder = (rows: readonly SlotRow[]): SlotRow[] =>
  rows.filter(({ isHeld }) => !isHeld).sort((a, b) => b.priority - a.priority || a.since - b.since);

/**
 * Returns the place of each waiting run, by task. `rows` are those of all living processes, in the order in which they
 * asked. The first that all its limits leave room for can start, then the next. One that a narrower limit holds up is
 * overtaken by those that the limit does not concern. One that can start keeps its room until its own process starts it.
 */
export const queuePlaces = (rows: readonly SlotRow[]): Map<string, QueuePlace> => {
  const held = createCounts();
  const taken = createCounts();
  const before = createCounts();
  for (const row of rows) {
    if (!row.isHeld) continue;
    held.add(row);
    taken.add(row);
  }
  const places = new Map<string, QueuePlace>();
  for (const row of inOrder(rows)) {
    const limit = usedUp(row, taken);
    if (limit) {
      const { kind, name } = limit;
      places.set(row.taskId, {
        place: before.of(kind, name) + 1,
        heldUpBy: { ...limit, used: held.of(kind, name) },
      });
      before.addTo(kind, name);
    } else {
      taken.add(row);
      before.add(row);
      places.set(row.taskId, { place: 1, heldUpBy: undefined });
    }
  }
  return places;
};

/** Returns the ids of the waiting runs that can start. */
export const startable = (rows: readonly SlotRow[]): string[] =>
  [...queuePlaces(rows)].flatMap(([taskId, { heldUpBy }]) => (heldUpBy ? [] : taskId));
