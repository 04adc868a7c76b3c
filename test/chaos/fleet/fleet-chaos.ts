import fc from "fast-check";
import { type FoundFault, findFaultsIn } from "../chaos.ts";
import { fleetSchedules } from "./drawn-steps.ts";
import { runFleetSchedule } from "./run-schedule.ts";
import type { FleetSituations } from "./situations.ts";
import { type FleetSchedule, wordsOf } from "./steps.ts";

export interface FleetChaosOptions {
  runs: number;
  seed: number;
  /** Where in the seed's schedules to start, as given in a report. */
  path?: string | undefined;
  /** Called after each schedule, including those that are run to shrink a failing one. */
  onPlayed?: (outcome: { faults: readonly string[] }) => void;
  /** Counts what occurs. */
  situations?: FleetSituations;
}

/** Writes what a developer needs to reproduce a fault: the command, the steps, and what happened. */
const reportOf = async (again: string, schedule: FleetSchedule): Promise<string> => {
  const { origins, workers, originsWork, steps } = schedule;
  const { faults, story } = await runFleetSchedule(schedule, { isTold: true });
  return [
    ...faults,
    "",
    `Again: npm run chaos -- --fleet ${again}`,
    "",
    `Servers that launch: ${origins}${originsWork ? ", which work for others as well" : ""}. Slots of the others: ${workers.join(", ")}.`,
    "Steps:",
    ...steps.map((step, index) => `  ${index + 1}. ${wordsOf(step)}`),
    "",
    ...story,
  ].join("\n");
};

/** Runs random schedules of a fleet. Resolves to a report on the first failing one, shrunk as far as possible, or to undefined. */
export const runRandomFleets = async ({
  runs,
  seed,
  path,
  onPlayed,
  situations,
}: FleetChaosOptions): Promise<string | undefined> => {
  const property = fc.asyncProperty(fleetSchedules, async (schedule) => {
    const outcome = await runFleetSchedule(schedule, { situations });
    onPlayed?.(outcome);
    if (outcome.faults.length > 0) throw new Error(outcome.faults[0]);
  });
  const found = await fc.check(property, { numRuns: runs, seed, ...(path === undefined ? {} : { path }) });
  if (!found.failed) return undefined;
  const [schedule] = found.counterexample ?? [];
  if (!schedule) return `the schedules could not be made: ${String(found.errorInstance)}`;
  return reportOf(`--seed ${seed} --path "${found.counterexamplePath ?? ""}"`, schedule);
};

/** Runs random schedules until one has a fault that is the `last` to be looked for. Resolves to the faults up to that one. */
export const findFleetFaults = (
  runs: number,
  seed: number,
  isLast: (found: FoundFault) => boolean,
  situations?: FleetSituations,
): Promise<FoundFault[]> =>
  findFaultsIn(
    { schedules: fleetSchedules, play: (schedule) => runFleetSchedule(schedule, { situations }) },
    runs,
    seed,
    isLast,
  );
