import { readFileSync } from "node:fs";
import type { Entry } from "../../test/specifications/lines/entry.ts";
import type { Coverage } from "./coverage.ts";
import { isPlanted, nameOf, testsOf } from "./line-tests.ts";

const sources = new Map<string, string>();

/** Reads a file of the product, once. */
const sourceOf = (file: string): string => {
  const source = sources.get(file) ?? readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
  sources.set(file, source);
  return source;
};

/** What is wrong with an entry by itself; undefined if nothing is. */
const faultIn = (entry: Entry, { tests }: Pick<Coverage, "tests">, read: typeof sourceOf): string | undefined => {
  if (!isPlanted(entry)) return undefined;
  const { file, code, mistake } = entry.mistake;
  if (read(file).split(code).length !== 2)
    return `${file} does not have this text once, so nothing is planted: ${code}`;
  if (code === mistake) return `its mistake changes nothing: ${code}`;
  return testsOf(entry, tests).length === 0 ? "the test that it names does not exist." : undefined;
};

/**
 * Says in a sentence each which line of a specification nothing is known of, and what is wrong with what is known. Empty if all
 * is well.
 */
export const findLineGaps = (
  coverage: Pick<Coverage, "lines" | "entries" | "tests" | "withoutTest">,
  read = sourceOf,
): string[] => {
  const { lines, entries, withoutTest } = coverage;
  const named = new Set(lines.map(nameOf));
  const known = Map.groupBy(entries, nameOf);
  const hasReason = ({ specification, requirement }: Pick<Entry, "specification" | "requirement">) =>
    withoutTest.some((one) => one.specification === specification && one.requirement === requirement);
  return [
    ...lines
      .filter((line) => !known.has(nameOf(line)) && !hasReason(line))
      .map((line) => `${nameOf(line)}: no mistake violates it, and no reason is stated.`),
    ...[...known].flatMap(([name, of]) => {
      if (!named.has(name)) return `${name}: it is in no specification.`;
      if (of.length > 1 && !of.every(isPlanted)) return `${name}: it has a mistake, and a reason to have none.`;
      return of.flatMap((entry) => {
        const fault = faultIn(entry, coverage, read);
        return fault === undefined ? [] : `${name}: ${fault}`;
      });
    }),
  ];
};
