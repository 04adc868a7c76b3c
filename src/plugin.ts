import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Hooks, PluginInput } from "@opencode-ai/plugin";
import manifest from "../package.json" with { type: "json" };
import { type Options, optionsError, readOptions, type Toolset } from "./options.ts";
import type { EngineOptions } from "./services/engine/context.ts";
import { createEngine, type Engine } from "./services/engine/engine.ts";
import type { Fleet } from "./services/fleet/create-fleet.ts";
import { createClosableHost, createOpencodeLog } from "./services/host/closable-host.ts";
import type { DirectoryOpening } from "./services/host/directories.ts";
import { createSessionDirectories, type ReadDirectories } from "./services/host/directories.ts";
import { completedCallEffect, type OpencodeEvent, readEvent } from "./services/host/opencode-events.ts";
import { createOpencodeHost } from "./services/host/opencode-host.ts";
import { interfaceOf, isDevelopment, isOpencodeRun } from "./services/host/this-process.ts";
import type { StatusServer } from "./services/http/server/status-server.ts";
import { createDelayedServer, createLiveCharts, createOpenDirectories } from "./services/http/status-api.ts";
import { systemClock as clock } from "./services/platform/clock.ts";
import { createIds } from "./services/platform/ids.ts";
import { errorMessage, type Log } from "./services/platform/log.ts";
import { dataFolder } from "./services/platform/private-files.ts";
import { runShellCommand } from "./services/platform/shell-command.ts";
import { openStore } from "./services/store/open-store.ts";
import { thisProcess } from "./services/store/ownership.ts";
import { WORKED_ON_ELSEWHERE } from "./services/text/reminder-text.ts";
import { shellCommand } from "./services/text/request-text.ts";
import { worktreesFolder } from "./services/worktrees/folders.ts";
import { afterReady, inDirectory, type ToolDeps } from "./tools/define-tool.ts";
import { answersInJson, createPluginTools, readingTools, toolNames } from "./tools/plugin-tools.ts";

const SERVICE = "opencode-taskchart";

const DAY_MS = 86_400_000;

/** A built file. The path holds for this file and for the bundle, which is in `dist` too. */
const built = (name: string) => new URL(`../dist/${name}`, import.meta.url);

// One of each for the process: OpenCode starts the plugin once for each directory, and the status API shows them all.
const openDirectories = createOpenDirectories();
/** Reads a built page, which is done only when somebody opens it. */
const builtPage = (name: string) => readFileSync(built(`${name}.html`), "utf8");
const liveCharts = createLiveCharts(clock, builtPage);

const require = createRequire(import.meta.url);

/** Loads the code of fleets: `fleet.ts` in the sources, `fleet.js` in the bundle. */
const loadFleet = () => require(`./fleet${extname(fileURLToPath(import.meta.url))}`) as typeof import("./fleet.ts");

type CalledHooks = Required<
  Pick<
    Hooks,
    | "tool"
    | "event"
    | "dispose"
    | "tool.execute.before"
    | "tool.execute.after"
    | "experimental.session.compacting"
    | "experimental.chat.messages.transform"
  >
>;

/** The hooks that OpenCode calls; what it calls before they exist is kept for them by `index.ts`. */
export interface PluginHooks extends CalledHooks {
  /** For the tools of worktree proxies. */
  engine: Engine;
  /** Resolves when tools may be called. */
  ready(): Promise<void>;
}

/** What tools are created with that others hand out than the plugin of their directory. */
interface ProxyTools {
  given: unknown;
  /** The toolsets; default: those of the options. */
  toolsets?: Toolset[];
  /** The directory whose engine supervises the tasks. */
  project: string;
  /** Resolves to the plugin in that directory once OpenCode has opened it; to undefined where it cannot be started. */
  plugin(): Promise<PluginHooks | undefined>;
  /** Returns the agents of the configuration where the tools are as they are now; unread, so of any shape. */
  configuredAgents(): unknown;
}

const noLog: Log = { info: () => undefined, error: () => undefined };

/**
 * Creates tools that others hand out than the plugin of the directory that has the engine, which each call waits for: in a
 * task's worktree, or another plugin.
 */
