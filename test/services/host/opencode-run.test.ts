import { expect, test } from "vitest";
import { isOpencodeRun } from "../../../src/services/host/opencode-run.ts";

test.each([
  [["run", "count the files"], true],
  [["run"], true],
  [["--print-logs", "--log-level", "INFO", "run", "go"], true],
  [["serve", "--port", "0"], false],
  [[], false],
  [["--prompt", "run"], false],
  [["--prompt=run"], false],
  [["-m", "run/run"], false],
  [["run-project"], false],
  [["serve", "run"], false],
])("opencode %j is a run: %s", (args, expected) => {
  expect(isOpencodeRun(["/usr/bin/opencode", "/$bunfs/root/opencode", ...args])).toBe(expected);
});
