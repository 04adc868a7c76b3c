import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { isNightly } from "./test/nightly.ts";
import { PATIENCE_MS } from "./test/patience.ts";
import { tags } from "./test/tags.ts";

/** Files that take long, the longest first (measured, 2 cores): begun last, each would run alone at the end. */
export const SLOW = [
  "exhaustive/delivery.test.ts",
  "fleet/fleet.test.ts",
  "engine/worktrees.test.ts",
  "placing.test.ts",
  "fleet/broker.test.ts",
  "agents-files.test.ts",
  "git/apply.test.ts",
  "discovery.test.ts",
  "fingerprints.test.ts",
  "fleet/resume.test.ts",
  "left-changes.test.ts",
  "commands/worktree.test.ts",
  "fleet/changes.test.ts",
  "crashing-runs.test.ts",
  "chaos.test.ts",
  "fleet-chaos.test.ts",
  "exhaustive/fleet.test.ts",
  "exhaustive/launch.test.ts",
  "model/task.test.ts",
  "machines/task/history.test.ts",
  "shell-command.test.ts",
  "what-if.test.ts",
  "model/wake.test.ts",
  "events.test.ts",
  "e2e/panel.test.ts",
  "e2e/toolsets.test.ts",
  "e2e/tasks.test.ts",
  "e2e/limits.test.ts",
  "e2e/fleet-stopped.test.ts",
  "e2e/fleet.test.ts",
  "e2e/fleet-restarted.test.ts",
  "e2e/restart.test.ts",
  "e2e/crash.test.ts",
  "e2e/command.test.ts",
  "e2e/budgets.test.ts",
  "browser/board.test.ts",
  "e2e/plugin.test.ts",
  "e2e/rate-limits.test.ts",
  "browser/board-10000.test.ts",
  "browser/board-accessibility.test.ts",
  "e2e/api.test.ts",
  "e2e/missing.test.ts",
  "e2e/inspection.test.ts",
  "browser/live.test.ts",
  "e2e/quit.test.ts",
];

/** These fill the memory of a worker, which then takes twice as long to start other processes, as tests of worktrees do. */
const LARGE = [
  "test/chaos/chaos.test.ts",
  "test/chaos/fleet/fleet-chaos.test.ts",
  "test/exhaustive/**/*.test.ts",
  "test/model/task.test.ts",
  "test/services/engine/crashing*.test.ts",
];

/** These replace modules or change what belongs to the whole process. */
const UNSHARED = [
  "test/elisha.test.ts",
  "test/index.test.ts",
  "test/plugin.test.ts",
  "test/services/inspection/off.test.ts",
  // It moves the timers of its whole worker on by weeks: one that another file has left would go off millions of times.
  "test/services/platform/clock.test.ts",
  // A process has one server, which its modules know.
  "test/services/http/**/*.test.ts",
  "test/specifications/http.test.ts",
];

/** What never runs on Bun outside these tests, and explorations: they take long, and nothing in them depends on the runtime. */
const NODE_ALONE = ["bench", "board", "docs", "exhaustive", "scripts", "statecharts"].map(
  (folder) => `test/${folder}/**`,
);

/**
 * What depends on the runtime: the SQLite driver, files, sockets and child processes, and tests that go through all of it.
 * Everything else is the same JavaScript. It runs on Bun at night (docs/decisions/287-bun-runs-what-depends-on-it.md).
 */
export const ON_BUN = [
  "test/chaos/chaos.test.ts",
  "test/contract/**/*.test.ts",
  "test/model/supervisor.test.ts",
  "test/services/{host,platform,store}/**/*.test.ts",
  "test/services/engine/{delivering,restarting}.test.ts",
  "test/services/fleet/{broker,secured}.test.ts",
  "test/services/worktrees/git/{git,snapshot}.test.ts",
  "test/specifications/task.test.ts",
];

const isBun = process.versions.bun !== undefined;
const UNIT_TESTS = isBun && !isNightly ? ON_BUN : ["test/**/*.test.ts"];

/** What has a worker of its own. On Bun, whose workers are threads of one process, large ones have none in the gate. */
const ISOLATED = isBun && !isNightly ? UNSHARED : [...UNSHARED, ...LARGE];

/** Milliseconds after which a test counts as hanging: most wait once for something that another process does, or not at all. */
const LIMITS = {
  testTimeout: 2 * PATIENCE_MS,
  hookTimeout: 2 * PATIENCE_MS,
  expect: { poll: { timeout: PATIENCE_MS } },
};

const UNIT = { setupFiles: ["test/seed.ts"], ...LIMITS };

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = SLOW.findIndex((name) => moduleId.endsWith(`/${name}`));
      return place < 0 ? SLOW.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

/** Vitest's workers, and processes that tests start, begin with half as much computing when compiled modules are kept. */
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url));

export default defineConfig({
  test: {
    sequence: { sequencer: SlowFirst },
    tags,
    // Most compute, and some wait for sockets and timers meanwhile: with a worker for each core, a fifth of the time was idle.
    maxWorkers: availableParallelism() + 1,
    projects: [
      {
        test: {
          ...UNIT,
          name: "unit",
          include: UNIT_TESTS,
          exclude: ["test/e2e/**", "test/browser/**", ...ISOLATED, ...(isBun ? NODE_ALONE : [])],
          // A worker loads the modules once for all its files: that is a quarter of the computing of this suite.
          isolate: false,
        },
      },
      { test: { ...UNIT, name: "isolated", include: ISOLATED, exclude: isBun ? NODE_ALONE : [] } },
      {
        test: {
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          ...LIMITS,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          setupFiles: ["test/e2e/lab/each-test.ts"],
          ...LIMITS,
          // A start alone takes 2 s, and half a minute and more where much else computes.
          testTimeout: 5 * PATIENCE_MS,
          // Each file has an OpenCode of its own; what a worker has loaded serves the next file as well. ADR-229 in docs/decisions.md
          isolate: false,
        },
      },
    ],
  },
});
