import type { Concurrency } from "../../src/machines/task/slot-queue.ts";
import { readOptions, type Toolset } from "../../src/options.ts";
import type { EngineOptions } from "../../src/services/engine/context.ts";
import { createEngine, type Engine } from "../../src/services/engine/engine.ts";
import type { ForkLimits } from "../../src/services/engine/launch/fork-plan.ts";
import { createFleet } from "../../src/services/fleet/create-fleet.ts";
import { createClosableHost } from "../../src/services/host/closable-host.ts";
import {
  createDirectoryOpenings,
  createSessionDirectories,
  type SessionDirectories,
} from "../../src/services/host/directories.ts";
import type { Interface } from "../../src/services/host/this-process.ts";
import { createIds, type Ids } from "../../src/services/platform/ids.ts";
import type { Log } from "../../src/services/platform/log.ts";
import type { RunCommand } from "../../src/services/platform/shell-command.ts";
import type { Inspect } from "../../src/services/runtime/actor-system.ts";
import type { Retention, Store } from "../../src/services/store/store.ts";
import * as jsonSchemas from "../../src/services/typed-results/json-schema.ts";
import type { JsonSchemas } from "../../src/services/typed-results/typed-results.ts";
import type { Worktrees } from "../../src/services/worktrees/worktrees.ts";
import type { Task, Wake } from "../../src/task.ts";
import type { CallContext } from "../../src/tools/define-tool.ts";
import { fixedTools, readingTools, toolNames } from "../../src/tools/plugin-tools.ts";
import { subagentsOf } from "../../src/tools/subtasks/subagents.ts";
import { type OnParentCancel, subtasksToolset } from "../../src/tools/subtasks/subtasks-toolset.ts";
import { createMemory } from "./disk.ts";
import { createFakeHost, type FakeHost } from "./fake-host.ts";
import { createFakeProcess, type FakeProcess } from "./fake-process.ts";
import { createVirtualClock, settled, type VirtualClock } from "./virtual-clock.ts";

export const PARENT = "ses_parent";

type Caller = Partial<Pick<CallContext, "sessionID" | "messageID" | "agent" | "abort" | "ask" | "callID" | "extra">>;

/** The whole plugin on a fake host: everything except OpenCode is real. */
export interface Stage {
  clock: VirtualClock;
  host: FakeHost;
  readonly store: Store;
  readonly engine: Engine;
  /** The simulated process that the engine runs in. */
  readonly life: FakeProcess;
  /** The log, newest line last. */
  logged: string[];
  /** Calls a tool as the parent's agent does; its prefix may be omitted. Resolves to what the agent reads. */
  call(tool: string, args?: Record<string, unknown>, caller?: Caller): Promise<string>;
  /** Like `call`, but resolves to everything that the tool returns. */
  callWhole(
    tool: string,
    args?: Record<string, unknown>,
    caller?: Caller,
  ): Promise<{ title?: string; output: string; metadata?: Record<string, unknown> }>;
  /** Launches a task. Resolves to its id once it is working. */
  launch(
    args?: Partial<{
      description: string;
      prompt: string;
      agent: string;
      batch_id: string;
      wake: Wake;
      fork: boolean;
      worktree: boolean;
    }>,
    caller?: Caller,
  ): Promise<string>;
  /** Launches a task that completes at once and whose notice is delivered. Resolves to its id. */
  complete(result: string): Promise<string>;
  task(taskId: string): Task;
  /** A session's agent answers and becomes idle. Resolves once all that follows at once has happened. */
  finish: (...answered: Parameters<FakeHost["finish"]>) => Promise<void>;
  /** A session's agent asks a person for the permission `per_1`. */
  ask(sessionID: string, what?: string): Promise<void>;
  /** A person answers what the session asked. */
  reply(sessionID: string): void;
  /** The parent, which was busy, becomes idle. */
  rest(): Promise<void>;
  /** Kills the process together with its host, and starts another one (`life`) with what is stored. */
  restart(life?: FakeProcess): Promise<void>;
  /** OpenCode disposes of the plugin, which aborts all running work, and starts it again in the same process. */
  reopen(next?: FakeProcess): Promise<void>;
  /** Returns the parts of each notice that was sent to a parent. */
  notices(parent?: string): { text: string; synthetic?: boolean }[][];
  /** Returns all that the notices to a parent say, a line for each part. */
  noticeText(parent?: string): string;
}

