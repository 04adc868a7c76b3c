/** @module-tag nightly */
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { Concurrency } from "../../src/machines/task/slot-queue.ts";
import {
  type RecordedRun,
  recordedIn,
  type SimulatedRun,
  simulateQueue,
} from "../../src/services/replay/queue-simulation.ts";
import { type JournaledTask, whatIf } from "../../src/services/replay/what-if.ts";
import { seed } from "../seed.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import { runSchedule } from "./chaos.ts";
import { schedulesOfOne } from "./drawn-schedules.ts";
import { USUAL_LIMITS } from "./limits.ts";
import type { Schedule } from "./schedule.ts";
import type { Simulation } from "./simulation.ts";
import type { Step } from "./steps.ts";

/*
 * What `whatif` says is compared with what happened, and with what must always be so: the journals are those of random
 * schedules.
 */

/** What a schedule left in the store. */
interface Played {
  schedule: Schedule;
  tasks: JournaledTask[];
  runs: RecordedRun[];
}

/**
 * The steps after which journals do not say all: the process was away, tasks were removed with what they had used, or a
 * provider refused, which holds up others than the task whose journal has it.
 */
const DISTURBING: ReadonlySet<Step["do"]> = new Set([
  ...(["crash", "dieSoon", "close", "quit", "pause"] as const),
  ...(["clear", "clearAll", "deleteChild", "deleteParent"] as const),
  ...(["refuseForNow", "refuseModel"] as const),
]);

/** True where a run worked for less than a millisecond at a time: journals do not say what else came first in it. */
const isInstant = ({ stretches }: RecordedRun): boolean => stretches.some(({ from, to }) => from === to);

/** True where two asked for a slot in the same millisecond, one of them to come first. */
const mayBeSwapped = (runs: RecordedRun[]): boolean =>
  runs.some((one) =>
    runs.some((other) => one.wantedAt === other.wantedAt && one.facts.priority !== other.facts.priority),
  );

/** True where a run took its slot again, above the limit, in the millisecond in which another one started. */
const mayBeFirst = (runs: RecordedRun[]): boolean =>
  runs.some(({ stretches: [, ...later] }) =>
    later.some(({ from, holdsSlot }) => holdsSlot && runs.some(({ stretches: [first] }) => first?.from === from)),
  );

const isKnown = ({ schedule, runs }: Played): boolean =>
  schedule.steps.every((step) => !DISTURBING.has(step.do)) &&
  !runs.some(isInstant) &&
  !mayBeSwapped(runs) &&
  !mayBeFirst(runs);

const storedIn = ({ stage: { store }, storage }: Simulation): JournaledTask[] =>
  wholeTasks(store).flatMap(({ sessionID: taskId, progress }) => {
    const snapshot = store.get(taskId)?.snapshot;
    const origin = storage.origin(taskId);
    return snapshot && origin ? { journal: { taskId, origin, events: store.journal(taskId), snapshot }, progress } : [];
  });

const play = async (schedule: Schedule): Promise<Played> => {
  let tasks: JournaledTask[] = [];
  const { faults } = await runSchedule(schedule, {
    check: (world) => {
      tasks = storedIn(world);
    },
  });
  expect(faults).toEqual([]);
  return { schedule, tasks, runs: tasks.flatMap(({ journal }) => recordedIn(journal)?.runs ?? []) };
};

const SLOTS = [1, 2, 3, 10];
const SCHEDULES = 75;
/** The number of schedules whose steps become one. */
const TOGETHER = 3;

const played: Played[] = [];

/** Steps of which journals say what came first: of what happens within one millisecond they do not. */
const calm = (steps: Step[]): Step[] =>
  steps
    .filter((step) => !DISTURBING.has(step.do) && step.do !== "behave" && step.do !== "behaveChildren")
    .flatMap((step) => [step, { do: "time", ms: 60 }]);

/** Schedules in which more happens than in those that are made: the steps of several; in most, only calm ones. */
const longer = (made: Schedule[]): Schedule[] =>
  Array.from({ length: Math.floor(made.length / TOGETHER) }, (_, index) => {
    const steps = made.slice(index * TOGETHER, (index + 1) * TOGETHER).flatMap((schedule) => schedule.steps);
    return {
      store: "memory",
      recovery: "continue",
      slots: SLOTS[index % SLOTS.length] ?? 1,
      steps: Math.floor(index / SLOTS.length) % 3 === 0 ? steps : calm(steps),
    };
  });

beforeAll(async () => {
  for (const schedule of longer(fc.sample(schedulesOfOne, { seed, numRuns: SCHEDULES * TOGETHER }))) {
    played.push(await play(schedule));
  }
});

const atMost = (limit: number): Concurrency => ({ default: limit, providers: {}, models: {}, agents: {} });

const nameOf = ({ facts, index }: Pick<RecordedRun, "facts" | "index">): string => `${facts.sessionID}/${index}`;

/** Milliseconds for which runs waited for a slot, as recorded. */
const recordedWaits = (runs: RecordedRun[]): Record<string, number> =>
  Object.fromEntries(
    runs.flatMap((run) => {
      const waited = (run.stretches[0]?.from ?? run.wantedAt) - run.wantedAt;
      return waited > 0 ? [[nameOf(run), waited]] : [];
    }),
  );

