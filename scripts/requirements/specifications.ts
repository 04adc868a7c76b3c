import { readFileSync } from "node:fs";

/** The specifications in `docs/specifications`, in the order of the table. A test's title begins with such a name. */
export const SPECIFICATIONS = [
  "asyncagents-task",
  "superagents-task",
  "background-task",
  "elisha-task-domain",
  "subagents-and-subtasks",
] as const;

export type SpecificationName = (typeof SPECIFICATIONS)[number];

export interface Requirement {
  /** As a test's title names it. */
  name: string;
  /** Its heading in the specification. */
  heading: string;
  /** Empty where the specification has no scenarios. */
  scenarios: string[];
}

export interface Specification {
  name: SpecificationName;
  requirements: Requirement[];
}

interface Section {
  heading: string;
  hasText: boolean;
}

const sectionsOf = (text: string): Section[] =>
  text
    .split(/^#{2,} /m)
    .slice(1)
    .map((section) => {
      const [heading = "", ...lines] = section.split("\n");
      return { heading, hasText: lines.some((line) => line.trim() !== "") };
    });

/** The name in a heading such as `Requirement: Task List API`; undefined for any other heading. */
const nameIn = (heading: string, kind: "Requirement" | "Scenario"): string | undefined =>
  heading.startsWith(`${kind}: `) ? heading.slice(kind.length + ": ".length) : undefined;

/**
 * Returns the requirements of a specification with their scenarios. In a text without such headings every section that has
 * text of its own is a requirement.
 */
export const requirementsIn = (text: string): Requirement[] => {
  const sections = sectionsOf(text);
  const requirements: Requirement[] = [];
  for (const { heading } of sections) {
    const name = nameIn(heading, "Requirement");
    const scenario = nameIn(heading, "Scenario");
    if (name !== undefined) requirements.push({ name, heading, scenarios: [] });
    if (scenario !== undefined) requirements.at(-1)?.scenarios.push(scenario);
  }
  if (requirements.length > 0) return requirements;
  return sections.filter(({ hasText }) => hasText).map(({ heading }) => ({ name: heading, heading, scenarios: [] }));
};

/** Reads all specifications. */
export const readSpecifications = (): Specification[] =>
  SPECIFICATIONS.map((name) => {
    const file = new URL(`../../docs/specifications/${name}.md`, import.meta.url);
    return { name, requirements: requirementsIn(readFileSync(file, "utf8")) };
  });
