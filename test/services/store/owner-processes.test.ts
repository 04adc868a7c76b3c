import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { isRunning, thisProcessIdentity } from "../../../src/services/platform/process-identity.ts";
import { isGone, type KnownOwner, LEASE_MS, STEADY_MS, thisProcess } from "../../../src/services/store/ownership.ts";
import { START } from "./scripted-task.ts";

const PATIENCE = 300_000;
const me = thisProcess("me", "/project", PATIENCE);

/** A pid that no process has: one that had it has just ended. */
const deadPid = () => spawnSync(process.execPath, ["--version"]).pid;

const seen = (given: Partial<KnownOwner> = {}): KnownOwner => ({ ...me, id: "other", heartbeatAt: START, ...given });

/** When a process started, as Linux counts it: clock ticks since the boot. Elsewhere nobody compares it. */
const startOf = (pid: number): number => {
  if (process.platform !== "linux") return 0;
  return Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[19]);
};

const judge = (owner: KnownOwner, later = 0) => isGone(owner, me, { now: START + later, since: 0 });

const failing = (code: string) => {
  const kill = vi.spyOn(process, "kill").mockImplementation(() => {
    throw Object.assign(new Error(code), { code });
  });
  onTestFinished(() => kill.mockRestore());
};

describe("a process of this machine", () => {
  test("that has ended is gone at once", () => {
    expect(judge(seen({ pid: deadPid() }))).toBe(true);
  });

  test("that runs is slow, not gone, until it has been silent for as long as the options say", () => {
    const silent = seen({ pid: process.ppid, startedAt: startOf(process.ppid) });
    expect([0, LEASE_MS + 1, PATIENCE, PATIENCE + 1].map((ms) => judge(silent, ms))).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });

  test("that slept as long as the others did is not gone: whoever looks has not beaten for long enough itself", () => {
    const silent = seen({ pid: process.ppid, startedAt: startOf(process.ppid) });
    const [now, since] = [START + 10 * PATIENCE, START + 10 * PATIENCE - STEADY_MS + 1];
    expect(isGone(silent, me, { now, since })).toBe(false);
    expect(isGone(silent, me, { now, since: since - 1 })).toBe(true);
  });

  test("that is this very one beats for another directory too: one that is silent for a lease was closed", () => {
    expect([0, LEASE_MS, LEASE_MS + 1].map((ms) => judge(seen(), ms))).toEqual([false, false, true]);
  });

  test("that had the pid of this one before is gone", () => {
    expect(judge(seen({ startedAt: me.startedAt - 1 }))).toBe(true);
  });

  test("is not gone in its own eyes, however late its heartbeat is", () => {
    expect(judge(seen({ id: me.id, startedAt: me.startedAt - 1 }), 2 * LEASE_MS)).toBe(false);
  });

  test("that another user started counts as running: it may not be signalled, but it is there", () => {
    failing("EPERM");
    expect(isRunning(thisProcessIdentity)).toBe(true);
    expect(judge(seen({ pid: deadPid() }))).toBe(false);
  });

  test("that cannot be signalled since it is not there has ended", () => {
    failing("ESRCH");
    expect(isRunning(thisProcessIdentity)).toBe(false);
  });

  test.runIf(process.platform === "linux")("that has the pid of one that ended is not taken for it", () => {
    expect(isRunning(thisProcessIdentity)).toBe(true);
    expect(isRunning({ ...thisProcessIdentity, startedAt: thisProcessIdentity.startedAt - 1 })).toBe(false);
    expect(judge(seen({ pid: process.ppid, startedAt: startOf(process.ppid) - 1 }))).toBe(true);
  });
});

describe("a process of another machine", () => {
  test.each([
    ["another boot or container", "boot 00000000-0000-0000-0000-000000000000, pid:[1]"],
    ["a version that noted the host name", hostname()],
  ])("of %s is judged by its lease, whatever its pid means here", (_, machine) => {
    for (const pid of [deadPid(), process.pid]) {
      const owner = seen({ pid, machine, startedAt: 1 });
      expect([judge(owner), judge(owner, LEASE_MS), judge(owner, LEASE_MS + 1)]).toEqual([false, false, true]);
    }
  });
});