export const createProxyTools = ({
  given,
  toolsets,
  project,
  plugin,
  configuredAgents,
}: ProxyTools): PluginHooks["tool"] => {
  const { options } = readOptions(given);
  let found: PluginHooks | undefined;
  const engine = new Proxy({} as Engine, {
    get: (_, name) => {
      if (!found) throw new Error(`A tool was called before the engine of ${project} was there.`);
      return Reflect.get(found.engine, name);
    },
  });
  const ready = async () => {
    found = await plugin();
    if (!found) throw new Error(`${SERVICE} could not be started in ${project}.`);
    await found.ready();
  };
  const deps = toolDeps(engine, options, isOpencodeRun());
  // What is wrong with the configuration is logged in the project directory, which has the same one.
  const tools = createPluginTools({ ...options, ...(toolsets && { toolsets }) }, deps, configuredAgents, noLog)();
  return inDirectory(project, afterReady(ready, tools));
};

/**
 * Starts the plugin for one directory.
 * @throws Error when the runtime has no SQLite
 */
export const startPlugin = ({
  input,
  given,
  handedOut,
  isPrompted,
  opening,
  configuredAgents,
  isServed,
  readDirectories,
  showError,
}: {
  input: PluginInput;
  /** The options as `opencode.json` has them. */
  given: unknown;
  /** Toolsets whose tools another plugin hands to OpenCode. */
  handedOut: readonly Toolset[];
  /** True where OpenCode is about to make its first model request. */
  isPrompted: boolean;
  opening: DirectoryOpening;
  /** Returns the agents of OpenCode's configuration as they are now; unread, so of any shape. */
  configuredAgents(): unknown;
  /** True where OpenCode has started this plugin in that directory of a worktree. */
  isServed(directory: string): boolean;
  /** The directories that are opened in this process only to read something of them. */
  readDirectories: ReadDirectories;
  /** Shows an error to the person who uses OpenCode. */
  showError(message: string): void;
}): PluginHooks => {
  const { options, problems } = readOptions(given);
  const isHeadless = isOpencodeRun();

  const sessionDirectories = createSessionDirectories();
  const host = createClosableHost(createOpencodeHost(input, sessionDirectories));
  const log = createOpencodeLog(SERVICE, input.client, host);
  const owner = thisProcess(randomUUID(), input.directory, options.timeouts.takeover);
  const visibleLog = showingErrors(log, showError);
  const wrongOptions = optionsError(problems);
  if (wrongOptions !== undefined) visibleLog.error(wrongOptions);
  let isStored = true;
  const onInMemory = () => {
    isStored = false;
  };
  const store = openStore({ folder: dataFolder(), owner, log: visibleLog, onInMemory });
  const fleet = enterFleet(options.fleet, input, { isHeadless, isStored }, visibleLog);
  const recording = liveCharts.record(options.inspect, input.directory, log);
  const engine = createEngine({
    host,
    opening,
    store,
    clock,
    ids: createIds(clock),
    log,
    runCommand: runShellCommand,
    loadJsonSchemas: () => import("./services/typed-results/json-schema.ts"),
    directory: input.directory,
    sessionDirectories,
    isServed,
    options: engineOptions(withToolsets(options, handedOut), isHeadless),
    fleet,
    inspect: recording?.inspect,
  });
  const removeDirectory = openDirectories.add({ engine, store, host });
  const tools = createPluginTools(options, toolDeps(engine, options, isHeadless), configuredAgents, log);

  const serve = async (): Promise<StatusServer | undefined> => {
    try {
      const { serveStatusApi } = await import("./services/http/server/status-server.ts");
      const server = await serveStatusApi({
        directories: openDirectories,
        readDirectories,
        folder: dataFolder(),
        env: process.env,
        log,
        clock,
        version: manifest.version,
        allowedOrigins: options.api.allowedOrigins,
        reads: options.api.reads,
        pages: liveCharts.pages,
        documents: { board: () => builtPage("board"), reference: () => builtPage("reference") },
      });
      if (recording && server) log.info("the live view of the charts is served", { at: server.url + recording.path });
      return server;
    } catch (error) {
      log.error("the status API cannot be loaded", { reason: errorMessage(error) });
      return undefined;
    }
  };
  const statusApi = createDelayedServer(clock, serve, isPrompted);
  // Not while the process may be ending: it would leave behind the files that say where its server is.
  opening.whenProcessStays(statusApi.permit);

  /** A hook that throws could hang OpenCode, or break every session of it: its fault is logged instead. */
  const guarded =
    <Args extends unknown[]>(
      fault: string,
      work: (...args: Args) => Promise<void> | void,
      about?: (...args: Args) => object,
    ) =>
    async (...args: Args): Promise<void> => {
      try {
        await work(...args);
      } catch (error) {
        log.error(fault, { ...about?.(...args), reason: errorMessage(error) });
      }
    };

  return {
    engine,
    ready: statusApi.ready,
    get tool() {
      return afterReady(statusApi.ready, tools());
    },
    event: guarded(
      "an event could not be handled",
      ({ event }) => {
        const hostEvent = readEvent(event as OpencodeEvent, clock.now());
        if (hostEvent) engine.onHostEvent(hostEvent);
      },
      ({ event }) => ({ type: event.type }),
    ),
    // No guard: a call that must not be made is prevented by an error, which its agent reads.
    "tool.execute.before": async ({ sessionID }) => {
      const stopped = engine.untilStopped(sessionID);
      if (!stopped) return;
      await stopped;
      throw new Error(WORKED_ON_ELSEWHERE);
    },
    "tool.execute.after": guarded(
      "a tool call could not be taken",
      ({ tool, sessionID, args }, ended) => {
        // Of tools of MCP servers, OpenCode has no text here.
        if (typeof ended?.output !== "string") return;
        const added = engine.onToolCallEnded({
          sessionID,
          effect: completedCallEffect(tool, { ...ended, input: args }),
          mayAdd: !answersInJson(tool),
        });
        if (added !== undefined) ended.output += `\n\n${added}`;
      },
      ({ tool, sessionID }) => ({ tool, sessionID }),
    ),
    "experimental.session.compacting": guarded(
      "the tasks could not be added to a compaction",
      ({ sessionID }, { context }) => {
        const reminder = engine.reminderFor(sessionID);
        if (reminder !== undefined) context.push(reminder);
      },
      ({ sessionID }) => ({ sessionID }),
    ),
    "experimental.chat.messages.transform": guarded(
      "the messages of a model request could not be checked",
      (_, { messages }) => {
        engine.onModelRequest(messages);
        const asking = messages.at(-1)?.info.sessionID;
        // The abort that it waits for ends the turn, and the request is never made.
        return asking === undefined ? undefined : engine.untilStopped(asking);
      },
    ),
    dispose: async () => {
      removeDirectory();
      try {
        engine.stop();
        recording?.end();
      } finally {
        await statusApi.stop();
      }
    },
  };
};