export interface StageOptions {
  prefix?: string;
  permission?: string;
  toolsets?: Toolset[];
  /** The agents in the configuration. */
  configured?: Record<string, unknown>;
  onParentCancel?: OnParentCancel;
  development?: boolean;
  maxDepth?: number;
  /** Default: no limit that a test could come to. */
  concurrency?: Partial<Concurrency>;
  maxResultChars?: number;
  /** Tasks that have a line each in a list. */
  listedTasks?: number;
  /** Ended tasks that a reminder names. */
  remindedEnded?: number;
  /** Default: as the options have it. */
  fork?: ForkLimits;
  /** A function is asked by each process. */
  isHeadless?: boolean | (() => boolean);
  attentionTimeout?: number;
  /** Default: OpenCode's terminal interface. */
  seenThrough?: Interface;
  recovery?: "continue" | "fail";
  wake?: Wake;
  /** Milliseconds for which the provider keeps what it was sent. Default: nothing is waited for. */
  promptCache?: number;
  fallback?: EngineOptions["fallback"];
  /** Default: no agent has a gate. */
  gate?: Omit<EngineOptions["gate"], "before"> & Partial<Pick<EngineOptions["gate"], "before">>;
  /** Default: every result may be any text. */
  schema?: EngineOptions["schema"];
  /** Default: what OpenCode loads. */
  loadJsonSchemas?: () => Promise<JsonSchemas>;
  /** Runs the commands of gates. Default: each exits with 0 at once. */
  runCommand?: RunCommand;
  retention?: Retention;
  timeouts?: { run?: number | undefined; stale?: number; provider?: number };
  budget?: Partial<EngineOptions["budget"]>;
  loop?: Pick<EngineOptions["loop"], "repeat">;
  /** Opens the store of a process. Default: one in memory that all processes share. */
  openStore?: (clock: VirtualClock) => Store;
  life?: FakeProcess;
  clock?: VirtualClock;
  host?: FakeHost;
  /** Default: nobody has one, and they are nowhere. */
  worktree?: Partial<EngineOptions["worktree"]>;
  /** The directory of the calling session. */
  directory?: string;
  /** Default: everywhere. */
  isServed?: (directory: string) => boolean;
  sessionDirectories?: SessionDirectories;
  /** Returns each process's place in a fleet. Default: none. */
  fleet?: () => Omit<Parameters<typeof createFleet>[0], "clock" | "log">;
  /** Makes worktrees. Default: git does. */
  worktrees?: Partial<Worktrees>;
  /** Observes everything that the machines do. */
  inspect?: Inspect;
  /** Creates the ids of all processes and of the host: two generators could order what one millisecond brings either way. */
  ids?: Ids;
}

