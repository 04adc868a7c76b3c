import { describe, expect, test } from "vitest";
import { outboxMachine } from "../../src/machines/outbox/machine.ts";
import { taskMachine } from "../../src/machines/task/machine.ts";
import { createDelivery } from "./delivery.ts";
import { type Exploration, explore } from "./explore.ts";
import type { Family, Mistake } from "./family.ts";

/*
 * All ways, to a bound, in which the ends of tasks reach their parent: with two processes that die at any time, two tasks, and
 * one parent. `NIGHTLY=1` explores more.
 */

/** More worlds than any family has. */
const MOST = 5_000_000;

/** Enough for each of the mistakes, of which some have no end of worlds. */
const MOST_WITH_A_MISTAKE = 100_000;

const measured = (
  name: string,
  family: Family,
  limits: Parameters<typeof explore>[1] = { most: MOST },
): Exploration => {
  const began = performance.now();
  const exploration = explore(createDelivery(family), limits);
  const { worlds, moves, depth } = exploration;
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  console.log(`${name}: ${worlds} worlds, ${moves} moves, up to ${depth} deep, ${seconds} s`);
  return exploration;
};

const waiting = { process: 0, tasks: [0] } as const;

const families: Record<string, Family> = {
  "a task whose agent is interrupted and goes on": {
    ...{ tasks: [0], followsRuns: true },
    ...{ dies: true, standsStill: true, isUnreliable: true },
  },
  "two tasks in one process": { tasks: [0, 0], dies: true, standsStill: true },
  "two tasks in one process, with an unreliable host": { tasks: [0, 0], dies: true, isUnreliable: true },
  "two tasks in two processes": { tasks: [0, 1], dies: true },
  "two tasks that wake the parent together": { tasks: [0, 0], wake: "all", dies: true },
  "a task that a call waits for": { tasks: [0], dies: true, standsStill: true, calls: [waiting] },
  "a task that two calls wait for": { tasks: [0], dies: true, calls: [waiting, waiting] },
  "two tasks that a call waits for": { tasks: [0, 0], dies: true, calls: [{ process: 0, tasks: [0, 1] }] },
  "a parent whose turns fail": { tasks: [0], dies: true, turnsFail: true, isUnreliable: true },
  "a host that refuses notices": { tasks: [0, 0], dies: true, refuses: true },
  "a parent that is deleted": { tasks: [0, 0], dies: true, deletes: true, isUnreliable: true },
  "a process that loses its tasks, and cannot look which": {
    ...{ tasks: [0], dies: true, standsStill: true, heartbeatFails: true },
  },
};

const nightly: Record<string, Family> = {
  "two tasks, with all that can fail": { tasks: [0, 0], dies: true, standsStill: true, isUnreliable: true },
  "two tasks whose agents are interrupted and go on": { tasks: [0, 0], followsRuns: true, dies: true },
};

describe("each end is delivered once, and nothing is stuck:", () => {
  test.each(Object.entries({ ...families, ...(process.env.NIGHTLY ? nightly : {}) }))("%s", (name, family) => {
    const { isComplete, faults } = measured(name, family);
    expect(faults).toEqual([]);
    expect(isComplete).toBe(true);
  });
});

const aDeath: Family = { tasks: [0], dies: true };
const aCall: Family = { ...aDeath, calls: [waiting] };
const twoCalls: Family = { ...aDeath, calls: [waiting, waiting] };

/** A mistake, and the family whose exploration is to find it. */
const around: [Mistake, Family][] = [
  ["the notices of a dead process are not taken over", aDeath],
  ["who takes over does not say which notices are under way", aDeath],
  ["who takes over does not ask whether a call returned", aCall],
  ["effects come before what led to them is stored", aDeath],
  ["a process that stood still keeps what it has lost", { ...aDeath, standsStill: true }],
  [
    "a notice is stored that carries the end of a task which another process has",
    { ...aDeath, standsStill: true, heartbeatFails: true },
  ],
  ["a call returns its output though another process delivers what is in it", { ...aCall, standsStill: true }],
];

const inTask = (provided: Parameters<typeof taskMachine.provide>[0]): Pick<Family, "machines"> => ({
  machines: { task: taskMachine.provide(provided), outbox: outboxMachine },
});

const inOutbox = (provided: Parameters<typeof outboxMachine.provide>[0]): Pick<Family, "machines"> => ({
  machines: { task: taskMachine, outbox: outboxMachine.provide(provided) },
});

const inCharts: [string, Family][] = [
  ["an end that is withdrawn stays", { ...aCall, ...inOutbox({ actions: { withdraw: () => undefined } }) }],
  ["notices that are taken over are forgotten", { ...aDeath, ...inOutbox({ guards: { hasAdopted: () => false } }) }],
  [
    "the host's word that a notice was answered is not believed",
    { ...aDeath, isUnreliable: true, ...inOutbox({ guards: { answered: () => false } }) },
  ],
  [
    "an answer to anything counts as one to the notice",
    { tasks: [0, 0], ...inOutbox({ guards: { answersPrompt: () => true } }) },
  ],
  ["nothing is known of calls that wait", { ...aCall, ...inTask({ guards: { waitedFor: () => false } }) }],
  [
    "a call that is let go counts as the last one",
    { ...twoCalls, ...inTask({ guards: { isOnlyWaiter: () => true } }) },
  ],
  [
    "a notice under way counts as lost with its process",
    { ...aDeath, ...inTask({ guards: { noNoticePending: () => true } }) },
  ],
];

describe("the exploration finds it when", () => {
  test.each([...around.map(([mistake, family]): [string, Family] => [mistake, { ...family, mistake }]), ...inCharts])(
    "%s",
    (name, family) => {
      const { faults } = measured(name, family, { most: MOST_WITH_A_MISTAKE, isFirstFaultEnough: true });
      expect(faults).not.toEqual([]);
      for (const { what, trail } of faults) console.log(`${name}: ${what}:\n  ${trail.join("\n  ")}`);
    },
  );
});
