import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import entry from "../src/index.ts";

const folder = mkdtempSync(join(tmpdir(), "taskchart-index-"));
const data = join(folder, "opencode-taskchart");

beforeAll(() => {
  vi.stubEnv("XDG_DATA_HOME", folder);
});

afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const getConfig = () => ({
  baseUrl: "http://127.0.0.1:1",
  fetch: async (request: Request) => Response.json(request.url.includes("/message") ? [] : {}),
  headers: new Headers(),
});

/** The plugin as OpenCode starts it. Every call that it makes is answered with an empty object, or with no messages. */
const start = async (options?: Record<string, unknown>, internals: object | undefined = { getConfig }) => {
  const logged: unknown[] = [];
  const toasts: unknown[] = [];
  const client = {
    _client: internals,
    app: { log: async ({ body }: { body: unknown }) => logged.push(body) },
    tui: { showToast: async ({ body }: { body: unknown }) => toasts.push(body) },
  };
  const hooks = await entry.server({ client, directory: "/project" } as never, options);
  return { hooks, logged, toasts };
};

const isLoaded = () => existsSync(join(data, "tasks.db"));

test("a start loads nothing: the plugin is started by the first hook that needs it", async () => {
  const { hooks } = await start();
  await hooks.config?.({} as never);
  await hooks.event?.({ event: { type: "server.connected" } as never });
  expect(isLoaded()).toBe(false);
  expect(Object.keys(hooks.tool ?? {})).toContain("asyncagents_task");
  expect(isLoaded()).toBe(true);
  await hooks.dispose?.();
  rmSync(data, { recursive: true });
});

test("it is started a second later where nothing needed it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const { hooks } = await start();
    await vi.advanceTimersByTimeAsync(999);
    expect(isLoaded()).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isLoaded()).toBe(true);
    await hooks.dispose?.();
  } finally {
    vi.useRealTimers();
    rmSync(data, { recursive: true });
  }
});

test("it is never started for a directory that was closed before", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const { hooks } = await start();
    await hooks.dispose?.();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(hooks.tool).toEqual({});
    expect(isLoaded()).toBe(false);
  } finally {
    vi.useRealTimers();
  }
});

test("events that came before it was started are not lost", async () => {
  const { hooks, logged } = await start();
  // One that cannot be handled leaves a trace.
  await hooks.event?.({ event: { type: "session.idle" } as never });
  expect(logged).toEqual([]);
  expect(Object.keys(hooks.tool ?? {})).toContain("asyncagents_task");
  expect(logged).toEqual([expect.objectContaining({ message: "an event could not be handled" })]);
  await hooks.dispose?.();
  rmSync(data, { recursive: true });
});

test("the tools of subtasks follow the agents as they are when OpenCode reads the tools", async () => {
  const { hooks } = await start({ toolsets: ["subtasks"] });
  const configuration: Record<string, unknown> = { agent: {} };
  await hooks.config?.(configuration as never);
  configuration.agent = { latecomer: { mode: "subagent" } };
  expect(Object.keys(hooks.tool ?? {})).toContain("create_subtask_latecomer");
  await hooks.dispose?.();
  rmSync(data, { recursive: true });
});

test("a wrong option is shown once the first session is used: an interface that is still starting would not show it", async () => {
  const { hooks, toasts } = await start({ maxDepth: 0 });
  expect(Object.keys(hooks.tool ?? {})).toContain("asyncagents_task");
  await hooks.event?.({ event: { type: "server.connected" } as never });
  expect(toasts).toEqual([]);
  for (const type of ["session.created", "session.status"]) {
    await hooks.event?.({ event: { type, properties: { info: {}, status: {} } } as never });
  }
  expect(toasts).toEqual([expect.objectContaining({ message: expect.stringContaining('option "maxDepth"') })]);
  await hooks.dispose?.();
  rmSync(data, { recursive: true });
});

test("a start that fails is reported once, and leaves OpenCode without the tools, but working", async () => {
  const notOpencode = { getConfig: "not a function" };
  const { hooks, logged, toasts } = await start({}, notOpencode);
  expect(hooks.tool).toEqual({});
  expect(hooks.tool).toEqual({});
  await hooks["experimental.chat.messages.transform"]?.({}, { messages: [] });
  await hooks.event?.({ event: { type: "server.connected" } as never });
  // An interface that is still starting would not show it.
  expect(toasts).toEqual([]);
  await hooks.event?.({ event: { type: "session.idle" } as never });
  await hooks.event?.({ event: { type: "session.idle" } as never });
  const failure = { message: expect.stringMatching(/^opencode-taskchart cannot start: /) };
  expect(logged).toEqual([expect.objectContaining(failure)]);
  expect(toasts).toEqual([expect.objectContaining(failure)]);
  await hooks.dispose?.();
});

test("in a worktree of a task it hands events and calls of tools to the plugin in the home directory, and has no engine", async () => {
  const root = join(data, "worktrees");
  mkdirSync(join(root, "1a2b3c4d", "tree"), { recursive: true });
  writeFileSync(join(root, "1a2b3c4d", "worktree.json"), JSON.stringify({ project: "/project" }));
  const directory = join(realpathSync(root), "1a2b3c4d", "tree");
  const opened: unknown[] = [];
  const project = { current: async (of: unknown) => void opened.push(of) };
  const hooks = await entry.server({ client: { project }, directory } as never);
  expect(opened).toEqual([{ query: { directory: "/project" } }]);
  const event = { type: "session.idle", properties: { sessionID: "ses_1" } };
  await hooks.event?.({ event: event as never });
  await hooks["experimental.chat.messages.transform"]?.({}, { messages: [] });
  const list = hooks.tool?.asyncagents_list;
  const called = list?.execute({}, { sessionID: "ses_1", directory } as never);

  const home = await start();
  expect(await called).toBe("No background tasks found");
  await home.hooks.dispose?.();
  await hooks.dispose?.();
  rmSync(data, { recursive: true });
});