export const createStage = ({
  prefix = "asyncagents",
  permission = "task",
  toolsets = ["tasks"],
  configured = {},
  onParentCancel = "cancel",
  development = false,
  maxDepth = 3,
  concurrency = {},
  maxResultChars,
  listedTasks,
  remindedEnded = 0,
  fork = readOptions({}).options.fork,
  isHeadless: headless = false,
  attentionTimeout,
  seenThrough = "terminal",
  recovery = "continue",
  wake = "each",
  promptCache = 0,
  fallback = { agents: {}, after: 60_000 },
  gate = { agents: {}, tries: 2, timeout: 60_000 },
  schema = { agents: {} },
  loadJsonSchemas = async () => jsonSchemas,
  runCommand = async () => ({ end: "exited", exit: 0, output: "" }),
  retention = {},
  timeouts = {},
  budget = {},
  loop = { repeat: 20 },
  openStore = createMemory().boot,
  life = createFakeProcess(),
  clock = createVirtualClock(),
  worktree = {},
  directory = "/project",
  isServed = () => true,
  sessionDirectories = createSessionDirectories(),
  fleet,
  worktrees,
  inspect,
  ids = createIds(clock),
  host = createFakeHost(clock, ids),
}: StageOptions = {}): Stage => {
  if (!host.sessionIDs().includes(PARENT)) host.addSession(PARENT);
  const logged: string[] = [];
  const write = (message: string, extra?: Record<string, unknown>) => {
    logged.push(`${message} ${JSON.stringify(extra ?? {})}`);
  };
  const log: Log = { info: write, error: write };
  let openings = createDirectoryOpenings(clock);
  const begin = (now: FakeProcess) => {
    const store = openStore(clock);
    const isHeadless = typeof headless === "function" ? headless() : headless;
    const membership = fleet?.();
    const engine = createEngine({
      host: createClosableHost(now.host(host)),
      opening: openings.open(directory),
      directory,
      sessionDirectories,
      isServed,
      store: now.store(store),
      clock: now.clock(clock),
      ids,
      log,
      // What a command says to a process that is gone is heard by nobody.
      loadJsonSchemas,
      runCommand: async (command) => {
        const end = await runCommand(command);
        return now.isOver() ? new Promise(() => undefined) : end;
      },
      options: {
        maxDepth,
        timeouts: { stale: timeouts.stale ?? 600_000, run: timeouts.run, provider: timeouts.provider ?? 86_400_000 },
        budget: { toolCalls: undefined, tokens: undefined, cost: undefined, tasksPerParent: 200, ...budget },
        loop: { ...loop, readingTools: readingTools(toolsets, prefix) },
        concurrency: { default: 10_000, providers: {}, models: {}, agents: {}, ...concurrency },
        fork,
        isHeadless,
        attention: { timeout: attentionTimeout, command: "opencode-taskchart", seenThrough },
        recovery,
        wake,
        promptCache,
        fallback,
        gate: { before: false, ...gate },
        schema,
        retention,
        reminder: { ended: remindedEnded },
        worktree: { root: "/nowhere/worktrees", agents: [], setup: undefined, keep: 7 * 86_400_000, ...worktree },
        notice: { tools: toolNames(toolsets, prefix), maxResultChars, development },
      },
      fleet:
        membership &&
        createFleet({ ...membership, broker: now.broker(membership.broker), clock: now.clock(clock), log }),
      inspect,
      worktrees: { readFiles: async () => ({ problem: "nothing is in git here" }), ...worktrees },
    });
    host.listen((event) => (now.isOver() ? undefined : engine.onHostEvent(event)));
    const defineTools = () => {
      const parts = { engine, clock, prefix, permission, listedTasks, isHeadless };
      const subtasks = toolsets.includes("subtasks")
        ? subtasksToolset(parts, subagentsOf(configured).subagents, onParentCancel)
        : {};
      return { ...fixedTools(toolsets, parts), ...subtasks };
    };
    let tools: ReturnType<typeof defineTools> | undefined;
    // Their schemas take an eighth of the time of a life, and in many lives nobody calls a tool.
    const toolsOfLife = () => {
      tools ??= defineTools();
      return tools;
    };
    return { life: now, store, engine, tools: toolsOfLife };
  };

  let process = begin(life);

  const callWhole: Stage["callWhole"] = async (name, args = {}, caller = {}) => {
    const tools = process.tools();
    const definition = tools[`${prefix}_${name}`] ?? tools[name];
    if (!definition) throw new Error(`there is no tool ${name} among ${Object.keys(tools).join(", ")}`);
    const context = {
      sessionID: PARENT,
      messageID: "msg_turn",
      agent: "build",
      directory,
      worktree: directory,
      abort: new AbortController().signal,
      metadata: () => undefined,
      ask: async () => undefined,
      ...caller,
    };
    const result = await definition.execute(args, context);
    return typeof result === "string" ? { output: result } : result;
  };

  const call: Stage["call"] = async (...given) => (await callWhole(...given)).output;

  const finish: Stage["finish"] = async (...answered) => {
    host.finish(...answered);
    await settled();
  };

  const notices: Stage["notices"] = (parent = PARENT) => {
    const { parts, prompts } = host.at(parent);
    const notes = new Set(prompts.flatMap(({ messageID, noReply }) => (noReply ? messageID : [])));
    return [...parts].flatMap(([messageID, of]) => (notes.has(messageID) ? [] : [of]));
  };

  return {
    clock,
    host,
    get store() {
      return process.store;
    },
    get engine() {
      return process.engine;
    },
    get life() {
      return process.life;
    },
    logged,
    call,
    callWhole,
    launch: async (args = {}, caller = {}) => {
      const whole = await callWhole(
        "task",
        { description: "find it", prompt: "Find it.", agent: "general", ...args },
        caller,
      );
      await settled();
      return String(whole.metadata?.sessionId);
    },
    complete: async (result) => {
      const whole = await callWhole("task", { description: "find it", prompt: "Find it.", agent: "general" });
      await settled();
      const id = String(whole.metadata?.sessionId);
      await finish(id, result);
      return id;
    },
    finish,
    ask: async (sessionID, what = "bash: ls") => {
      const request = { id: "per_1", kind: "permission", what, since: clock.now() } as const;
      host.emit({ type: "asked", sessionID, request });
      await settled();
    },
    reply: (sessionID) => host.emit({ type: "replied", sessionID, requestID: "per_1" }),
    rest: async () => {
      host.at(PARENT).busy = false;
      host.emit({ type: "idle", sessionID: PARENT });
      await settled();
    },
    task: (taskId) => {
      const task = process.engine.get(taskId);
      if (!task) throw new Error(`there is no task ${taskId}`);
      return task;
    },
    restart: async (next = createFakeProcess()) => {
      process.life.die();
      await settled();
      host.crash();
      openings = createDirectoryOpenings(clock);
      process = begin(next);
    },
    reopen: async (next = createFakeProcess()) => {
      process.engine.stop();
      for (const id of host.sessionIDs()) if (host.at(id).busy) host.abortByPerson(id);
      await settled();
      process = begin(next);
    },
    notices,
    noticeText: (parent) =>
      notices(parent)
        .flat()
        .map(({ text }) => text)
        .join("\n"),
  };
};

/** A stage with one task at work. */
export const stageWithTask = async (options?: StageOptions, ...how: Parameters<Stage["launch"]>) => {
  const stage = createStage(options);
  return { stage, id: await stage.launch(...how) };
};

/** A stage with one task that has completed with this result. */
export const stageWithResult = async (result: string) => {
  const stage = createStage();
  return { stage, id: await stage.complete(result) };
};
