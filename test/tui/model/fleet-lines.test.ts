import { expect, test } from "vitest";
import type { ApiFleet } from "../../../src/client/api-types.ts";
import { columnsOf } from "../../../src/services/platform/columns.ts";
import { plain } from "../../../src/tui/model/line.ts";
import { fleetLines } from "../../../src/tui/model/list-lines.ts";

const COLUMNS = 84;

const server = (label: string, atWork: number, slots: number): ApiFleet["servers"][number] => ({
  ...{ id: `srv_${label}`, label, isDrained: false },
  projects: [{ project: "shop", atWork, slots, version: "0.1.0" }],
});

const fleet = (given: Partial<ApiFleet> = {}): ApiFleet => ({
  ...{ isUsed: true, isReached: true, isCut: false, server: { id: "srv_home", label: "laptop" } },
  servers: [server("attic", 1, 8), server("cellar", 4, 16), server("desk", 0, 4)],
  tasks: { waiting: 2, elsewhere: 1 },
  ...given,
});

const written = (given: ApiFleet | undefined, columns = COLUMNS) => fleetLines(given, columns).map(plain);

test("nothing is said where no fleet is used, and where nothing is known of it", () => {
  expect(written(fleet({ isUsed: false }))).toEqual([]);
  expect(written(undefined)).toEqual([]);
});

test("why the engine is not reached is a warning below the tasks that wait", () => {
  const away = fleet({ isReached: false, problem: "The connection to the fleet is lost.", servers: [] });
  expect(written(away)).toEqual(["Fleet: 2 tasks wait", "The connection to the fleet is lost."]);
  expect(fleetLines(away, COLUMNS)[1]?.segments[0]?.tone).toBe("warning");
  expect(written({ ...away, tasks: { waiting: 0, elsewhere: 0 } })).toEqual(["The connection to the fleet is lost."]);
});

test("in few columns the line is cut, and the reason takes two lines at most", () => {
  const problem = `The engine of the fleet does not answer: ${"refused ".repeat(40)}`;
  const narrow = [...written(fleet(), 30), ...written(fleet({ isReached: false, problem, servers: [] }), 30)];
  expect(narrow[0]).toBe("Fleet: 3 servers, 5 of 28 slo…");
  expect(narrow).toHaveLength(4);
  expect(narrow.filter((line) => columnsOf(line) > 30)).toEqual([]);
});
