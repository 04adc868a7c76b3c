import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../../../src/services/store/open-store.ts";
import { createConnector } from "../../../../src/services/store/sqlite/connect.ts";
import { createStoreFile, restrictToOwner } from "../../../../src/services/store/sqlite/database-file.ts";
import { loadSqlite } from "../../../../src/services/store/sqlite/driver.ts";
import type { Store } from "../../../../src/services/store/store.ts";
import { entryOf } from "../../../../src/task.ts";
import { createVirtualClock } from "../../../fakes/virtual-clock.ts";
import { startChild } from "../child-process.ts";
import { createRecordingLog, temporaryFolder } from "../folder-and-log.ts";
import { ownerOf } from "../owners.ts";
import { openResilient, readFile } from "../resilient/open-resilient.ts";
import { noticePrompt, type ScriptedTask, START, scriptTask } from "../scripted-task.ts";
import { wholeTasks } from "../whole-tasks.ts";

const openDatabase = loadSqlite();

/** Checks that a store works. Every store here must, whatever happened to its file. */
const works = (store: Store) => {
  const story = scriptTask("ses_works", { parentSessionID: "ses_working" });
  expect(store.commit(story.launch())).toEqual([]);
  expect(store.get(story.id)).toEqual(story.record());
  expect(store.list({ parentSessionID: "ses_working" })).toEqual([entryOf(story.record().task)]);
};

const damagedIn = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.includes(".damaged-") && !/-(wal|shm)$/.test(name))
    .toSorted();

/** Creates a file with 200 ended tasks: far more than SQLite caches, so that damage on disk is read. */
const filledFolder = async (): Promise<string> => {
  const { store, folder } = await openResilient({ owner: ownerOf("earlier") });
  for (let index = 0; index < 200; index += 1) {
    store.commit(scriptTask(`ses_old_${index}`, { parentSessionID: "ses_old", prompt: "x".repeat(9_000) }).whole());
  }
  store.close();
  return folder;
};

/** Overwrites the file except for its first page, as a failing disk does. */
const spoil = (path: string) => {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(statSync(path).size - 4_096, 0xab), 0, undefined, 4_096);
  closeSync(file);
};

