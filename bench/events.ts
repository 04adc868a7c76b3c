/**
 * `node bench/events.ts [--seconds N]` and the same with `bun`
 *
 * How soon a change reaches those who read the status API's events: a hundred of them, in a process of their own, while
 * tasks change five hundred times a second. Each change is of 2 kB. Exits with 1 when a goal is missed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startStatusServer } from "../src/services/http/server/status-server.ts";
import { systemClock } from "../src/services/platform/clock.ts";
import { createFakeSource } from "../test/fakes/status-source.ts";
import { type Figure, report } from "./figures.ts";
import { percentile } from "./measuring.ts";

const READERS = 100;
const CHANGES_PER_SECOND = 500;
const TASKS = 50;
/** Milliseconds at the 95th percentile. */
const GOAL = 50;
/** Milliseconds until what is on its way has come, or never will. */
const REST = 1_000;

const { values } = parseArgs({ options: { seconds: { type: "string", default: "5" } } });
const seconds = Number(values.seconds);

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const folder = mkdtempSync(join(tmpdir(), "taskchart-events-"));
const source = createFakeSource(systemClock);
const ids = Array.from({ length: TASKS }, () => source.launch({ prompt: "Look at each file. ".repeat(70) }).sessionID);
const server = await startStatusServer({
  source,
  folder,
  env: {},
  log: { info: () => undefined, error: (message, extra) => console.error(message, extra) },
  clock: systemClock,
  version: "bench",
  allowedOrigins: [],
});
if (!server) throw new Error("the server did not start");

const script = fileURLToPath(new URL("events/readers.ts", import.meta.url));
const readers = spawn(process.execPath, [script, String(server.port), String(READERS)], {
  stdio: ["pipe", "pipe", "inherit"],
});
const lines = createInterface({ input: readers.stdout });
await once(lines, "line");

const start = performance.now();
const total = CHANGES_PER_SECOND * seconds;
for (let made = 0; made < total; ) {
  const due = Math.min(total, Math.floor(((performance.now() - start) / 1_000) * CHANGES_PER_SECOND));
  for (; made < due; made += 1) {
    const at = performance.timeOrigin + performance.now();
    source.change(ids[made % TASKS] ?? "", { description: `change ${made}, made at ${at.toFixed(3)}` });
  }
  await pause(1);
}
const took = performance.now() - start;
await pause(REST);
const answer = once(lines, "line");
readers.stdin.end();
const latencies: number[] = JSON.parse(String((await answer)[0]));
await server.stop();
rmSync(folder, { recursive: true, force: true });

// Several changes of one task that fall into one reading are one event; at this rate none does.
const share = latencies.length / (total * READERS);
console.log(`${READERS} readers, ${total} changes in ${(took / 1_000).toFixed(1)} s`);
const latencyFigure = (name: string, at: number): Figure => ({
  what: `a change reaches a reader, ${name}`,
  value: percentile(latencies, at),
  unit: "ms",
});
report([
  latencyFigure("median", 0.5),
  { ...latencyFigure("p95", 0.95), atMost: GOAL },
  latencyFigure("p99", 0.99),
  latencyFigure("longest", 1),
  { what: "events that arrived", value: share * 100, unit: "%", atLeast: 99 },
]);
