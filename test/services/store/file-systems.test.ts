import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { openStore } from "../../../src/services/store/open-store.ts";
import { LEASE_MS, thisProcess } from "../../../src/services/store/ownership.ts";
import { onSmallDisk, whyNoSmallDisk } from "../../fakes/small-disk.ts";
import { isNightly } from "../../nightly.ts";
import { startChild } from "./child-process.ts";
import { createRecordingLog, temporaryFolder } from "./folder-and-log.ts";

/** Compiled once; see there. */
const library = join(tmpdir(), `taskchart-lacking-${process.pid}.so`);
const source = fileURLToPath(new URL("lacking-file-system.c", import.meta.url));
const hasCompiler = process.platform === "linux" && spawnSync("cc", ["--version"]).status === 0;
if (hasCompiler) execFileSync("cc", ["-shared", "-fPIC", "-o", library, source, "-ldl"]);

afterAll(() => rmSync(library, { force: true }));

/** Starts programs where that is lacking: always, or while there is a file at a path. */
const on = (lacks: "memory" | "locks" | "writing" | "room", during?: string) => [
  ...["env", `LD_PRELOAD=${library}`, `LACKS=${lacks}`, ...(during ? [`LACKS_WHILE=${during}`] : [])],
  process.execPath,
];

/** Starts a process that stores three tasks there. */
const committer = async (lacks: "memory", folder: string, id: string) => {
  const child = startChild(on(lacks), "committer", folder, id, "3");
  expect(await child.line()).toBe("open");
  return child;
};

/** How many tasks another process finds in that folder, where its file system lacks nothing. */
const storedIn = (folder: string): number => {
  const store = openStore({ folder, owner: thisProcess("reader", "/project", LEASE_MS), log: createRecordingLog() });
  const ids = ["one", "two"].flatMap((id) => [0, 1, 2].map((index) => `ses_${id}_${index}`));
  const found = ids.filter((id) => store.get(id) !== undefined).length;
  store.close();
  return found;
};

test.skipIf(!hasCompiler)(
  "without shared memory, several processes store tasks in one file, which survive them",
  async () => {
    const folder = temporaryFolder();
    const children = [await committer("memory", folder, "one"), await committer("memory", folder, "two")];
    for (const child of children) child.go();
    for (const child of children) expect(await child.line()).toBe("stored");
    // Each heartbeat writes what had to wait for the other process.
    for (const child of children) {
      child.go();
      expect([await child.line(), await child.line()]).toEqual(["lost: 0", "launched"]);
      child.process.kill("SIGKILL");
    }
    expect(storedIn(folder)).toBe(6);
  },
);

test.skipIf(!hasCompiler)(
  "without shared memory, a file goes on that has a write-ahead log from elsewhere",
  async () => {
    const folder = temporaryFolder();
    const log = createRecordingLog();
    const store = openStore({ folder, owner: thisProcess("elsewhere", "/project", LEASE_MS), log });
    store.heartbeat(Date.now());
    store.close();
    const child = await committer("memory", folder, "one");
    child.go();
    expect(await child.line()).toBe("stored");
    child.process.kill("SIGKILL");
    expect(storedIn(folder)).toBe(3);
  },
);

test.skipIf(!hasCompiler)(
  "without locks, tasks are kept in memory, and the reason and what to do are said",
  async () => {
    const folder = temporaryFolder();
    const program = `
    import { openStore } from ${JSON.stringify(new URL("../../../src/services/store/open-store.ts", import.meta.url).href)};
    import { thisProcess } from ${JSON.stringify(new URL("../../../src/services/store/ownership.ts", import.meta.url).href)};
    const log = { info: () => undefined, error: (message, { reason, advice }) => console.log(message, reason, advice) };
    openStore({ folder: ${JSON.stringify(folder)}, owner: thisProcess("one", "/project", ${LEASE_MS}), log }).close();`;
    const inline = process.versions.bun === undefined ? ["--input-type=module-typescript", "-e"] : ["-e"];
    const [command = "", ...args] = on("locks");
    const said = execFileSync(command, [...args, ...inline, program], { encoding: "utf8" });
    expect(said).toContain("They are kept in memory, and are gone when OpenCode ends.");
    expect(said).toContain("no file of its folder can be locked");
    expect(said).toContain("XDG_DATA_HOME set to a folder on a local disk");
    expect(readdirSync(folder)).toEqual(["tasks.db"]);
  },
);

const OUTAGE = "The task database cannot be used for now. Tasks go on in memory, and are written once it can.";

/** What a file system lacks in the middle of a run, and what is said of it. */
const LACKING = [
  ["can be written no more, as when the kernel has found errors", "writing", /^disk I\/O error Check the disk\.$/],
  ["is full", "room", /^database or disk is full Make room on the disk\.$/],
  [
    "has no locks any more",
    "locks",
    /^no file of its folder can be locked: .* XDG_DATA_HOME set to a folder on a local disk\.$/,
  ],
] as const;

/** SQLite waits for a lock for ten seconds: that is for the night. */
const played = LACKING.filter(([, lacks]) => isNightly || lacks !== "locks");

test.skipIf(!hasCompiler).each(played)(
  "a file system that %s, in the middle of a run, is said once, and everything is written when that is over",
  async (_, lacks, why) => {
    const folder = temporaryFolder();
    const during = join(temporaryFolder(), "now");
    const keeper = startChild(on(lacks, during), "keeper", folder);
    const next = async (step?: string) => {
      if (step !== undefined) keeper.go(step);
      return JSON.parse(await keeper.line());
    };
    expect(await next()).toEqual({ tasks: [], said: [] });
    expect(await next("ses_one_0")).toEqual({ tasks: ["ses_one_0"], said: [] });
    writeFileSync(during, "");
    expect(await next("ses_one_1")).toEqual({
      tasks: expect.arrayContaining(["ses_one_1"]),
      said: [expect.stringMatching(new RegExp(`^${OUTAGE} ${why.source.slice(1)}`))],
    });
    expect(await next("ses_one_2")).toEqual({
      tasks: expect.arrayContaining(["ses_one_1", "ses_one_2"]),
      said: [],
    });
    expect(await next("beat")).toMatchObject({ said: [] });
    expect(storedIn(folder)).toBe(1);
    rmSync(during);
    expect(await next("beat")).toEqual({
      tasks: ["ses_one_0", "ses_one_1", "ses_one_2"],
      said: ["The task database can be used again, and has everything."],
    });
    keeper.process.kill("SIGKILL");
    expect(storedIn(folder)).toBe(3);
  },
);

test("on a disk that is mounted read-only, tasks are kept in memory, and the file is as it was", async ({ skip }) => {
  skip(whyNoSmallDisk !== undefined, whyNoSmallDisk);
  const disk = temporaryFolder();
  const program = 'cp -r "$1/." "$2" && mount -o remount,ro "$2" && shift 2 && exec "$@"';
  const folder = temporaryFolder();
  const before = startChild([process.execPath], "keeper", folder);
  await before.line();
  before.go("ses_one_0");
  await before.line();
  before.go("close");
  await before.line();
  const command = onSmallDisk(disk, { megabytes: 4 }, ["sh", "-c", program, "sh", folder, disk, process.execPath]);
  const keeper = startChild(command, "keeper", disk);
  const { said } = JSON.parse(await keeper.line());
  expect(said).toEqual([
    expect.stringMatching(/^Tasks cannot be stored on disk\. They are kept in memory, .* restart OpenCode\.$/),
  ]);
  keeper.go("ses_one_1");
  expect(JSON.parse(await keeper.line())).toEqual({ tasks: ["ses_one_1"], said: [] });
});
