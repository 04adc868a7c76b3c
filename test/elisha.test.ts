import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hooks, PluginInput } from "@opencode-ai/plugin";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  fetchTaskText,
  isTaskComplete,
  setupTaskHooks,
  setupTaskTools,
  TOOL_TASK_ID,
  waitForTask,
} from "../src/elisha.ts";
import plugin from "../src/index.ts";

const folder = mkdtempSync(join(tmpdir(), "taskchart-elisha-"));
const data = join(folder, "opencode-taskchart");

beforeAll(() => {
  vi.stubEnv("XDG_DATA_HOME", folder);
});

beforeEach(() => rmSync(data, { recursive: true, force: true }));

afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

let directories = 0;
const newDirectory = () => {
  directories += 1;
  return `/project${directories}`;
};

/** What OpenCode hands to all plugins of a directory, and what they log there. */
const open = (directory = newDirectory()) => {
  const logged: { message: string }[] = [];
  const getConfig = () => ({
    baseUrl: "http://127.0.0.1:1",
    fetch: async ({ url }: Request) =>
      Response.json(
        url.includes("/agent")
          ? [{ name: "general", mode: "subagent" }]
          : url.includes("/message")
            ? []
            : { id: url.includes("/session/") ? "ses_1" : "ses_task", title: "a" },
      ),
    headers: new Headers(),
  });
  const client = {
    _client: { getConfig },
    app: { log: async ({ body }: { body: { message: string } }) => logged.push(body) },
    tui: { showToast: async () => undefined },
  };
  return { ctx: { client, directory } as unknown as PluginInput, logged };
};

const isLoaded = () => existsSync(join(data, "tasks.db"));

/** An event that cannot be handled: each engine that gets it logs that. */
const BROKEN = { event: { type: "session.idle" } as never };
const FAULT = "an event could not be handled";
const faults = (logged: { message: string }[]) => logged.filter(({ message }) => message === FAULT).length;

const CALL = {
  sessionID: "ses_1",
  messageID: "msg_1",
  agent: "build",
  abort: new AbortController().signal,
  ask: async () => undefined,
};

const NAMES = ["elisha_task", "elisha_task_output", "elisha_task_cancel"] as const;

test("elisha-task-domain › setupTaskTools › resolves to the three tools, and loads nothing until they are read", async () => {
  const { ctx } = open();
  const tools = await setupTaskTools(ctx);
  const hooks = setupTaskHooks(ctx);
  expect(Object.keys({ ...tools })).toEqual(NAMES);
  expect(isLoaded()).toBe(false);
  expect(NAMES.map((name) => Object.keys(tools[name].args))).toEqual([
    ["title", "agent", "prompt", "schema", "async"],
    ["task_id", "wait", "timeout", "offset"],
    ["task_id"],
  ]);
  for (const name of NAMES) expect(tools[name].description).toMatch(/task/);
  expect(isLoaded()).toBe(false);
  const answer = await tools.elisha_task_output.execute({ task_id: "ses_none" }, { ...CALL, ...ctx });
  expect(answer).toMatchObject({ output: expect.stringContaining('"code":"SESSION_ERROR"') });
  expect(isLoaded()).toBe(true);
  await hooks.dispose?.();
});

test("elisha-task-domain › Tool Constants › TOOL_TASK_ID is the name of the tool that creates a task", async () => {
  const { ctx } = open();
  expect(TOOL_TASK_ID).toBe("elisha_task");
  expect(Object.keys(await setupTaskTools(ctx))).toContain(TOOL_TASK_ID);
});

test("elisha-task-domain › Task Utilities › each takes the id of a session first and the context last", async () => {
  const { ctx } = open();
  const hooks = setupTaskHooks(ctx);
  const none = 'There is no task "ses_none".';
  await expect(fetchTaskText("ses_none", ctx)).rejects.toThrow(none);
  await expect(isTaskComplete("ses_none", ctx)).rejects.toThrow(none);
  await expect(waitForTask("ses_none", 10, ctx)).rejects.toThrow(none);
  await hooks.dispose?.();
});

