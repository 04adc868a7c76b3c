import type { Entry, Planted } from "../../test/specifications/lines/entry.ts";
import { showsScenario } from "./gaps.ts";
import type { ShowingTest } from "./showing-tests.ts";

export type PlantedEntry = Entry & Planted;

export const isPlanted = (entry: Entry): entry is PlantedEntry => "mistake" in entry;

/** Names a line as the specifications have it. */
export const nameOf = ({ specification, requirement, scenario, text }: Omit<Entry, keyof Planted>): string =>
  [specification, requirement, ...(scenario === undefined ? [] : [scenario]), text].join(" › ");

/** Returns the tests that are to fail where a line is violated. */
export const testsOf = (entry: PlantedEntry, tests: readonly ShowingTest[]): ShowingTest[] => {
  const { specification, shownBy = entry.scenario ?? "" } = entry;
  const [first = "", ...rest] = shownBy.split(" › ");
  const requirement = rest.length > 0 ? first : entry.requirement;
  const shows = rest.length > 0 ? rest.join(" › ") : first;
  return tests.filter(
    (test) => test.specification === specification && test.requirement === requirement && showsScenario(test, shows),
  );
};
