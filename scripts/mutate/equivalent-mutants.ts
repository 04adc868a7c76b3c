import type { NamedMutant } from "./mutant.ts";

/** A change of the code that no test can see, for nothing outside depends on it. */
export interface EquivalentMutant extends Pick<NamedMutant, "file" | "code" | "mutation"> {
  reason: string;
}

/** Survivors that are no mistakes, each with its reason. */
export const equivalentMutants: readonly EquivalentMutant[] = [];
