import { describe, expect, test } from "vitest";
import { outboxMachine } from "../../src/machines/outbox/machine.ts";
import { taskMachine } from "../../src/machines/task/machine.ts";
import { transitionsOf } from "../model/transitions.ts";
import { isNightly } from "../nightly.ts";
import { createDelivery, type Delivery } from "./delivery.ts";
import type { Family, Mistake } from "./family.ts";
import { EXPLORING_MS, exploredWhole, faultsOfMistake } from "./printed.ts";

/*
 * All ways, to a bound, in which the ends of tasks reach their parent, with two processes. In the
 * nightly command, the larger families are explored, too.
 */

const unreliable = { dies: true, standsStill: true, isUnreliable: true };
const waiting = { process: 0, tasks: [0] } as const;

const families: Record<string, Family> = {
  "a task, processes that die or stand still, a host that fails": { tasks: [0], ...unreliable },
  "two tasks, processes that die or stand still, a host that fails": { tasks: [0, 0], ...unreliable },
  "three tasks, processes that die": { tasks: [0, 0, 0], dies: true },
  "a task whose agent is interrupted and goes on": { tasks: [0], followsRuns: true, ...unreliable },
  "two tasks in two processes": { tasks: [0, 1], dies: true },
  "two tasks in two processes, which wake the parent together": { tasks: [0, 1], wake: "all", dies: true },
  "two tasks that wake the parent together, and a call": { tasks: [0, 0], wake: "all", calls: [waiting] },
  "a task that a call waits for": { tasks: [0], dies: true, standsStill: true, calls: [waiting] },
  "a task that two calls wait for": { tasks: [0], dies: true, calls: [waiting, waiting] },
  "two tasks that a call waits for": { tasks: [0, 0], dies: true, calls: [{ process: 0, tasks: [0, 1] }] },
  "a parent whose turns fail, and that is refused": {
    ...{ tasks: [0], dies: true, isUnreliable: true },
    ...{ turnsFail: true, refuses: true },
  },
  "a parent that is deleted": { tasks: [0, 0], dies: true, deletes: true },
  "a parent that is not found for a while": { tasks: [0], dies: true, turnsFail: true, misses: true, launches: true },
  "a parent that is not found for a while, by a host that fails": {
    ...{ tasks: [0], dies: true, isUnreliable: true },
    ...{ misses: true, reportsStored: true },
  },
  "a parent that a person sets aside": { tasks: [0], dies: true, isUnreliable: true, setsAside: true },
  "a parent that a person sets aside, and that is not found": { tasks: [0], dies: true, setsAside: true, misses: true },
  "a parent that a person sets aside, and a call": { tasks: [0], setsAside: true, calls: [waiting] },
  "two tasks whose ends wait for each other": { tasks: [0, 0], dies: true, caches: true },
  "two tasks in two processes whose ends wait for each other": { tasks: [0, 1], dies: true, caches: true },
  "two tasks whose ends wait for each other, and a call": { tasks: [0, 0], caches: true, calls: [waiting] },
  "two tasks whose ends wait for each other, and a parent that is not found": {
    ...{ tasks: [0, 0], caches: true },
    misses: true,
  },
  "a turn that a person stops": { tasks: [0], dies: true, isUnreliable: true, stops: true },
  "a turn that a person stops, and two tasks that wake the parent together": {
    ...{ tasks: [0, 0], wake: "all" },
    stops: true,
  },
  "a process that loses its tasks, and cannot look which": {
    ...{ tasks: [0], dies: true, standsStill: true },
    heartbeatFails: true,
  },
};

const large: Record<string, Family> = {
  "three tasks, processes that die or stand still": { tasks: [0, 0, 0], dies: true, standsStill: true },
  "two tasks whose agents are interrupted and go on": { tasks: [0, 0], followsRuns: true, dies: true },
  "two tasks in two processes, which may stand still": { tasks: [0, 1], dies: true, standsStill: true },
  "a turn that a person stops, and a parent that is not found": { tasks: [0], dies: true, stops: true, misses: true },
};

/** The spaces that were explored. */
const spaces = new Map<string, Delivery>();

const exploreAll = (name: string, family: Family) => {
  const space = createDelivery(family);
  spaces.set(name, space);
  return exploredWhole(name, space);
};

describe("each end is delivered once, and nothing is stuck:", () => {
  const all = { ...families, ...(isNightly ? large : {}) };
  test.each(Object.entries(all))("%s", { timeout: EXPLORING_MS }, (name, family) => {
    const { isComplete, faults } = exploreAll(name, family);
    expect(faults).toEqual([]);
    expect(isComplete).toBe(true);
  });
});

/** The transitions of an outbox that none of these families leads to, and why. */
const NOT_EXPLORED: Record<string, string> = {
  "delivery.preparing.reading PARENT_READ #7": "no result is so long that its reader's room matters",
  "delivery.preparing.composing COMPOSE_FAILED #1": "a notice can always be composed at once",
  "delivery.closed ADOPTED #1": "no parent is deleted that has tasks in two processes",
  "delivery.closed PARENT_PRESENT #1": "a parent that was deleted launches nothing",
  "delivery.waiting.gathering (always) #1": "no turn fails of a parent that has tasks in two processes",
  "delivery.waiting.gathering PARENT_NOT_FOUND #1": "no turn fails of a parent that has tasks in two processes",
  "delivery.waiting.gatheringMore PARENT_NOT_FOUND #1":
    "no process dies where ends wait for each other and the parent is not found",
};

test("explorations take every transition of the outbox's chart but those that are named", () => {
  for (const [name, family] of Object.entries(families)) if (!spaces.has(name)) exploreAll(name, family);
  const taken = new Set(Object.keys(families).flatMap((name) => [...(spaces.get(name)?.taken.outbox ?? [])]));
  const missed = transitionsOf(outboxMachine).flatMap(({ name }) => (taken.has(name) ? [] : name));
  expect(missed.toSorted()).toEqual(Object.keys(NOT_EXPLORED).toSorted());
});

const aDeath: Family = { tasks: [0], dies: true };
const aCall: Family = { ...aDeath, calls: [waiting] };
const twoCalls: Family = { ...aDeath, calls: [waiting, waiting] };

/** Each mistake around the charts, and the family whose exploration is to find it. */
const around: Record<Mistake, Family> = {
  "the notices of a dead process are not taken over": aDeath,
  "who takes over does not say which notices are under way": aDeath,
  "who takes over does not ask whether a call returned": aCall,
  "effects come before what led to them is stored": aDeath,
  "a process that stood still keeps what it has lost": { ...aDeath, standsStill: true },
  "a notice is stored that carries the end of a task which another process has": {
    ...{ ...aDeath, standsStill: true },
    heartbeatFails: true,
  },
  "a call returns its output though another process delivers what is in it": { ...aCall, standsStill: true },
};

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

const mistakesAround = Object.entries(around).map(([mistake, family]): [string, Family] => [
  mistake,
  { ...family, mistake: mistake as Mistake },
]);

test.each([...mistakesAround, ...inCharts])(
  "the exploration finds it when %s",
  { timeout: EXPLORING_MS },
  (name, family) => {
    expect(faultsOfMistake(name, createDelivery(family))).not.toEqual([]);
  },
);
