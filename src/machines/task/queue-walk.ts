// Runs that the same limits and the same provider concern form a lane: where its first run cannot start, none after it can.
// So a walk over thousands of queued runs looks at one of each lane.
import type { QueuePlace, UsedUpLimit } from "../../task.ts";
import {
  createCounts,
  inQueueOrder,
  laneOf,
  limitNameOf,
  type QueuedRun,
  type RunsAtWork,
  refusingProviders,
  usedUpLimit,
} from "./slot-queue.ts";

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
