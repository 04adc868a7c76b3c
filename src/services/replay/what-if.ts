// Nobody knows what agents would have done with other limits. So only what the journals say of each run goes again: when it
// held a slot, waited, or needed none.
import type { Journal } from "../../machines/task/replay.ts";
import type { Concurrency } from "../../machines/task/slot-queue.ts";
import type { BudgetedUsage, Progress, TaskFacts } from "../../task.ts";
import {
  type RecordedRun,
  type RecordedSilence,
  recordedIn,
  type SimulatedRun,
  simulateQueue,
} from "./queue-simulation.ts";

/** What a task may use, its descendants included; what is left out is not limited. */
type Budget = { [Kind in keyof BudgetedUsage]?: BudgetedUsage[Kind] | undefined };

/** The limits to try; what is left out is not looked at. */
export interface TriedLimits {
  slots?: Concurrency | undefined;
  budget?: Budget | undefined;
  /** Milliseconds of silence after which a task is stale. */
  stale?: number | undefined;
}

/** A task as it is stored. */
export interface JournaledTask {
  journal: Journal;
  progress: Progress;
}

/** A run that would have waited for a slot. */
interface DelayedRun {
  facts: TaskFacts;
  index: number;
  /** Milliseconds. */
  waited: number;
}

/** A task that would have been stopped. */
interface StoppedTask {
  facts: TaskFacts;
  /** The first of its limits that it exceeds. */
  limit: keyof Budget;
  used: BudgetedUsage;
  /** What it used beyond that limit, and the same share of the rest. */
  saved: BudgetedUsage;
}

/** The queue that other limits would have made. */
interface SimulatedQueue {
  mostAtWork: number;
  /** Those that waited longest first. */
  queued: DelayedRun[];
  /** Milliseconds by which the last run would have ended later. */
  later: number;
}

/** What would have come of the tasks with other limits. */
export interface WhatIf {
  tasks: number;
  /** Tasks whose journals do not start at their launch: they are left out. */
  unreadable: number;
  runs: number;
  /** As recorded. */
  mostAtWork: number;
  queue?: SimulatedQueue;
  stopped?: StoppedTask[];
  /** Silences that would have been called stale. */
  silences?: RecordedSilence[];
}

const NO_LIMITS: Concurrency = { default: Number.POSITIVE_INFINITY, providers: {}, models: {}, agents: {} };

const NOTHING: BudgetedUsage = { toolCalls: 0, tokens: 0, cost: 0 };

const KINDS = ["cost", "tokens", "toolCalls"] as const;

const sum = (one: BudgetedUsage, other: BudgetedUsage): BudgetedUsage => ({
  toolCalls: one.toolCalls + other.toolCalls,
  tokens: one.tokens + other.tokens,
  cost: one.cost + other.cost,
});

const lastEnd = (runs: readonly SimulatedRun[]): number => Math.max(...runs.map(({ endedAt }) => endedAt));

const queueOf = (runs: RecordedRun[], limits: Concurrency): SimulatedQueue => {
  const [before, after] = [simulateQueue(runs, NO_LIMITS), simulateQueue(runs, limits)];
  const queued = after.runs.flatMap(({ recorded: { facts, index }, startedAt, wantedAt }) =>
    startedAt > wantedAt ? [{ facts, index, waited: startedAt - wantedAt }] : [],
  );
  return {
    mostAtWork: after.mostAtWork,
    queued: queued.toSorted((one, other) => other.waited - one.waited),
    later: after.runs.length === 0 ? 0 : Math.max(0, lastEnd(after.runs) - lastEnd(before.runs)),
  };
};

/** Returns the tasks that go beyond their budget, and not those that would have been stopped with an ancestor. */
const stoppedBy = (budget: Budget, tasks: (JournaledTask & { facts: TaskFacts })[]): StoppedTask[] => {
  const ownTasks = Map.groupBy(tasks, ({ facts }) => facts.parentTaskId ?? "");
  const usedBy = ({ facts, progress }: (typeof tasks)[number]): BudgetedUsage => {
    const own = ownTasks.get(facts.sessionID) ?? [];
    return own.map(usedBy).reduce(sum, sum(NOTHING, progress));
  };
  const look = (task: (typeof tasks)[number]): StoppedTask[] => {
    const used = usedBy(task);
    const limit = KINDS.find((kind) => used[kind] > (budget[kind] ?? Number.POSITIVE_INFINITY));
    if (limit === undefined) return (ownTasks.get(task.facts.sessionID) ?? []).flatMap(look);
    const share = 1 - (budget[limit] ?? 0) / used[limit];
    const saved = { toolCalls: used.toolCalls * share, tokens: used.tokens * share, cost: used.cost * share };
    return [{ facts: task.facts, limit, used, saved }];
  };
  const known = new Set(tasks.map(({ facts }) => facts.sessionID));
  return tasks.filter(({ facts }) => !known.has(facts.parentTaskId ?? "")).flatMap(look);
};

/**
 * Takes stored journals through the charts, and says what other limits would have done with these tasks.
 * @param recordedStale milliseconds of silence after which a task was stale when the journals were written: shorter silences
 * were not recorded
 */
export const whatIf = (stored: readonly JournaledTask[], limits: TriedLimits, recordedStale: number): WhatIf => {
  const read = stored.flatMap((task) => {
    const recorded = recordedIn(task.journal);
    return recorded ? { ...task, ...recorded, facts: task.journal.snapshot.context.facts } : [];
  });
  const runs = read.flatMap((task) => task.runs);
  const { slots, budget, stale } = limits;
  const isCalledStale = ({ noticedAt, endedAt }: RecordedSilence): boolean =>
    stale !== undefined && (endedAt === undefined || endedAt - noticedAt + recordedStale >= stale);
  return {
    tasks: read.length,
    unreadable: stored.length - read.length,
    runs: runs.length,
    mostAtWork: simulateQueue(runs, NO_LIMITS).mostAtWork,
    ...(slots && { queue: queueOf(runs, slots) }),
    ...(budget && { stopped: stoppedBy(budget, read) }),
    ...(stale !== undefined && { silences: read.flatMap(({ silences }) => silences).filter(isCalledStale) }),
  };
};
