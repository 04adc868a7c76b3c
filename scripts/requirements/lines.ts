import { readFileSync } from "node:fs";
import { fileOf, requirementsIn, SPECIFICATIONS, type SpecificationName } from "./specifications.ts";

/** One line of a specification that promises something. */
export interface Line {
  specification: SpecificationName;
  requirement: string;
  /** Undefined for what the requirement's own text says. */
  scenario: string | undefined;
  /** As it stands there, without its mark. */
  text: string;
}

type Place = Omit<Line, "specification" | "text">;

/** What stands below one heading. */
interface Section extends Place {
  lines: string[];
}

/** Sentences of a text that stands on lines of its own. */
const sentencesIn = (lines: readonly string[]): string[] =>
  lines
    .filter((line) => /^[\p{L}`]/u.test(line))
    .flatMap((line) => line.split(/(?<=(?<!e\.g)[.:])\s+(?=[A-Z`])/))
    .map((sentence) => sentence.trim());

/**
 * Returns what a scenario promises: whatever follows its first THEN. An AND before that is one more condition. Of a line that
 * only announces a list, each item of the list is a promise.
 */
const promisesIn = (lines: readonly string[]): string[] => {
  const first = lines.findIndex((line) => line.startsWith("- **THEN** "));
  if (first < 0) return [];
  return lines.slice(first).flatMap((line) => {
    const [, text] = /^ *- (?:\*\*(?:THEN|AND|OR)\*\* )?(.+)$/.exec(line) ?? [];
    return text === undefined || text.endsWith(":") ? [] : text;
  });
};

/** Returns the lines of blocks of code and of diagrams, and all others. */
const partsOf = (lines: readonly string[]): Record<"prose" | "code" | "diagram", string[]> => {
  const parts = { prose: [] as string[], code: [] as string[], diagram: [] as string[] };
  let into: keyof typeof parts = "prose";
  for (const line of lines) {
    if (line.startsWith("```")) into = into !== "prose" ? "prose" : line === "```mermaid" ? "diagram" : "code";
    else parts[into].push(line);
  }
  return parts;
};

/** Returns the fields in code, such as `title: string`, each after the comment that stands alone above it. */
const fieldsIn = (code: readonly string[]): string[] => {
  let above = "";
  return code.flatMap((line) => {
    const [, comment] = /^\/\/ (\w+)$/.exec(line) ?? [];
    if (comment !== undefined) above = `${comment} › `;
    const [, field] = /^ +(\w+\??: .+?)[,;]?(?: +\/\/ .+)?$/.exec(line) ?? [];
    return field === undefined ? [] : above + field;
  });
};

/**
 * Returns what a section of a guide or a plan says: its sentences, the items of its lists, the rows of its tables, the fields
 * in its code, and the arrows of its diagrams. What ends in a colon only announces them.
 */
const statementsIn = (lines: readonly string[]): string[] => {
  const { prose, code, diagram } = partsOf(lines);
  const items = prose.flatMap((line) => /^ *(?:-|\d+\.) (.+)$/.exec(line)?.[1] ?? []);
  const rows = prose.flatMap((line) => (/^\| `/.test(line) ? line.replaceAll(/\s*\|\s*/g, " ").trim() : []));
  const arrows = diagram.flatMap((line) => /^ +(\w+-+>>\w+: .+)$/.exec(line)?.[1] ?? []);
  return [...sentencesIn(prose), ...items, ...rows, ...fieldsIn(code), ...arrows].filter((text) => !text.endsWith(":"));
};

const sectionsIn = (text: string): Section[] => {
  const requirements = requirementsIn(text);
  const sections: Section[] = [];
  let place: Place | undefined;
  for (const line of text.split("\n")) {
    const heading = /^#{1,} (.+)$/.exec(line)?.[1];
    if (heading === undefined) {
      if (place) sections.at(-1)?.lines.push(line);
      continue;
    }
    const own = requirements.find((one) => one.heading === heading);
    const scenario = heading.replace(/^Scenario: /, "");
    const above: string | undefined = place?.requirement;
    const within = requirements.find(({ name, scenarios }) => name === above && scenarios.includes(scenario));
    if (own) place = { requirement: own.name, scenario: undefined };
    else place = within ? { requirement: within.name, scenario } : undefined;
    if (place) sections.push({ ...place, lines: [] });
  }
  return sections;
};

/**
 * Returns the lines of a specification that promise something: in scenarios what follows THEN, in a requirement's own text the
 * sentences that say SHALL, and in a text without scenarios all that it says.
 */
export const linesIn = (specification: SpecificationName, text: string): Line[] => {
  const hasScenarios = requirementsIn(text).some(({ scenarios }) => scenarios.length > 0);
  return sectionsIn(text).flatMap(({ requirement, scenario, lines }) => {
    const texts = !hasScenarios
      ? statementsIn(lines)
      : scenario === undefined
        ? sentencesIn(lines).filter((sentence) => sentence.includes("SHALL"))
        : promisesIn(lines);
    return texts.map((one): Line => ({ specification, requirement, scenario, text: one }));
  });
};

/** Reads the lines of all specifications. */
export const readLines = (): Line[] =>
  SPECIFICATIONS.flatMap((specification) => linesIn(specification, readFileSync(fileOf(specification), "utf8")));
