/**
 * `npm run bench:notices -- [--rounds N] [--sizes N,N] [--against FILE] [--json]`
 *
 * How soon, how reliably and how cheaply a parent session learns that its background tasks have ended: the built plugin
 * (`npm run build`) against OpenCode's own `task` tool with `background: true`, side by side in two real servers, in turns,
 * so that both meet the same machine. A ratio of two rounds, one right after the other, is a pair; goals are judged by the
 * median of the pairs. Exits with 1 when a goal is missed, see `notices/goals.ts`.
 *
 * `--rounds`: pairs for each size, 7 by default. `--sizes`: how many tasks end together, 1,4,20,100 by default.
 * `--against`: the `dist/index.js` of another build, which is measured as well: what a change brings shows in one run.
 *
 * By default it takes about six minutes, and half as long again with `--against`.
 */
import { existsSync } from "node:fs";
import { loadavg } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { handOver } from "./figures.ts";
import { asFigures } from "./notices/as-figures.ts";
import { type Contender, toolBytes, withContenders } from "./notices/contender.ts";
import { orderOf } from "./notices/order.ts";
import { canReadCpu } from "./notices/processor.ts";
import { formatReport, reportOf } from "./notices/report.ts";
import { type Round, runRound } from "./notices/round.ts";

/** Tasks of the unmeasured round that each server begins with; it pays for its caches and its just-in-time compiler. */
const warmUpTasks = 20;

type Plan = { rounds: number; sizes: number[] };

/** Runs everything, and resolves to the rounds and to what our tools add to a model request. */
async function measure(contenders: Contender[], { rounds, sizes }: Plan) {
  for (const contender of contenders) await runRound(contender, { tasks: warmUpTasks, index: 0 });
  const measured: Round[] = [];
  for (const tasks of sizes) {
    for (let index = 1; index <= rounds; index += 1) {
      for (const contender of orderOf(contenders, index)) measured.push(await runRound(contender, { tasks, index }));
    }
    process.stderr.write(`${tasks} at once: done after ${seconds()} s\n`);
  }
  const request = contenders.find(({ name }) => name === "ours")?.lab.model.requests[0];
  if (!request) throw new Error("our server made no model request");
  return { measured, definitions: toolBytes(request) };
}

function seconds(): string {
  return (performance.now() / 1000).toFixed(0);
}

function readCount(option: string, given: string): number {
  const count = Number(given);
  if (Number.isInteger(count) && count > 0) return count;
  throw new Error(`--${option} is "${given}", but must be a whole number above 0`);
}

function readBuild(given: string): string {
  const file = resolve(given);
  if (existsSync(file)) return file;
  throw new Error(`--against is ${file}, but there is no such file`);
}

/** Rejects at Ctrl-C or SIGTERM, so that the servers are stopped and their homes removed before this process ends. */
const interrupted = new Promise<never>((_, reject) => {
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => reject(new Error(`ended by ${signal}`)));
});

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "7" },
    sizes: { type: "string", default: "1,4,20,100" },
    against: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const sizes = [...new Set(values.sizes.split(",").map((size) => readCount("sizes", size)))];
const rounds = readCount("rounds", values.rounds);
const against = values.against === undefined ? undefined : readBuild(values.against);
const loadBefore = loadavg()[0];
const { measured, definitions } = await withContenders(against, (contenders) =>
  Promise.race([measure(contenders, { rounds, sizes }), interrupted]),
);
const machine = { loadBefore, loadAfter: loadavg()[0], seconds: Number(seconds()) };
const report = reportOf(measured, sizes, definitions);

if (values.json) {
  process.stdout.write(`${JSON.stringify({ ...report, machine }, undefined, 2)}\n`);
} else {
  const load = `load of the machine ${machine.loadBefore?.toFixed(1)} before, ${machine.loadAfter?.toFixed(1)} after`;
  const lines = [formatReport(report), `${rounds} rounds of each size in ${machine.seconds} s; ${load}.`];
  if (against !== undefined) lines.push(`The other build is ${against}.`);
  if (!canReadCpu) lines.push("CPU is left out: this system has no /proc that tells of it.");
  process.stdout.write(`${lines.join("\n")}\n`);
}
handOver(asFigures(report));
if (report.goals.some(({ met }) => !met)) process.exitCode = 1;
