import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startPlugin } from "../src/plugin.ts";
import { createDirectoryOpenings, createReadDirectories } from "../src/services/host/directories.ts";
import { systemClock } from "../src/services/platform/clock.ts";
import { PATIENCE_MS } from "./patience.ts";
import { WRONG_VALUES, withOption } from "./wrong-options.ts";

const folder = mkdtempSync(join(tmpdir(), "taskchart-index-"));

beforeAll(() => {
  vi.stubEnv("XDG_DATA_HOME", folder);
});

afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const openings = createDirectoryOpenings(systemClock);

/** What OpenCode answers, by method and path; to all else, an empty object. */
type Answers = Record<string, unknown>;

/** The plugin as OpenCode starts it, on a network where calls get these answers. */
const start = (
  given?: Record<string, unknown>,
  {
    directory = "/project",
    answers = {},
    agents,
    isPrompted = true,
  }: { directory?: string; answers?: Answers; agents?: unknown; isPrompted?: boolean } = {},
) => {
  const requests: string[] = [];
  const shown: string[] = [];
  const answer = async (request: Request) => {
    const { pathname } = new URL(request.url);
    requests.push(pathname);
    return Response.json(answers[`${request.method} ${pathname}`] ?? {});
  };
  const getConfig = () => ({ baseUrl: "http://127.0.0.1:1", fetch: answer, headers: new Headers() });
  const logged: unknown[] = [];
  const log = async ({ body }: { body: unknown }) => logged.push(body);
  const input = { client: { _client: { getConfig }, app: { log } }, directory };
  const opening = openings.open(directory);
  const hooks = startPlugin({
    input: input as never,
    given,
    handedOut: [],
    isPrompted,
    opening,
    configuredAgents: () => agents,
    isServed: () => true,
    readDirectories: createReadDirectories(systemClock),
    showError: (message) => shown.push(message),
  });
  return { hooks, requests, shown, logged };
};

test("a start calls nothing of the host, which waits for it", async () => {
  const { hooks, requests } = start();
  expect(requests).toEqual([]);
  await hooks.dispose();
});

test.each(Object.entries(WRONG_VALUES))(
  "a wrong value of %s is named in the log and shown to a person, and the plugin starts without it",
  async (path, [wrong]) => {
    const { hooks, shown, logged } = start(withOption(path, wrong?.[0]));
    expect(Object.keys(hooks.tool)).toContain("asyncagents_task");
    const message = expect.stringMatching(new RegExp(`option "${path}[".].*the default is used`));
    expect(logged).toEqual([expect.objectContaining({ level: "error", message })]);
    expect(shown).toEqual([message]);
    await hooks.dispose();
  },
);

test("a wrong option leaves those beside it as given", async () => {
  const { hooks } = start({ maxDepth: 0, prefix: "agents" });
  expect(Object.keys(hooks.tool)).toContain("agents_task");
  await hooks.dispose();
});

test.each([
  ["without properties", { type: "session.idle" }],
  ["with a part that is none", { type: "message.part.updated", properties: { sessionID: "s", part: null } }],
  ["with a message that is none", { type: "message.updated", properties: {} }],
  ["that is none", {}],
])("an event %s is logged, and never thrown", async (_, event) => {
  const { hooks, logged } = start();
  const { event: onEvent, dispose } = hooks;
  await onEvent({ event: event as never });
  if ("type" in event) expect(logged).toContainEqual(expect.objectContaining({ level: "error" }));
  await dispose();
});

test("subtask tools come with the configuration; an agent that cannot be read is left out, and said", async () => {
  const agents = { lead: { mode: "primary" }, odd: { mode: 7 }, latecomer: { mode: "subagent" } };
  const { hooks: started, logged } = start({ toolsets: ["subtasks"] }, { agents });
  const names = ["create_subtask_explore", "create_subtask_general", "create_subtask_latecomer", "read_subtask"];
  expect(Object.keys(started.tool).sort()).toEqual(names);
  expect(logged).toEqual([expect.objectContaining({ level: "error", extra: { agents: ["odd"] } })]);
  await started.dispose();
});

