import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { serialize } from "../../../src/services/replay/export-file.ts";
import { loadSqlite } from "../../../src/services/store/sqlite/driver.ts";
import { noProgress } from "../../../src/task.ts";
import { createMemory } from "../../fakes/disk.ts";
import { refused } from "../../fakes/fake-host.ts";
import { createStage } from "../../fakes/stage.ts";
import { temporaryFolder } from "../../services/store/folder-and-log.ts";
import { type ScriptedTaskOptions, scriptTask } from "../../services/store/scripted-task.ts";
import { createSharedDatabase } from "../../services/store/shared-database.ts";
import { commandHere, opencodeTaskchart } from "../command-line.ts";

const openDatabase = loadSqlite();

/** A folder with a task in it that is told and resumed, and the process that has it open. */
const withTask = (id = "ses_counting", options: ScriptedTaskOptions = {}) => {
  const file = createSharedDatabase();
  const { store } = file.openAs("OpenCode");
  const story = scriptTask(id, options);
  store.commit(story.whole());
  store.commit(story.resume());
  const change = (sql: string) => {
    const database = openDatabase(file.path);
    database.exec(sql);
    database.close();
  };
  return { data: dirname(file.path), store, story, change };
};

describe("replay", () => {
  test("shows each step of a task that another process goes on with, and ends with 0", async () => {
    const { data } = withTask("ses_counting", { description: "count the files" });
    const { code, out, error } = await opencodeTaskchart(["replay", "ses_counting", "--data", data]);
    expect(out).toBe(`count the files
ses_counting: resumed, agent general, resumed once

2026-01-01, UTC
1  00:00:00.000           SLOT_GRANTED         run        queued → active.prompting.sending
                                               effect     prompt msg_ses_counting
2  00:00:00.000           PROMPT_ACCEPTED      run        prompting.sending → working.busy
3  00:00:00.900   +900ms  HOST_IDLE            run        working.busy → checking.asking.verifying
                                               effect     check 1
4  00:00:01.000   +100ms  CHECKED_ANSWERED     with       checkId 1, result "It is in a.ts."
                                               lifecycle  running → completed
                                               run        active.checking.asking.verifying → idle
                                               raises     RUN_ENDED, outcome completed
                                               notice     none → due
                                               effect     write the receipt of run 0
                                               effect     queue the notice of run 0, completed
5  00:00:01.000           NOTICE_COMPOSED      notice     due → sending
6  00:00:01.100   +100ms  NOTICE_ACKNOWLEDGED  notice     sending → none

7  00:00:02.000   +900ms  RESUME               with       messageID msg_more, prompt more
                                               lifecycle  completed → resumed
                                               run        idle → queued
                                               raises     RUN_BEGAN
                                               effect     ask for a slot

The journal replays to the stored snapshot: 7 events, lifecycle resumed, run queued, notice none,
attention none, steering none, nextRun none.
`);
    expect({ code, error }).toEqual({ code: 0, error: "" });
  });

  test("says what the task cost with those below it, where that is known", async () => {
    const { data, store } = withTask("ses_counting");
    store.commit(scriptTask("ses_below", { parentTaskId: "ses_counting" }).launch());
    const costOf = async (id: string) =>
      (await commandHere(["replay", id, "--data", data])).out.split("\n").filter((line) => line.includes("Cost"));
    expect(await costOf("ses_counting")).toEqual([]);
    const used = (tokens: number, cost: number) => ({ ...noProgress("2026-01-01T00:00:00.000Z"), tokens, cost });
    store.storeProgress(
      new Map([
        ["ses_counting", used(20_000, 0.1)],
        ["ses_below", used(100_000, 0.32)],
      ]),
    );
    expect(await costOf("ses_counting")).toEqual(["Cost, with its subtasks: $0.42, 120k tokens."]);
    expect(await costOf("ses_below")).toEqual(["Cost, with its subtasks: $0.32, 100k tokens."]);
  });

  test("takes the beginning of an id, and the plugin's own folder", async () => {
    const { data, story } = withTask();
    const home = temporaryFolder();
    const { code } = await commandHere(["replay", "ses_c", "--data", data]);
    expect(code).toBe(0);
    const elsewhere = await opencodeTaskchart(["replay", story.id], { XDG_DATA_HOME: home });
    expect(elsewhere.code).toBe(2);
    expect(elsewhere.error).toContain(`${home}/opencode-taskchart/tasks.db cannot be read: there is no such file.`);
    expect(existsSync(join(home, "opencode-taskchart"))).toBe(false);
  });

  test("says of an unknown or an ambiguous id which ones there are", async () => {
    const { data, store } = withTask();
    store.commit(scriptTask("ses_count_more", { description: "count \u001b[31mmore" }).launch());
    const unknown = await commandHere(["replay", "ses_x", "--data", data]);
    expect(unknown.code).toBe(2);
    expect(unknown.error).toMatch(/^There is no task "ses_x". The newest are:\n {2}ses_count_more {2}running /);
    expect(unknown.error).toContain("  ses_counting");
    expect(unknown.error).not.toContain("\u001b");
    const ambiguous = await commandHere(["replay", "ses_count", "--data", data]);
    expect(ambiguous.code).toBe(2);
    expect(ambiguous.error).toMatch(/^"ses_count" begins the ids of 2 tasks. Give more of it:\n {2}ses_count_more/);
  });

  test("shows where a stored snapshot is another than the journal's, and ends with 1", async () => {
    const { data, change } = withTask();
    change(
      "UPDATE task SET snapshot = json_set(snapshot, '$.context.result', 'It is elsewhere.', '$.value.notice', 'due')",
    );
    const { code, out } = await commandHere(["replay", "ses_c", "--data", data]);
    expect(out).toContain("The journal does not replay to the stored snapshot: 2 differences.");
    expect(out).toContain('  notice\n    journal  "none"\n    stored   "due"\n');
    expect(out).toContain('  context.result\n    journal  "It is in a.ts."\n    stored   "It is elsewhere."\n');
    expect(code).toBe(1);
  });

  test("shows an event that the machine refuses with the reason, and ends with 1", async () => {
    const { data, change } = withTask();
    change(
      `INSERT INTO journal (task, event) SELECT seq, '{"type":"STOPPED","at":1767225603000}' FROM task WHERE id = 'ses_counting'`,
    );
    const { code, out } = await commandHere(["replay", "ses_c", "--data", data]);
    expect(out).toMatch(/STOPPED +refused +task is resumed.queued and takes no\s+STOPPED/);
    expect(out).toContain("The journal does not replay to the stored snapshot: 1 event refused, see above.");
    expect(code).toBe(1);
  });

  test("says of a journal that does not go back to the launch that it cannot be replayed, and ends with 3", async () => {
    const { data, change } = withTask();
    change("UPDATE task SET origin = NULL");
    const { code, out } = await commandHere(["replay", "ses_c", "--data", data]);
    expect(out).toContain("The journal does not start at the task's launch");
    expect(code).toBe(3);
  });

  test("refuses a file of another version in words", async () => {
    const { data, store, change } = withTask();
    store.close();
    change("PRAGMA user_version = 99");
    const { code, error } = await commandHere(["replay", "ses_c", "--data", data]);
    expect(error).toMatch(/tasks.db cannot be read: it has version 99, and this plugin knows versions up to \d+\.\n$/);
    expect(code).toBe(2);
  });

  test("shows no text that moves the cursor, hides or colours anything", async () => {
    const description = "count\u001b[2J\u202e\n\tfiles\u0007";
    const { data } = withTask("ses_counting", { description });
    const { out } = await commandHere(["replay", "ses_c", "--data", data]);
    expect(out.split("\n")[0]).toBe("count [2J files");
    expect(out.replaceAll("\n", "")).not.toMatch(/\p{Cc}|\p{Cf}/u);
  });

  test("ends quietly when its reader has seen enough", async () => {
    const { data, store, story } = withTask();
    for (let turn = 0; turn < 400; turn += 1) {
      store.commit({
        records: [story.record()],
        journal: [{ taskId: story.id, event: { type: "ACTIVITY_SEEN", at: turn } }],
        prompts: [],
      });
    }
    const main = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));
    const child = spawn(process.execPath, [main, "replay", story.id, "--data", data], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let error = "";
    child.stderr.on("data", (chunk) => {
      error += String(chunk);
    });
    child.stdout.destroy();
    await once(child, "close");
    expect(error).toBe("");
  });
});