test("with the limit that they had, runs would have waited as they did", () => {
  const known = played.filter(isKnown);
  for (const { tasks, runs, schedule } of known) {
    const queued = whatIf(tasks, { slots: atMost(schedule.slots) }, 0).queue?.queued ?? [];
    expect(Object.fromEntries(queued.map((run) => [nameOf(run), run.waited]))).toEqual(recordedWaits(runs));
  }
  expect(known.flatMap(({ runs }) => Object.keys(recordedWaits(runs))).length).toBeGreaterThan(20);
});

describe("with any lower limit", () => {
  const simulations = () =>
    played.flatMap(({ runs, schedule: { slots } }) =>
      [1, 2, 3]
        .filter((limit) => limit <= slots)
        .map((limit) => ({ limit, runs, simulated: simulateQueue(runs, atMost(limit)).runs })),
    );

  test("every run starts and ends: none waits for ever, and none is shorter than it was", () => {
    for (const { runs, simulated } of simulations()) {
      expect(simulated.map(({ recorded }) => nameOf(recorded)).sort()).toEqual(
        runs
          .filter(({ stretches }) => stretches.length > 0)
          .map(nameOf)
          .sort(),
      );
      for (const { recorded, wantedAt, startedAt, endedAt } of simulated) {
        // What it waited for another model's slot is between two stretches.
        const took = recorded.stretches.reduce((sum, { from, to }) => sum + to - from, 0);
        expect(startedAt).toBeGreaterThanOrEqual(wantedAt);
        expect(endedAt - startedAt).toBeGreaterThanOrEqual(took);
      }
    }
  });

  /** A run that holds its slot from its start to its end: others give it up while they wait for somebody. */
  const isPlain = ({ recorded: { stretches } }: SimulatedRun): boolean =>
    stretches.length === 1 && stretches[0]?.holdsSlot === true;

  test("never more are at work than it allows", () => {
    let fullest = 0;
    for (const { limit, simulated } of simulations()) {
      const plain = simulated.filter(isPlain);
      for (const { startedAt: at } of plain) {
        const atWork = plain.filter(({ startedAt, endedAt }) => startedAt <= at && endedAt > at).length;
        expect(atWork).toBeLessThanOrEqual(limit);
        fullest = Math.max(fullest, atWork);
      }
    }
    expect(fullest).toBeGreaterThan(1);
  });

  test("the one with the higher priority starts first, then the one that has waited longer", () => {
    let passed = 0;
    for (const { simulated } of simulations()) {
      for (const run of simulated) {
        const priority = run.recorded.facts.priority;
        const overtaken = simulated.filter(
          ({ recorded: { facts }, wantedAt, startedAt }) =>
            wantedAt < run.startedAt &&
            startedAt > run.startedAt &&
            (facts.priority > priority || (facts.priority === priority && wantedAt < run.wantedAt)),
        );
        expect(overtaken.map(({ recorded }) => nameOf(recorded))).toEqual([]);
        if (run.startedAt > run.wantedAt) passed += 1;
      }
    }
    expect(passed).toBeGreaterThan(100);
  });
});

/** What a task used with all tasks below it. */
const usedBy = (taskId: string, tasks: JournaledTask[]): number =>
  tasks
    .filter(({ journal }) => journal.snapshot.context.facts.parentTaskId === taskId)
    .reduce(
      (sum, { journal }) => sum + usedBy(journal.taskId, tasks),
      tasks.find(({ journal }) => journal.taskId === taskId)?.progress.toolCalls ?? 0,
    );

const parentTaskOf = (taskId: string, tasks: JournaledTask[]): string | undefined => {
  const parent = tasks.find(({ journal }) => journal.taskId === taskId)?.journal.snapshot.context.facts.parentTaskId;
  return tasks.some(({ journal }) => journal.taskId === parent) ? parent : undefined;
};

const lineageOf = (taskId: string | undefined, tasks: JournaledTask[]): string[] =>
  taskId === undefined ? [] : [taskId, ...lineageOf(parentTaskOf(taskId, tasks), tasks)];

const stoppedBy = (toolCalls: number, tasks: JournaledTask[]): string[] =>
  (whatIf(tasks, { budget: { toolCalls } }, 0).stopped ?? []).map(({ facts }) => facts.sessionID);

describe("with a budget", () => {
  test("those are stopped that used more, the topmost of each tree, and nobody else", () => {
    let stopped = 0;
    for (const { tasks } of played) {
      const ids = tasks.map(({ journal }) => journal.taskId);
      const used = new Map(ids.map((id) => [id, usedBy(id, tasks)]));
      const above = new Map(ids.map((id) => [id, lineageOf(parentTaskOf(id, tasks), tasks)]));
      for (const budget of new Set([...used.values()].flatMap((calls) => [calls - 1, calls]))) {
        if (budget < 1) continue;
        const isBeyond = (id: string) => (used.get(id) ?? 0) > budget;
        const expected = ids.filter((id) => isBeyond(id) && !above.get(id)?.some(isBeyond));
        expect(stoppedBy(budget, tasks).sort()).toEqual(expected.sort());
        stopped += expected.length;
      }
    }
    expect(stopped).toBeGreaterThan(50);
  });

  test("that they had, those that were stopped are among them", () => {
    let found = 0;
    for (const { tasks } of played.filter(isKnown)) {
      const stopped = stoppedBy(USUAL_LIMITS.toolCalls, tasks);
      for (const { journal } of tasks) {
        if (journal.snapshot.context.error?.kind !== "budget") continue;
        expect(lineageOf(journal.taskId, tasks).some((id) => stopped.includes(id))).toBe(true);
        found += 1;
      }
    }
    expect(found).toBeGreaterThan(1);
  });
});
