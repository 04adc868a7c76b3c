import { expect, test } from "vitest";
import { fleetProblem, fleetSummary, type KnownFleet } from "../../../src/services/text/model-and-server.ts";

const fleet = (given: Partial<KnownFleet> = {}): KnownFleet => ({
  ...{ isReached: true, isCut: false, tasks: { waiting: 0 } },
  servers: [
    { projects: [{ slots: 16, atWork: 3 }] },
    {
      projects: [
        { slots: 8, atWork: 2 },
        { slots: 4, atWork: 0 },
      ],
    },
  ],
  ...given,
});

test("a fleet is summed up by its servers, their slots, and the tasks that wait", () => {
  expect(fleetSummary(fleet())).toBe("2 servers, 5 of 28 slots taken");
  expect(fleetSummary(fleet({ tasks: { waiting: 2 } }))).toBe("2 servers, 5 of 28 slots taken, 2 tasks wait");
  const one = [{ projects: [{ slots: 1, atWork: 0 }] }];
  expect(fleetSummary(fleet({ servers: one, tasks: { waiting: 1 } }))).toBe(
    "1 server, 0 of 1 slot taken, 1 task waits",
  );
});

test("where there may be more servers than are known, the summary says so", () => {
  expect(fleetSummary(fleet({ isCut: true }))).toBe("at least 2 servers, 5 of 28 slots taken");
});

test("a fleet in which nobody works for others says so", () => {
  expect(fleetSummary(fleet({ servers: [], tasks: { waiting: 1 } }))).toBe("no server is there, 1 task waits");
});

test("where the servers are not known, nothing is said of them, and the reason is a sentence", () => {
  const away = fleet({ isReached: false, problem: "The broker of the fleet does not answer: refused", servers: [] });
  expect(fleetSummary(away)).toBe("");
  expect(fleetSummary({ ...away, tasks: { waiting: 3 } })).toBe("3 tasks wait");
  expect(fleetProblem(away)).toBe("The broker of the fleet does not answer: refused.");
  expect(fleetProblem({ ...away, problem: "It is lost." })).toBe("It is lost.");
  expect(fleetProblem(fleet())).toBeUndefined();
});

test("a broker that refuses is quoted", () => {
  expect(fleetProblem({ isReached: true, problem: "Permissions Violation" })).toBe(
    'Its servers cannot be asked who is there: "Permissions Violation".',
  );
});
