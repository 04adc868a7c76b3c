import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { closingLines, type VitestReport } from "../../../scripts/test/closing-lines.ts";

type File = VitestReport["testResults"][number];

const file = (name: string, tests: Record<string, File["assertionResults"][number]["status"]>, message = ""): File => ({
  name: `/project/test/${name}`,
  status: message !== "" || Object.values(tests).includes("failed") ? "failed" : "passed",
  message,
  assertionResults: Object.entries(tests).map(([fullName, status]) => ({ fullName, status })),
});

const lines = (...stages: Parameters<typeof closingLines>[0]) => closingLines(stages, "/project");

describe("the last lines of a test run", () => {
  test("name each test that failed, and each file that failed as a whole, with their stage", () => {
    const node = { testResults: [file("a.test.ts", { one: "passed", "group two": "failed" })] };
    const bun = { testResults: [file("b.test.ts", {}, "Cannot find module 'x'\n  at …")] };
    expect(lines({ name: "Node", end: 1, report: node }, { name: "Bun", end: 1, report: bun })).toEqual([
      "",
      "What failed:",
      "  Node: test/a.test.ts › group two",
      "  Bun: test/b.test.ts: Cannot find module 'x'",
      "",
      "1 passed, 2 failed, 0 skipped",
    ]);
  });
});

test("a test that hangs, or whose shared start fails, fails alone: the next ones have a new start, and are not disturbed", () => {
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  const folder = mkdtempSync(join(tmpdir(), "taskchart-failing-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const report = join(folder, "report.json");
  const config = fileURLToPath(new URL("failing/vitest.config.ts", import.meta.url));
  const args = ["run", "--config", config, "--reporter=json", `--outputFile=${report}`];
  const { status } = spawnSync(join(root, "node_modules/.bin/vitest"), args, { cwd: root });
  const stage = { name: "failing", end: status ?? 1, report: JSON.parse(readFileSync(report, "utf8")) };
  const closing = closingLines([stage], fileURLToPath(new URL("failing", import.meta.url)));
  expect(closing.filter((line) => line.includes("›")).toSorted()).toEqual([
    "  failing: hangs.failing.ts › breaks what it shares, and hangs",
    "  failing: start.failing.ts › its start fails",
  ]);
  expect(closing.at(-1)).toBe("3 passed, 2 failed, 0 skipped");
});
