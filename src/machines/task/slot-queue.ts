import type { QueuePlace, UsedUpLimit } from "../../task.ts";
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
const limitNameOf = (run: Named, kind: LimitKind): string | undefined => (kind === "total" ? "" : run[kind]);

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
const refusingProviders = (atWork: readonly RunsAtWork[], now: number): ReadonlyMap<string, number> => {
  const until = new Map<string, number>();
  for (const { provider, retriesAt } of atWork) {
    if (provider === undefined || retriesAt === undefined || retriesAt + GOES_AHEAD_MS <= now) continue;
    until.set(provider, Math.max(retriesAt, until.get(provider) ?? 0));
  }
  return until;
};

// Runs that the same limits and the same provider concern form a lane: where its first run cannot start, none after it can.
// So a walk over thousands of queued runs looks at one of each lane.

/** The waiting runs of one owner that the same limits concern, see `laneOf`, in the order of the queue. */
export interface Lane {
  first: QueuedRun;
  /** Returns the next run of the lane. */
  after(run: QueuedRun): QueuedRun | undefined;
  /** Counts the runs of the lane that are ahead of a run, which may be of another lane. */
  ahead(run: QueuedRun): number;
}

/** Sorts runs of one owner into lanes. */
export const lanesOf = (runs: readonly QueuedRun[]): Lane[] =>
  [...Map.groupBy(runs, laneOf).values()].flatMap((unordered) => {
    const lane = unordered.toSorted((one, other) => (isBefore(one, other) ? -1 : 1));
    const [first] = lane;
    const ahead = (run: QueuedRun) => lane.filter((each) => isBefore(each, run)).length;
    return first ? [{ first, after: (run) => lane[ahead(run) + 1], ahead }] : [];
  });

/** Which runs start next, and the places of all others. */
export interface QueueWalk {
  /** The runs that can start, in the order of the queue. */
  starting: readonly QueuedRun[];
  /**
   * Returns the place of a run of this lane: it counts the runs ahead of it that wait for the same limit, or for the same
   * provider, and those ahead of it that can start and that this limit counts.
   */
  placeOf(run: QueuedRun, lane: Lane): QueuePlace;
}

/** What keeps the runs of a lane waiting: its provider, or a limit. */
type Obstacle = Extract<NonNullable<QueuePlace["heldUpBy"]>, { kind: "rateLimit" }> | Omit<UsedUpLimit, "used">;

/** The runs of a lane from one on, up to the next section of that lane, wait for the same. */
interface Section {
  lane: Lane;
  from: QueuedRun;
  obstacle: Obstacle;
}

const isSame = (one: Obstacle, other: Obstacle): boolean => one.kind === other.kind && one.name === other.name;

const isBefore = (one: QueuedRun, other: QueuedRun): boolean => (inQueueOrder(one, other) || one.seq - other.seq) < 0;

/**
 * Walks the queue as far as runs can start. The first that all its limits leave room for can start, then the next. One that
 * a narrower limit holds up is overtaken by those that the limit does not concern. One that can start keeps its room until its
 * own process starts it. While a provider refuses a run at work, none starts on it: it would only be refused, too. Once the
 * host asks it again, that run goes ahead, and the others follow when it is answered.
 *
 * Takes a step for each run that can start, and one for each lane: how many wait in a lane does not matter.
 * @param atWork the runs of all living processes that hold a slot
 * @param lanes the lanes of all processes that can start their runs, in any order
 * @param now epoch milliseconds
 */
export const walkQueue = (atWork: readonly RunsAtWork[], lanes: readonly Lane[], now: number): QueueWalk => {
  const refusing = refusingProviders(atWork, now);
  /** Those at work. */
  const held = createCounts();
  /** Those at work, and those ahead in the queue that can start. */
  const taken = createCounts();
  for (const runs of atWork) {
    held.add(runs, runs.runs);
    taken.add(runs, runs.runs);
  }
  const starting: QueuedRun[] = [];
  /** Those of each lane follow each other as its runs do. */
  const sections: Section[] = [];

  const obstacleOf = (run: QueuedRun): Obstacle | undefined => {
    const { provider = "" } = run;
    const until = run.goesOn ? undefined : refusing.get(provider);
    if (until === undefined) return usedUpLimit(run, taken);
    return { kind: "rateLimit", name: provider, until: new Date(until).toISOString() };
  };

  /** One that starts may use up a narrower limit of lanes that wait already: those behind it wait for that. */
  const narrow = (started: QueuedRun) => {
    for (const { lane, obstacle } of new Map(sections.map((section) => [section.lane, section])).values()) {
      const narrower = obstacleOf(lane.first);
      if (narrower && !isSame(narrower, obstacle)) sections.push({ lane, from: started, obstacle: narrower });
    }
  };

  const open = new Map(lanes.map((lane) => [lane, lane.first]));
  for (;;) {
    let next: [Lane, QueuedRun] | undefined;
    for (const each of open) if (!next || isBefore(each[1], next[1])) next = each;
    if (!next) break;
    const [lane, run] = next;
    const obstacle = obstacleOf(run);
    if (obstacle) {
      sections.push({ lane, from: run, obstacle });
      open.delete(lane);
      continue;
    }
    starting.push(run);
    taken.add(run);
    narrow(run);
    const following = lane.after(run);
    if (following) open.set(lane, following);
    else open.delete(lane);
  }

  const ids = new Set(starting.map(({ taskId }) => taskId));

  /** How many runs of a section are ahead of a run. */
  const aheadIn = ({ lane, from }: Section, index: number, run: QueuedRun): number => {
    const next = sections.find((other, at) => at > index && other.lane === lane)?.from;
    const until = next && isBefore(next, run) ? next : run;
    if (!isBefore(from, until)) return 0;
    return lane.ahead(until) - (from === lane.first ? 0 : lane.ahead(from));
  };

  return {
    starting,
    placeOf: (run, lane) => {
      const section = sections.findLast((each) => each.lane === lane && !isBefore(run, each.from));
      if (!section || ids.has(run.taskId)) return { place: 1, heldUpBy: undefined };
      const { obstacle } = section;
      let place = 1;
      for (const [index, each] of sections.entries()) {
        if (isSame(each.obstacle, obstacle)) place += aheadIn(each, index, run);
      }
      if (obstacle.kind === "rateLimit") return { place, heldUpBy: obstacle };
      const { kind, name } = obstacle;
      for (const each of starting) if (isBefore(each, run) && limitNameOf(each, kind) === name) place += 1;
      return { place, heldUpBy: { ...obstacle, used: held.of(kind, name) } };
    },
  };
};