/** Enters the fleet of the options. Undefined without one, and where it cannot be entered: then tasks run here. */
const enterFleet = (
  options: Options["fleet"],
  { project, directory }: PluginInput,
  { isHeadless, isStored }: { isHeadless: boolean; isStored: boolean },
  log: Log,
): Fleet | undefined => {
  if (!options) return undefined;
  try {
    return loadFleet().enterFleet({
      options,
      projectId: project.id,
      directory,
      folder: dataFolder(),
      isStored,
      isHeadless,
      clock,
      log,
    });
  } catch (error) {
    log.error("the fleet cannot be entered", { reason: errorMessage(error) });
    return undefined;
  }
};

const toolDeps = (engine: Engine, { prefix, permission, list }: Options, isHeadless: boolean): ToolDeps => ({
  engine,
  clock,
  prefix,
  permission,
  listedTasks: list.maxTasks,
  isHeadless,
});

/** Returns the options for the engine where agents have tools of more toolsets than the options name. */
const withToolsets = (options: Options, more: readonly Toolset[]): Options => ({
  ...options,
  toolsets: [...new Set([...options.toolsets, ...more])],
});

const engineOptions = (options: Options, isHeadless: boolean): EngineOptions => ({
  ...options,
  loop: { ...options.loop, readingTools: readingTools(options.toolsets, options.prefix) },
  attention: {
    ...options.attention,
    command: shellCommand(fileURLToPath(built("cli.js"))),
    seenThrough: interfaceOf(),
  },
  worktree: {
    root: worktreesFolder(dataFolder()),
    agents: options.worktree.agents,
    setup: options.worktree.setup,
    keep: options.worktree.keep * DAY_MS,
  },
  isHeadless,
  notice: {
    tools: toolNames(options.toolsets, options.prefix),
    maxResultChars: options.notice.maxResultChars,
    development: isDevelopment(),
  },
});

/** Shows each error to a person too: an option that has no effect, or tasks that are gone when OpenCode ends. */
const showingErrors = (log: Log, showError: (message: string) => void): Log => ({
  ...log,
  error: (message, extra) => {
    log.error(message, extra);
    showError(message);
  },
});
