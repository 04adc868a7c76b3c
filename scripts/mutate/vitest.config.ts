import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { tags } from "../../test/tags.ts";

const named = (variable: string): string[] => JSON.parse(process.env[variable] ?? "[]") as string[];

/** Files in the order of their names: examples come before the random histories, which take longer. */
class ByName extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => a.moduleId.localeCompare(b.moduleId));
  }
}

/**
 * The tests that a mutant is run against: `MUTATE_TESTS` and `MUTATE_WITHOUT` are JSON lists of globs, which may have commas.
 * Those of the night take too long to be run against each.
 */
export default defineConfig({
  test: {
    include: named("MUTATE_TESTS"),
    exclude: named("MUTATE_WITHOUT"),
    tags,
    setupFiles: ["test/seed.ts"],
    testTimeout: 60_000,
    // Vitest's own second is less than some wait for, such as a program that is ended by force.
    expect: { poll: { timeout: 10_000 } },
    isolate: false,
    sequence: { sequencer: ByName },
  },
});
