import { parseArgs } from "node:util";
import { runRandomSchedules } from "../test/chaos/chaos.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "100000" },
    seed: { type: "string" },
    path: { type: "string" },
  },
});

const seed = values.seed === undefined ? Math.trunc(Math.random() * 2 ** 31) : Number(values.seed);
const runs = values.path === undefined ? Number(values.runs) : 1;
if (!Number.isInteger(seed) || !Number.isInteger(runs) || runs < 1) {
  throw new Error("Usage: npm run chaos -- [--runs 100000] [--seed 1] [--path 12:0:3]");
}

const began = performance.now();
const seconds = () => (performance.now() - began) / 1_000;
let played = 0;
let saidAt = 0;

const report = await runRandomSchedules({
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
process.exit(report === undefined ? 0 : 1);
