import type { Coverage } from "./coverage.ts";
import type { ShowingTest } from "./showing-tests.ts";
import type { Specification } from "./specifications.ts";

/** Whether a test, by the end of its title, shows this scenario: nothing follows the scenario's name, or `: ` and more. */
export const showsScenario = ({ shows }: ShowingTest, scenario: string): boolean =>
  shows === scenario || shows.startsWith(`${scenario}: `);

/** A requirement without scenarios, or a scenario: what a test is owed for. */
interface Owed {
  specification: string;
  requirement: string;
  scenario?: string;
}

const allOwed = (specifications: readonly Specification[]): Owed[] =>
  specifications.flatMap(({ name: specification, requirements }) =>
    requirements.flatMap(({ name: requirement, scenarios }): Owed[] =>
      scenarios.length === 0
        ? [{ specification, requirement }]
        : scenarios.map((scenario) => ({ specification, requirement, scenario })),
    ),
  );

const isOf = (one: Owed, other: Owed): boolean =>
  one.specification === other.specification && one.requirement === other.requirement;

const isShownBy = (owed: Owed, test: ShowingTest): boolean =>
  isOf(owed, test) && (owed.scenario === undefined || showsScenario(test, owed.scenario));

const nameOf = ({ specification, requirement, scenario }: Owed): string =>
  [specification, requirement, ...(scenario === undefined ? [] : [scenario])].join(" › ");

/** Says in a sentence each what is missing in the table, and what refers to nothing. Empty if all is well. */
export const findGaps = ({ specifications, tests, withoutTest, deviations }: Coverage): string[] => {
  const owed = allOwed(specifications);
  const reasonsFor = (one: Owed) => withoutTest.filter((other) => isOf(one, other) && one.scenario === other.scenario);
  const exists = (specification: string, requirement: string) =>
    owed.some((one) => isOf(one, { specification, requirement }));
  return [
    ...owed
      .filter((one) => reasonsFor(one).length === 0 && !tests.some((test) => isShownBy(one, test)))
      .map((one) => `${nameOf(one)}: no test has it in its title, and no reason is stated.`),
    ...tests
      .filter((test) => !owed.some((one) => isShownBy(one, test)))
      .map((test) => `${test.file}: "${nameOf(test)} › ${test.shows}" is in no specification.`),
    ...withoutTest
      .filter((reason) => !owed.some((one) => reasonsFor(one).includes(reason)))
      .map((reason) => `${nameOf(reason)}: a reason is stated, but no specification has it.`),
    ...owed
      .filter((one) => reasonsFor(one).length > 0 && tests.some((test) => isShownBy(one, test)))
      .map((one) => `${nameOf(one)}: it has a test and a reason to have none.`),
    ...deviations.flatMap(({ title, specifications: names, requirements }) =>
      names.flatMap((specification) =>
        requirements
          .filter((requirement) => !exists(specification, requirement))
          .map((requirement) => `${title}: no requirement is called ${nameOf({ specification, requirement })}.`),
      ),
    ),
  ];
};
