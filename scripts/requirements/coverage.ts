import { DEVIATIONS, type Deviation } from "./deviations.ts";
import { findShowingTests, type ShowingTest } from "./showing-tests.ts";
import { readSpecifications, type Specification } from "./specifications.ts";
import { WITHOUT_TEST, type WithoutTest } from "./without-test.ts";

/** All that the page of requirements is made of. */
export interface Coverage {
  specifications: readonly Specification[];
  tests: readonly ShowingTest[];
  withoutTest: readonly WithoutTest[];
  deviations: readonly Deviation[];
}

/** Reads the specifications, and lists the tests that show them. */
export const collectCoverage = async (): Promise<Coverage> => ({
  specifications: readSpecifications(),
  tests: await findShowingTests(),
  withoutTest: WITHOUT_TEST,
  deviations: DEVIATIONS,
});
