import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { areas } from "./mutate/areas.ts";
import { changedOf, filesOf, fingerprintOf, readMeasured, writeMeasured } from "./mutate/measured.ts";
import { rowOf, rowOfWhole, withResults } from "./mutate/page.ts";
import { resultsOf, scoreOf, shareOf } from "./mutate/score.ts";
import { tryMutants } from "./mutate/try-mutants.ts";

/*
 * Puts thousands of small mistakes into the code, one at a time, and says which of them no test sees: the measure of the
 * tests. All of it takes hours: `--only` chooses areas by their names, `--code` some files of theirs, `--changed` what has
 * changed since it was measured, and `--quick` leaves the slow tests out. After `--minutes` no other file is begun.
 */

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    code: { type: "string", multiple: true },
    changed: { type: "boolean", default: false },
    minutes: { type: "string" },
    quick: { type: "boolean", default: false },
    concurrency: { type: "string", default: String(availableParallelism()) },
    write: { type: "boolean", default: false },
  },
});

const chosen = areas.filter(({ name }) => name.includes(values.only));
const concurrency = Number(values.concurrency);
const minutes = Number(values.minutes ?? Number.POSITIVE_INFINITY);
const files = chosen.flatMap((area) => (values.code ?? filesOf(area)).map((file) => ({ area, file })));
const isPartOfTests = values.quick && chosen.some(({ slowTests }) => slowTests.length > 0);
const isValid =
  files.length > 0 &&
  Number.isInteger(concurrency) &&
  concurrency > 0 &&
  minutes > 0 &&
  !(values.code && chosen.length > 1) &&
  !(isPartOfTests && values.write);
if (!isValid) {
  throw new Error(
    "Usage: npm run mutate -- [--only words] [--code file] [--changed] [--minutes 60] [--quick] " +
      `[--concurrency ${availableParallelism()}] [--write]. ` +
      `With --code, --only names one of: ${areas.map(({ name }) => name).join(", ")}. ` +
      "--write is not for --quick, but where an area has no slow tests.",
  );
}

const page = fileURLToPath(new URL("../docs/mutation.md", import.meta.url));
const measured = readMeasured();
const until = performance.now() + minutes * 60_000;
const notReached: string[] = [];
const tried = new Set<(typeof areas)[number]>();

/** After each file, so that nothing is lost when the command is stopped. */
const write = () => {
  writeMeasured(measured);
  const rows = new Map([...tried].map((area) => [area.name, rowOfWhole(area, measured)]));
  writeFileSync(page, withResults(readFileSync(page, "utf8"), areas, rows, measured));
};

for (const { area, file } of values.changed ? changedOf(files, measured) : files) {
  if (performance.now() > until) {
    notReached.push(file);
    continue;
  }
  const fingerprint = fingerprintOf(file, area);
  const { killed, left } = resultsOf(await tryMutants(area, file, { concurrency, isQuick: values.quick }));
  measured[file] = {
    ...{ fingerprint, on: new Date().toISOString().slice(0, 10), killed },
    left: left.map(({ code, mutation }) => ({ code, mutation })),
  };
  tried.add(area);
  if (values.write) write();
  const { survived } = scoreOf([file], measured);
  console.log(`\n${file}: ${killed} killed, ${survived.length} survived`);
  for (const { line, code, mutation } of left)
    if (survived.some((one) => one.code === code && one.mutation === mutation))
      console.log(`${file}:${line}\n  - ${code}\n  + ${mutation}`);
}

let isBelowGoal = false;
for (const area of tried) {
  const score = scoreOf(filesOf(area), measured);
  if (shareOf(score) < area.goal) isBelowGoal = true;
  console.log(`\n${rowOfWhole(area, measured) ?? `${rowOf(area, score, "in part")}`}`);
}
if (notReached.length > 0) console.log(`\nNot reached within ${minutes} minutes:\n${notReached.join("\n")}`);
process.exit(isBelowGoal ? 1 : 0);
