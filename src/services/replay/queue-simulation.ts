import type { RecordedRun, Stretch } from "./recorded-runs.ts";

/** How many runs may be at work at once: all in all, and of one provider, model ("provider/model") or agent. */
export interface SlotLimits {
  default: number;
  providers: Readonly<Record<string, number>>;
  models: Readonly<Record<string, number>>;
  agents: Readonly<Record<string, number>>;
}

/** A run as it would have gone with other limits. Times are epoch milliseconds. */
export interface SimulatedRun {
  recorded: RecordedRun;
  wantedAt: number;
  startedAt: number;
  endedAt: number;
}

/** What came of all runs. */
export interface Simulation {
  /** In the order in which they started. */
  runs: SimulatedRun[];
  /** The most runs that were at work at the same moment. */
  mostAtWork: number;
}

/** A run in the simulation. */
interface Run extends SimulatedRun {
  /** The number of the stretch that it is in; -1 while it waits for a slot. */
  stretch: number;
  holdsSlot: boolean;
  hasEnded: boolean;
  /** Runs of its own tasks that end in the present stretch, as recorded, and have not ended yet. */
  awaited: Set<Run>;
  /** True once the present stretch has lasted as long as recorded. */
  isTimeUp: boolean;
}

/** What a run is counted by. */
const keysOf = ({ facts: { model, agent } }: RecordedRun): string[] => [
  "all",
  `agent ${agent}`,
  ...(model ? [`provider ${model.providerID}`, `model ${model.providerID}/${model.modelID}`] : []),
];

/** The limits by those keys. */
const limitsByKey = (limits: SlotLimits): ReadonlyMap<string, number> => {
  const named = (kind: string, of: Readonly<Record<string, number>>) =>
    Object.entries(of).map(([name, limit]) => [`${kind} ${name}`, limit] as const);
  return new Map([
    ["all", limits.default],
    ...named("provider", limits.providers),
    ...named("model", limits.models),
    ...named("agent", limits.agents),
  ]);
};

const byPriorityThenAge = (one: Run, other: Run): number =>
  other.recorded.facts.priority - one.recorded.facts.priority || one.wantedAt - other.wantedAt;

const isWithin = (at: number, { from, to }: Stretch): boolean => at > from && at <= to;

/**
 * Lets recorded runs go again with other limits. A run works as long as it did, and is launched as long after its parent's
 * stretch began as it was; a parent that waited for its own tasks waits for them again. What agents would have done
 * differently nobody can know.
 */
export const simulateQueue = (recorded: readonly RecordedRun[], limits: SlotLimits): Simulation => {
  const runs = recorded
    .filter(({ stretches }) => stretches.length > 0)
    .map(
      (run): Run => ({
        recorded: run,
        wantedAt: run.wantedAt,
        startedAt: run.wantedAt,
        endedAt: run.wantedAt,
        stretch: -1,
        holdsSlot: false,
        hasEnded: false,
        awaited: new Set(),
        isTimeUp: false,
      }),
    );
  const runsOf = Map.groupBy(runs, ({ recorded: { facts } }) => facts.sessionID);
  const launchedBy = Map.groupBy(runs, ({ recorded: { facts } }) => facts.parentTaskId ?? "");
  const limitOf = limitsByKey(limits);
  const agenda = createAgenda();
  const waiting: Run[] = [];
  const started: Run[] = [];
  /** How many runs hold a slot, by what limits count. */
  const held = new Map<string, number>();
  let mostAtWork = 0;

  const heldBy = (key: string): number => held.get(key) ?? 0;

  const setSlot = (run: Run, holdsSlot: boolean) => {
    const by = Number(holdsSlot) - Number(run.holdsSlot);
    for (const key of keysOf(run.recorded)) held.set(key, heldBy(key) + by);
    run.holdsSlot = holdsSlot;
    mostAtWork = Math.max(mostAtWork, heldBy("all"));
  };

  const ask = (run: Run, at: number) =>
    agenda.add(at, () => {
      run.wantedAt = at;
      waiting.push(run);
    });

  const stretchOf = (run: Run): Stretch | undefined => run.recorded.stretches[run.stretch];

  const enterNext = (run: Run, at: number) => {
    run.stretch += 1;
    const stretch = stretchOf(run);
    setSlot(run, stretch?.holdsSlot ?? false);
    if (!stretch) return end(run, at);
    run.isTimeUp = false;
    const own = launchedBy.get(run.recorded.facts.sessionID) ?? [];
    for (const child of own) {
      if (isWithin(child.recorded.wantedAt, stretch)) ask(child, at + child.recorded.wantedAt - stretch.from);
    }
    run.awaited = new Set(
      stretch.holdsSlot
        ? []
        : own.filter((child) => !child.hasEnded && isWithin(child.recorded.stretches.at(-1)?.to ?? 0, stretch)),
    );
    agenda.add(at + stretch.to - stretch.from, (now) => {
      run.isTimeUp = true;
      goOn(run, now);
    });
  };

  const goOn = (run: Run, at: number) => {
    if (run.isTimeUp && run.awaited.size === 0) enterNext(run, at);
  };

  const end = (run: Run, at: number) => {
    run.hasEnded = true;
    run.endedAt = at;
    for (const parent of runsOf.get(run.recorded.facts.parentTaskId ?? "") ?? []) {
      if (parent.awaited.delete(run)) goOn(parent, at);
    }
  };

  const startThoseThatMay = (at: number) => {
    for (const run of waiting.toSorted(byPriorityThenAge)) {
      const mayStart = keysOf(run.recorded).every(
        (key) => heldBy(key) < (limitOf.get(key) ?? Number.POSITIVE_INFINITY),
      );
      if (!mayStart) continue;
      waiting.splice(waiting.indexOf(run), 1);
      started.push(run);
      run.startedAt = at;
      enterNext(run, at);
    }
  };

  for (const run of runs) {
    const parents = runsOf.get(run.recorded.facts.parentTaskId ?? "") ?? [];
    const isLaunchedInside = parents.some(({ recorded: { stretches } }) =>
      stretches.some((stretch) => isWithin(run.recorded.wantedAt, stretch)),
    );
    if (!isLaunchedInside) ask(run, run.recorded.wantedAt);
  }
  for (let due = agenda.take(); due; due = agenda.take()) {
    for (const work of due.works) work(due.at);
    startThoseThatMay(due.at);
  }
  return { runs: started, mostAtWork };
};

/** Creates a list of what is to be done at which time. */
const createAgenda = () => {
  const works = new Map<number, ((at: number) => void)[]>();
  /** The times, the latest first, so that the next one is taken from the end. */
  const times: number[] = [];
  const placeOf = (at: number): number => {
    let [low, high] = [0, times.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((times[middle] ?? 0) > at) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {
    add: (at: number, work: (at: number) => void) => {
      const there = works.get(at);
      if (there) return void there.push(work);
      works.set(at, [work]);
      times.splice(placeOf(at), 0, at);
    },
    /** Takes all that is due at the next time; undefined when nothing is left. */
    take: () => {
      const at = times.pop();
      if (at === undefined) return undefined;
      const due = works.get(at) ?? [];
      works.delete(at);
      return { at, works: due };
    },
  };
};
