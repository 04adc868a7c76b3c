/** Code in which the tests must see mistakes, and the tests that are run against them. */
export interface Area {
  name: string;
  /** Globs of the code. */
  code: string[];
  /** Globs of the tests that every mutant is run against: quick ones, for there are thousands of mutants. */
  tests: string[];
  /** Globs of the tests that only those mutants are run against that the quick ones did not kill. */
  slowTests: string[];
  /** The share of the mutants that the tests must kill, of those that are not equivalent: 0 to 1. */
  goal: number;
}

const RANDOM_TASKS = ["history", "replay"].map((name) => `test/machines/task/${name}.test.ts`);
const SCENARIOS = ["test/specifications/!(http).test.ts"];
const engine = (names: string) => `test/services/engine/{${names}}.test.ts`;
const ENGINE = [...SCENARIOS, "test/services/engine/!(crashing*).test.ts"];

export const areas: readonly Area[] = [
  {
    name: "task chart",
    code: ["src/machines/task/*.ts"],
    tests: ["test/machines/task/*.test.ts"],
    slowTests: [...RANDOM_TASKS, "test/model/capacity.test.ts", ...SCENARIOS],
    goal: 0.95,
  },
  {
    name: "outbox chart",
    code: ["src/machines/outbox/*.ts"],
    tests: ["test/machines/outbox/*.test.ts"],
    slowTests: ["test/machines/outbox/history.test.ts", ...SCENARIOS],
    goal: 0.95,
  },
  {
    name: "launch chart",
    code: ["src/machines/launch/*.ts"],
    tests: ["test/machines/launch/*.test.ts"],
    slowTests: [],
    goal: 0.95,
  },
  {
    name: "supervisor chart",
    code: ["src/machines/supervisor/*.ts"],
    tests: ["test/machines/supervisor/*.test.ts"],
    slowTests: ["test/machines/supervisor/history.test.ts", ...SCENARIOS],
    goal: 0.95,
  },
  {
    name: "shared by the charts",
    code: ["src/machines/*.ts"],
    tests: ["test/machines/*.test.ts", "test/machines/task/*.test.ts", "test/statecharts/{json,descriptions}.test.ts"],
    slowTests: [...RANDOM_TASKS, ...SCENARIOS],
    goal: 0.95,
  },
  {
    name: "runtime",
    code: ["src/services/runtime/*.ts"],
    tests: ["test/services/runtime/*.test.ts"],
    slowTests: [],
    goal: 0.95,
  },
  {
    name: "effects",
    code: ["src/services/engine/effects/!(gates).ts"],
    tests: ["test/services/engine/effects/*.test.ts", "test/services/runtime/*.test.ts"],
    slowTests: ENGINE,
    goal: 0.85,
  },
  {
    name: "ownership in the store",
    code: ["src/services/store/ownership.ts", "src/services/store/sqlite/ownership-tables.ts"],
    tests: ["test/services/store/**/*.test.ts"],
    slowTests: ENGINE,
    goal: 0.85,
  },
  {
    name: "access to the HTTP API",
    code: ["src/services/http/access/*.ts"],
    tests: ["test/services/http/access/*.test.ts"],
    slowTests: [
      "test/services/http/access/{security,who-may-read}.test.ts",
      "test/services/http/!(access)/**/*.test.ts",
      "test/services/http/*.test.ts",
      "test/specifications/http.test.ts",
    ],
    goal: 0.85,
  },
  {
    name: "typed results",
    code: ["src/services/typed-results/*.ts"],
    tests: ["test/services/typed-results/*.test.ts"],
    slowTests: [],
    goal: 0.85,
  },
  {
    name: "overlaps",
    code: ["src/services/engine/overlaps/*.ts"],
    tests: ["test/services/engine/overlaps/*.test.ts"],
    slowTests: [],
    goal: 0.75,
  },
  {
    name: "gates",
    code: ["src/services/engine/effects/gates.ts"],
    tests: ["test/services/engine/effects/gates.test.ts"],
    slowTests: [],
    goal: 0.95,
  },
  {
    name: "worktrees",
    code: ["src/services/worktrees/**/*.ts"],
    tests: ["test/services/worktrees/{git/*,!(dying-git|failing-disk|made-again)}.test.ts"],
    slowTests: ["test/services/worktrees/made-again.test.ts", engine("worktrees")],
    goal: 0.85,
  },
  {
    // Without the broker between the servers, whose tests start one: what is in the folder `nats` is not measured.
    name: "fleet",
    code: ["src/services/fleet/*.ts"],
    tests: ["test/services/fleet/{fleet,fleet-view,leases,requests,resume,run-log}.test.ts"],
    slowTests: ["test/services/fleet/{changes,conversation,limits,live-steps,origin-dies,wiped-broker}.test.ts"],
    goal: 0.85,
  },
  {
    name: "launches in the engine",
    code: ["src/services/engine/launch/*.ts"],
    tests: ["test/services/engine/launch/*.test.ts", engine("forking,late-sessions,missing,models,preamble")],
    slowTests: [],
    goal: 0.85,
  },
];
