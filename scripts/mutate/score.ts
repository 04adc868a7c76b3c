import type { MutantResult } from "@stryker-mutator/api/core";
import { type EquivalentMutant, equivalentMutants } from "./equivalent-mutants.ts";
import type { MeasuredFiles } from "./measured.ts";
import { type NamedMutant, named } from "./mutant.ts";

/** A mutant that no test killed. */
export type Survivor = Pick<NamedMutant, "file" | "code" | "mutation">;

/** What became of mutants. Those that do not load, and words of descriptions, are not counted. */
export interface Score {
  /** Mutants that a test failed on, or that ran for ever. */
  killed: number;
  survived: Survivor[];
  /** Survivors that are no mistakes. */
  equivalent: EquivalentMutant[];
}

const isSame = (one: EquivalentMutant, { file, code, mutation }: Survivor): boolean =>
  one.file === file && one.code === code && one.mutation === mutation;

/** Counts what tests killed, and names what they left. */
export const resultsOf = (mutants: MutantResult[]): { killed: number; left: NamedMutant[] } => {
  const with_ = (...statuses: MutantResult["status"][]) => mutants.filter(({ status }) => statuses.includes(status));
  return { killed: with_("Killed", "Timeout").length, left: with_("Survived", "NoCoverage").map(named) };
};

/** Adds up what was measured of these files. Those that never were are left out. */
export const scoreOf = (files: readonly string[], measured: MeasuredFiles, known = equivalentMutants): Score => {
  const left = files.flatMap((file) => (measured[file]?.left ?? []).map((mutant) => ({ file, ...mutant })));
  const equivalentOf = (mutant: Survivor) => known.find((one) => isSame(one, mutant));
  return {
    killed: files.reduce((sum, file) => sum + (measured[file]?.killed ?? 0), 0),
    survived: left.filter((mutant) => !equivalentOf(mutant)),
    equivalent: left.flatMap((mutant) => equivalentOf(mutant) ?? []),
  };
};

/** The share of the mutants that were killed, of those that are not equivalent: 0 to 1. */
export const shareOf = ({ killed, survived }: Score): number => killed / Math.max(1, killed + survived.length);
