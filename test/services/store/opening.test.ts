import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../../src/services/store/open-store.ts";
import { LEASE_MS, thisProcess } from "../../../src/services/store/ownership.ts";
import { createRecordingLog, temporaryFolder } from "./folder-and-log.ts";

test("a file that is no database is set aside as it is, and never written over", async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "tasks.db"), "{ this was JSON once");
  const log = createRecordingLog();
  const store = openStore({ folder, owner: thisProcess("me", "/project", LEASE_MS), log });
  store.close();
  const [aside = ""] = readdirSync(folder).filter((name) => name.includes("damaged"));
  expect(readFileSync(join(folder, aside), "utf8")).toBe("{ this was JSON once");
  expect(log.errors).toEqual([expect.stringContaining("set aside")]);
});

test("whoever opens a store is told where tasks are kept in memory alone", () => {
  const folder = temporaryFolder();
  const inTheWay = join(folder, "file");
  writeFileSync(inTheWay, "");
  const open = (where: string): boolean => {
    let isInMemory = false;
    const onInMemory = () => {
      isInMemory = true;
    };
    openStore({
      folder: where,
      owner: thisProcess("me", "/project", LEASE_MS),
      log: createRecordingLog(),
      onInMemory,
    }).close();
    return isInMemory;
  };
  expect(open(join(inTheWay, "data"))).toBe(true);
  expect(open(folder)).toBe(false);
});
