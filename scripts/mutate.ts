import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { areas } from "./mutate/areas.ts";
import { rowOf, withResults } from "./mutate/page.ts";
import { scoreOf, shareOf } from "./mutate/score.ts";
import { tryMutants } from "./mutate/try-mutants.ts";

/*
 * Puts thousands of small mistakes into the code, one at a time, and says which of them no test sees: the measure of the
 * tests. It takes an hour and more: `--only` chooses areas by their names, `--code` some files of theirs, and `--quick`
 * leaves the slow tests out.
 */

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    code: { type: "string", multiple: true },
    quick: { type: "boolean", default: false },
    concurrency: { type: "string", default: String(availableParallelism()) },
    write: { type: "boolean", default: false },
  },
});

const chosen = areas.filter(({ name }) => name.includes(values.only));
const concurrency = Number(values.concurrency);
const isPart = values.code !== undefined || values.quick;
const isValid =
  chosen.length > 0 &&
  Number.isInteger(concurrency) &&
  concurrency > 0 &&
  !(values.code && chosen.length > 1) &&
  !(isPart && values.write);
if (!isValid) {
  throw new Error(
    `Usage: npm run mutate -- [--only words] [--code file] [--quick] [--concurrency ${availableParallelism()}] [--write]. ` +
      `With --code, --only names one of: ${areas.map(({ name }) => name).join(", ")}. ` +
      "--write is for whole areas, without --code and --quick.",
  );
}

let isBelowGoal = false;
const rows = new Map<string, string>();
for (const area of chosen) {
  const score = scoreOf(await tryMutants(area, values.code ?? area.code, { concurrency, isQuick: values.quick }));
  if (shareOf(score) < area.goal) isBelowGoal = true;
  rows.set(area.name, rowOf(area, score, new Date().toISOString().slice(0, 10)));
  console.log(`\n${area.name}: ${score.survived.length} mutants survived`);
  for (const { file, line, code, mutation } of score.survived)
    console.log(`${file}:${line}\n  - ${code}\n  + ${mutation}`);
}
console.log(`\n${[...rows.values()].join("\n")}`);

if (values.write) {
  const page = fileURLToPath(new URL("../docs/mutation.md", import.meta.url));
  writeFileSync(page, withResults(readFileSync(page, "utf8"), areas, rows));
}
process.exit(isBelowGoal ? 1 : 0);
