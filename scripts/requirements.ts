import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { collectCoverage } from "./requirements/coverage.ts";
import { findGaps } from "./requirements/gaps.ts";
import { requirementsPage } from "./requirements/page.ts";

/** Writes `docs/requirements.md` from the specifications and the titles of the tests, and names what is missing in it. */
const coverage = await collectCoverage();
writeFileSync(fileURLToPath(new URL("../docs/requirements.md", import.meta.url)), requirementsPage(coverage));
process.stdout.write("docs/requirements.md written\n");
for (const gap of findGaps(coverage)) {
  process.stderr.write(`${gap}\n`);
  process.exitCode = 1;
}
