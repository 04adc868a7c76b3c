import { resolve } from "node:path";
import type { MutantResult } from "@stryker-mutator/api/core";
import { describe, expect, test } from "vitest";
import { equivalentMutants } from "../../../scripts/mutate/equivalent-mutants.ts";
import { scoreOf, shareOf } from "../../../scripts/mutate/score.ts";

const FILE = "src/machines/backoff.ts";

/** A mutant of the file's third line. */
const mutant = (status: MutantResult["status"], replacement = "0"): MutantResult => ({
  id: "1",
  fileName: resolve(FILE),
  mutatorName: "ArithmeticOperator",
  location: { start: { line: 2, column: 1 }, end: { line: 3, column: 3 } },
  replacement,
  status,
});

describe("the score of the tests", () => {
  test("is the share of the mutants that they fail on, or that never end", () => {
    const score = scoreOf([mutant("Killed"), mutant("Timeout"), mutant("Killed"), mutant("Survived")], []);
    expect([score.killed, score.survived.length, shareOf(score)]).toEqual([3, 1, 0.75]);
  });

  test("counts what no test runs, and nothing that does not load or was left out", () => {
    const score = scoreOf(
      [mutant("NoCoverage"), mutant("RuntimeError"), mutant("Ignored"), mutant("CompileError")],
      [],
    );
    expect([score.killed, score.survived.length]).toEqual([0, 1]);
  });

  test("does not count survivors that are known to be no mistakes", () => {
    const [survivor] = scoreOf([mutant("Survived")], []).survived;
    const known = survivor ? [{ ...survivor, reason: "none" }] : [];
    expect(scoreOf([mutant("Survived"), mutant("Survived", "1")], known)).toMatchObject({
      survived: [{ file: FILE, line: 2 }],
      equivalent: [{ reason: "none" }],
    });
  });
});

test("each change that is listed as no mistake has a reason, and is listed once", () => {
  const keys = equivalentMutants.map(({ file, code, mutation }) => [file, code, mutation].join("\n"));
  expect(new Set(keys).size).toBe(keys.length);
  for (const { reason } of equivalentMutants) expect(reason).toMatch(/\.$/);
});