describe("export", () => {
  const SAID = "Where is the treasure?";

  test("writes a journal without its text, which replays as it does here", async () => {
    const { data } = withTask("ses_counting", { prompt: SAID, description: SAID, directory: "/home/somebody" });
    const file = join(temporaryFolder(), "journal.json");
    const { code, out } = await commandHere(["export", "ses_c", "--out", file, "--data", data]);
    expect(out).toBe(`Written to ${file}: 7 events, without text.\n`);
    expect(code).toBe(0);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).not.toMatch(/treasure|somebody|a\.ts|more/);
    const replayed = await commandHere(["replay", "--file", file]);
    expect(replayed.out).toMatch(/Exported at .* by version \d+\.\d+\.\d+, without text\./);
    expect(replayed.out).toContain("The journal replays to the stored snapshot: 7 events");
    expect(replayed.code).toBe(0);
  });

  test("writes all of it when asked to, and to standard output", async () => {
    const { data, story } = withTask("ses_counting", { prompt: SAID });
    const { code, out } = await commandHere(["export", "ses_c", "--with-text", "--data", data]);
    expect(JSON.parse(out)).toMatchObject({
      hasText: true,
      origin: { facts: { prompt: SAID } },
      events: story.events(),
    });
    expect(code).toBe(0);
  });

  test("takes the place of no file unless told to", async () => {
    const { data } = withTask();
    const file = join(temporaryFolder(), "journal.json");
    writeFileSync(file, "mine");
    const args = ["export", "ses_c", "--out", file, "--data", data];
    const refused = await commandHere(args);
    expect(refused).toMatchObject({
      code: 2,
      out: "",
      error: `The file ${file} already exists. Use --force to overwrite it.\n`,
    });
    expect(readFileSync(file, "utf8")).toBe("mine");
    expect((await commandHere([...args, "--force"])).code).toBe(0);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ hasText: false });
  });

  test("exports a journal that does not go back to the launch; its replay says so with 3", async () => {
    const { data, change } = withTask();
    change("UPDATE task SET origin = NULL");
    const file = join(temporaryFolder(), "journal.json");
    expect((await commandHere(["export", "ses_c", "--out", file, "--data", data])).code).toBe(0);
    expect((await commandHere(["replay", "--file", file])).code).toBe(3);
  });
});

