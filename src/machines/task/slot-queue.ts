import type { UsedUpLimit } from "../../task.ts";
import type { SlotRequest } from "./events.ts";

/** What a limit counts: all tasks, or those of one provider, model or agent. The narrowest is named first. */
const LIMIT_KINDS = ["model", "agent", "provider", "total"] as const;
type LimitKind = (typeof LIMIT_KINDS)[number];

/** How many tasks may be at work at once, for each limit that concerns a run. */
export type SlotLimits = { [Kind in LimitKind]?: number | undefined };

/** How many tasks may be at work at once. All limits that concern a task apply. */
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

/** A run that waits for a slot, of any process. */
export interface QueuedRun extends LimitedRequest {
  /** The order in which runs asked. */
  seq: number;
}

/** Runs that hold slots, of any process, and have agent, provider and model in common. */
export interface RunsAtWork extends Named {
  runs: number;
  /**
   * When the host asks the provider again that refuses one of them, the latest time, epoch milliseconds; undefined unless it
   * refuses one, and has not answered it since.
   */
  retriesAt?: number | undefined;
}

/** What limits and providers concern a run by. */
type Named = Pick<SlotRequest, "provider" | "model" | "agent">;

/** What a limit of that kind knows a run by: two runs of the same name count against each other. */
export const limitNameOf = (run: Named, kind: LimitKind): string | undefined => (kind === "total" ? "" : run[kind]);

/**
 * Names the lane of a run. Runs of one lane are held up by the same limits and the same provider, so that where one cannot
 * start none behind it in the lane can.
 */
export const laneOf = (request: LimitedRequest): string =>
  JSON.stringify([
    request.provider ?? null,
    request.goesOn,
    ...LIMIT_KINDS.map((kind) => {
      const [name, limit] = [limitNameOf(request, kind), request.limits[kind]];
      return name === undefined || limit === undefined ? null : [name, limit];
    }),
  ]);

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
  const changeAll = (run: Named, by: number) => {
    for (const kind of LIMIT_KINDS) {
      const name = limitNameOf(run, kind);
      if (name !== undefined) change(kind, name, by);
    }
  };
  return {
    of,
    add: (run: Named, runs = 1): void => changeAll(run, runs),
    remove: (run: Named): void => changeAll(run, -1),
  };
};

/** How many runs there are of each that a limit may concern. */
export type Counts = ReturnType<typeof createCounts>;

/** Returns the narrowest limit of a run that is used up; undefined where it can start. */
export const usedUpLimit = (request: LimitedRequest, counts: Counts): Omit<UsedUpLimit, "used"> | undefined => {
  for (const kind of LIMIT_KINDS) {
    const limit = request.limits[kind];
    if (limit === undefined) continue;
    const name = limitNameOf(request, kind);
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
export const refusingProviders = (atWork: readonly RunsAtWork[], now: number): ReadonlyMap<string, number> => {
  const until = new Map<string, number>();
  for (const { provider, retriesAt } of atWork) {
    if (provider === undefined || retriesAt === undefined || retriesAt + GOES_AHEAD_MS <= now) continue;
    until.set(provider, Math.max(retriesAt, until.get(provider) ?? 0));
  }
  return until;
};
