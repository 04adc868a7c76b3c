import { initialTransition } from "xstate";
import type { RunResult, TaskEvent } from "../../machines/task/events.ts";
import { type TaskSnapshot, taskMachine } from "../../machines/task/machine.ts";
import { type Journal, transitionsOf } from "../../machines/task/replay.ts";
import { isStoppedForPause, slotOf, slotRequestOf } from "../../machines/task/slot.ts";
import {
  type Concurrency,
  createCounts,
  inQueueOrder,
  type LimitedRequest,
  limitsFor,
  usedUpLimit,
} from "../../machines/task/slot-queue.ts";
import type { TaskFacts } from "../../task.ts";

/** A stretch of time in which a run held a slot, or needed none: it waited for a person or for tasks of its own, or was paused. */
interface Stretch {
  /** Epoch milliseconds. */
  from: number;
  to: number;
  holdsSlot: boolean;
  /** After it, the run asks for a slot anew. */
  isPaused: boolean;
}

/** A run as its journal has it. */
export interface RecordedRun {
  facts: TaskFacts;
  /** 0 is the launch, n the n-th resume or retry. */
  index: number;
  /** When it began, epoch milliseconds: those that began earlier come first in the queue. */
  begunAt: number;
  /** When it asked for its first slot, epoch milliseconds: as it began, or when it continued, where it was paused before that. */
  wantedAt: number;
  /**
   * From its first slot to its end, without what it waited for a slot again: for that of another model, or after a pause. Empty for
   * a run that ended in the queue.
   */
  stretches: Stretch[];
  /** Undefined for a run that is still under way: then the stretches reach up to its newest event. */
  outcome: RunResult["outcome"] | undefined;
}

/** A silence of a child that was noticed. */
export interface RecordedSilence {
  facts: TaskFacts;
  /** When it was noticed, epoch milliseconds: by then it had lasted for as long as the option said. */
  noticedAt: number;
  /** When the child was heard of again, or its run ended; undefined where the journal ends before. */
  endedAt: number | undefined;
  /** True when the child was at work all the time: it was heard of again, or its run completed. */
  wasAlive: boolean;
}

/** What a journal says of slots and silences. */
interface Recorded {
  runs: RecordedRun[];
  silences: RecordedSilence[];
}

const outcomeOf = (snapshot: TaskSnapshot): RecordedRun["outcome"] => snapshot.context.lastRunResult?.outcome;

/** Reads a journal by taking its chart through it; undefined where the journal does not start at the launch. */
export const recordedIn = ({ origin, events }: Journal): Recorded | undefined => {
  if (!origin) return undefined;
  const { facts } = origin;
  const [begin] = initialTransition(taskMachine, origin);
  const runs: RecordedRun[] = [];
  const silences: RecordedSilence[] = [];
  let run = beginRun(begin.context.run.index, begin.context.run.startedAt);
  let since = run.wantedAt;

  function beginRun(index: number, wantedAt: number): RecordedRun {
    const begun: RecordedRun = { facts, index, begunAt: wantedAt, wantedAt, stretches: [], outcome: undefined };
    runs.push(begun);
    return begun;
  }

  const addStretch = (before: TaskSnapshot, to: number) => {
    const slot = slotOf(before);
    if (before.value.run === "idle" || slot === "waiting") return;
    const isPaused = isStoppedForPause(before);
    const last = run.stretches.at(-1);
    if (isPaused && !last) {
      run.wantedAt = to;
      return;
    }
    const holdsSlot = slot === "held";
    if (last?.holdsSlot === holdsSlot && last.isPaused === isPaused && last.to === since) last.to = to;
    else run.stretches.push({ from: since, to, holdsSlot, isPaused });
  };

  const noteSilence = (event: TaskEvent, before: TaskSnapshot, after: TaskSnapshot) => {
    if (after.value.attention === "stale" && before.value.attention !== "stale") {
      silences.push({ facts, noticedAt: event.at, endedAt: undefined, wasAlive: false });
    }
    const silence = silences.at(-1);
    if (!silence || before.value.attention !== "stale" || after.value.attention === "stale") return;
    silence.endedAt = event.at;
    silence.wasAlive =
      event.type === "ACTIVITY_SEEN" || event.type === "REQUEST_ASKED" || after.value.lifecycle === "completed";
  };

  for (const { event, before, after } of transitionsOf(origin, events)) {
    if (after === before) continue;
    addStretch(before, event.at);
    since = event.at;
    noteSilence(event, before, after);
    if (after.context.run.index !== before.context.run.index) run = beginRun(after.context.run.index, event.at);
    else if (after.value.run === "idle" && before.value.run !== "idle") run.outcome = outcomeOf(after);
  }
  return { runs, silences };
};

