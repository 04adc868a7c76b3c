import type { MutantResult, PartialStrykerOptions } from "@stryker-mutator/api/core";
import { Stryker } from "@stryker-mutator/core";
import type { Area } from "./areas.ts";

/** What the copies of the project do without: no test that is run here reads it. */
const NOT_NEEDED = ["bench", "board", "dist", "docs", "inspection", ".lab"];

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
  // A mutant that loops for ever is killed after this time beyond that of its tests, milliseconds.
  timeoutMS: 10_000,
};

const run = async (mutate: string[], tests: string[], without: string[], concurrency: number) => {
  process.env.MUTATE_TESTS = tests.join(",");
  process.env.MUTATE_WITHOUT = without.join(",");
  return new Stryker({ ...OPTIONS, mutate, concurrency }).runMutationTest();
};

const hasSurvived = ({ status }: MutantResult): boolean => status === "Survived" || status === "NoCoverage";

const rangeOf = ({ fileName, location: { start, end } }: MutantResult): string =>
  `${fileName}:${start.line}:${start.column - 1}-${end.line}:${end.column - 1}`;

const keyOf = (mutant: MutantResult): string => `${rangeOf(mutant)} ${mutant.mutatorName} ${mutant.replacement}`;

/**
 * Makes the mutants of an area, and runs the tests against each: the quick ones first, and all against those that are
 * left. Resolves to what became of each mutant.
 */
export const tryMutants = async (
  { tests, slowTests }: Area,
  code: string[],
  concurrency: number,
): Promise<MutantResult[]> => {
  const first = await run(code, tests, slowTests, concurrency);
  const left = first.filter(hasSurvived);
  if (left.length === 0) return first;
  const second = new Map(
    (await run([...new Set(left.map(rangeOf))], [...tests, ...slowTests], [], concurrency)).map((mutant) => [
      keyOf(mutant),
      mutant,
    ]),
  );
  return first.map((mutant) => (hasSurvived(mutant) ? (second.get(keyOf(mutant)) ?? mutant) : mutant));
};
