import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { formatBytes, listeningInode } from "../../../src/cli/doctor/machine.ts";
import { isAtLeast, namedIn } from "../../../src/cli/doctor/opencode.ts";
import { loadSqlite } from "../../../src/services/store/sqlite/driver.ts";
import { serve, temporaryFolder } from "../../services/http/served.ts";
import { scriptTask } from "../../services/store/scripted-task.ts";
import { createSharedDatabase } from "../../services/store/shared-database.ts";
import { commandHere } from "../command-line.ts";

/** Puts an `opencode` into the PATH that says this version and has this configuration. */
const installOpenCode = (version: string, config: unknown): void => {
  const bin = temporaryFolder();
  writeFileSync(join(bin, "config.json"), JSON.stringify(config));
  const script = `#!/bin/sh\nif [ "$1" = --version ]; then echo ${version}; else cat ${bin}/config.json; fi\n`;
  writeFileSync(join(bin, "opencode"), script, { mode: 0o755 });
  vi.stubEnv("PATH", `${bin}:${process.env.PATH}`);
  onTestFinished(() => void vi.unstubAllEnvs());
};

interface Checked {
  isHealthy: boolean;
  checks: { about: string; state: string; found: string[]; advice?: string }[];
}

const doctor = async (folder: string) => {
  const { code, out } = await commandHere(["doctor", "--json", "--data", folder]);
  const { isHealthy, checks } = JSON.parse(out) as Checked;
  return { code, isHealthy, of: (about: string) => checks.find((check) => check.about === about) };
};

const withTasks = () => {
  const file = createSharedDatabase();
  const { store } = file.openAs("OpenCode");
  store.commit(scriptTask("ses_a").launch());
  chmodSync(dirname(file.path), 0o700);
  return dirname(file.path);
};

const GOOD = { plugin: [["opencode-taskchart@1.0.0", { maxDepth: 2 }]] };

test("where all is as it should be it says so, with the options in force, and exits with 0", async () => {
  installOpenCode("1.19.0", GOOD);
  const { code, isHealthy, of } = await doctor(withTasks());
  expect({ code, isHealthy }).toEqual({ code: 0, isHealthy: true });
  expect(of("OpenCode")).toMatchObject({ state: "ok", found: ["version 1.19.0"] });
  expect(of("options")).toMatchObject({
    state: "ok",
    found: ["maxDepth 2", "the others by default", "from opencode.json"],
  });
  expect(of("database")).toMatchObject({
    state: "ok",
    found: expect.arrayContaining(["1 tasks, 1 of them under way", "undamaged"]),
  });
  expect(of("server")).toMatchObject({ state: "note", found: [expect.stringContaining("OpenCode is not running")] });
  expect(of("runtime")?.state).toBe("ok");
});

test("OpenCode 2 is named as one that the plugin does not work with yet", async () => {
  installOpenCode("2.0.0", GOOD);
  const { of } = await doctor(withTasks());
  expect(of("OpenCode")).toMatchObject({
    state: "wrong",
    advice: expect.stringMatching(/^This plugin does not work with OpenCode 2 yet: use a version from 1\.\d+\.\d+ on/),
  });
});

test("what is wrong is named with what to do about it, and it exits with 1", async () => {
  installOpenCode("1.2.3", { plugin: [["opencode-taskchart", { maxdepth: 2, concurrency: { default: 0 } }]] });
  const folder = withTasks();
  chmodSync(folder, 0o755);
  const { code, isHealthy, of } = await doctor(folder);
  expect({ code, isHealthy }).toEqual({ code: 1, isHealthy: false });
  expect(of("OpenCode")).toMatchObject({ state: "wrong", advice: expect.stringContaining("opencode upgrade") });
  expect(of("options")?.found).toEqual([
    expect.stringContaining('"concurrency.default"'),
    'option "maxdepth": there is no such option',
  ]);
  expect(of("options")?.advice).toContain("opencode.json");
  expect(of("folder")).toMatchObject({ state: "wrong", advice: expect.stringContaining(`chmod 700 ${folder}`) });
});

test("options are read from what OpenCode merges, and their file, folder or variable is named", async () => {
  const spec = ["opencode-taskchart", { maxDepth: 4 }];
  const source = "/home/me/.config/opencode";
  const another = { spec: "another-plugin", source: "/home/me/project/opencode.json" };
  const config = { plugin: ["another-plugin", spec], plugin_origins: [another, { spec, source, scope: "global" }] };
  installOpenCode("1.19.0", config);
  const folder = withTasks();
  const { of } = await doctor(folder);
  expect(of("options")).toMatchObject({
    state: "ok",
    found: ["maxDepth 4", "the others by default", `from ${source}`],
  });

  const wrong = { spec: ["opencode-taskchart", { maxDepth: "deep" }], source: "OPENCODE_CONFIG_CONTENT" };
  installOpenCode("1.19.0", { plugin: [wrong.spec], plugin_origins: [wrong] });
  expect((await doctor(folder)).of("options")?.advice).toContain("Correct them in OPENCODE_CONFIG_CONTENT;");

  const file = { spec: "opencode-taskchart@1.0.0", source: "/home/me/project/opencode.json" };
  installOpenCode("1.19.0", { plugin: [spec, file.spec], plugin_origins: [{ spec, source }, file] });
  expect((await doctor(folder)).of("options")).toMatchObject({
    state: "wrong",
    found: [`the plugin is named 2 times: in ${source} and in ${file.source}`],
  });
});

