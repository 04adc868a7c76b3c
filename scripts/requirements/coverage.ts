import { entries } from "../../test/specifications/lines/entries.ts";
import type { Entry } from "../../test/specifications/lines/entry.ts";
import { DEVIATIONS, type Deviation } from "./deviations.ts";
import { type Line, readLines } from "./lines.ts";
import { findShowingTests, type ShowingTest } from "./showing-tests.ts";
import { readSpecifications, type Specification } from "./specifications.ts";
import { WITHOUT_TEST, type WithoutTest } from "./without-test.ts";

/** All that the page of requirements is made of. */
export interface Coverage {
  specifications: readonly Specification[];
  tests: readonly ShowingTest[];
  withoutTest: readonly WithoutTest[];
  deviations: readonly Deviation[];
  /** The lines of the specifications, and how each is violated. */
  lines: readonly Line[];
  entries: readonly Entry[];
}

/** Reads the specifications, and lists the tests that show them. */
export const collectCoverage = async (): Promise<Coverage> => ({
  specifications: readSpecifications(),
  tests: await findShowingTests(),
  withoutTest: WITHOUT_TEST,
  deviations: DEVIATIONS,
  lines: readLines(),
  entries,
});