test("how a task was launched comes before its own steps, with the states of the launch's chart", async () => {
  const memory = createMemory();
  const stage = createStage({ openStore: memory.boot });
  stage.host.failNext("fork", refused);
  const id = await stage.launch({ fork: true });
  stage.engine.stop();
  const journal = memory.journal(id);
  if (!journal) throw new Error("the task has no journal");
  const file = join(temporaryFolder(), "launched.json");
  const facts = { exportedAt: "2026-01-01T00:00:00.000Z", plugin: "0.1.0", schema: 1, hasText: false };
  writeFileSync(file, serialize(journal, facts));
  const { code, out } = await commandHere(["replay", "--file", file]);
  const [, launch = "", own = ""] = out.split("\n\n").map((part) => part.replaceAll(/\d\d:\d\d:\d\d\.\d+ +/g, ""));
  expect(code).toBe(0);
  expect(launch.split("\n")).toEqual([
    "The launch",
    "TURN_TAKEN         preparing.creating.requesting",
    "CREATION_REFUSED   preparing.creating.readingConversation",
    "CONVERSATION_READ  preparing.creating.requesting",
    "SESSION_CREATED    preparing.creating.informing.storing",
    "PREAMBLE_STORED    starting",
    "TASK_STARTED       started",
  ]);
  expect(own).toContain("SLOT_GRANTED");
  const json = JSON.parse((await commandHere(["replay", "--file", file, "--json"])).out);
  expect(json.launch.at(-1)).toMatchObject({ event: { type: "TASK_STARTED" }, from: "starting", to: "started" });
});

test("a file that is not an exported journal is refused with its name", async () => {
  const file = join(temporaryFolder(), "other.json");
  writeFileSync(file, "{}");
  const { code, error } = await commandHere(["replay", "--file", file]);
  expect(error).toBe(`The file ${file} is not an exported journal. Use a file written by the command "export".\n`);
  expect(code).toBe(2);
  expect((await commandHere(["replay", "--file", `${file}.none`])).error).toMatch(/^The file cannot be read: ENOENT/);
});
