import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { ApiTask } from "../../src/client/api-types.ts";
import { prepareHome } from "./lab/home.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { noTerminal } from "./lab/terminal.ts";
import { dataFolder, served, statusApi } from "./status-api.ts";
import { inChild, launchFrom, notified } from "./tasks-and-notices.ts";

const run = promisify(execFile);
const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const BIN = root("node_modules/.bin");
const NODE = join(BIN, "node");
const CLI = root("dist/cli.js");
const PLUGIN = pathToFileURL(root("dist/index.js")).href;

/** A Node 20 of this machine; undefined where there is none. */
const node20 = (process.env.PATH ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "node"))
  .find((file) => spawnSync(file, ["--version"]).stdout?.toString().startsWith("v20."));

let lab: Lab;
let folder: string;

interface Ended {
  code: number;
  out: string;
  error: string;
}

/** Runs `opencode-taskchart` on the data of the lab. */
const command = async (args: string[], { node = NODE, env = process.env } = {}): Promise<Ended> => {
  try {
    const { stdout, stderr } = await run(node, [CLI, ...args, "--data", folder], { env, maxBuffer: 10_000_000 });
    return { code: 0, out: stdout, error: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, out: stdout, error: stderr };
  }
};

const taskOf = async (id: string): Promise<ApiTask> => (await statusApi(lab).get(`/v1/tasks/${id}`)).body;

/** A task at work, one that asks a permission, one beside it at work, and one that waits for one of the two slots. */
let tasks: { works: string; asks: string; beside: string; queued: string };

/** See `endedTask`. */
let counted: string | undefined;

setUp(async () => {
  lab = await startLab({
    plugin: [PLUGIN, { concurrency: { default: 2 } }],
    config: { permission: { bash: "ask" } },
  });
  folder = dataFolder(lab);
  counted = undefined;
  await served(lab);
  const parent = await lab.session();
  lab.model.when(inChild("read the code"), hang());
  lab.model.when(
    inChild("clean up"),
    calls([{ name: "bash", args: { command: "rm -rf build", description: "clean" } }]),
  );
  lab.model.when(inChild("write the tests"), hang());
  const [works = "", asks = ""] = await launchFrom(lab, parent, ["read the code", "clean up"]);
  await lab.until(async () => (await taskOf(asks)).attention, { what: "the task asks" });
  const [beside = ""] = await launchFrom(lab, parent, ["write the tests"]);
  const word = "launch one more";
  lab.model.when(word, [
    calls([{ name: "asyncagents_task", args: { description: "about the docs", prompt: "docs", agent: "general" } }]),
    text("launched"),
  ]);
  await lab.ask(parent, word);
  const waiting = async () => {
    const { body } = await statusApi(lab).get("/v1/tasks?search=docs");
    return (body.tasks as ApiTask[]).find(({ queue }) => queue !== undefined)?.sessionID;
  };
  tasks = { works, asks, beside, queued: await lab.until(waiting, { what: "one waits for a slot" }) };
  return () => lab.stop();
});

/** The shortest beginning of an id that no other task has, without "ses_". */
const short = (id: string): string => {
  const ids = Object.values(tasks).filter((other): other is string => typeof other === "string");
  const length = [...id].findIndex(
    (_, at) => ids.filter((other) => other.startsWith(id.slice(0, at + 1))).length === 1,
  );
  return id.slice("ses_".length, Math.max(length + 1, "ses_".length + 6));
};