describe("at the opening", () => {
  test("garbage is set aside as it is, said once with both names, and a new file is begun", async () => {
    const folder = temporaryFolder();
    const garbage = "no database at all\n".repeat(1_000);
    writeFileSync(join(folder, "tasks.db"), garbage);
    const { store, path, log } = await openResilient({ folder });
    works(store);
    const [aside = ""] = damagedIn(folder);
    expect(aside).toBe("tasks.db.damaged-2026-01-01T00-00-00-000Z");
    expect(readFileSync(join(folder, aside), "utf8")).toBe(garbage);
    expect(log.errors).toHaveLength(1);
    expect(log.errors[0]).toContain(path);
    expect(log.errors[0]).toContain(join(folder, aside));
    expect(readFile(path, (file) => file.get("ses_works"))).toBeDefined();
  });

  test("a second damaged file of the same time overwrites no first", async () => {
    const folder = temporaryFolder();
    for (const text of ["one", "two"]) {
      writeFileSync(join(folder, "tasks.db"), text.repeat(1_000));
      (await openResilient({ folder })).store.close();
    }
    expect(damagedIn(folder).map((name) => readFileSync(join(folder, name), "utf8").slice(0, 3))).toEqual([
      "one",
      "two",
    ]);
  });

  test("a truncated file is set aside when its damage shows", async () => {
    const folder = await filledFolder();
    truncateSync(join(folder, "tasks.db"), 50_000);
    const { store, log } = await openResilient({ folder });
    expect(store.list({ parentSessionID: "ses_old" })).toEqual([]);
    works(store);
    expect(damagedIn(folder)).toHaveLength(1);
    expect(log.errors).toHaveLength(1);
  });

  test("a file of a newer version is not touched: tasks stay in memory, and that is said once", async () => {
    const folder = await filledFolder();
    const path = join(folder, "tasks.db");
    const database = openDatabase(path);
    database.exec("PRAGMA user_version = 99");
    database.close();
    const hash = () => createHash("sha256").update(readFileSync(path)).digest("hex");
    const before = hash();
    const { store, log } = await openResilient({ folder });
    works(store);
    store.close();
    expect(hash()).toBe(before);
    expect(readdirSync(folder)).toEqual(["tasks.db"]);
    expect(log.errors).toHaveLength(1);
    expect(log.errors[0]).toContain("version 99");
  });

  // Root may write anywhere, so the test puts a file in the place of the folder.
  test("a folder that cannot be made leaves tasks in memory, and that is said once", async () => {
    const inTheWay = join(temporaryFolder(), "file");
    writeFileSync(inTheWay, "");
    const { store, log } = await openResilient({ folder: join(inTheWay, "data") });
    works(store);
    store.heartbeat(START);
    expect(log.errors).toHaveLength(1);
    expect(log.errors[0]).toContain("gone when OpenCode ends");
    expect(log.errors[0]).toContain(join(inTheWay, "data", "tasks.db"));
  });

  test("a folder in the file's place does too", async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "tasks.db"));
    const { store, log } = await openResilient({ folder });
    works(store);
    expect(log.errors).toHaveLength(1);
  });

  test("a runtime without SQLite is refused in one sentence, and nothing is written", async () => {
    const load = () => {
      throw new Error("No such built-in module: node:sqlite");
    };
    const [folder, log] = [temporaryFolder(), createRecordingLog()];
    const sentence =
      "this runtime has no SQLite (No such built-in module: node:sqlite). Use Bun, or Node 22.13 or newer.";
    expect(() => openStore({ folder, owner: ownerOf("me"), log, load })).toThrow(sentence);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("folder and file are for their user alone", async () => {
    const folder = join(temporaryFolder(), "some", "data");
    const { store } = await openResilient({ folder });
    works(store);
    const modes = ["", "tasks.db", "tasks.db-wal", "tasks.db-shm"].map(
      (name) => statSync(join(folder, name)).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o600, 0o600, 0o600]);
  });
});

describe.skipIf(process.platform === "win32")("a folder that other users can look into", () => {
  const NAMES = ["", "tasks.db", "tasks.db-wal", "tasks.db-shm", "tasks.db.damaged-of-old"];
  const MODES = [0o755, 0o644, 0o640, 0o606, 0o644];

  /** Creates such a folder with a file that another process has open, and returns its path. */
  const open = async () => {
    const folder = join(temporaryFolder(), "data");
    const other = await openResilient({ folder, owner: ownerOf("other") });
    other.store.commit(scriptTask("ses_before").launch());
    writeFileSync(join(folder, "tasks.db.damaged-of-old"), "old");
    NAMES.forEach((name, index) => void chmodSync(join(folder, name), MODES[index] ?? 0));
    return folder;
  };
  const modesOf = (folder: string) => NAMES.map((name) => statSync(join(folder, name)).mode & 0o777);

  test("is its user's alone again from the next start on, with every file of tasks in it, and that is said", async () => {
    const folder = await open();
    const { store, log } = await openResilient({ folder });
    expect(modesOf(folder)).toEqual([0o700, 0o600, 0o600, 0o600, 0o600]);
    works(store);
    expect([log.errors.length, log.infos.length]).toEqual([0, 1]);
    for (const name of NAMES) expect(log.infos[0]).toContain(join(folder, name));
    const again = await openResilient({ folder, owner: ownerOf("again") });
    expect([again.log.errors, again.log.infos]).toEqual([[], []]);
  });

  test("and that we may not change is used as it is", async () => {
    const folder = await open();
    const path = join(folder, "tasks.db");
    const eperm = () => {
      throw new Error("EPERM: operation not permitted, chmod");
    };
    const { tightened, refused } = restrictToOwner(path, eperm);
    const all = NAMES.map((name) => join(folder, name));
    expect([tightened, refused.map((file) => file.path).toSorted()]).toEqual([[], all.toSorted()]);
    const log = createRecordingLog();
    const file = { ...createStoreFile(path), tighten: () => ({ tightened, refused }) };
    const connector = createConnector({
      file,
      openDatabase,
      owner: ownerOf("me"),
      clock: createVirtualClock(START),
      log,
    });
    const { store } = connector.connect();
    works(store);
    store.close();
    expect(log.errors).toHaveLength(1);
    expect(log.errors[0]).toContain("EPERM: operation not permitted");
    expect(log.errors[0]).toContain(path);
  });
});

