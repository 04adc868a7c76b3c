import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { thisProcessIdentity } from "../../../src/services/platform/process-identity.ts";
import { isLocked, lock } from "../../../src/services/worktrees/lock.ts";
import { temporaryFolder } from "../../fakes/repository.ts";

const NOW = Date.parse("2026-05-01T12:00:00Z");
const HOUR = 3_600_000;

/** Writes a lock as another process left it. */
const leave = (folder: string, holder: Partial<typeof thisProcessIdentity> & { at?: number }) =>
  writeFileSync(join(folder, "lock-1.json"), JSON.stringify({ ...thisProcessIdentity, at: NOW, ...holder }));

test("one holds it, and the next when that one has given it back", () => {
  const folder = temporaryFolder();
  const release = lock({ folder }, NOW);
  expect(isLocked({ folder }, NOW)).toBe(true);
  expect(lock({ folder }, NOW)).toBeUndefined();
  release?.();
  expect(isLocked({ folder }, NOW)).toBe(false);
  expect(readdirSync(folder)).toEqual([]);
  expect(lock({ folder }, NOW)).toBeDefined();
});

test("a worktree whose folder is gone cannot be locked", () => {
  const folder = join(temporaryFolder(), "gone");
  expect(isLocked({ folder }, NOW)).toBe(false);
  expect(lock({ folder }, NOW)).toBeUndefined();
});

test.each([
  ["whose process has ended", { pid: 2 ** 22 + 1 }],
  ["whose process's number another one has now", { startedAt: thisProcessIdentity.startedAt - 1 }],
  ["that is an hour old", { at: NOW - HOUR }],
])("a lock %s does not count, and stays where it is", (_, holder) => {
  const folder = temporaryFolder();
  leave(folder, holder);
  expect(isLocked({ folder }, NOW)).toBe(false);
  const release = lock({ folder }, NOW);
  expect(isLocked({ folder }, NOW)).toBe(true);
  expect(lock({ folder }, NOW)).toBeUndefined();
  release?.();
  expect(readdirSync(folder)).toEqual(["lock-1.json"]);
  expect(isLocked({ folder }, NOW)).toBe(false);
});

test("that of a process of another machine counts until it is an hour old", () => {
  const folder = temporaryFolder();
  leave(folder, { machine: "another", pid: 2 ** 22 + 1 });
  expect(lock({ folder }, NOW + HOUR - 1)).toBeUndefined();
  expect(lock({ folder }, NOW + HOUR)).toBeDefined();
});

test.each([
  ["that its process has not written yet", ""],
  ["of which its process has written a part", '{"pid":12'],
  ["of another version", '{"owner":12}'],
])("one %s counts until it is an hour old", (_, text) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "lock-1.json"), text);
  expect(lock({ folder }, Date.now())).toBeUndefined();
  expect(lock({ folder }, Date.now() + 2 * HOUR)).toBeDefined();
});

test("of several processes one at a time holds it, though some are killed while they do", async () => {
  const folder = temporaryFolder();
  const [log, start] = [join(temporaryFolder(), "log"), join(temporaryFolder(), "start")];
  const run = (diesHolding?: number) => {
    const given = JSON.stringify({ folder, log, start, rounds: 400, diesHolding });
    return spawn(process.execPath, [new URL("lock-child.ts", import.meta.url).pathname, given]);
  };
  const processes = [run(), run(30), run(110), run()];
  const ends = processes.map((child) => once(child, "exit"));
  await Promise.all(processes.map(({ stdout }) => once(stdout, "data")));
  writeFileSync(start, "");
  await Promise.all(ends);
  const killed = processes.flatMap(({ pid, signalCode }) => (signalCode === "SIGKILL" ? `+${pid}` : []));
  const lines = readFileSync(log, "utf8").trim().split("\n");
  const overlaps = lines.flatMap((line, index) => {
    const next = lines[index + 1];
    const isOver = line.startsWith("-") || next === `-${line.slice(1)}` || killed.includes(line);
    return isOver ? [] : [`${line} ${next}`];
  });
  expect(killed).toHaveLength(2);
  expect(overlaps).toEqual([]);
  expect(lines.filter((line) => line.startsWith("-"))).toHaveLength(400 + 30 + 110 + 400);
});
