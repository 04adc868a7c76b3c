import { describe, expect, test } from "vitest";
import { launchMachine } from "../../src/machines/launch/machine.ts";
import { transitionsOf } from "../model/transitions.ts";
import { isNightly } from "../nightly.ts";
import type { LaunchFamily, LaunchMistake } from "./launch/family.ts";
import { createLaunches, type LaunchSpace } from "./launch/launch.ts";
import { EXPLORING_MS, exploredWhole, faultsOfMistake } from "./printed.ts";

/*
 * All ways, to a bound, in which a launch leads to a task or to nothing, with two processes. In the nightly command, the larger
 * families are explored, too.
 */

const plain = {};
const fork = { isFork: true };
const inWorktree = { needsWorktree: true };
const forFleet = { asksFleet: true };

const fails = { isUnconfirmed: true, isUnreliable: true };
const ends = { dies: true, closes: true };
const stops = { refuses: true, aborts: true };

const families: Record<string, LaunchFamily> = {
  "a launch, whatever happens to it and to its process": {
    launches: [plain],
    ...{ ...fails, ...ends, ...stops, standsStill: true },
  },
  "a launch whose parent is deleted": { launches: [plain], ...fails, ...ends, deletes: true },
  "a launch in a worktree": { launches: [inWorktree], ...fails, ...ends, ...stops },
  "a launch for the fleet": { launches: [forFleet], ...fails, ...ends, ...stops },
  "a launch in a worktree, for the fleet": { launches: [{ ...inWorktree, ...forFleet }], ...ends, ...stops },
  "a fork, whatever happens": { launches: [fork], ...fails, ...ends, ...stops, deletes: true },
  "a fork in a worktree": { launches: [{ ...fork, ...inWorktree }], ...ends, ...stops, isUnconfirmed: true },
  "a fork beside another launch": { launches: [plain, fork], ...ends, isUnconfirmed: true, isUnreadable: true },
  "two forks of one turn": { launches: [fork, fork], ...ends, isUnconfirmed: true, isUnreadable: true },
};

const large: Record<string, LaunchFamily> = {
  "a fork of a process that stands still": { launches: [fork], dies: true, isUnconfirmed: true, standsStill: true },
  "a fork in a worktree, for the fleet, whatever happens": {
    launches: [{ ...fork, ...inWorktree, ...forFleet }],
    ...{ ...fails, ...ends, ...stops },
  },
  "two forks of one turn, whatever happens": {
    launches: [fork, fork],
    ...{ ...fails, ...ends, ...stops, isUnreadable: true },
  },
  "two forks of one turn that become texts": { launches: [fork, fork], isUnconfirmed: true },
};

/** The spaces that were explored. */
const spaces = new Map<string, LaunchSpace>();

const exploreAll = (name: string, family: LaunchFamily) => {
  const space = createLaunches(family);
  spaces.set(name, space);
  return exploredWhole(name, space);
};

describe("a launch leads to one task or to nothing, and nothing is stuck:", () => {
  const all = { ...families, ...(isNightly ? large : {}) };
  test.each(Object.entries(all))("%s", { timeout: EXPLORING_MS }, (name, family) => {
    const { isComplete, faults } = exploreAll(name, family);
    expect(faults).toEqual([]);
    expect(isComplete).toBe(true);
  });
});

test("explorations take every transition of the launch's chart", () => {
  for (const [name, family] of Object.entries(families)) if (!spaces.has(name)) exploreAll(name, family);
  const taken = new Set(Object.keys(families).flatMap((name) => [...(spaces.get(name)?.taken ?? [])]));
  const missed = transitionsOf(launchMachine).flatMap(({ name }) => (taken.has(name) ? [] : name));
  expect(missed).toEqual([]);
});

const aDeath = { dies: true, isUnconfirmed: true };
const twoForks = { launches: [fork, fork], isUnconfirmed: true, isUnreadable: true };

/** Each mistake around the chart, and the family whose exploration is to find it. */
const around: Record<LaunchMistake, LaunchFamily> = {
  "a launch is stored after its session was created": { launches: [plain], ...aDeath },
  "what is stored of a launch ends before its session is deleted": { launches: [plain], ...aDeath, aborts: true },
  "what is stored of a launch ends before its task is stored": { launches: [plain], ...aDeath },
  "a launch that was given up is forgotten where its session is not there yet": {
    launches: [plain],
    isUnconfirmed: true,
  },
  "a launch is taken over from a process that only stands still": { launches: [plain], standsStill: true },
  "a launch is taken over while its OpenCode may still create the session": { launches: [fork], closes: true },
  "a copy without a mark is not looked for": { launches: [fork], ...aDeath },
  "a copy that another launch has just made counts as left": twoForks,
  "two launches take the same copy for theirs": twoForks,
  "a copy that could not be deleted is left to nobody": { launches: [fork], isUnconfirmed: true },
  "what a dead process left is not deleted": { launches: [plain], ...aDeath },
};

const inChart = (provided: Parameters<typeof launchMachine.provide>[0]): Pick<LaunchFamily, "machine"> => ({
  machine: launchMachine.provide(provided),
});

const inCharts: [string, LaunchFamily][] = [
  [
    "a task begins before it has the conversation as a text",
    { launches: [fork], refuses: true, ...inChart({ guards: { isText: () => false } }) },
  ],
  ["a task begins in a copy as it is", { launches: [fork], ...inChart({ guards: { isCopy: () => false } }) }],
  [
    "a copy that was deleted is taken for the session that replaces it",
    {
      launches: [fork],
      isUnconfirmed: true,
      refuses: true,
      ...inChart({ actions: { forgetSession: () => undefined } }),
    },
  ],
  [
    "a launch that is given up forgets that there may be a session",
    { launches: [plain], aborts: true, ...inChart({ guards: { mayHaveSession: () => false } }) },
  ],
  [
    "a launch that is given up forgets its worktree",
    { launches: [inWorktree], aborts: true, ...inChart({ guards: { hasMadeWorktree: () => false } }) },
  ],
  [
    "a worktree that was made is not noted",
    { launches: [inWorktree], ...inChart({ actions: { recordWorktree: () => undefined } }) },
  ],
  [
    "the fleet's answer is not noted",
    { launches: [forFleet], ...inChart({ actions: { recordOffer: () => undefined } }) },
  ],
];

const mistakesAround = Object.entries(around).map(([mistake, family]): [string, LaunchFamily] => [
  mistake,
  { ...family, mistake: mistake as LaunchMistake },
]);

test.each([...mistakesAround, ...inCharts])(
  "the exploration finds it when %s",
  { timeout: EXPLORING_MS },
  (name, family) => {
    expect(faultsOfMistake(name, createLaunches(family))).not.toEqual([]);
  },
);