describe("in mid-life", () => {
  const lived = async (folder: string, id: string) => {
    const opened = await openResilient({ folder, owner: ownerOf(id, { pid: process.pid, startedAt: 1 }) });
    const story = scriptTask(`ses_${id}`);
    opened.store.commit(story.launch());
    return { ...opened, story };
  };

  const isWhole = (store: Store, { id, record, events }: ScriptedTask) => {
    expect(store.get(id)).toEqual(record());
    expect(store.journal(id)).toEqual(events());
  };

  test("a spoilt file is set aside, and what goes on here goes on in the new one, journal and all", async () => {
    const folder = await filledFolder();
    const { store, story, path, log } = await lived(folder, "a");
    const prompts = [{ parentSessionID: "ses_parent", prompts: [noticePrompt("msg_1")] }];
    store.commit({ ...story.answer(), prompts });
    store.beginLaunch({ messageID: "msg_2", parentSessionID: "ses_parent", at: START, fork: true });
    spoil(path);
    expect(store.list({ parentSessionID: "ses_old" })).toEqual([]);
    isWhole(store, story);
    works(store);
    expect(damagedIn(folder)).toHaveLength(1);
    expect(log.errors).toHaveLength(1);
    readFile(path, (file) => isWhole(file, story));
    store.close();
    const adopted = readFile(path, (file) => file.adopt(START, () => true));
    expect(adopted.tasks.map(({ task }) => task.sessionID)).toEqual(["ses_a", "ses_works"]);
    expect(adopted.prompts).toEqual(prompts);
    expect(adopted.launches).toHaveLength(1);
  });

  test("what was taken over or claimed goes on in the new file too; its journal is said to begin late", async () => {
    const folder = await filledFolder();
    const dead = await lived(folder, "dead");
    const prompts = [{ parentSessionID: "ses_parent", prompts: [noticePrompt("msg_1")] }];
    dead.store.commit({ records: [], journal: [], prompts });
    const rested = scriptTask("ses_rested");
    dead.store.commit(rested.whole());
    dead.store.close();
    const { store, path } = await lived(folder, "a");
    expect(store.adopt(START, () => true).tasks).toHaveLength(1);
    expect(store.claim("ses_rested")).toBe(true);
    store.commit(scriptTask("ses_between").launch());
    store.commit(rested.resume());
    spoil(path);
    expect(store.list({ parentSessionID: "ses_old" })).toEqual([]);
    store.close();
    const database = openDatabase(path);
    const origins = database
      .prepare<{ id: string; known: number }>("SELECT id, origin IS NOT NULL AS known FROM task ORDER BY id")
      .all()
      .map(({ id, known }) => [id, known]);
    database.close();
    expect(origins).toEqual([
      ["ses_a", 1],
      ["ses_between", 1],
      ["ses_dead", 0],
      ["ses_rested", 0],
    ]);
    const adopted = readFile(path, (file) => file.adopt(START, () => true));
    expect(adopted.tasks).toHaveLength(4);
    expect(adopted.prompts).toEqual(prompts);
  });

  test("of two processes one sets the file aside, the other follows, and both go on in the new one", async () => {
    const folder = await filledFolder();
    const [a, b] = [await lived(folder, "a"), await lived(folder, "b")];
    spoil(a.path);
    for (const { store } of [a, b]) expect(store.list({ parentSessionID: "ses_old" })).toEqual([]);
    for (const { store } of [a, b]) store.heartbeat(START);
    expect(damagedIn(folder)).toHaveLength(1);
    expect([a.log.errors.length, b.log.errors.length]).toEqual([1, 0]);
    readFile(a.path, (file) => [a, b].forEach(({ story }) => void isWhole(file, story)));
    expect(a.store.isOwnedElsewhere("ses_b")).toBe(true);
  });

  test("a file that somebody moved or removed is followed by a new one with what goes on", async () => {
    const { store, story, path, log } = await lived(temporaryFolder(), "a");
    renameSync(path, `${path}.moved`);
    expect(store.heartbeat(START)).toEqual([]);
    readFile(path, (file) => isWhole(file, story));
    for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
    store.commit(story.answer());
    store.heartbeat(START);
    readFile(path, (file) => isWhole(file, story));
    expect([log.errors.length, log.infos.length]).toEqual([0, 2]);
  });

  test("a disk that spoils one file after the other is given up, and tasks go on", async () => {
    const { store, story, folder, path, disk, log } = await lived(temporaryFolder(), "a");
    disk.failReads("damaged");
    for (let round = 0; round < 10; round += 1) store.heartbeat(START);
    expect(damagedIn(folder).length).toBeLessThanOrEqual(3);
    works(store);
    expect(store.get(story.id)).toEqual(story.record());
    expect(log.errors.filter((line) => line.includes("cannot be used for now"))).toHaveLength(1);
    disk.heal();
    store.heartbeat(START);
    readFile(path, (file) => isWhole(file, story));
  });
});

