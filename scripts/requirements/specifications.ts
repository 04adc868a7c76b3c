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

/** The three specifications of one tool contract, each with the prefix that it names the tools by. */
export const PREFIXES = {
  "asyncagents-task": "asyncagents",
  "superagents-task": "superagents",
  "background-task": "background",
} as const satisfies Partial<Record<SpecificationName, string>>;

export const TASKS = ["asyncagents-task", "superagents-task", "background-task"] as const;
/** The oldest of the line says nothing of how a notice reads. */
export const WITH_NOTICES = ["asyncagents-task", "superagents-task"] as const;
/** The two that say word for word how much a fork inherits, and which resumes are rejected. */
export const WITH_LIMITS = ["superagents-task", "background-task"] as const;

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

/** Returns where a specification stands. */
export const fileOf = (name: SpecificationName): URL =>
  new URL(`../../docs/specifications/${name}.md`, import.meta.url);

/** Reads all specifications. */
export const readSpecifications = (): Specification[] =>
  SPECIFICATIONS.map((name) => ({ name, requirements: requirementsIn(readFileSync(fileOf(name), "utf8")) }));