test("list shows what waits for a person first, then what runs, then the queue, and the sums", {
  tags: "gate",
}, async () => {
  const { code, out, error } = await command(["list"]);
  expect({ code, error }).toEqual({ code: 0, error: "" });
  const [head, first, request, , ...rest] = out.split("\n");
  expect(head).toMatch(/^TASK +STATE +AGENT +TIME +TOKENS +COST +ABOUT$/);
  expect(first).toMatch(new RegExp(`^${short(tasks.asks)}\\w* +asks you +general .* about clean up$`));
  expect(request).toContain("asks permission for bash: rm -rf build");
  expect(rest.slice(0, 2).join("\n")).toMatch(/running .* about read the code\n.*running .* about write the tests/);
  expect(rest[2]).toMatch(/queued #1 .* about the docs$/);
  expect(out).toMatch(/2 running · 1 waits for you · 1 queued/);
});

test("why says what the queued one waits for, and what answers the one that asks", { tags: "gate" }, async () => {
  expect((await command(["why", short(tasks.queued)])).out).toContain("2 of 2 in use, 0 ahead of it");
  expect((await command(["why", short(tasks.asks)])).out).toMatch(
    /answer with: node .* answer per_\w+ <once\|always\|reject>/,
  );
  expect((await command(["why", short(tasks.queued), "--chart"])).out).toMatch(
    /Its launch: its turn came, session created.*, task started\.\n\ntask › run\n(.*\n)*● queued\n/,
  );
  expect((await command(["show", short(tasks.asks)])).out).toContain("Waits for the user to approve");
});

test("steer reaches the task's conversation, and logs print it", async () => {
  const { code, out } = await command(["steer", short(tasks.works), "only", "the", "parser"]);
  expect(code).toBe(0);
  expect(out).toContain(`Task ${tasks.works} "about read the code" was given the instruction`);
  await lab.until(async () => (await lab.texts(tasks.works)).length === 2, { what: "the instruction is stored" });
  expect((await command(["logs", short(tasks.works)])).out).toMatch(/user\n {2}read the code\n[\s\S]*only the parser/);
});

test.skipIf(noTerminal !== undefined)(
  "watch redraws as tasks change and fits 80 columns and fewer, goes on after a restart, and gives the terminal back",
  async () => {
    const socket = join(lab.options.home, "watch.sock");
    const env = { ...process.env, TERM: "xterm-256color", LANG: "C.UTF-8" };
    const tmux = async (...args: string[]) =>
      (await run("tmux", ["-f", "/dev/null", "-S", socket, ...args], { env })).stdout;
    const screen = () => tmux("capture-pane", "-p", "-t", "watch");
    const shows = (what: string | RegExp) =>
      lab.until(async () => (await screen()).match(what), { what: `the screen shows ${what}` });
    const line = `echo before; ${NODE} ${CLI} watch --data ${folder}; echo "ended with $?"; exec cat`;
    await tmux("new-session", "-d", "-s", "watch", "-x", "80", "-y", "24", "sh", "-c", line);
    try {
      await shows(/2 running · 1 waits for you · 1 queued/);
      expect(await screen()).toMatch(/asks you .* about clean up[\s\S]*running .*[\s\S]*queued #1/);
      expect(await screen()).not.toContain("before");
      for (const shown of (await screen()).split("\n")) expect(shown.length).toBeLessThanOrEqual(80);
      await tmux("resize-window", "-t", "watch", "-x", "44", "-y", "14");
      await shows(/^TASK +STATE +(TIME +)?ABOUT/m);
      await tmux("resize-window", "-t", "watch", "-x", "80", "-y", "24");
      await lab.restart();
      await served(lab);
      await shows(/^\d waits? for you|^\d running/m);
      await lab.until(async () => (await taskOf(tasks.asks)).attention, { what: "it asks again" });
      await shows(/asks you .* about clean up/);
      await tmux("send-keys", "-t", "watch", "C-c");
      await shows("ended with 0");
      expect(await screen()).toMatch(/^before\n/);
    } finally {
      await tmux("kill-server");
    }
  },
);

test("cancel stops a task; without a terminal nobody is asked", async () => {
  const { code, out } = await command(["cancel", short(tasks.asks)]);
  expect({ code, out }).toEqual({ code: 0, out: `Task ${tasks.asks} "about clean up" is cancelled.\n` });
  expect((await taskOf(tasks.asks)).status).toBe("cancelled");
  expect((await command(["cancel", short(tasks.asks)])).error).toContain("has already ended: it is cancelled.");
});

test("logs --follow ends with the task, and resume has it go on", async () => {
  const parent = await lab.session();
  const step = hang();
  lab.model.when(inChild("count the lines"), step);
  const [id = ""] = await launchFrom(lab, parent, ["count the lines"]);
  const following = command(["logs", id, "--follow"]);
  step.release(text("There are 1,200."));
  const { code, out, error } = await following;
  expect({ code, error }).toEqual({ code: 0, error: "The task is completed.\n" });
  expect(out).toMatch(/user\n {2}count the lines\n\n\S+ {2}general, m1\n {2}There are 1,200\.\n$/);
  await notified(lab, parent, [id]);
  lab.model.when(inChild("and the words"), text("There are 5,000."));
  const { out: resumed } = await command(["resume", id, "and", "the", "words"]);
  expect(resumed).toContain("goes on with that prompt.");
  await lab.until(async () => (await taskOf(id)).result === "There are 5,000.", { what: "it has gone on" });
});

/** A task that has ended and whose result is delivered; the same one for all tests. */
const endedTask = async (): Promise<string> => {
  if (counted !== undefined) return counted;
  const parent = await lab.session();
  lab.model.when(inChild("count the files"), text("There are 12."));
  const [id = ""] = await launchFrom(lab, parent, ["count the files"]);
  await notified(lab, parent, [id]);
  counted = id;
  return id;
};

test.each(["node", "bun"])("replay shows a task while OpenCode runs, on %s", async (runtime) => {
  // A difference, or a fault, ends with another code than 0.
  const replayed = await command(["replay", await endedTask()], { node: join(BIN, runtime) });
  expect(replayed).toMatchObject({ code: 0, error: "" });
  expect(replayed.out).toContain("CHECKED_ANSWERED");
  expect(replayed.out).toContain("The journal replays to the stored snapshot: ");
});

test("export leaves out what was said, and where; it runs by its name alone", async () => {
  const id = await endedTask();
  const env = { ...process.env, PATH: [BIN, process.env.PATH].join(delimiter) };
  const { stdout: exported } = await run(CLI, ["export", id, "--data", folder], { env });
  expect(JSON.parse(exported)).toMatchObject({ taskId: id, hasText: false });
  expect(exported).not.toMatch(/count the files|There are 12|about count/);
  expect(exported).not.toContain(lab.options.home);
});

test("doctor looks at the real OpenCode, and finds nothing wrong", { tags: "gate" }, async () => {
  const { env, project } = await prepareHome(lab.options);
  const path = [BIN, process.env.PATH].join(delimiter);
  const { stdout } = await run(NODE, [CLI, "doctor", "--json"], { cwd: project, env: { ...env, PATH: path } });
  const { isHealthy, checks } = JSON.parse(stdout) as {
    isHealthy: boolean;
    checks: { about: string; found: string[] }[];
  };
  const of = (about: string) => checks.find((check) => check.about === about)?.found.join("; ");
  expect({ isHealthy, options: of("options") }).toEqual({
    isHealthy: true,
    options: expect.stringMatching(/concurrency \{"default":2.*; from OPENCODE_CONFIG_CONTENT$/),
  });
  expect(of("OpenCode")).toMatch(/^version \d/);
  expect(of("server")).toContain(`process ${lab.opencode.pid}`);
  expect(of("database")).toContain("undamaged");
  if (process.platform === "linux") expect(of("port")).toContain(`process ${lab.opencode.pid} (`);
});

describe.skipIf(node20 === undefined)("on Node 20", () => {
  const plain = () => {
    // Only OpenCode is in the PATH, and no other runtime.
    const bin = join(lab.options.home, "bin");
    mkdirSync(bin, { recursive: true });
    symlinkSync(join(BIN, "opencode"), join(bin, "opencode"));
    return { node: node20 ?? "", env: { ...process.env, PATH: [bin, "/usr/bin", "/bin"].join(delimiter) } };
  };

  test("commands that ask OpenCode need no SQLite, and those that do need it run with OpenCode's", async () => {
    const on20 = plain();
    expect(await command(["list"], on20)).toMatchObject({ code: 0, error: "" });
    expect((await command(["why"], on20)).out).toContain(tasks.beside);
    expect(await command(["steer", short(tasks.beside), "faster"], on20)).toMatchObject({ code: 0 });
    const replayed = await command(["replay", short(tasks.asks)], on20);
    expect(replayed).toMatchObject({
      code: 0,
      out: expect.stringContaining("The journal replays to the stored snapshot"),
    });
    const without = await command(["replay", short(tasks.asks)], {
      ...on20,
      env: { ...on20.env, PATH: "/usr/bin:/bin" },
    });
    expect(without).toMatchObject({
      code: 2,
      error: expect.stringContaining("neither bun nor opencode is in the PATH"),
    });
  });
});

test("after OpenCode has ended, list and show read the task database, and say so", async () => {
  const ended = await endedTask();
  await lab.opencode.stop();
  const { code, out, error } = await command(["list"]);
  expect(code).toBe(0);
  expect(out).toMatch(/running .* about write the tests/);
  expect(out).toMatch(/completed .* about count the files/);
  expect(error).toContain("OpenCode is not running: read from the task database.");
  expect((await command(["show", ended])).out).toContain("There are 12.");
  expect(await command(["why"])).toMatchObject({
    code: 4,
    error: expect.stringContaining("OpenCode is not running: open it in your project."),
  });
});
