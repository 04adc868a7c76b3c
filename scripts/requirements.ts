import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { collectCoverage } from "./requirements/coverage.ts";
import { findGaps } from "./requirements/gaps.ts";
import { findLineGaps } from "./requirements/line-gaps.ts";
import { violateLines } from "./requirements/mutate.ts";
import { requirementsPage } from "./requirements/page.ts";

/*
 * Writes `docs/requirements.md` from the specifications and the titles of the tests, and names what is missing in it. With
 * `--mutate` it violates each line of the specifications once, and fails where the test that shows the line does not.
 */

const { values } = parseArgs({
  options: { mutate: { type: "boolean", default: false }, only: { type: "string", default: "" } },
});

if (values.only !== "" && !values.mutate) throw new Error("Usage: npm run requirements -- [--mutate [--only words]]");

const writePage = async (): Promise<boolean> => {
  const coverage = await collectCoverage();
  writeFileSync(fileURLToPath(new URL("../docs/requirements.md", import.meta.url)), requirementsPage(coverage));
  process.stdout.write("docs/requirements.md written\n");
  const gaps = [...findGaps(coverage), ...findLineGaps(coverage)];
  for (const gap of gaps) process.stderr.write(`${gap}\n`);
  return gaps.length === 0;
};

// Vitest sets an exit code of its own when a test fails, as all are to do here.
process.exit((await (values.mutate ? violateLines(values.only) : writePage())) ? 0 : 1);
