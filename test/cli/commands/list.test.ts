import { dirname } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { stateCell } from "../../../src/cli/task-table.ts";
import type { ApiTask } from "../../../src/client/api-types.ts";
import { columnsOf } from "../../../src/services/platform/columns.ts";
import { type Served, serve } from "../../services/http/served.ts";
import { scriptTask } from "../../services/store/scripted-task.ts";
import { createSharedDatabase } from "../../services/store/shared-database.ts";
import { commandHere } from "../command-line.ts";

const list = ({ folder }: Pick<Served, "folder">, args: string[] = [], size = {}) =>
  commandHere(["list", ...args, "--data", folder], size);

const PERMISSION = {
  id: "per_1",
  kind: "permission",
  what: "bash: rm -rf build",
  since: "2026-11-22T10:11:12.000Z",
} as const;

/** A permission, a task at work, and one that failed. */
const scene = async () => {
  const served = await serve();
  const { source } = served;
  const now = new Date().toISOString();
  const used = { tokens: 12_345, cost: 0.42, toolCalls: 0, toolCallsByName: {}, lastTools: [], lastUpdate: now };
  source.launch({ sessionID: "ses_aaaa1111", description: "read the code", runStartedAt: now, progress: used });
  source.launch({ sessionID: "ses_aaaa2222", description: "write the tests", runStartedAt: now });
  source.end("ses_aaaa2222", "error");
  source.launch({
    sessionID: "ses_bbbb3333",
    description: "clean up",
    runStartedAt: now,
    attention: { kind: "permission", what: PERMISSION.what, since: PERMISSION.since, requests: [PERMISSION] },
  });
  return served;
};

test("what waits for a person comes first, with what it asks; then what runs; then what has ended; and the sums", async () => {
  // The time of a run is shown: it stands still.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-11-23T10:00:00.000Z") });
  onTestFinished(() => void vi.useRealTimers());
  const { code, out, error } = await list(await scene(), [], { columns: 80 });
  expect({ code, error: error.replace(/^OpenCode runs opencode-taskchart .*\n/, "") }).toEqual({ code: 0, error: "" });
  expect(out.split("\n")).toEqual([
    "TASK    STATE     AGENT    TIME  TOKENS   COST  ABOUT",
    "bbbb33  asks you  general    0s                 clean up",
    "        asks permission for bash: rm -rf build",
    "        answer with: opencode-taskchart answer bbbb33",
    "aaaa11  running   general    0s   12.3k  $0.42  read the code",
    "aaaa22  error     general    0s                 write the tests: overloaded",
    "",
    "1 running · 1 waits for you · 1 failed · 12.3k tokens · $0.42",
    "",
  ]);
});

test.each([
  ["provider", "retrying"],
  ["retry", "retrying"],
  ["stop", "stopping"],
  ["agent", "running"],
  ["fleet", "offered"],
  ["server", "offered"],
] as const)("a task that waits for %s is called %s", async (what, word) => {
  const { source } = await serve();
  const task = source.launch({ sessionID: "ses_aaaa1111" });
  expect(stateCell({ ...task, waiting: { for: what, since: task.runStartedAt } }).text).toBe(word);
});

test("a task on another server is listed with it, and one that waits for a server is queued", async () => {
  const served = await serve();
  const now = new Date().toISOString();
  const server = { id: "srv_1", label: "desk" };
  served.source.launch({ sessionID: "ses_aaaa1111", agent: "explore", description: "look", server });
  served.source.launch({ sessionID: "ses_bbbb2222", agent: "explore", waiting: { for: "server", since: now }, server });
  const { out } = await list(served);
  expect(out).toMatch(/^aaaa11 +running +explore on desk +.* look$/m);
  expect(out).toMatch(/^bbbb22 +offered +explore +\d/m);
  expect(out).toContain("1 running · 1 queued");
});

test.each([30, 40, 60, 80, 120])(
  "on %i columns no line is wider, and the task and its state are there",
  async (columns) => {
    const served = await scene();
    served.source.launch({ sessionID: "ses_cccc4444", description: "全部の文書を読んで要約する 👩‍👩‍👧 ".repeat(5) });
    const { out } = await list(served, [], { columns });
    const table = out.slice(0, out.indexOf("\n\n"));
    for (const line of table.split("\n")) expect(columnsOf(line)).toBeLessThanOrEqual(columns);
    expect(table).toContain("asks you");
    expect(table).toContain("cccc44");
  },
);

test("as JSON it has the tasks as the API has them", async () => {
  const served = await scene();
  const { out } = await list(served, ["--json"]);
  const page = JSON.parse(out) as { tasks: ApiTask[]; total: number };
  expect(page.total).toBe(3);
  expect(page.tasks.find(({ sessionID }) => sessionID === "ses_aaaa1111")).toEqual(
    await served.json("/v1/tasks/ses_aaaa1111"),
  );
});