test("a damaged database, and one that is none, are reported", async () => {
  installOpenCode("1.19.0", GOOD);
  const folder = temporaryFolder();
  chmodSync(folder, 0o700);
  writeFileSync(join(folder, "tasks.db"), "this is no database, and never was one".repeat(200));
  const { code, of } = await doctor(folder);
  expect(code).toBe(1);
  expect(of("database")).toMatchObject({ state: "wrong", advice: expect.any(String) });
});

test.each([
  { what: "of a development build", version: 18, note: "OpenCode sets it aside when it starts" },
  { what: "without tables", version: 0, note: "OpenCode makes them when it starts" },
])("of a database $what it says what becomes of it, and nothing is wrong for that", async ({ version, note }) => {
  installOpenCode("1.19.0", GOOD);
  const folder = temporaryFolder();
  chmodSync(folder, 0o700);
  const database = loadSqlite()(join(folder, "tasks.db"));
  database.exec(`PRAGMA user_version = ${version}`);
  database.close();
  chmodSync(join(folder, "tasks.db"), 0o600);
  const { of } = await doctor(folder);
  expect(of("database")).toMatchObject({
    state: "note",
    found: expect.arrayContaining([`version ${version}`, expect.stringContaining(note)]),
  });
});

test("a server of another version, and a plugin that is not loaded here, are reported", async () => {
  installOpenCode("1.19.0", { plugin: ["another-plugin"] });
  const served = await serve();
  const { of } = await doctor(served.folder);
  expect(of("server")).toMatchObject({
    state: "wrong",
    advice: expect.stringContaining("OpenCode runs opencode-taskchart 1.2.3"),
  });
  expect(of("port")?.found[0]).toContain(String(served.server.port));
  expect(of("options")).toMatchObject({
    state: "wrong",
    advice: 'Name it in opencode.json: "plugin": ["opencode-taskchart"].',
  });
});

test("without an opencode in the PATH, what it knows is unknown, and nothing is wrong for that", async () => {
  vi.stubEnv("PATH", temporaryFolder());
  onTestFinished(() => void vi.unstubAllEnvs());
  const { code, of } = await doctor(withTasks());
  expect(code).toBe(0);
  expect([of("OpenCode")?.state, of("options")?.state]).toEqual(["unknown", "unknown"]);
});

test("a person reads a line for each check, and how many things are wrong", async () => {
  installOpenCode("1.2.3", GOOD);
  const { out } = await commandHere(["doctor", "--data", withTasks()], { columns: 80 });
  expect(out).toMatch(/^✓ runtime /);
  expect(out).toMatch(/^✗ OpenCode {3}version 1\.2\.3\n {13}→ Update OpenCode: opencode upgrade\./m);
  expect(out).toMatch(/\nOne thing is wrong\.\n$/);
  for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
});

test("this plugin is found by its name, with a version or without, and by its file", () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "dist"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "opencode-taskchart" }));
  const file = `file://${folder}/dist/index.js`;
  const optionsIn = (config: unknown) => namedIn(config).map(({ options }) => options);
  expect(
    optionsIn({
      plugin: [
        "opencode-taskchart",
        ["opencode-taskchart@1", { a: 1 }],
        [file, { b: 2 }],
        join(folder, "dist/index.js"),
      ],
    }),
  ).toEqual([{}, { a: 1 }, { b: 2 }, {}]);
  expect(optionsIn({ plugin: ["opencode-taskchart-extra", "file:///nowhere/at/all/x.js"] })).toEqual([]);
  expect(optionsIn({})).toEqual([]);
});

test.each([
  ["1.18.29", true],
  ["1.18.30", true],
  ["1.19.0-beta", true],
  ["2.0.0", true],
  ["1.18.28", false],
  ["1.2.99", false],
])("version %s is 1.18.29 or newer: %s", (version, isNewEnough) => {
  expect(isAtLeast(version, "1.18.29")).toBe(isNewEnough);
});

test("the socket that listens at a port is found in the kernel's table", () => {
  const line = (address: string, state: string, inode: number) =>
    `   0: ${address} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1`;
  const table = ["  sl  local_address", line("0100007F:142D", "01", 7), line("0100007F:142D", "0A", 8)].join("\n");
  expect(listeningInode(table, 5165)).toBe("8");
  expect(listeningInode(table, 5166)).toBeUndefined();
});

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [188_416, "188 kB"],
  [4_200_000, "4.2 MB"],
  [57e9, "57 GB"],
])("%i bytes are written %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
