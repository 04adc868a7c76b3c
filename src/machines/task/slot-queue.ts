import type { QueuePlace, UsedUpLimit } from "../../task.ts";
import type { SlotRequest } from "./events.ts";

/** What a limit counts: all tasks, or those of one provider, model or agent. The narrowest is named first. */
const LIMIT_KINDS = ["model", "agent", "provider", "total"] as const;
export type LimitKind = (typeof LIMIT_KINDS)[number];

/** How many tasks may be at work at once, for each limit that concerns a run. */
export type SlotLimits = { [Kind in LimitKind]?: number | undefined };

/** How many tasks may be at work at once. All limits that concern a task hold. */
export interface Concurrency {
  /** Of all tasks. */
  default: number;
  /** By the name of a provider. */
  providers: Readonly<Record<string, number>>;
  /** By "provider/model". */
  models: Readonly<Record<string, number>>;
  /** By the name of an agent. */
  agents: Readonly<Record<string, number>>;
}

const ownEntry = (record: Readonly<Record<string, number>>, name: string | undefined): number | undefined =>
  name !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;

/** Returns the limits that concern a run. */
export const limitsFor = (
  { provider, model, agent }: Pick<SlotRequest, "provider" | "model" | "agent">,
  { default: total, providers, models, agents }: Concurrency,
): SlotLimits => ({
  total,
  provider: ownEntry(providers, provider),
  model: ownEntry(models, model),
  agent: ownEntry(agents, agent),
});

/** A run that asks for a slot, with the limits that its process has for it. */
export interface LimitedRequest extends SlotRequest {
  limits: SlotLimits;
}

/** A run that holds a slot, or waits for one, of any process. `limits` concern only those that wait. */
export interface SlotRow extends LimitedRequest {
  isHeld: boolean;
  /** When the host asks its provider again, epoch milliseconds; undefined unless the provider refused, and has not answered since. */
  retriesAt?: number | undefined;
}

/** Leaves out the slots of runs that ask for one anew, to go on with another model: they give up those that they have. */
export const withoutGivenUp = (rows: readonly SlotRow[], requests: readonly LimitedRequest[]): SlotRow[] => {
  const leaving = new Set(requests.flatMap(({ taskId, goesOn }) => (goesOn ? taskId : [])));
  return rows.filter(({ taskId, isHeld }) => !(isHeld && leaving.has(taskId)));
};

const nameOf = (request: SlotRequest, kind: LimitKind): string | undefined => (kind === "total" ? "" : request[kind]);

/** Counts runs by all that limits may concern. */
export const createCounts = () => {
  const counts: Record<LimitKind, Map<string, number>> = {
    model: new Map(),
    agent: new Map(),
    provider: new Map(),
    total: new Map(),
  };
  const of = (kind: LimitKind, name: string): number => counts[kind].get(name) ?? 0;
  const change = (kind: LimitKind, name: string, by: number) => void counts[kind].set(name, of(kind, name) + by);
  const changeAll = (request: SlotRequest, by: number) => {
    for (const kind of LIMIT_KINDS) {
      const name = nameOf(request, kind);
      if (name !== undefined) change(kind, name, by);
    }
  };
  return {
    of,
    addTo: (kind: LimitKind, name: string): void => change(kind, name, 1),
    add: (request: SlotRequest): void => changeAll(request, 1),
    remove: (request: SlotRequest): void => changeAll(request, -1),
  };
};

/** How many runs there are of each that a limit may concern. */
export type Counts = ReturnType<typeof createCounts>;

/** Returns the narrowest limit of a run that is used up; undefined where it can start. */
export const usedUpLimit = (request: LimitedRequest, counts: Counts): Omit<UsedUpLimit, "used"> | undefined => {
  for (const kind of LIMIT_KINDS) {
    const limit = request.limits[kind];
    if (limit === undefined) continue;
    const name = nameOf(request, kind);
    if (name !== undefined && counts.of(kind, name) >= limit) return { kind, name, limit };
  }
  return undefined;
};

/** The order of the queue: the higher priority first, then the older. Of equals, the one that asked first stays first. */
export const inQueueOrder = (one: SlotRequest, other: SlotRequest): number =>
  other.priority - one.priority || one.since - other.since;

/**
 * Milliseconds for which a run whose provider is asked again goes ahead of all that wait for that provider, unless it is
 * answered sooner: as long as OpenCode itself pauses after a first refusal (2 s and up to a quarter more), rounded up. One
 * that is refused again is known to be by then, for a refusal needs no model.
 */
export const GOES_AHEAD_MS = 3_000;

/** Returns the providers that refuse a run at work, and when the host asks them again, epoch milliseconds. */
const refusingProviders = (rows: readonly SlotRow[], now: number): ReadonlyMap<string, number> => {
  const until = new Map<string, number>();
  for (const { provider, isHeld, retriesAt } of rows) {
    if (provider === undefined || !isHeld || retriesAt === undefined || retriesAt + GOES_AHEAD_MS <= now) continue;
    until.set(provider, Math.max(retriesAt, until.get(provider) ?? 0));
  }
  return until;
};

/**
 * Returns the place of each waiting run, by task. `rows` are those of all living processes, in the order in which they
 * asked. The first that all its limits leave room for can start, then the next. One that a narrower limit holds up is
 * overtaken by those that the limit does not concern. One that can start keeps its room until its own process starts it.
 * While a provider refuses a run at work, none starts on it: it would only be refused, too. Once the host asks it again,
 * that run goes ahead, and the others follow when it is answered. `now` is epoch milliseconds.
 */
export const queuePlaces = (rows: readonly SlotRow[], now: number): Map<string, QueuePlace> => {
  const refusing = refusingProviders(rows, now);
  /** How many wait for each of them. */
  const refused = new Map<string, number>();
  /** Those at work. */
  const held = createCounts();
  /** Those at work, and those ahead in the queue that can start. */
  const taken = createCounts();
  /** Those ahead in the queue, under the limit that keeps them waiting; one that can start, under each of its limits. */
  const before = createCounts();
  for (const row of rows) {
    if (!row.isHeld) continue;
    held.add(row);
    taken.add(row);
  }
  const places = new Map<string, QueuePlace>();
  for (const row of rows.filter(({ isHeld }) => !isHeld).sort(inQueueOrder)) {
    const { provider = "" } = row;
    const until = row.goesOn ? undefined : refusing.get(provider);
    const limit = usedUpLimit(row, taken);
    if (until !== undefined) {
      const place = (refused.get(provider) ?? 0) + 1;
      refused.set(provider, place);
      const heldUpBy = { kind: "rateLimit", name: provider, until: new Date(until).toISOString() } as const;
      places.set(row.taskId, { place, heldUpBy });
    } else if (limit) {
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
export const startable = (rows: readonly SlotRow[], now: number): string[] =>
  [...queuePlaces(rows, now)].flatMap(([taskId, { heldUpBy }]) => (heldUpBy ? [] : taskId));