test("tasks are chosen by status, agent, words and parent, and a limit leaves out what ended, never what runs", async () => {
  const served = await scene();
  const ids = async (...args: string[]) =>
    (JSON.parse((await list(served, [...args, "--json"])).out) as { tasks: ApiTask[] }).tasks
      .map(({ sessionID }) => sessionID)
      .sort();
  expect(await ids("--status", "error")).toEqual(["ses_aaaa2222"]);
  expect(await ids("--search", "read the")).toEqual(["ses_aaaa1111"]);
  expect(await ids("--agent", "nobody")).toEqual([]);
  expect(await ids("--limit", "1")).toEqual(["ses_aaaa1111", "ses_bbbb3333"]);
  served.source.launch({ sessionID: "ses_dddd5555", parentSessionID: "ses_aaaa1111", parentTaskId: "ses_aaaa1111" });
  expect(await ids("--parent", "ses_aaaa1111")).toEqual(["ses_dddd5555"]);
  served.source.change("ses_aaaa1111", { status: "resumed", resumeCount: 1 });
  expect(await ids("--limit", "1")).toEqual(["ses_aaaa1111", "ses_bbbb3333", "ses_dddd5555"]);
});

test.each([
  [["--limit", "few"], '--limit takes a whole number above 0, not "few".'],
  [["--limit", "0"], '--limit takes a whole number above 0, not "0".'],
  [["--status", "asleep"], "Allowed choices are running, completed, error, cancelled, resumed"],
])("%j is refused", async (args, words) => {
  const { code, error } = await list(await serve(), args);
  expect(code).toBe(2);
  expect(error).toContain(words);
});

describe("without a running OpenCode", () => {
  const stored = () => {
    const file = createSharedDatabase();
    const { store } = file.openAs("OpenCode");
    const one = scriptTask("ses_one11111", { description: "count the files", parentSessionID: "ses_talk" });
    store.commit(one.launch());
    store.commit(one.answer("There are 12."));
    const two = scriptTask("ses_two22222", { description: "still at it" });
    store.commit(two.launch());
    return { folder: dirname(file.path) };
  };

  test("the task database is read, and that is said beside the output", async () => {
    const { code, out, error } = await list(stored());
    expect({ code, error }).toEqual({
      code: 0,
      error: "OpenCode is not running: read from the task database. Tasks under way go on when it is opened.\n",
    });
    expect(out).toMatch(/^two222 {2}running .* still at it$/m);
    expect(out).toMatch(/^one111 {2}completed .* count the files$/m);
    expect(out).toContain("1 running · 1 completed");
  });

  test("they are chosen in the same ways", async () => {
    const { folder } = stored();
    expect((await list({ folder }, ["--status", "completed"])).out).not.toContain("still at it");
    expect((await list({ folder }, ["--search", "THERE ARE"])).out).toContain("count the files");
    expect((await list({ folder }, ["--agent", "nobody"])).out).toBe("No tasks.\n");
    const ofTalk = (await list({ folder }, ["--parent", "ses_talk"])).out;
    expect(ofTalk).toContain("count the files");
    expect(ofTalk).not.toContain("still at it");
  });

  test("a limit leaves out what ended, never what has not, and a folder or a batch all that is not in it", async () => {
    const file = createSharedDatabase();
    const { store } = file.openAs("OpenCode");
    store.commit(scriptTask("ses_early111", { description: "still at it", batchId: "first" }).launch());
    for (const [index, description] of ["one", "another"].entries()) {
      store.commit(scriptTask(`ses_late${index}222`, { description, after: 1_000 + index }).whole());
    }
    const folder = dirname(file.path);
    const described = async (...args: string[]) => {
      const { tasks } = JSON.parse((await list({ folder }, [...args, "--json"])).out) as { tasks: ApiTask[] };
      return tasks.map(({ description }) => description);
    };
    expect(await described("--limit", "1")).toEqual(["another", "still at it"]);
    expect(await described("--batch", "first")).toEqual(["still at it"]);
    expect(await described("--directory", "/nowhere")).toEqual([]);
  });

  test("a task is shown too, by the beginning of its id, and an unknown one is named", async () => {
    const { folder } = stored();
    const show = (...args: string[]) => commandHere(["show", ...args, "--data", folder]);
    const { code, out } = await show("one1");
    expect(code).toBe(0);
    expect(out).toContain("There are 12.");
    expect(JSON.parse((await show("ses_one1", "--json")).out)).toMatchObject({
      sessionID: "ses_one11111",
      status: "completed",
      states: expect.arrayContaining(["lifecycle.completed"]),
    });
    expect(await show("none")).toMatchObject({
      code: 2,
      error: expect.stringContaining('There is no task "ses_none"'),
    });
  });
});

describe("of a session or a batch, the last line has what all of its tasks used, with all below them, whatever is listed", () => {
  const used = (tokens: number, cost: number) => ({
    ...{ tokens, cost, toolCalls: 0, toolCallsByName: {}, lastTools: [], lastUpdate: new Date().toISOString() },
  });
  const group = { parentSessionID: "ses_person", batchId: "batch_a" };

  test.each(["--batch=batch_a", "--parent=ses_person"])("%s", async (option) => {
    const served = await serve();
    const { source } = served;
    source.launch({ ...group, sessionID: "ses_lead", progress: used(1_000, 0.1) });
    source.launch({ ...group, sessionID: "ses_other", progress: used(2_000, 0.2) });
    const below = { parentSessionID: "ses_lead", parentTaskId: "ses_lead", batchId: "batch_b" };
    source.launch({ ...below, sessionID: "ses_own", progress: used(4_000, 0.4) });
    source.launch({ sessionID: "ses_stranger", progress: used(8_000, 0.8) });
    source.end("ses_other");
    const { out } = await list(served, [option, "--status", "completed"]);
    expect(out).toContain("1 completed · 7k tokens · $0.70");
    expect(JSON.parse((await list(served, [option, "--json"])).out).usage).toMatchObject({ tokens: 7_000 });
  });
});