/** A run as it would have gone with other limits. Times are epoch milliseconds. */
export interface SimulatedRun {
  recorded: RecordedRun;
  wantedAt: number;
  startedAt: number;
  endedAt: number;
}

/** What came of all runs. */
interface Simulation {
  /** In the order in which they started. */
  runs: SimulatedRun[];
  /** The most runs that were at work at the same moment. */
  mostAtWork: number;
}

/** A run in the simulation. */
interface Run extends SimulatedRun {
  request: LimitedRequest;
  /** The number of the stretch that it is in; -1 while it waits for a slot. */
  stretch: number;
  holdsSlot: boolean;
  hasEnded: boolean;
  /** Runs of its own tasks that end in the present stretch, as recorded, and have not ended yet. */
  awaited: Set<Run>;
  /** True once the present stretch has lasted as long as recorded. */
  isTimeUp: boolean;
}

const requestOf = (recorded: RecordedRun, wantedAt: number, concurrency: Concurrency): LimitedRequest => {
  const { facts, begunAt } = recorded;
  const request = slotRequestOf({ facts, run: { startedAt: begunAt + wantedAt - recorded.wantedAt } });
  return { ...request, limits: limitsFor(request, concurrency) };
};

const isWithin = (at: number, { from, to }: Stretch): boolean => at > from && at <= to;

/**
 * Lets recorded runs go again with other limits. A run works as long as it did, and is launched as long after its parent's
 * stretch began as it was; a parent that waited for its own tasks waits for them again. What agents would have done
 * differently nobody can know.
 */
export const simulateQueue = (recorded: readonly RecordedRun[], concurrency: Concurrency): Simulation => {
  const runs = recorded
    .filter(({ stretches }) => stretches.length > 0)
    .map(
      (run): Run => ({
        recorded: run,
        request: requestOf(run, run.wantedAt, concurrency),
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
  const agenda = createAgenda();
  /** In the order of the queue. */
  let waiting: Run[] = [];
  const held = createCounts();
  const started: Run[] = [];
  let mostAtWork = 0;

  const setSlot = (run: Run, holdsSlot: boolean) => {
    if (holdsSlot === run.holdsSlot) return;
    if (holdsSlot) held.add(run.request);
    else held.remove(run.request);
    run.holdsSlot = holdsSlot;
    mostAtWork = Math.max(mostAtWork, held.of("total", ""));
  };

  const queue = (run: Run) => {
    waiting.push(run);
    waiting.sort((one, other) => inQueueOrder(one.request, other.request));
  };

  const ask = (run: Run, at: number) =>
    agenda.add(at, () => {
      run.wantedAt = at;
      run.request = requestOf(run.recorded, at, concurrency);
      queue(run);
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
      stretch.holdsSlot || stretch.isPaused
        ? []
        : own.filter((child) => !child.hasEnded && isWithin(child.recorded.stretches.at(-1)?.to ?? 0, stretch)),
    );
    agenda.add(at + stretch.to - stretch.from, (now) => {
      run.isTimeUp = true;
      goOn(run, now);
    });
  };

  const goOn = (run: Run, at: number) => {
    if (!run.isTimeUp || run.awaited.size > 0) return;
    if (stretchOf(run)?.isPaused) queue(run);
    else enterNext(run, at);
  };

  const end = (run: Run, at: number) => {
    run.hasEnded = true;
    run.endedAt = at;
    for (const parent of runsOf.get(run.recorded.facts.parentTaskId ?? "") ?? []) {
      if (parent.awaited.delete(run)) goOn(parent, at);
    }
  };

  const startThoseThatMay = (at: number) => {
    waiting = waiting.filter((run) => {
      if (usedUpLimit(run.request, held)) return true;
      if (run.stretch === -1) {
        started.push(run);
        run.startedAt = at;
      }
      enterNext(run, at);
      return false;
    });
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