describe("the write-ahead log", () => {
  const begun = async (folder = temporaryFolder(), id = "me") => {
    const opened = await openResilient({ folder, owner: ownerOf(id) });
    const [live, rested] = [scriptTask(`ses_live_${id}`), scriptTask(`ses_rested_${id}`)];
    opened.store.commit(live.launch());
    opened.store.commit(rested.whole());
    return { ...opened, live, rested };
  };
  const removeLog = (path: string, ...suffixes: string[]) => {
    for (const suffix of suffixes) rmSync(path + suffix);
  };
  /** Returns the tasks that the next process finds when this one is killed: from a copy, since nobody closes the file. */
  const afterKill = (path: string) => {
    const copy = join(temporaryFolder(), "tasks.db");
    for (const suffix of ["", "-wal"]) copyFileSync(path + suffix, copy + suffix);
    return readFile(copy, (file) => file.list({}).map(({ sessionID }) => sessionID));
  };

  test.each([[["-wal"]], [["-shm"]], [["-wal", "-shm"]]])(
    "that is removed (%j) takes nothing along: with the next beat the file has everything, and a new log",
    async (suffixes) => {
      const { store, path, log, live, rested, folder } = await begun();
      removeLog(path, ...suffixes);
      expect(store.heartbeat(START)).toEqual([]);
      expect(afterKill(path)).toEqual([live.id, rested.id]);
      store.commit(live.answer());
      works(store);
      expect(afterKill(path)).toEqual([live.id, rested.id, "ses_works"]);
      expect(readFile(path, (file) => file.journal(live.id))).toEqual(live.events());
      expect(damagedIn(folder)).toEqual([]);
      store.heartbeat(START);
      expect([log.errors.length, log.infos.length]).toEqual([0, 1]);
      expect(log.infos[0]).toContain("nothing is lost");
    },
  );

  test("that is removed while two processes share it: all goes on in a new file, and what had ended is in the old one", async () => {
    const folder = temporaryFolder();
    const [a, b] = [await begun(folder, "a"), await begun(folder, "b")];
    removeLog(a.path, "-wal", "-shm");
    for (const { store } of [a, b]) expect(store.heartbeat(START)).toEqual([]);
    expect(readFile(a.path, wholeTasks)).toEqual([a, b].map(({ live }) => live.record().task));
    const [aside = ""] = damagedIn(folder);
    expect(readFile(join(folder, aside), (file) => file.list({}))).toHaveLength(4);
    for (const { store, live } of [a, b]) {
      store.commit(live.answer());
      expect(readFile(a.path, (file) => file.journal(live.id))).toEqual(live.events());
    }
    expect([a.log.errors.length, b.log.errors.length]).toEqual([1, 0]);
    expect(a.log.errors[0]).toContain("its write-ahead log");
  });

  test("that another process has begun anew is not written over", async () => {
    const folder = temporaryFolder();
    const a = await begun(folder, "a");
    renameSync(`${a.path}-wal`, `${a.path}-wal.moved`);
    writeFileSync(`${a.path}-wal`, "what another process has written");
    a.store.heartbeat(START);
    const [aside = ""] = damagedIn(folder);
    expect(aside).not.toBe("");
    expect(readFile(a.path, (file) => file.get(a.live.id))).toEqual(a.live.record());
  });

  test("that was removed after its process was killed is missed at the next start", async () => {
    const folder = temporaryFolder();
    const killed = startChild([process.execPath], "committer", folder, "killed", "3");
    expect(await killed.line()).toBe("open");
    killed.go();
    expect(await killed.line()).toBe("stored");
    const ended = once(killed.process, "exit");
    killed.process.kill("SIGKILL");
    await ended;
    removeLog(join(folder, "tasks.db"), "-wal");
    const { store, log } = await openResilient({ folder });
    works(store);
    expect(log.errors).toHaveLength(1);
    expect(log.errors[0]).toContain("lacks its write-ahead log");
    expect(log.errors[0]).toContain("tasks.db-wal");
  });
});