describe("in a directory with the plugin", () => {
  /** The plugin, and another one that uses the entry, in either order. */
  const start = async (first: "plugin" | "entry", options: Record<string, unknown> = {}) => {
    const { ctx, logged } = open();
    const startPlugin = () => plugin.server(ctx, options);
    const startOther = async () => ({ tools: await setupTaskTools(ctx), hooks: setupTaskHooks(ctx) });
    const early = first === "plugin" ? await startPlugin() : undefined;
    const other = await startOther();
    const hooks = early ?? (await startPlugin());
    const all: Hooks[] = [hooks, other.hooks];
    const each = async (call: (hooks: Hooks) => Promise<unknown> | undefined) => {
      for (const one of first === "plugin" ? all : all.toReversed()) await call(one);
    };
    return { ctx, logged, hooks, tools: other.tools, each };
  };

  test.each(["plugin", "entry"] as const)(
    "there is one engine, which hears OpenCode once, where the %s comes first",
    async (first) => {
      const { logged, hooks, each } = await start(first);
      expect(Object.keys(hooks.tool ?? {})).toContain("asyncagents_task");
      await each(({ event }) => event?.(BROKEN));
      expect(faults(logged)).toBe(1);
      await each(({ dispose }) => dispose?.());
    },
  );

  test.each(["plugin", "entry"] as const)("it has the plugin's options, where the %s comes first", async (first) => {
    const asked: unknown[] = [];
    const { ctx, tools, each } = await start(first, { toolsets: ["tasks"], permission: "delegate" });
    const ask = async ({ permission }: { permission: string }) => void asked.push(permission);
    const context = { ...CALL, ...ctx, ask: ask as never };
    await tools.elisha_task.execute({ title: "t", agent: "general", prompt: "p", async: true }, context);
    expect(asked).toEqual(["delegate"]);
    await each(({ dispose }) => dispose?.());
  });
});

test("of two plugins that use the entry, one hears OpenCode", async () => {
  const { ctx, logged } = open();
  const [one, other] = [setupTaskHooks(ctx), setupTaskHooks(ctx)];
  const tools = await setupTaskTools(ctx);
  await tools.elisha_task_output.execute({ task_id: "ses_none" }, { ...CALL, ...ctx });
  await other.event?.(BROKEN);
  expect(faults(logged)).toBe(0);
  await one.event?.(BROKEN);
  expect(faults(logged)).toBe(1);
  await one.dispose?.();
});

test("the plugin twice in one directory is two, as OpenCode says", async () => {
  const { ctx } = open();
  const [one, other] = [await plugin.server(ctx, { prefix: "a" }), await plugin.server(ctx, { prefix: "b" })];
  expect(Object.keys(one.tool ?? {})).toContain("a_task");
  expect(Object.keys(other.tool ?? {})).toContain("b_task");
  await one.dispose?.();
  await other.dispose?.();
});

test("once OpenCode has closed the directory, nothing is started there for what still has the old context", async () => {
  const { ctx } = open();
  const hooks = setupTaskHooks(ctx);
  const tools = await setupTaskTools(ctx);
  await hooks.dispose?.();
  await expect(isTaskComplete("ses_1", ctx)).rejects.toThrow(`OpenCode has closed ${ctx.directory}`);
  const call = tools.elisha_task_output.execute({ task_id: "ses_1" }, { ...CALL, ...ctx });
  await expect(call).rejects.toThrow(`could not be started in ${ctx.directory}`);
  expect(isLoaded()).toBe(false);

  const again = open(ctx.directory);
  const newHooks = setupTaskHooks(again.ctx);
  await expect(isTaskComplete("ses_1", again.ctx)).rejects.toThrow('There is no task "ses_1"');
  await newHooks.dispose?.();
});