test("without the toolset subtasks the configuration brings no tools", async () => {
  const { hooks: started } = start({ toolsets: ["elisha"] }, { agents: { reviewer: { mode: "subagent" } } });
  expect(Object.keys(started.tool)).toEqual(["elisha_task", "elisha_task_output", "elisha_task_cancel"]);
  await started.dispose();
});

test("a compaction without tasks gets nothing", async () => {
  const { hooks } = start();
  const { dispose, ...others } = hooks;
  const output = { context: [] };
  await others["experimental.session.compacting"]({ sessionID: "ses_1" }, output);
  expect(output.context).toEqual([]);
  await dispose();
});

/** A plugin whose session has launched a task. */
const withTask = async () => {
  const { hooks } = start(undefined, {
    answers: {
      "GET /agent": [{ name: "general", mode: "subagent" }],
      "GET /session/ses_1": { id: "ses_1", title: "a session" },
      "POST /session": { id: "ses_task" },
    },
  });
  const started = hooks;
  const context = {
    sessionID: "ses_1",
    messageID: "msg_1",
    agent: "build",
    directory: "/project",
    abort: new AbortController().signal,
    ask: async () => undefined,
  };
  const args = { description: "count files", prompt: "Count.", agent: "general" };
  await started.tool.asyncagents_task?.execute(args, context as never);
  return started;
};

test("a compaction is given the tasks of the session that is summed up, and of no other", async () => {
  const { dispose, ...others } = await withTask();
  const compacting = others["experimental.session.compacting"];
  const output = { context: ["what another plugin gave"] };
  await compacting({ sessionID: "ses_1" }, output);
  expect(output.context).toEqual([
    "what another plugin gave",
    expect.stringContaining('- ses_task "count files" (general): running'),
  ]);
  const other = { context: [] };
  await compacting({ sessionID: "ses_2" }, other);
  expect(other.context).toEqual([]);
  await dispose();
});

test("messages on their way to a model that are not as expected are logged, and never thrown", async () => {
  const { hooks, logged } = start();
  const { dispose, ...others } = hooks;
  await others["experimental.chat.messages.transform"]({}, { messages: null as never });
  expect(logged).toContainEqual(expect.objectContaining({ level: "error" }));
  await dispose();
});

test("nothing is written to the log of a host that has disposed of the plugin: it would start everything again", async () => {
  const { hooks, logged } = start();
  const { event, dispose } = hooks;
  const broken = { event: { type: "session.idle" } as never };
  await event(broken);
  expect(logged).toHaveLength(1);
  await dispose();
  await event(broken);
  expect(logged).toHaveLength(1);
});

/** The status API is served two seconds after a start. */
const SERVED = { timeout: PATIENCE_MS };

test("a start does not wait for the status API, and one that is disposed of before never serves it", async () => {
  const imported = vi.fn();
  vi.doMock("../src/services/http/server/status-server.ts", () => {
    imported();
    return { serveStatusApi: async () => undefined };
  });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const short = start({}, { directory: "/short" }).hooks;
    await short.dispose();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(imported).not.toHaveBeenCalled();
    const { dispose } = start({}, { directory: "/long" }).hooks;
    expect(imported).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(2_000);
    await vi.waitFor(() => expect(imported).toHaveBeenCalled());
    await dispose();
  } finally {
    vi.useRealTimers();
    vi.doUnmock("../src/services/http/server/status-server.ts");
  }
});

const STARTS = "asyncagents-task › HTTP Status API Server › Server starts on plugin init";