test("a data folder that is removed comes back with the next beat, and what goes on is in it", async () => {
  const folder = join(temporaryFolder(), "data");
  const { store, path, log } = await openResilient({ folder });
  const story = scriptTask("ses_1");
  store.commit(story.launch());
  store.commit(scriptTask("ses_rested").whole());
  rmSync(folder, { recursive: true });
  store.commit(story.answer());
  store.heartbeat(START);
  readFile(path, (file) => {
    expect(file.get("ses_1")).toEqual(story.record());
    expect(file.journal("ses_1")).toEqual(story.events());
  });
  expect(["", "tasks.db"].map((name) => statSync(join(folder, name)).mode & 0o777)).toEqual([0o700, 0o600]);
  expect([log.errors.length, log.infos.length]).toEqual([0, 1]);
  expect(log.infos[0]).toContain("tasks that ended before are no longer listed");
});

describe("a damaged row", () => {
  const filled = async () => {
    const folder = temporaryFolder();
    const opened = await openResilient({ folder });
    const others = [scriptTask("ses_a"), scriptTask("ses_c", { after: 2 })];
    const broken = scriptTask("ses_b", { after: 1 });
    for (const story of [...others, broken]) opened.store.commit(story.whole());
    const change = (sql: string) => {
      const database = openDatabase(opened.path);
      database.exec(sql);
      database.close();
    };
    const rowsOf = <Row>(sql: string): Row[] => {
      const database = openDatabase(opened.path);
      try {
        return database.prepare<Row>(sql).all();
      } finally {
        database.close();
      }
    };
    return { ...opened, others, broken, change, rowsOf };
  };

  test.each([
    ["snapshot", "substr(snapshot, 2)"],
    ["progress", "'{'"],
    ["snapshot", "'{}'"],
    ["snapshot", "'null'"],
  ])(
    "of a task is left out (%s = %s), named in the log once, and left as it is; all others go on",
    async (column, to) => {
      const { store, log, folder, others, broken, change, rowsOf } = await filled();
      change(`UPDATE task SET ${column} = ${to} WHERE id = 'ses_b'`);
      const select = "SELECT snapshot, progress FROM task WHERE id = 'ses_b'";
      const before = rowsOf(select);
      const [a, c] = others.map(({ record }) => record());
      for (let round = 0; round < 2; round += 1) {
        expect(store.get("ses_b")).toBeUndefined();
        expect(wholeTasks(store)).toEqual([a?.task, c?.task]);
        expect(store.list({}).map(({ sessionID }) => sessionID)).toEqual(["ses_a", "ses_b", "ses_c"]);
        expect(store.page({ limit: 9, offset: 0 }).records).toEqual([c, a]);
        expect(store.batch("batch")).toEqual([a, c]);
        expect(store.newestEnded(9)).toEqual([c, a]);
        expect(store.changedSince(0, 2).map(({ record }) => record)).toEqual([a, c]);
        expect(store.claim("ses_b")).toBe(false);
      }
      expect(store.isOwnedElsewhere("ses_b")).toBe(false);
      expect(store.journal("ses_b")).toEqual(broken.events());
      works(store);
      expect(damagedIn(folder)).toEqual([]);
      expect(log.errors).toHaveLength(1);
      expect(log.errors[0]).toContain("task ses_b");
      expect(rowsOf(select)).toEqual(before);
    },
  );

  test("of a task that is live here is written anew, and what stood there is kept beside it", async () => {
    const { store, log, change, rowsOf, path } = await filled();
    const live = scriptTask("ses_live");
    store.commit(live.launch());
    change("UPDATE task SET snapshot = 'spoilt' WHERE id = 'ses_live'");
    expect(store.get("ses_live")).toEqual(live.record());
    expect(store.list({}).map(({ sessionID }) => sessionID)).toContain("ses_live");
    store.commit(live.answer());
    expect(readFile(path, (file) => [file.get("ses_live"), file.journal("ses_live")])).toEqual([
      live.record(),
      live.events(),
    ]);
    expect(rowsOf("SELECT task, snapshot FROM damaged")).toEqual([{ task: "ses_live", snapshot: "spoilt" }]);
    expect(log.errors).toHaveLength(1);
    expect(log.errors[0]).toContain("nothing is lost");
  });

  test("that its owner never read before writing it anew is kept all the same", async () => {
    const { store, change, rowsOf } = await filled();
    const live = scriptTask("ses_live");
    store.commit(live.launch());
    change("UPDATE task SET progress = 'spoilt' WHERE id = 'ses_live'");
    store.commit(live.answer());
    expect(store.get("ses_live")).toEqual(live.record());
    expect(rowsOf("SELECT task, progress FROM damaged")).toEqual([{ task: "ses_live", progress: "spoilt" }]);
  });

  test("of a journal is left out of it", async () => {
    const { store, log, broken, change } = await filled();
    change(
      `UPDATE journal SET event = '{'
       WHERE seq = (SELECT min(journal.seq) FROM journal JOIN task ON task.seq = journal.task WHERE id = 'ses_b')`,
    );
    expect(store.journal("ses_b")).toEqual(broken.events().slice(1));
    expect(store.get("ses_b")).toEqual(broken.record());
    expect(log.errors).toHaveLength(1);
    expect(log.errors[0]).toContain("task ses_b");
  });

  test("of a dead process stays its own; what else it had is taken over", async () => {
    const { store, log, change, rowsOf, clock, folder } = await filled();
    const dead = await openResilient({ folder, owner: ownerOf("dead") });
    const prompts = [{ parentSessionID: "ses_parent", prompts: [noticePrompt("msg_1"), noticePrompt("msg_2")] }];
    dead.store.commit({ ...scriptTask("ses_1").launch(), prompts });
    dead.store.commit(scriptTask("ses_2").launch());
    dead.store.close();
    change("UPDATE task SET snapshot = '{' WHERE id = 'ses_1'");
    change("UPDATE prompt SET prompt = '{' WHERE seq = (SELECT min(seq) FROM prompt)");
    const adopted = store.adopt(clock.now(), () => true);
    expect(adopted.tasks.map(({ task }) => task.sessionID)).toEqual(["ses_2"]);
    expect(adopted.prompts).toEqual([{ parentSessionID: "ses_parent", prompts: [noticePrompt("msg_2")] }]);
    expect(store.adopt(clock.now(), () => true).tasks).toEqual([]);
    store.commit({ records: [], journal: [], prompts: [{ parentSessionID: "ses_parent", prompts: [] }] });
    expect(rowsOf("SELECT owner FROM task WHERE id = 'ses_1' UNION ALL SELECT owner FROM prompt")).toEqual([
      { owner: "dead" },
      { owner: "dead" },
    ]);
    expect(log.errors).toHaveLength(2);
  });

  test("of a command, or of its outcome, is a refusal that says to try again", async () => {
    const { store, log, change, clock, folder } = await filled();
    const asking = await openResilient({ folder, owner: ownerOf("asking"), clock });
    for (const id of ["req_1", "req_2"]) {
      asking.store.submitCommand({ id, taskId: "ses_a", command: { kind: "cancel" } }, clock.now());
    }
    change("UPDATE request SET request = '{' WHERE id = 'req_1'");
    expect(store.takeCommands().map(({ id }) => id)).toEqual(["req_2"]);
    store.storeOutcome("req_2", {});
    change("UPDATE request SET answer = '{' WHERE id = 'req_2'");
    for (const id of ["req_1", "req_2"]) expect(asking.store.takeOutcome(id)?.refused).toContain("try again");
    expect([log.errors.length, asking.log.errors.length]).toEqual([1, 1]);
  });
});

