import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { closingLines, type StageResult, type VitestReport } from "./test/closing-lines.ts";

/**
 * `npm test`: builds, and runs what a change must pass: the unit suites on Node but for what is for the night, the contract
 * of the runtime on Bun, and one test of each promise in the real OpenCode. Goes on when something fails, so that one run
 * shows all that is wrong. The last lines name what failed. Exits with 1 when anything did.
 *
 * `npm run nightly`: the same suites whole (all on Bun, all in OpenCode, every crash, the larger explorations), and then
 * what takes too long for any suite. `npm run nightly -- --only planted` runs the stages whose names contain that.
 */
const root = fileURLToPath(new URL("..", import.meta.url));

interface Stage {
  name: string;
  /** Of package.json. */
  script: string;
  args?: string[];
  /** The stage without which it cannot run. */
  needs?: string;
}

const SUITES: Stage[] = [
  { name: "build", script: "build" },
  { name: "Node", script: "test:unit" },
  { name: "Bun", script: "test:bun" },
  // Starts what the build made: without it, each of its tests would fail in the same way.
  { name: "OpenCode and pages", script: "test:host", needs: "build" },
];

/** What `npm test` runs of each suite: see `tags` in `vitest.config.ts`. */
const IN_GATE: Record<string, string> = { "test:unit": "!nightly", "test:bun": "!nightly", "test:host": "gate" };

const LONG: Stage[] = [
  { name: "random schedules", script: "chaos", args: ["--runs", "20000"] },
  { name: "random schedules of fleets", script: "chaos", args: ["--fleet", "--runs", "5000"] },
  { name: "lines of the specifications", script: "requirements", args: ["--mutate"] },
  { name: "planted mistakes", script: "chaos", args: ["--planted", "--seed", "8"] },
  { name: "planted mistakes of fleets", script: "chaos", args: ["--fleet", "--planted", "--seed", "8"] },
  // Writes what it found: the next night goes on with what this one did not reach.
  { name: "mutation", script: "mutate", args: ["--changed", "--minutes", "60", "--write"] },
];

const { values } = parseArgs({ options: { nightly: { type: "boolean", default: false }, only: { type: "string" } } });
const stages = (values.nightly ? [...SUITES, ...LONG] : SUITES).filter(({ name }) => name.includes(values.only ?? ""));
if (values.nightly) process.env.NIGHTLY = "1";

const reports = mkdtempSync(join(tmpdir(), "taskchart-test-"));

async function run({ name, script, args = [] }: Stage): Promise<StageResult> {
  const file = join(reports, `${name}.json`);
  // To these, what is added at the end is an argument of Vitest.
  const hasReport = script in IN_GATE;
  const reporting = hasReport ? ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`] : [];
  const chosen = values.nightly || !(script in IN_GATE) ? [] : [`--tags-filter=${IN_GATE[script]}`];
  const command = ["run", "--silent", script, "--", ...args, ...chosen, ...reporting];
  const stage = spawn("npm", command, { cwd: root, stdio: "inherit" });
  const [code, signal] = (await once(stage, "close")) as [number | null, string | null];
  const report = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as VitestReport) : undefined;
  return { name, end: signal ?? code ?? 1, report };
}

const results: StageResult[] = [];
try {
  for (const stage of stages) {
    const isMissing = results.some(({ name, end }) => name === stage.needs && end !== 0);
    results.push(isMissing ? { name: stage.name, end: "not run" } : await run(stage));
  }
} finally {
  rmSync(reports, { recursive: true, force: true });
}
console.log(closingLines(results, root).join("\n"));
process.exitCode = results.every(({ end }) => end === 0) ? 0 : 1;
