import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { createVitest, type TestCase, type TestModule } from "vitest/node";
import type { Replacement } from "../../test/chaos/planted-mistakes.ts";
import { replaced } from "../replaced.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const plantInProcesses = new URL("../plant-mistake.ts", import.meta.url).href;

/** Milliseconds after which a test that waits for what a mistake prevents has failed: without it, the longest take a few seconds. */
const TEST_TIMEOUT_MS = 30_000;

/** How a test ended. */
export interface Ended {
  /** As Vitest lists it: with the suites that it stands in. */
  name: string;
  isPassed: boolean;
  /** The line of the test's own file that failed, and why; empty where it passed. */
  failure: string;
}

/** Runs tests of the product, with a mistake in it or without one. */
export interface MistakeRunner {
  /**
   * Runs the tests of a file whose full names are these.
   * @throws Error if the file cannot be loaded: then the mistake is none that a test could see
   */
  run(file: string, names: readonly string[], mistake?: Replacement): Promise<Ended[]>;
  close(): Promise<void>;
}

const failureOf = (test: TestCase, file: string): string => {
  const [error] = test.result().errors ?? [];
  if (!error) return "";
  const own = error.stacks?.find((frame) => frame.file === root + file);
  const [why = ""] = error.message.split("\n");
  return `${own ? `${relative(root, own.file)}:${own.line}: ` : ""}${why}`;
};

/** Has processes that tests start load the product with the mistake in it as well. */
const plantForProcesses = (mistake: Replacement | undefined): void => {
  const { NODE_OPTIONS: options = "" } = process.env;
  const others = options.replace(` --import ${plantInProcesses}`, "");
  if (mistake) {
    process.env.PLANTED_REPLACEMENT = JSON.stringify(mistake);
    process.env.NODE_OPTIONS = `${others} --import ${plantInProcesses}`;
  } else {
    delete process.env.PLANTED_REPLACEMENT;
    process.env.NODE_OPTIONS = others;
  }
};

/** Starts one Vitest, which keeps what it has compiled: a test with a mistake then takes a second, and not five. */
export const startMistakeRunner = async (): Promise<MistakeRunner> => {
  let planted: Replacement | undefined;
  const vitest = await createVitest(
    "test",
    { watch: false, reporters: [{}], maxWorkers: 1, fsModuleCache: false, testTimeout: TEST_TIMEOUT_MS },
    {
      plugins: [
        {
          name: "plant-mistake",
          enforce: "pre",
          transform: (_, id) =>
            planted && id === root + planted.file ? replaced(readFileSync(id, "utf8"), planted) : undefined,
        },
      ],
    },
  );

  const plant = (mistake: Replacement | undefined) => {
    for (const changed of [planted, mistake]) if (changed) vitest.invalidateFile(root + changed.file);
    planted = mistake;
    plantForProcesses(mistake);
  };

  const runFile = async (file: string, names: readonly string[]): Promise<TestModule> => {
    const project = vitest.projects.find((one) => one.matchesTestGlob(root + file));
    if (!project) throw new Error(`${file} is no file of tests.`);
    const specification = project.createSpecification(root + file, { testNames: [...names] });
    await vitest.runTestSpecifications([specification]);
    const { testModule } = specification;
    if (!testModule) throw new Error(`${file} was not run.`);
    return testModule;
  };

  return {
    run: async (file, names, mistake) => {
      plant(mistake);
      const module = await runFile(file, names);
      const [fault] = module.errors();
      if (fault) throw new Error(`${file} cannot be loaded: ${fault.message}`);
      const tests = [...module.children.allTests()].filter((test) => test.result().state !== "skipped");
      return tests.map((test) => ({
        name: test.fullName,
        isPassed: test.result().state === "passed",
        failure: failureOf(test, file),
      }));
    },
    close: () => {
      plant(undefined);
      return vitest.close();
    },
  };
};