describe("a damaged text", () => {
  const PROMPT = "Look at each file. ".repeat(200);
  const RESULT = "This is what I found.\n".repeat(200);

  const filled = async () => {
    const opened = await openResilient();
    const [ended, other] = ["ses_ended", "ses_other"].map((id) => scriptTask(id, { prompt: PROMPT }));
    const live = scriptTask("ses_live", { prompt: PROMPT });
    if (!ended || !other) throw new Error("no tasks");
    opened.store.commit(live.launch());
    for (const story of [ended, other]) {
      for (const chapter of [() => story.launch(), () => story.answer(RESULT), () => story.deliver()]) {
        opened.store.commit(chapter());
      }
    }
    /** Changes a task's newest text. */
    const spoil = (id: string, sql: string) => {
      const database = openDatabase(opened.path);
      const which = `seq = (SELECT max(text.seq) FROM text JOIN task ON task.seq = text.task WHERE id = '${id}')`;
      database.exec(`${sql} WHERE ${which}`);
      database.close();
    };
    return { ...opened, ended, other, live, spoil };
  };

  test.each([
    "DELETE FROM text",
    "UPDATE text SET text = substr(text, 2)",
    "UPDATE text SET text = substr(text, 1, length(text) - 1)",
    "UPDATE text SET text = x''",
    "UPDATE text SET text = CAST(substr(text, 1, 20) || x'00' || substr(text, 22) AS BLOB)",
  ])(
    "makes its task unreadable, as a damaged row does, and of the journal only the event that has it (%s)",
    async (sql) => {
      const { store, ended, other, spoil, log, folder } = await filled();
      spoil("ses_ended", sql);
      for (let round = 0; round < 2; round += 1) {
        expect(store.get("ses_ended")).toBeUndefined();
        expect(store.claim("ses_ended")).toBe(false);
        expect(store.list({}).map(({ sessionID }) => sessionID)).toEqual(["ses_live", "ses_ended", "ses_other"]);
        expect(store.newestEnded(9)).toEqual([other.record()]);
        expect(store.journal("ses_ended")).toEqual(ended.events().filter((event) => !("result" in event)));
        expect(store.journal("ses_other")).toEqual(other.events());
      }
      expect(log.errors.filter((line) => line.includes("task ses_ended"))).toHaveLength(2);
      expect(damagedIn(folder)).toEqual([]);
      works(store);
    },
  );

  test.each(["DELETE FROM text", "UPDATE text SET text = x'00'"])(
    "of a task that is live here is stored anew (%s)",
    async (sql) => {
      const { store, live, spoil, log, path } = await filled();
      spoil("ses_live", sql);
      expect(store.get("ses_live")).toEqual(live.record());
      store.commit(live.answer(RESULT));
      expect(readFile(path, (file) => [file.get("ses_live"), file.journal("ses_live")])).toEqual([
        live.record(),
        live.events(),
      ]);
      expect(log.errors).toHaveLength(1);
      expect(log.errors[0]).toContain("nothing is lost");
    },
  );

  test("of a reference that nobody wrote is damage of its row", async () => {
    const { store, path, log } = await filled();
    const database = openDatabase(path);
    for (const to of [1, 99, '"x"']) {
      database.exec(`UPDATE task SET snapshot = json_set(snapshot, '$.context.result', json('{"$text":${to}}'))
        WHERE id = 'ses_ended'`);
      expect(store.get("ses_ended")).toBeUndefined();
    }
    database.close();
    expect(log.errors).toHaveLength(1);
  });

  test("is none of a change that could not be stored, or of a lost file: all texts are stored with the next try", async () => {
    const { store, live, disk, path, clock } = await filled();
    disk.failWrites("full");
    store.commit(live.answer(RESULT));
    disk.heal();
    await clock.advance(2_000);
    store.heartbeat(clock.now());
    const isThere = () =>
      readFile(path, (file) => {
        expect(file.get("ses_live")).toEqual(live.record());
        expect(file.journal("ses_live")).toEqual(live.events());
      });
    isThere();
    for (const suffix of ["", "-wal", "-shm"]) renameSync(path + suffix, `${path}.moved${suffix}`);
    store.heartbeat(clock.now());
    isThere();
  });
});

