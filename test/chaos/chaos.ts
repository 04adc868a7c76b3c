import fc from "fast-check";
import { createSimulation } from "./create-simulation.ts";
import { schedules } from "./drawn-schedules.ts";
import { checkEnd, checkMoment } from "./invariants.ts";
import { kept } from "./rare-schedules.ts";
import { reportOf } from "./report.ts";
import type { Schedule } from "./schedule.ts";
import { settleDown } from "./settle-down.ts";
import { createSharedParts, USER_SESSIONS } from "./shared-parts.ts";
import type { Simulation } from "./simulation.ts";
import type { Situations } from "./sometimes.ts";
import { runSteps } from "./step-actions.ts";

/** The outcome of a schedule. */
export interface Outcome {
  /** Descriptions of the violated invariants. */
  faults: readonly string[];
  /** Returns a Mermaid diagram of everything that happened. */
  diagram(): string;
  world: Simulation;
}

/** Unhandled promise rejections since this module was loaded. */
const unhandled: string[] = [];
process.on("unhandledRejection", (reason) => void unhandled.push(String(reason)));

const kindOf = (participant: string): string => {
  if (/^(engine|host)/.test(participant)) return participant;
  return USER_SESSIONS.includes(participant) ? `parent ${participant}` : `task ${participant}`;
};

/** Runs a schedule until its end or its first fault. Deterministic: the same schedule has the same outcome each time. */
export const runSchedule = async (
  schedule: Schedule,
  { check = () => undefined, situations }: Pick<ChaosOptions, "check" | "situations"> = {},
): Promise<Outcome> => {
  const shared = createSharedParts(schedule, situations?.note);
  const world = createSimulation(schedule, shared, 0, situations);
  const others = Array.from({ length: (schedule.processes ?? 1) - 1 }, (_, index) =>
    createSimulation(schedule, shared, index + 1, situations),
  );
  const worlds: [Simulation, ...Simulation[]] = [world, ...others];
  const rejectedBefore = unhandled.length;
  const stopAtFault = () => {
    check(world);
    for (const reason of unhandled.slice(rejectedBefore)) world.fault(`nobody handles a rejection: ${reason}`);
    if (world.faults.length > 0) throw new Error(world.faults[0]);
  };
  try {
    await runSteps(worlds, schedule, () => {
      checkMoment(worlds);
      stopAtFault();
    });
    await settleDown(worlds);
    checkEnd(worlds);
    stopAtFault();
  } catch (error) {
    if (world.faults.length === 0) world.fault(error instanceof Error ? String(error.stack) : String(error));
  } finally {
    for (const { life } of worlds) life().die();
    world.storage.remove();
    situations?.endSchedule();
  }
  return { faults: world.faults, diagram: () => world.sequence.diagram(kindOf), world };
};

export interface ChaosOptions {
  runs: number;
  seed: number;
  /** Which schedules. Default: all kinds. */
  from?: fc.Arbitrary<Schedule>;
  /** Where in the seed's schedules to start, as given in a report. */
  path?: string | undefined;
  /** Called after each schedule, including those that are run to shrink a failing one. */
  onPlayed?: (outcome: Outcome, schedule: Schedule) => void;
  /** An additional invariant, checked after each step; it reports violations to the world. */
  check?: (world: Simulation) => void;
  /** Counts what occurs. */
  situations?: Situations;
}

/** The first fault of a schedule. */
export interface FoundFault {
  /** The number of the schedule, from 1 on: among those that are kept, or, from there on, of its seed. */
  schedule: number;
  fault: string;
}

/** Where schedules come from, and what plays one. */
interface Played<T> {
  schedules: fc.Arbitrary<T>;
  /** Played before those that are drawn. Default: none. */
  kept?: readonly T[];
  play(schedule: T): Promise<{ faults: readonly string[] }>;
}

/** Runs random schedules until one has a fault that is the `last` to be looked for. Resolves to the faults up to that one. */
export const findFaultsIn = async <T>(
  { schedules, kept = [], play }: Played<T>,
  runs: number,
  seed: number,
  isLast: (found: FoundFault) => boolean,
): Promise<FoundFault[]> => {
  const found: FoundFault[] = [];
  let played = 0;
  const property = fc.asyncProperty(schedules, async (schedule) => {
    played += 1;
    const { faults } = await play(schedule);
    if (faults[0] === undefined) return true;
    found.push({ schedule: played, fault: faults[0] });
    return !found.slice(-1).some(isLast);
  });
  const examples = kept.map((schedule): [T] => [schedule]);
  await fc.check(property, { numRuns: kept.length + runs, seed, examples, endOnFailure: true });
  return found;
};

/** The same of schedules of one engine: first those that come to what is rare, and then drawn ones. */
export const findFaults = (
  runs: number,
  seed: number,
  isLast: (found: FoundFault) => boolean,
): Promise<FoundFault[]> => {
  const played = { schedules, kept: kept.map(({ schedule }) => schedule), play: (one: Schedule) => runSchedule(one) };
  return findFaultsIn(played, runs, seed, isLast);
};

/** Runs random schedules. Resolves to a report on the first failing one, shrunk as far as possible, or to undefined. */
export const runRandomSchedules = async ({
  runs,
  seed,
  from = schedules,
  path,
  onPlayed,
  ...watched
}: ChaosOptions): Promise<string | undefined> => {
  const property = fc.asyncProperty(from, async (schedule) => {
    const outcome = await runSchedule(schedule, watched);
    onPlayed?.(outcome, schedule);
    if (outcome.faults.length > 0) throw new Error(outcome.faults[0]);
  });
  const found = await fc.check(property, { numRuns: runs, seed, ...(path === undefined ? {} : { path }) });
  if (!found.failed) return undefined;
  const [schedule] = found.counterexample ?? [];
  if (!schedule) return `the schedules could not be made: ${String(found.errorInstance)}`;
  const { faults, diagram } = await runSchedule(schedule, watched);
  return reportOf({ seed, path: found.counterexamplePath ?? "", schedule, faults, diagram: diagram() });
};
