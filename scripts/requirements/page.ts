import { anchorOf } from "../anchor.ts";
import { decisionFiles, decisionsOfHistory } from "../decisions.ts";
import type { Coverage } from "./coverage.ts";
import type { Deviation } from "./deviations.ts";
import { showsScenario } from "./gaps.ts";
import { isPlanted, nameOf } from "./line-tests.ts";
import type { ShowingTest } from "./showing-tests.ts";
import type { Requirement, Specification } from "./specifications.ts";

const HEAD = `# Requirements

<!-- Generated from docs/specifications, the titles of the tests, and the lists in scripts/requirements, by \`npm run requirements\`. -->

Each requirement and scenario of the [five specifications](specifications/README.md), with the tests that
show it. The title of such a test carries its name, as in
\`asyncagents-task › Task List API › Filters by agent parameter\`. A test fails when one of them has neither
such a test nor a reason to have none. Where the product does otherwise than the words say, a
[deviation](#deviations) says why.

A title proves little. So for each THEN, AND and SHALL, and each statement of the two texts without scenarios,
[a mistake](../test/specifications/lines) violates just that line: \`npm run requirements -- --mutate\` plants each in
the product, and fails where the test that is to show the line does not.
`;

const DEVIATIONS_HEAD = `## Deviations

What the product does otherwise than a specification says, or how words are read that contradict each
other or can be read in two ways.
`;

interface Owner {
  specification: string;
  requirement: string;
}

/** Makes a text one cell of a table. */
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "&lt;");

const row = (...cells: string[]): string => `| ${cells.join(" | ")} |`;

const table = (heads: string[], rows: string[]): string =>
  [row(...heads), row(...heads.map(() => "---")), ...rows].join("\n");

const linkTo = (heading: string, text = heading): string => `[${text}](#${anchorOf(heading)})`;

const filesOf = (tests: readonly ShowingTest[]): string =>
  [...new Set(tests.map(({ file }) => file))].map((file) => `[${file}](../${file})`).join(", ");

const countOf = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

/** Returns the rows of a requirement's table: its scenarios, or what its tests say where it has none. */
const rowsOf = ({ scenarios }: Requirement, tests: readonly ShowingTest[]): string[] =>
  scenarios.length > 0
    ? scenarios.map((name) => row(cell(name), filesOf(tests.filter((test) => showsScenario(test, name)))))
    : [...Map.groupBy(tests, ({ shows }) => shows)].map(([shows, its]) => row(cell(shows), filesOf(its)));

/** Says how many lines a requirement has and how many mistakes violate them, and why nothing violates some of them. */
const lineByLine = (isOf: (one: Owner) => boolean, { lines, entries }: Coverage): string[] => {
  const its = entries.filter(isOf);
  const planted = its.filter(isPlanted).length;
  if (its.length === 0) return [];
  const reasons = its.flatMap((one) => (isPlanted(one) ? [] : [{ text: `“${cell(one.text)}”`, reason: one.reason }]));
  const unplanted = [...Map.groupBy(reasons, ({ reason }) => reason)].map(
    ([reason, of]) => `- Nothing is planted for ${of.map(({ text }) => text).join(", ")}: ${reason}`,
  );
  const counts = `${countOf(lines.filter(isOf).length, "line")}, ${countOf(planted, "mistake")}.`;
  return [counts, ...(unplanted.length > 0 ? [unplanted.join("\n")] : [])];
};

const requirementSection = ({ name }: Specification, requirement: Requirement, coverage: Coverage): string => {
  const isOf = (one: Owner) => one.specification === name && one.requirement === requirement.name;
  const rows = rowsOf(requirement, coverage.tests.filter(isOf));
  const place = `specifications/${name}.md#${anchorOf(requirement.heading)}`;
  const what = requirement.scenarios.length > 0 ? "scenario" : "what is shown";
  const reasons = coverage.withoutTest
    .filter(isOf)
    .map(({ scenario, reason }) => `No test${scenario === undefined ? "" : ` of “${scenario}”`}. ${reason}`);
  const deviations = coverage.deviations
    .filter(
      ({ specifications, requirements }) => specifications.includes(name) && requirements.includes(requirement.name),
    )
    .map(({ title }) => linkTo(title));
  return [
    `### ${requirement.name}`,
    rows.length > 0 ? table([`[${what}](${place})`, "tests"], rows) : `[Its text](${place})`,
    ...lineByLine(isOf, coverage),
    ...reasons,
    ...(deviations.length > 0 ? [`Deviations: ${deviations.join("; ")}.`] : []),
  ].join("\n\n");
};

const specificationSection = (specification: Specification, coverage: Coverage): string =>
  [
    `## ${specification.name}`,
    ...specification.requirements.map((requirement) => requirementSection(specification, requirement, coverage)),
  ].join("\n\n");

const summary = ({ specifications, tests, lines, entries }: Coverage): string =>
  table(
    ["specification", "what it asks for", "shown by", "line by line"],
    specifications.map(({ name, requirements }) => {
      const scenarios = requirements.flatMap((requirement) => requirement.scenarios).length;
      const asked = [
        countOf(requirements.length, "requirement"),
        ...(scenarios ? [countOf(scenarios, "scenario")] : []),
      ];
      const shown = tests.filter(({ specification }) => specification === name).length;
      const isOf = (one: { specification: string }) => one.specification === name;
      const planted = entries.filter(isOf).filter(isPlanted).length;
      const known = new Set(entries.filter(isOf).map(nameOf)).size;
      const owed = lines.filter(isOf).length;
      const lineCount = known === owed ? countOf(owed, "line") : `${known} of ${countOf(owed, "line")}`;
      return row(
        linkTo(name),
        asked.join(", "),
        countOf(shown, "test"),
        `${lineCount}, ${countOf(planted, "mistake")}`,
      );
    }),
  );

/** Returns a function that makes the numbers of decisions links. It throws an Error for a decision that there is not. */
const decisionLinker = (): ((text: string) => string) => {
  const places = new Map([...decisionFiles(), ...decisionsOfHistory()].map(({ number, place }) => [number, place]));
  return (text) =>
    text.replaceAll(/ADR-\d{3}/g, (number) => {
      const place = places.get(number);
      if (place === undefined) throw new Error(`scripts/requirements/deviations.ts: there is no ${number}.`);
      return `[${number}](${place})`;
    });
};

const deviationSection = (
  { title, specifications, requirements, text }: Deviation,
  link: (text: string) => string,
): string => [`### ${title}`, `${requirements.join(", ")} (${specifications.join(", ")}).`, link(text)].join("\n\n");

/** Returns `docs/requirements.md`. */
export const requirementsPage = (coverage: Coverage): string => {
  const link = decisionLinker();
  return `${[
    HEAD.trimEnd(),
    summary(coverage),
    ...coverage.specifications.map((specification) => specificationSection(specification, coverage)),
    DEVIATIONS_HEAD.trimEnd(),
    ...coverage.deviations.map((deviation) => deviationSection(deviation, link)),
  ].join("\n\n")}\n`;
};
