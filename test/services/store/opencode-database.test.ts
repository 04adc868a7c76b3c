import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { thisProcessIdentity } from "../../../src/services/platform/process-identity.ts";
import { opencodeDatabase } from "../../../src/services/store/ownership.ts";
import { temporaryFolder } from "./folder-and-log.ts";

const nothing = () => [];

/** A data folder of OpenCode. */
const dataHome = () => {
  const home = temporaryFolder();
  const folder = join(home, "opencode");
  mkdirSync(folder);
  return { home, folder };
};

test("the database is the one of the releases, unless the environment names another", () => {
  const { home, folder } = dataHome();
  const named = (OPENCODE_DB?: string) => opencodeDatabase({ XDG_DATA_HOME: home, OPENCODE_DB }, nothing);
  expect([named(), named("")]).toEqual(["opencode.db", "opencode.db"]);
  expect([named("opencode.db"), named(join(folder, "opencode.db"))]).toEqual(["opencode.db", "opencode.db"]);
  expect(named("other.db")).toBe("other.db");
  expect(named(join(home, "other.db"))).toBe(join(home, "other.db"));
  expect(named("../other.db")).toBe(join(home, "other.db"));
});

test("a file is the same by whichever of its names, and the data folder wherever it was moved", () => {
  const { home, folder } = dataHome();
  writeFileSync(join(folder, "opencode.db"), "");
  symlinkSync(folder, join(home, "alias"));
  symlinkSync(join(folder, "opencode.db"), join(home, "alias.db"));
  for (const given of [join(home, "alias", "opencode.db"), join(home, "alias.db"), "../alias.db"]) {
    expect(opencodeDatabase({ XDG_DATA_HOME: home, OPENCODE_DB: given }, nothing)).toBe("opencode.db");
  }
});

test("another release channel's file is known by being open in this process", () => {
  const { home, folder } = dataHome();
  const withOpen = (...names: string[]) =>
    opencodeDatabase({ XDG_DATA_HOME: home }, () => names.map((name) => join(folder, name)));
  expect(withOpen("opencode-dev.db", "opencode-dev.db-wal", "opencode-dev.db", "log/x")).toBe("opencode-dev.db");
  expect(withOpen("opencode.db")).toBe("opencode.db");
  expect(withOpen("../elsewhere/opencode-dev.db", "some.db")).toBe("opencode.db");
  expect(withOpen("opencode-dev.db", "opencode-old.db")).toBe("opencode.db");
  expect(withOpen("opencode-dev.db", "opencode.db")).toBe("opencode.db");
  expect(withOpen("my-opencode-dev.db")).toBe("opencode.db");
});

test.runIf(process.platform === "linux")("which files are open, Linux tells", async () => {
  const { open } = await import("node:fs/promises");
  const { home, folder } = dataHome();
  await using file = await open(join(folder, "opencode-local.db"), "w");
  expect(file.fd).toBeGreaterThan(0);
  expect(opencodeDatabase({ XDG_DATA_HOME: home })).toBe("opencode-local.db");
});

test("a database in memory is its process's alone, each time that the plugin starts in it", () => {
  const env = { OPENCODE_DB: ":memory:" };
  const mine = opencodeDatabase(env);
  expect(opencodeDatabase(env)).toBe(mine);
  for (const other of [{ pid: 0 }, { startedAt: 0 }, { machine: "another" }]) {
    expect(opencodeDatabase(env, nothing, { ...thisProcessIdentity, ...other })).not.toBe(mine);
  }
});
