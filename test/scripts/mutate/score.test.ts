import { resolve } from "node:path";
import type { MutantResult } from "@stryker-mutator/api/core";
import { describe, expect, test } from "vitest";
import { equivalentMutants } from "../../../scripts/mutate/equivalent-mutants.ts";
import type { MeasuredFiles } from "../../../scripts/mutate/measured.ts";
import { resultsOf, scoreOf, shareOf } from "../../../scripts/mutate/score.ts";

const FILE = "src/machines/chart.ts";

/** A mutant of the file's third line. */
const mutant = (status: MutantResult["status"], replacement = "0"): MutantResult => ({
  id: "1",
  fileName: resolve(FILE),
  mutatorName: "ArithmeticOperator",
  location: { start: { line: 2, column: 1 }, end: { line: 3, column: 3 } },
  replacement,
  status,
});

/** What was measured of the file when these became of its mutants. */
const measured = (...mutants: MutantResult[]): MeasuredFiles => ({
  [FILE]: { fingerprint: "", on: "2026-01-01", ...resultsOf(mutants) },
});

describe("the score of the tests", () => {
  test("is the share of the mutants that they fail on, or that never end", () => {
    const mutants = [mutant("Killed"), mutant("Timeout"), mutant("Killed"), mutant("Survived")];
    const score = scoreOf([FILE], measured(...mutants), []);
    expect([score.killed, score.survived.length, shareOf(score)]).toEqual([3, 1, 0.75]);
  });

  test("counts what no test runs, and nothing that does not load or was left out", () => {
    const mutants = [mutant("NoCoverage"), mutant("RuntimeError"), mutant("Ignored"), mutant("CompileError")];
    const score = scoreOf([FILE], measured(...mutants), []);
    expect([score.killed, score.survived.length]).toEqual([0, 1]);
  });

  test("does not count survivors that are known to be no mistakes", () => {
    const [survivor] = scoreOf([FILE], measured(mutant("Survived")), []).survived;
    const known = survivor ? [{ ...survivor, reason: "none" }] : [];
    expect(scoreOf([FILE], measured(mutant("Survived"), mutant("Survived", "1")), known)).toMatchObject({
      survived: [{ file: FILE }],
      equivalent: [{ reason: "none" }],
    });
  });

  test("adds up files, and leaves out those that were not measured", () => {
    const both = { ...measured(mutant("Killed")), "a.ts": { fingerprint: "", on: "", killed: 2, left: [] } };
    expect(scoreOf([FILE, "a.ts", "b.ts"], both, []).killed).toBe(3);
  });
});

test("each change that is listed as no mistake has a reason, and is listed once", () => {
  const keys = equivalentMutants.map(({ file, code, mutation }) => [file, code, mutation].join("\n"));
  expect(new Set(keys).size).toBe(keys.length);
  for (const { reason } of equivalentMutants) expect(reason).toMatch(/\.$/);
});
