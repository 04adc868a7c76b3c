import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SPECIFICATIONS, type SpecificationName } from "./specifications.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A test whose title carries a requirement: `<specification> › <Requirement> › <what it shows>`. */
export interface ShowingTest {
  specification: SpecificationName;
  requirement: string;
  /** The scenario, with or without `: ` and more words; or any sentence, where the requirement has no scenarios. */
  shows: string;
  /** Path in the repository. */
  file: string;
  /** Its full name, in which the names of suites come first. */
  name: string;
}

const TITLE = new RegExp(`(?:^| > )(${SPECIFICATIONS.join("|")}) › (.+?) › (.+)$`, "s");

/** The requirement in a test's full name, in which the names of suites come first; undefined if there is none. */
export const readTitle = (name: string): Omit<ShowingTest, "file" | "name"> | undefined => {
  const [, specification, requirement, shows] = TITLE.exec(name) ?? [];
  const known = SPECIFICATIONS.find((one) => one === specification);
  return known && requirement && shows ? { specification: known, requirement, shows } : undefined;
};

const NAMED = new RegExp(`(?:${SPECIFICATIONS.join("|")}) ›`);

/** The files that can have such tests: those of `test/specifications`, and those in which a title's beginning stands. */
const candidates = (): string[] =>
  readdirSync(`${root}test`, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.ts"))
    .map((path) => `test/${path}`)
    .filter((path) => path.startsWith("test/specifications/") || NAMED.test(readFileSync(root + path, "utf8")));

interface ListedTest {
  name: string;
  file: string;
}

/** Lists tests without running them. The files are loaded, since titles are made of constants and by functions. */
const listTests = async (files: readonly string[]): Promise<ListedTest[]> => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["node_modules/vitest/vitest.mjs", "list", "--no-static-parse", ...files, "--json"],
    { cwd: root },
  );
  return JSON.parse(stdout) as ListedTest[];
};

/**
 * Finds the tests that show requirements, sorted by file. Skipped tests show nothing, and are not among them.
 * @throws Error if a file cannot be loaded.
 */
export const findShowingTests = async (): Promise<ShowingTest[]> => {
  const listed = await listTests(candidates());
  return listed
    .flatMap(({ name, file }) => {
      const title = readTitle(name);
      return title ? [{ ...title, name, file: relative(root, file) }] : [];
    })
    .toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0));
};