test(`${STARTS}: at once where no prompt waits for the plugin`, async () => {
  const imported = vi.fn();
  vi.doMock("../src/services/http/server/status-server.ts", () => {
    imported();
    return { serveStatusApi: async () => undefined };
  });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const { dispose } = start({}, { directory: "/idle", isPrompted: false }).hooks;
    await vi.advanceTimersByTimeAsync(0);
    await vi.waitFor(() => expect(imported).toHaveBeenCalled());
    await dispose();
  } finally {
    vi.useRealTimers();
    vi.doUnmock("../src/services/http/server/status-server.ts");
  }
});

test(`${STARTS}: it is served before a tool call is processed`, async () => {
  const answers = { "GET /session/ses_1/message": [] };
  const { tool: tools, dispose } = start({}, { directory: "/calling", answers }).hooks;
  const announced = () => existsSync(join(folder, "opencode-taskchart", "server.json"));
  expect(announced()).toBe(false);
  await tools.asyncagents_list?.execute({}, { sessionID: "ses_1" } as never);
  expect(announced()).toBe(true);
  await dispose();
});

const DISABLED = "asyncagents-task › HTTP Status API Server › Server is disabled via environment variable";

test(`${DISABLED}: the tools are all there, and work`, async () => {
  const enabled = start({}, { directory: "/enabled" }).hooks;
  const names = Object.keys(enabled.tool);
  await enabled.dispose();
  vi.stubEnv("ASYNCAGENTS_API_ENABLED", "false");
  try {
    const { tool: tools, dispose } = start(
      {},
      { directory: "/disabled", answers: { "GET /session/ses_idle/message": [] } },
    ).hooks;
    expect(Object.keys(tools)).toEqual(names);
    const list = await tools.asyncagents_list?.execute({}, { sessionID: "ses_idle" } as never);
    expect(list).toBe("No background tasks found");
    expect(existsSync(join(folder, "opencode-taskchart", "server.json"))).toBe(false);
    await dispose();
  } finally {
    vi.stubEnv("ASYNCAGENTS_API_ENABLED", undefined);
  }
});

test("a status API that cannot be loaded is logged, and everything else works", async () => {
  vi.doMock("../src/services/http/server/status-server.ts", () => {
    throw new Error("the file is missing");
  });
  try {
    const { hooks, logged } = start({}, { directory: "/incomplete" });
    const { dispose } = hooks;
    const fault = { level: "error", message: "the status API cannot be loaded" };
    await vi.waitFor(() => expect(logged).toContainEqual(expect.objectContaining(fault)), SERVED);
    await dispose();
  } finally {
    vi.doUnmock("../src/services/http/server/status-server.ts");
  }
});

test("a directory that is opened again is announced once the process is known to go on, not before", async () => {
  const data = join(folder, "opencode-taskchart");
  const announced = () => [existsSync(join(data, "server.json")), readdirSync(join(data, "instances")).length];
  const first = start({}, { directory: "/quit" }).hooks;
  await vi.waitFor(() => expect(announced()).toEqual([true, 1]), SERVED);
  await first.dispose();
  const second = start({}, { directory: "/quit" }).hooks;
  expect(announced()).toEqual([false, 0]);
  const properties = { sessionID: "ses_1", status: { type: "busy" } };
  await second.event({ event: { type: "session.status", properties } as never });
  await vi.waitFor(() => expect(announced()).toEqual([true, 1]), SERVED);
  await second.dispose();
  expect(announced()).toEqual([false, 0]);
});

test("the status server is stopped though the engine cannot be", async () => {
  const { hooks } = start({}, { directory: "/stopping" });
  const { dispose } = hooks;
  const files = () => readdirSync(join(folder, "opencode-taskchart"));
  await vi.waitFor(() => expect(files()).toContain("server.json"), SERVED);
  vi.spyOn(globalThis, "clearTimeout").mockImplementationOnce(() => {
    throw new Error("kaboom");
  });
  await expect(dispose()).rejects.toThrow("kaboom");
  expect(files()).not.toContain("server.json");
});
