import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take long, the longest first (measured, 2 cores): begun last, each would run alone at the end. */
const SLOW = [
  "crashing-runs.test.ts",
  "crashing.test.ts",
  "discovery.test.ts",
  "chaos.test.ts",
  "e2e/crash.test.ts",
  "e2e/toolsets.test.ts",
  "e2e/restart.test.ts",
  "e2e/tasks.test.ts",
  "e2e/quit.test.ts",
  "events.test.ts",
  "browser/live.test.ts",
];

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
    // All of them compute: one core for vitest itself, as by default, is half of a small machine.
    maxWorkers: "100%",
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/e2e/**", "test/browser/**"],
          setupFiles: ["test/seed.ts"],
          // Hours of virtual time pass in these; on a busy machine that takes seconds.
          testTimeout: 20_000,
        },
      },
      {
        test: {
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
