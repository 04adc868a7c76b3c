import { expect, test } from "vitest";
import { interfaceOf, isOpencodeRun } from "../../../src/services/host/this-process.ts";

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

test.each([
  [[], true, "terminal"],
  [["/some/project"], true, "terminal"],
  [["--session", "acp"], true, "terminal"],
  [["acp"], true, "editor"],
  [["--print-logs", "acp", "--cwd", "/p"], true, "editor"],
  [["serve", "--port", "0"], true, "clients"],
  [["web"], true, "clients"],
  [[], false, "clients"],
])("people see the sessions of opencode %j (Bun: %s) through %s", (args, isBun, expected) => {
  expect(interfaceOf(["/usr/bin/opencode", "/$bunfs/root/opencode", ...args], isBun)).toBe(expected);
});
