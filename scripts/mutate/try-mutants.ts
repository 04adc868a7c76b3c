import { readFileSync, rmSync, writeFileSync } from "node:fs";
import type { MutantResult, PartialStrykerOptions } from "@stryker-mutator/api/core";
import { Stryker } from "@stryker-mutator/core";
import type { Area } from "./areas.ts";

/** What the copies of the project do without: no test that is run here reads it. The slash names folders of the root alone. */
const NOT_NEEDED = ["/bench", "/board", "/dist", "/docs", "/inspection", "/.lab"];

/** What the first tests found: a report that Stryker begins the next run with. */
const FOUND = ".lab/mutants.json";

const OPTIONS: PartialStrykerOptions = {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner", "./scripts/mutate/ignore-what-does-nothing.ts"],
  ignorers: ["what-does-nothing"],
  // "related" would have Vitest look for the tests of each mutant by their imports, though the tests are named.
  vitest: { configFile: "scripts/mutate/vitest.config.ts", related: false },
  // Stryker rewrites a tsconfig.json in ways that TypeScript 7 does not know; the tests need none.
  tsconfigFile: "none.json",
  tempDirName: ".lab/stryker",
  ignorePatterns: NOT_NEEDED,
  reporters: ["progress-append-only"],
  incremental: true,
  incrementalFile: FOUND,
  // A mutant that loops for ever is killed after this time beyond that of its tests, milliseconds. It counts as seen: on a
  // machine that is busy with other things, less would have mutants count that only were slow.
  timeoutMS: 60_000,
};

const run = (file: string, tests: string[], without: string[], concurrency: number): Promise<MutantResult[]> => {
  process.env.MUTATE_TESTS = JSON.stringify(tests);
  process.env.MUTATE_WITHOUT = JSON.stringify(without);
  return new Stryker({ ...OPTIONS, mutate: [file], concurrency }).runMutationTest();
};

/** The part of Stryker's report that is looked at here. */
interface Report {
  files: Record<string, { mutants: Pick<MutantResult, "status">[] }>;
}

const isLeft = (status: MutantResult["status"]): boolean => status === "Survived" || status === "NoCoverage";

/** Removes the survivors from the report, so that the next run tries them again, and only them. */
const forgetSurvivors = () => {
  const report = JSON.parse(readFileSync(FOUND, "utf8")) as Report;
  for (const file of Object.values(report.files)) file.mutants = file.mutants.filter(({ status }) => !isLeft(status));
  writeFileSync(FOUND, JSON.stringify(report));
};

/**
 * Makes the mutants of a file, and runs the tests of its area against each: the quick ones first, and all against those that
 * are left, unless only the quick ones are wanted. Resolves to what became of each mutant.
 */
export const tryMutants = async (
  { tests, slowTests }: Area,
  file: string,
  { concurrency, isQuick }: { concurrency: number; isQuick: boolean },
): Promise<MutantResult[]> => {
  rmSync(FOUND, { force: true });
  const first = await run(file, tests, slowTests, concurrency);
  if (isQuick || slowTests.length === 0 || first.every(({ status }) => !isLeft(status))) return first;
  forgetSurvivors();
  return run(file, [...tests, ...slowTests], [], concurrency);
};
