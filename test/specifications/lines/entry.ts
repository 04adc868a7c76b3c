import { PREFIXES, type SpecificationName } from "../../../scripts/requirements/specifications.ts";
import type { Replacement } from "../../chaos/planted-mistakes.ts";

/** How it is known that a line of a specification is shown: this mistake violates it, and this test then fails. */
export interface Planted {
  mistake: Replacement;
  /** The end of the test's title. Default: the scenario in which the line stands. Another requirement's name may come first. */
  shownBy?: string;
}

/** Why nothing is planted for a line. */
export interface Unplanted {
  reason: string;
}

/** A line of a specification, with the mistake that violates it. */
export type Entry = (Planted | Unplanted) & {
  specification: SpecificationName;
  requirement: string;
  /** Undefined for what the requirement's own text says. */
  scenario: string | undefined;
  text: string;
};

/** What is known of each line, by its words: of one that promises several things, a mistake for each. */
type Texts = Readonly<Record<string, Planted | Unplanted | readonly Planted[]>>;

/**
 * Entries for the lines of a scenario, or of a requirement's own text where `scenario` is undefined, in each of the
 * specifications that have them. `{prefix}` stands for the prefix by which a specification names its tools.
 */
export const lines = (
  specifications: readonly SpecificationName[],
  requirement: string,
  scenario: string | undefined,
  texts: Texts,
): Entry[] =>
  specifications.flatMap((specification) =>
    Object.entries(texts).flatMap(([text, shown]) => {
      const own =
        specification in PREFIXES
          ? text.replaceAll("{prefix}", PREFIXES[specification as keyof typeof PREFIXES])
          : text;
      return [shown].flat().map((one): Entry => ({ specification, requirement, scenario, text: own, ...one }));
    }),
  );

/** In this file, this text is replaced by that one. */
export const planted = (file: string, code: string, mistake: string, shownBy?: string): Planted => ({
  mistake: { file, code, mistake },
  ...(shownBy === undefined ? {} : { shownBy }),
});

/** The same mistake, seen by the test of another scenario. */
export const seenBy = (shownBy: string, { mistake }: Planted): Planted => ({ mistake, shownBy });

export const unplanted = (reason: string): Unplanted => ({ reason });
