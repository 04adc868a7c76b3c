import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  dataFolder,
  makePrivate,
  makePrivateFolder,
  writeWhole,
} from "../../../src/services/platform/private-files.ts";

const temporary = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "taskchart-private-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe.skipIf(process.platform === "win32")("what others of this machine could read", () => {
  test("is the user's alone afterwards, a file without the right to run it; a second time there is nothing to do", () => {
    const folder = temporary();
    const [file, open] = [join(folder, "tasks.db"), join(folder, "open")];
    writeFileSync(file, "");
    mkdirSync(open);
    for (const path of [file, open]) chmodSync(path, 0o755);
    expect([makePrivate(file, "file"), makePrivateFolder(open)]).toEqual([true, true]);
    expect([modeOf(file), modeOf(open)]).toEqual([0o600, 0o700]);
    expect([makePrivate(file, "file"), makePrivateFolder(open)]).toEqual([false, false]);
  });

  test.each([
    ["the group may read it", 0o640],
    ["everybody may read it", 0o604],
    ["everybody may run it", 0o601],
  ])("is recognized where %s", (_, mode) => {
    const file = join(temporary(), "tasks.db");
    writeFileSync(file, "");
    chmodSync(file, mode);
    expect(makePrivate(file, "file")).toBe(true);
    expect(modeOf(file)).toBe(0o600);
  });

  test("stays as it is where it is not of the kind that is expected, or not there", () => {
    const folder = temporary();
    chmodSync(folder, 0o755);
    const file = join(folder, "tasks.db");
    writeFileSync(file, "");
    chmodSync(file, 0o644);
    const tried = [makePrivate(folder, "file"), makePrivate(file, "folder"), makePrivate(join(folder, "no"), "file")];
    expect(tried).toEqual([false, false, false]);
    expect([modeOf(folder), modeOf(file)]).toEqual([0o755, 0o644]);
  });

  test("is nothing of a folder that is created here, nor of those above it", () => {
    const above = join(temporary(), "above");
    const folder = join(above, "data");
    expect(makePrivateFolder(folder)).toBe(false);
    expect([modeOf(folder), modeOf(above)]).toEqual([0o700, 0o700]);
  });

  test("is an error where the system refuses to take it away", () => {
    const file = join(temporary(), "tasks.db");
    writeFileSync(file, "");
    chmodSync(file, 0o644);
    const refuse = () => {
      throw new Error("EPERM");
    };
    expect(() => makePrivate(file, "file", refuse)).toThrow("EPERM");
  });
});

test("a file that is written as a whole replaces the old one, is its owner's alone, and leaves no draft", () => {
  const folder = temporary();
  const file = join(folder, "record.json");
  writeWhole(file, "old");
  writeWhole(file, "new");
  expect(readFileSync(file, "utf8")).toBe("new");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(["record.json"]);
});

test("a file that cannot be written leaves no draft", () => {
  const folder = temporary();
  mkdirSync(join(folder, "record.json"));
  expect(() => writeWhole(join(folder, "record.json"), "new")).toThrow("EISDIR");
  expect(readdirSync(folder)).toEqual(["record.json"]);
});

test("data are kept where XDG says, and a relative path there says nothing", () => {
  expect(dataFolder({ XDG_DATA_HOME: "/data" })).toBe(join("/data", "opencode-taskchart"));
  for (const env of [{}, { XDG_DATA_HOME: "" }, { XDG_DATA_HOME: "data" }]) {
    expect(dataFolder(env)).toMatch(/^\/.*\.local.share.opencode-taskchart$/);
  }
});
