import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../../src/services/store/open-store.ts";
import { LEASE_MS, thisProcess } from "../../../src/services/store/ownership.ts";
import { createRecordingLog, temporaryFolder } from "./folder-and-log.ts";

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