test("a file that is replaced while it is opened is not used", () => {
  const path = join(temporaryFolder(), "tasks.db");
  const connector = createConnector({
    file: createStoreFile(path),
    openDatabase: (name) => {
      const database = openDatabase(name);
      renameSync(path, `${path}.moved`);
      writeFileSync(path, "");
      return database;
    },
    owner: ownerOf("me"),
    clock: createVirtualClock(START),
    log: createRecordingLog(),
  });
  expect(connector.connect).toThrow("it was replaced while it was opened");
});

describe("setting aside", () => {
  test("leaves alone a file that is not the one that was found damaged", () => {
    const path = join(temporaryFolder(), "tasks.db");
    writeFileSync(path, "old");
    const file = createStoreFile(path);
    const identity = file.identity();
    renameSync(path, `${path}.damaged-by-another`);
    writeFileSync(path, "new");
    expect(file.setAside(identity, "damaged", START)).toBeUndefined();
    expect(readFileSync(path, "utf8")).toBe("new");
  });

  test("waits while another process is at it, unless that died of it", () => {
    const path = join(temporaryFolder(), "tasks.db");
    writeFileSync(path, "old");
    const file = createStoreFile(path);
    const lock = `${path}.setting-aside`;
    mkdirSync(lock);
    expect(() => file.setAside(file.identity(), "damaged", START)).toThrow("another process is setting it aside");
    expect(() => file.prepare()).toThrow("another process is setting it aside");
    rmSync(lock, { recursive: true });
    expect(file.setAside(file.identity(), "damaged", START)).toContain(".damaged-");
    expect(file.identity()).toBeUndefined();
  });

  test("takes the write-ahead log along", () => {
    const folder = temporaryFolder();
    const path = join(folder, "tasks.db");
    for (const suffix of ["", "-wal", "-shm"]) writeFileSync(path + suffix, suffix);
    const file = createStoreFile(path);
    const aside = file.setAside(file.identity(), "damaged", START) ?? "";
    expect(["", "-wal", "-shm"].map((suffix) => readFileSync(aside + suffix, "utf8"))).toEqual(["", "-wal", "-shm"]);
    expect(readdirSync(folder)).toHaveLength(3);
  });
});

test("in a file that follows a lost one, numbers of changes begin above those that any process can have read", async () => {
  const folder = temporaryFolder();
  const [a, b] = [await openResilient({ folder }), await openResilient({ folder, owner: ownerOf("b") })];
  a.store.commit(scriptTask("ses_a").launch());
  expect(a.store.latestChange()).toBeGreaterThan(0);
  // The other process, and those who follow its changes, see many more of them than this one.
  for (let index = 0; index < 30; index += 1) b.store.commit(scriptTask(`ses_${index}`).whole());
  const seen = b.store.latestChange();
  for (const suffix of ["", "-wal", "-shm"]) renameSync(a.path + suffix, `${a.path}.moved${suffix}`);
  a.store.heartbeat(START);
  a.store.commit(scriptTask("ses_new").launch());
  b.store.heartbeat(START);
  expect(b.store.changedSince(seen, 99).map(({ record }) => record.task.sessionID)).toContain("ses_new");
});
