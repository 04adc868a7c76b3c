import { expect, test } from "vitest";
import { problemOf } from "../../../src/tui/model/panel-messages.ts";

const lost = { ok: false, kind: "notRunning", reason: "OpenCode is not running: open it in your project." } as const;
const problem = (connection: Partial<Parameters<typeof problemOf>[0]>) =>
  problemOf({ hasHeard: false, isOff: false, ...connection });

test("a new interface, in which the plugin has not been needed yet, is not called out of date", () => {
  expect(problem({ lost })).toBe("Tasks show here from your first message on.");
  expect(problem({ lost, isOff: true })).toContain("ASYNCAGENTS_API_ENABLED=false");
});

test("what was heard before, and a server that does not answer, are out of date, with the reason", () => {
  expect(problem({ lost, hasHeard: true })).toBe(`Out of date. ${lost.reason}`);
  expect(problem({ lost: { ...lost, kind: "silent", reason: "It is busy." } })).toBe("Out of date. It is busy.");
});

test("a server of another version is named, and one of the same is no problem", () => {
  const server = { port: 1, pid: 2, startedAt: "2026-11-23T00:00:00.000Z", version: "9.0.0" };
  expect(problem({ server: { ...server, versionDifference: "OpenCode runs 9.0.0." } })).toBe("OpenCode runs 9.0.0.");
  expect(problem({ server })).toBeUndefined();
});
