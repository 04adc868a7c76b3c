import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../../../src/services/store/open-store.ts";
import { LEASE_MS, thisProcess } from "../../../src/services/store/ownership.ts";
import { type Child, startChild } from "../store/child-process.ts";
import { createRecordingLog, temporaryFolder } from "../store/folder-and-log.ts";

const another = process.versions.bun ? "node" : "bun";
const other = fileURLToPath(new URL(`../../../node_modules/.bin/${another}`, import.meta.url));
const TASKS = 60;

const start = (runtime: string, folder: string, id: string): Child =>
  startChild([runtime], "committer", folder, id, String(TASKS));

test("processes of both runtimes begin one file at once and store at the same time; killed, they lose nothing", async () => {
  const folder = temporaryFolder();
  const ids = ["a", "b", "c"];
  const children = ids.map((id, index) => start(index === 1 ? other : process.execPath, folder, id));
  for (const child of children) expect(await child.line()).toBe("open");
  for (const child of children) child.go();
  for (const child of children) expect(await child.line()).toBe("stored");
  for (const child of children) {
    child.go();
    expect([await child.line(), await child.line()]).toEqual(["lost: 0", "launched"]);
  }

  const log = createRecordingLog();
  const store = openStore({ folder, owner: thisProcess("reader", "/project", LEASE_MS), log });
  onTestFinished(() => store.close());
  expect(store.list({})).toHaveLength(ids.length * (TASKS + 1));
  expect(store.list({}).filter(({ status }) => status === "completed")).toHaveLength(ids.length * TASKS);
  for (const { sessionID, status } of store.list({})) {
    expect(store.journal(sessionID).map(({ type }) => type)).toHaveLength(status === "completed" ? 6 : 2);
  }
  const taken = () => store.adopt(Date.now(), () => true).tasks.map(({ task }) => task.sessionID);
  expect(taken()).toEqual([]);
  for (const [index, child] of children.entries()) {
    const ended = once(child.process, "exit");
    child.process.kill("SIGKILL");
    await ended;
    expect(taken()).toEqual([`ses_${ids[index]}_live`]);
  }
  expect(log.errors).toEqual([]);
});
