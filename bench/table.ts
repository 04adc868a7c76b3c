/**
 * `npm run bench -- [--only NAME]… [--all] [--write]`
 *
 * Runs the benches one after the other, each as a process of its own, and prints one table: each figure beside its target
 * and beside what it is to be compared with, from the same run. Exits with 1 when a target is missed or a bench has failed.
 *
 * `--only`: a bench of `table/benches.ts`; may be given several times. `--all`: also figures that have neither a target nor
 * a comparison. `--write`: puts the rows into `docs/performance.md`, those of a bench in the place of its last ones.
 *
 * All of it takes about twelve minutes, and writes up to 3 GB into the folder for temporary files.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { measuredOn } from "./machine.ts";
import { benchesOf } from "./table/benches.ts";
import { markdownTable } from "./table/markdown.ts";
import { isGood, type Outcome } from "./table/outcome.ts";
import { summaryOf, withRows } from "./table/page.ts";
import { HEAD, rowsOf } from "./table/rows.ts";
import { runBench } from "./table/run-bench.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    all: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
  },
});

/** Aborted at Ctrl-C or SIGTERM: the bench that runs is ended then, and no other one is begun. */
const interruption = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => interruption.abort(new Error(`ended by ${signal}`)));
}

const runs: { outcome: Outcome; when: string }[] = [];
for (const { name, about } of benchesOf(values.only)) {
  const [since, when] = [performance.now(), measuredOn()];
  process.stderr.write(`${name}: ${about} …\n`);
  const outcome = await runBench(name, new URL(`${name}.ts`, import.meta.url), interruption.signal);
  runs.push({ outcome, when });
  const seconds = ((performance.now() - since) / 1_000).toFixed(0);
  process.stderr.write(`${name}: ${outcome.failure ?? "done"}, after ${seconds} s\n`);
}

const rows = runs.flatMap(({ outcome, when }) => rowsOf(outcome, when, values.all));
process.stdout.write(`${markdownTable(HEAD, rows)}\n\n${summaryOf(rows)}\n`);
if (values.write) {
  const page = fileURLToPath(new URL("../docs/performance.md", import.meta.url));
  const lasting = runs.flatMap(({ outcome, when }) => rowsOf(outcome, when));
  writeFileSync(page, withRows(readFileSync(page, "utf8"), lasting));
  process.stderr.write("docs/performance.md written\n");
}
if (!runs.every(({ outcome }) => isGood(outcome))) process.exitCode = 1;
