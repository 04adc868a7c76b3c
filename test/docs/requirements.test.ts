import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { type Coverage, collectCoverage } from "../../scripts/requirements/coverage.ts";
import { findGaps } from "../../scripts/requirements/gaps.ts";
import { findLineGaps } from "../../scripts/requirements/line-gaps.ts";
import { requirementsPage } from "../../scripts/requirements/page.ts";

const page = readFileSync(fileURLToPath(new URL("../../docs/requirements.md", import.meta.url)), "utf8");

describe("the requirements of this repository", () => {
  let coverage: Coverage;

  // Another vitest lists the tests: two seconds, and more where much else computes.
  beforeAll(async () => {
    coverage = await collectCoverage();
  }, 60_000);

  test("are shown by tests, each and every scenario, unless a reason says why not", () => {
    expect(findGaps(coverage)).toEqual([]);
  });

  test("are violated line by line by mistakes that can be planted, each for a test that there is", () => {
    expect(findLineGaps(coverage)).toEqual([]);
  });

  test("are listed in docs/requirements.md as they are", () => {
    expect(page, "a specification, a test's title or a reason has changed: run `npm run requirements`").toBe(
      requirementsPage(coverage),
    );
  });
});

describe("what is missing is named:", () => {
  const coverage: Coverage = {
    specifications: [
      {
        name: "background-task",
        requirements: [{ name: "A", heading: "Requirement: A", scenarios: ["one", "one more"] }],
      },
      { name: "elisha-task-domain", requirements: [{ name: "B", heading: "B", scenarios: [] }] },
    ],
    tests: [
      { specification: "background-task", requirement: "A", shows: "one: in time", file: "test/a.test.ts", name: "a" },
      { specification: "background-task", requirement: "A", shows: "one more", file: "test/a.test.ts", name: "a" },
      { specification: "elisha-task-domain", requirement: "B", shows: "whatever", file: "test/b.test.ts", name: "b" },
    ],
    withoutTest: [],
    lines: [],
    entries: [],
    deviations: [{ title: "Otherwise", specifications: ["background-task"], requirements: ["A"], text: "It is." }],
  };
  const [_ofA, ofAMore, ofB] = coverage.tests;
  const reason = {
    specification: "background-task",
    requirement: "A",
    scenario: "one",
    reason: "It is Elisha's.",
  } as const;

  test("a scenario, though a test shows one whose name begins alike", () => {
    const tests = [ofAMore, ofB].filter((one) => one !== undefined);
    const gap = "background-task › A › one: no test has it in its title, and no reason is stated.";
    expect(findGaps({ ...coverage, tests })).toEqual([gap]);
    expect(findGaps({ ...coverage, tests, withoutTest: [reason] })).toEqual([]);
  });

  test("a title that no specification has", () => {
    const tests = [
      ...coverage.tests,
      { specification: "background-task", requirement: "A", shows: "ones", file: "test/c.test.ts", name: "c" } as const,
    ];
    expect(findGaps({ ...coverage, tests })).toEqual([
      'test/c.test.ts: "background-task › A › ones" is in no specification.',
    ]);
  });
});

describe("lines:", () => {
  const line = { specification: "background-task", requirement: "A", scenario: "one", text: "it does" } as const;
  const test_ = {
    specification: "background-task",
    requirement: "A",
    shows: "one: in time",
    file: "a",
    name: "a",
  } as const;
  const entry = { ...line, mistake: { file: "src/a.ts", code: "do()", mistake: "" } };
  const coverage = { lines: [line], entries: [entry], tests: [test_], withoutTest: [] };
  const read = () => "do();";

  test.each([
    ["without a mistake", { entries: [] }, "no mistake violates it, and no reason is stated."],
    ["that no specification has", { lines: [] }, "it is in no specification."],
    ["whose test there is not", { tests: [] }, "the test that it names does not exist."],
    [
      "with a mistake that changes nothing",
      { entries: [{ ...entry, mistake: { ...entry.mistake, mistake: "do()" } }] },
      "its mistake changes nothing: do()",
    ],
    [
      "with a mistake whose place is gone",
      { entries: [{ ...entry, mistake: { ...entry.mistake, code: "undo()" } }] },
      "src/a.ts does not have this text once, so nothing is planted: undo()",
    ],
    [
      "with a mistake, and a reason to have none",
      { entries: [entry, { ...line, reason: "It is Elisha's." }] },
      "it has a mistake, and a reason to have none.",
    ],
  ])("one %s is named", (_, changed, what) => {
    expect(findLineGaps({ ...coverage, ...changed }, read)).toEqual([`background-task › A › one › it does: ${what}`]);
  });
});
