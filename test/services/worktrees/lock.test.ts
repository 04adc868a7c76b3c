import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { thisProcessIdentity } from "../../../src/services/platform/process-identity.ts";
import { isLocked, lock, whileLocked } from "../../../src/services/worktrees/lock.ts";
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

test("it names its process and its time, for nobody else to read", () => {
  const folder = temporaryFolder();
  lock({ folder }, NOW);
  const file = join(folder, "lock-1.json");
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ ...thisProcessIdentity, at: NOW });
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("other files are no locks, and of locks the highest number counts", () => {
  const folder = temporaryFolder();
  for (const name of ["changes.json", "a-lock-9.json", "lock-9.json.part", "lock-x.json"])
    writeFileSync(join(folder, name), "{}");
  expect(isLocked({ folder }, Date.now())).toBe(false);
  leave(folder, { at: NOW - HOUR });
  writeFileSync(join(folder, "lock-9.json"), JSON.stringify({ ...thisProcessIdentity, at: NOW - HOUR }));
  writeFileSync(join(folder, "lock-10.json"), JSON.stringify({ ...thisProcessIdentity, at: NOW }));
  expect(isLocked({ folder }, NOW)).toBe(true);
  rmSync(join(folder, "lock-10.json"));
  lock({ folder }, NOW);
  expect(readdirSync(folder)).toContain("lock-10.json");
});

test("a lock that cannot be read is an error, not a lock that does not count", () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "lock-1.json"));
  expect(() => isLocked({ folder }, NOW)).toThrow("EISDIR");
});

test("it can be given back when the folder is gone", () => {
  const folder = temporaryFolder();
  const release = lock({ folder }, NOW);
  rmSync(folder, { recursive: true });
  expect(release).not.toThrow();
});

test("while it is held, work is done, and it is given back also where that fails", async () => {
  const root = temporaryFolder();
  const folder = join(root, "w1");
  mkdirSync(folder);
  const lines: unknown[] = [];
  const log = { info: (...line: unknown[]) => void lines.push(line), error: () => undefined };
  const context = { root, clock: { now: () => NOW, after: () => () => undefined }, log };
  expect(await whileLocked(context, "w1", async () => isLocked({ folder }, NOW))).toBe(true);
  const failing = whileLocked(context, "w1", () => Promise.reject(new Error("it failed")));
  await expect(failing).rejects.toThrow("it failed");
  expect(isLocked({ folder }, NOW)).toBe(false);
  expect(lines).toEqual([]);
  lock({ folder }, NOW);
  await expect(whileLocked(context, "w1", async () => "done")).rejects.toThrow(
    new Error("its changes are being applied or discarded"),
  );
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
