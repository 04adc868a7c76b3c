import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, parseArgs, promisify } from "node:util";
import { atMost } from "../src/services/platform/concurrency.ts";
import { type FoundFault, findFaults, runRandomSchedules } from "../test/chaos/chaos.ts";
import { findFleetFaults, runRandomFleets } from "../test/chaos/fleet/fleet-chaos.ts";
import { fleetMistakes } from "../test/chaos/fleet/planted-mistakes.ts";
import { isExpectedAtNight } from "../test/chaos/fleet/situation-names.ts";
import { createFleetSituations } from "../test/chaos/fleet/situations.ts";
import { plantedMistakes } from "../test/chaos/planted-mistakes.ts";
import { printRare } from "../test/chaos/rare-schedules.ts";
import { searchForRare } from "../test/chaos/search.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string" },
    seed: { type: "string" },
    path: { type: "string" },
    // Servers of a fleet, in place of one.
    fleet: { type: "boolean", default: false },
    planted: { type: "boolean", default: false },
    // Searches for schedules that come to what those that are drawn do not come to, and writes them.
    reach: { type: "boolean", default: false },
    only: { type: "string" },
    // Prints faults as JSON: up to the first that is not among these.
    besides: { type: "string" },
  },
});

const chaos = values.fleet
  ? { run: runRandomFleets, find: findFleetFaults, mistakes: fleetMistakes, runs: 10_000, planted: 2_000 }
  : { run: runRandomSchedules, find: findFaults, mistakes: plantedMistakes, runs: 100_000, planted: 5_000 };
const seed = values.seed === undefined ? Math.trunc(Math.random() * 2 ** 31) : Number(values.seed);
const usual = values.planted || values.reach ? chaos.planted : chaos.runs;
const runs = values.path === undefined ? Number(values.runs ?? usual) : 1;
if (!Number.isInteger(seed) || !Number.isInteger(runs) || runs < 1) {
  throw new Error(
    "Usage: npm run chaos -- [--fleet] [--runs 100000] [--seed 1] [--path 12:0:3], or npm run chaos -- [--fleet] --planted [--only words] [--runs 5000] [--seed 1], or npm run chaos -- --reach [--runs 5000] [--seed 1]",
  );
}

const began = performance.now();
const seconds = () => (performance.now() - began) / 1_000;

/** Runs schedules, and shows on the way how many. Resolves to whether all invariants held. */
const search = async (): Promise<boolean> => {
  let played = 0;
  let saidAt = 0;
  const report = await chaos.run({
    runs,
    seed,
    path: values.path,
    onPlayed: ({ faults }) => {
      played += 1;
      if (faults.length > 0 && played <= runs) console.log(`A fault in schedule ${played}; now it is made shorter.`);
      if (seconds() - saidAt < 5) return;
      saidAt = seconds();
      console.log(`${played} of ${runs} schedules, ${Math.round(saidAt)} s, ${Math.round(played / saidAt)} a second`);
    },
  });
  console.log(report ?? `${played} schedules, ${Math.round(seconds())} s, seed ${seed}: all invariants held.`);
  return report === undefined;
};

/** How many schedules come to what is too rare for the tests to wait for. */
const ENOUGH = 2_000;

/** How many seeds are tried with a mistake: hardly any schedule comes to some of them. */
const SEEDS = 3;

/** The faults of a seed's schedules without any mistake, in JSON; and the situations to which enough of them have not come. */
const faultsWithout = async (ofSeed: number): Promise<{ known: string; missing: string[] }> => {
  const situations = createFleetSituations();
  const faults = await chaos.find(runs, ofSeed, () => false, situations);
  if (faults.length === 0) console.log(`${runs} schedules without a mistake, seed ${ofSeed}: all invariants held.`);
  for (const { schedule, fault } of faults) console.log(`a fault in schedule ${schedule} without a mistake: ${fault}`);
  const isWaited = values.fleet && runs >= ENOUGH;
  const missing = [...situations.counts()].flatMap(([name, count]) =>
    isWaited && count === 0 && isExpectedAtNight(name) ? name : [],
  );
  for (const name of missing) console.log(`${runs} schedules of seed ${ofSeed} have not come to this: ${name}`);
  return { known: JSON.stringify(faults), missing };
};

/**
 * Plants one mistake in each process, and runs as many processes at once as there are cores. A fault that is there without
 * it does not count.
 * Resolves to whether the schedules found them all, and came to all that they are to come to.
 */
const searchPlanted = async (): Promise<boolean> => {
  const chosen = chaos.mistakes.filter(({ name }) => name.includes(values.only ?? ""));
  const inTurn = atMost(availableParallelism());
  const plant = async (name: string, ofSeed: number, known: string): Promise<boolean> => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        "--import",
        new URL("plant-mistake.ts", import.meta.url).href,
        fileURLToPath(import.meta.url),
        ...(values.fleet ? ["--fleet"] : []),
        ...["--besides", known, "--runs", String(runs), "--seed", String(ofSeed)],
      ],
      { env: { ...process.env, PLANTED_MISTAKE: name } },
    );
    const [found] = JSON.parse(stdout) as FoundFault[];
    if (found) console.log(`found in schedule ${found.schedule}, seed ${ofSeed}: ${name}\n  ${found.fault}`);
    return found !== undefined;
  };
  let left = chosen.map(({ name }) => name);
  let isReached = true;
  for (let ofSeed = seed; left.length > 0 && ofSeed < seed + SEEDS; ofSeed += 1) {
    const { known, missing } = await faultsWithout(ofSeed);
    // What one seed's schedules come to, those of the others need not.
    if (ofSeed === seed) isReached = missing.length === 0;
    const found = await Promise.all(left.map((name) => inTurn(() => plant(name, ofSeed, known))));
    left = left.filter((_, index) => !found[index]);
  }
  for (const name of left) console.log(`NOT FOUND: ${name}`);
  console.log(
    `${chosen.length - left.length} of ${chosen.length} planted mistakes found, ${runs} schedules of each seed, ${Math.round(seconds())} s, from seed ${seed} on`,
  );
  return left.length === 0 && isReached;
};

/** Writes what comes to rare situations. Resolves to whether no invariant was violated on the way. */
const reach = async (): Promise<boolean> => {
  let faults = 0;
  const rare = await searchForRare({
    seed,
    runs,
    onFound: (name, played) => console.log(`come to in schedule ${played}: ${name}`),
    onFault: (error) => {
      faults += 1;
      console.log(String(error));
    },
  });
  const file = fileURLToPath(new URL("../test/chaos/rare-schedules.json", import.meta.url));
  writeFileSync(file, printRare(rare));
  for (const name of rare.unreached) console.log(`NOT COME TO: ${name}`);
  console.log(`${rare.kept.length} schedules kept, ${Math.round(seconds())} s, seed ${seed}`);
  return faults === 0;
};

if (values.besides !== undefined) {
  const known = JSON.parse(values.besides) as FoundFault[];
  const isNew = (found: FoundFault) => !known.some((one) => isDeepStrictEqual(one, found));
  console.log(JSON.stringify((await chaos.find(runs, seed, isNew)).filter(isNew)));
  process.exit(0);
}
const play = values.reach ? reach : values.planted ? searchPlanted : search;
process.exit((await play()) ? 0 : 1);
