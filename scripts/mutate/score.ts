import type { MutantResult } from "@stryker-mutator/api/core";
import { type EquivalentMutant, equivalentMutants } from "./equivalent-mutants.ts";
import { type NamedMutant, named } from "./mutant.ts";

/** What became of the mutants of an area. Those that do not load, and words of descriptions, are not counted. */
export interface Score {
  /** Mutants that a test failed on, or that ran for ever. */
  killed: number;
  survived: NamedMutant[];
  /** Survivors that are no mistakes. */
  equivalent: EquivalentMutant[];
}

const isSame = (one: EquivalentMutant, { file, code, mutation }: NamedMutant): boolean =>
  one.file === file && one.code === code && one.mutation === mutation;

/** Counts what became of mutants. */
export const scoreOf = (mutants: MutantResult[], known = equivalentMutants): Score => {
  const with_ = (...statuses: MutantResult["status"][]) => mutants.filter(({ status }) => statuses.includes(status));
  const left = with_("Survived", "NoCoverage").map(named);
  const equivalentOf = (mutant: NamedMutant) => known.find((one) => isSame(one, mutant));
  return {
    killed: with_("Killed", "Timeout").length,
    survived: left.filter((mutant) => !equivalentOf(mutant)),
    equivalent: left.flatMap((mutant) => equivalentOf(mutant) ?? []),
  };
};

/** The share of the mutants that were killed, of those that are not equivalent: 0 to 1. */
export const shareOf = ({ killed, survived }: Score): number => killed / Math.max(1, killed + survived.length);
