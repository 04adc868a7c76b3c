import { describe, expect, test } from "vitest";
import { outboxMachine } from "../../src/machines/outbox/machine.ts";
import { taskMachine } from "../../src/machines/task/machine.ts";
import { isNightly } from "../nightly.ts";
import { createFleet } from "./fleet/fleet.ts";
import type { FleetFamily, FleetMistake } from "./fleet/world.ts";
import { EXPLORING_MS, exploredWhole, faultsOfMistake } from "./printed.ts";

/*
 * All ways, to a bound, in which a run is enqueued, claimed, held and ended in a fleet, with a broker that may forget what is
 * newest. In the nightly command, the larger families are explored, too.
 */

const two = { servers: 2, attempts: 2 } as const;
const one = { servers: 1, attempts: 2 } as const;

const families: Record<string, FleetFamily> = {
  "servers that die": { ...two, dies: true },
  "servers that die or stand still": { ...two, dies: true, standsStill: true },
  "a broker that is not always reached": { ...two, dies: true, isUnreliable: true },
  "a broker that forgets": { ...two, forgets: 1 },
  "a broker that forgets, and a server that dies": { ...one, dies: true, forgets: 1 },
  "a broker that forgets twice": { ...one, forgets: 2 },
  "a person who cancels": { ...one, dies: true, cancels: true },
  "an origin that waits no longer": { ...two, dies: true, isImpatient: true },
};

const large: Record<string, FleetFamily> = {
  "a broker that forgets, and servers that die": { ...two, dies: true, forgets: 1 },
};

describe("a run in the fleet has one end, and nobody waits for ever:", () => {
  const all = { ...families, ...(isNightly ? large : {}) };
  test.each(Object.entries(all))("%s", { timeout: EXPLORING_MS }, (name, family) => {
    const { isComplete, faults } = exploredWhole(name, createFleet(family));
    expect(faults).toEqual([]);
    expect(isComplete).toBe(true);
  });
});

const dying: FleetFamily = { ...two, dies: true };
const still: FleetFamily = { ...two, standsStill: true };

/** Each mistake around the chart, and the family whose exploration is to find it. */
const around: Record<FleetMistake, FleetFamily> = {
  "a claim is written whatever stands in the log": { ...dying, attempts: 1 },
  "an end counts whoever has claimed the run since": still,
  "an origin closes a run without a look": { ...two, isImpatient: true },
  "a run is lost while a server holds it": { ...one, attempts: 1 },
  "an origin takes places of a log that was set back for those of before": { ...one, dies: true, forgets: 1 },
  "a server waits for an origin that has closed the run": { ...one, forgets: 1 },
};

const machines = (provided: Parameters<typeof taskMachine.provide>[0]): Pick<FleetFamily, "machines"> => ({
  machines: { task: taskMachine.provide(provided), outbox: outboxMachine },
});

const inChart: [string, FleetFamily][] = [
  ["no end counts", { ...still, ...machines({ guards: { isNewestClaim: () => false } }) }],
  [
    "no claim counts after the first",
    { ...dying, ...machines({ guards: { isNewClaim: ({ context }) => !context.remote } }) },
  ],
];

const mistakesAround = Object.entries(around).map(([mistake, family]): [string, FleetFamily] => [
  mistake,
  { ...family, mistake: mistake as FleetMistake },
]);

test.each([...mistakesAround, ...inChart])(
  "the exploration finds it when %s",
  { timeout: EXPLORING_MS },
  (name, family) => {
    expect(faultsOfMistake(name, createFleet(family))).not.toEqual([]);
  },
);
