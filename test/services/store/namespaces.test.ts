import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { HEARTBEAT_MS, LEASE_MS } from "../../../src/services/store/ownership.ts";
import { startChild } from "./child-process.ts";
import { temporaryFolder } from "./folder-and-log.ts";

const NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child"];
const CONTAINER = [...NAMESPACE, "--mount-proc"];

const [program = "", ...flags] = CONTAINER;
const cannot = spawnSync(program, [...flags, "true"]).status !== 0;
const WHY =
  "it takes two PID namespaces, and `unshare --pid --mount-proc` may not make one here (it takes root on Linux)";

test("of two containers with one host name and one data folder, neither takes what the other is at work on", async ({
  skip,
}) => {
  skip(cannot, WHY);
  const folder = temporaryFolder();
  const supervisor = startChild([...CONTAINER, process.execPath], "committer", folder, "supervisor", "0");
  expect(await supervisor.line()).toBe("open");
  supervisor.go();
  expect(await supervisor.line()).toBe("stored");
  supervisor.go();
  expect([await supervisor.line(), await supervisor.line()]).toEqual(["lost: 0", "launched"]);

  const other = startChild([...CONTAINER, process.execPath], "adopter", folder, "other");
  expect(await other.line()).toMatch(/^boot [-0-9a-f]{36}, pid:\[\d+\]$/);
  const takes = async (ahead: number) => {
    other.go(String(ahead));
    return other.line();
  };
  // Each is process 1 of its own namespace: by its pid alone, the second would take the first for an earlier process.
  expect(await takes(0)).toBe("took: ");

  const ended = once(supervisor.process, "exit");
  supervisor.process.kill("SIGKILL");
  await ended;
  expect(await takes(0)).toBe("took: ");
  const later: string[] = [];
  for (let ahead = 0; ahead <= LEASE_MS; ahead += HEARTBEAT_MS) later.push(await takes(HEARTBEAT_MS));
  expect(later.filter((line) => line !== "took: ")).toEqual(["took: ses_supervisor_live"]);
});

test("a process that sees the pids of another namespace alone does not judge by pids, nor is it judged by its own", async ({
  skip,
}) => {
  skip(cannot, WHY);
  const child = startChild([...NAMESPACE, process.execPath], "adopter", temporaryFolder(), "lost");
  expect(await child.line()).toMatch(/^unknown /);
});
