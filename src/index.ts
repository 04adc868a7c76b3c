import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Plugin } from "@opencode-ai/plugin";
import manifest from "../package.json" with { type: "json" };
import { readOptions } from "./options.ts";
import { createEngine } from "./services/engine.ts";
import { type ClosableHost, closable } from "./services/host/closable-host.ts";
import { readEvent } from "./services/host/opencode-events.ts";
import { createOpencodeHost, type OpencodeEvent } from "./services/host/opencode-host.ts";
import { createEngineSource } from "./services/http/engine-source.ts";
import { createLiveCharts } from "./services/http/live/live-charts.ts";
import { createOpenDirectories } from "./services/http/open-directories.ts";
import { type StatusServer, startStatusServer } from "./services/http/server/status-server.ts";
import { systemClock } from "./services/platform/clock.ts";
import { isDevelopment, isOpencodeRun } from "./services/platform/environment.ts";
import { createIds } from "./services/platform/ids.ts";
import { errorMessage, type Log } from "./services/platform/log.ts";
import { createDirectoryOpenings } from "./services/recovery/reopened-directories.ts";
import { openStore } from "./services/store/open-store.ts";
import { thisProcess } from "./services/store/ownership.ts";
import { dataFolder } from "./services/store/sqlite/database-file.ts";
import { shellCommand } from "./services/text/shell-command.ts";
import { subagentsOf } from "./tools/subtasks/subagents.ts";
import { subtasksToolset } from "./tools/subtasks/toolset.ts";
import { fixedTools, toolNames } from "./tools/toolsets.ts";

const SERVICE = "opencode-taskchart";

/** The same file seen from here and from the bundle, which is in `dist` too. */
const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));

/** The directories that this process has open: the host starts the plugin once for each, and the status API shows all. */
const sites = createOpenDirectories();
const source = createEngineSource(sites, systemClock, randomUUID);

/** Outlives the plugin, which the host disposes of and starts again in the same process. */
const openings = createDirectoryOpenings(systemClock);

/** The same place seen from here and from the bundle, which is in `dist` too. Read only when somebody opens the page. */
const page = (name: string) => readFileSync(new URL(`../dist/${name}.html`, import.meta.url), "utf8");
const watching = createLiveCharts(systemClock, page);

/** Background tasks for OpenCode. Nothing here awaits the host: it waits for its plugins, so that would be a deadlock. */
const server: Plugin = async (input, given) => {
  const options = readOptions(given);
  const { prefix } = options;
  const clock = systemClock;
  const host = closable(createOpencodeHost(input));
  const log = logTo(input.client, host);
  const ids = createIds(clock);
  const opening = openings.open(input.directory);
  const store = await openStore({
    folder: dataFolder(),
    owner: thisProcess(randomUUID(), input.directory),
    log: {
      ...log,
      // Where the store fails, a person has to know: what is not on disk is gone when OpenCode ends.
      error: (message, extra) => {
        log.error(message, extra);
        void host.toast({ message, variant: "error" });
      },
    },
  });
  const isHeadless = isOpencodeRun();
  const watch = await watching.watch(options.inspect, input.directory, log);
  const engine = createEngine({
    host,
    opening,
    store,
    clock,
    ids,
    log,
    options: {
      maxDepth: options.maxDepth,
      staleAfter: options.staleAfter,
      fork: options.fork,
      attention: { timeout: options.attention.timeout, command: shellCommand(CLI) },
      recovery: options.recovery,
      retention: options.retention,
      isHeadless,
      notice: {
        tools: toolNames(options.toolsets, prefix),
        maxResultChars: options.notice.maxResultChars,
        development: isDevelopment(),
      },
    },
    inspect: watch?.inspect,
  });
  const leave = sites.add({ engine, store, host });
  const serve = async (): Promise<StatusServer | undefined> => {
    const server = await startStatusServer({
      source,
      folder: dataFolder(),
      env: process.env,
      log,
      clock,
      version: manifest.version,
      allowedOrigins: options.api.allowedOrigins,
      reads: options.api.reads,
      pages: watching.pages,
    });
    if (watch && server) log.info("the charts can be watched live", { at: server.url + watch.path });
    return server;
  };
  let serving: ReturnType<typeof serve> | undefined;
  // A process that ends would leave behind the files that say where its server is.
  opening.whenProcessStays(() => {
    serving = serve();
  });
  await serving;
  const parts = { engine, clock, prefix, isHeadless };
  const tools = fixedTools(options.toolsets, parts);
  let agents: () => unknown = () => undefined;
  const subtaskTools = () => {
    try {
      const { subagents, odd } = subagentsOf(agents());
      if (odd.length > 0) log.error("agents have no subtask tool: their configuration cannot be read", { odd });
      return subtasksToolset(parts, subagents, options.subtasks.onParentCancel);
    } catch (error) {
      log.error("there are no subtask tools", { reason: errorMessage(error) });
      return {};
    }
  };
  return {
    // Read once every plugin's `config` hook has run: agents that others add have their tools too.
    get tool() {
      return options.toolsets.includes("subtasks") ? { ...tools, ...subtaskTools() } : tools;
    },
    // The one place where the agents are known without asking the host.
    config: async (config) => {
      agents = () => config.agent;
    },
    // A throw in here could hang the host, or break every session of it.
    event: async ({ event }) => {
      try {
        const told = readEvent(event as OpencodeEvent, clock.now());
        if (told) engine.onHostEvent(told);
      } catch (error) {
        log.error("an event could not be handled", { type: event.type, reason: errorMessage(error) });
      }
    },
    "experimental.session.compacting": async ({ sessionID }, { context }) => {
      try {
        const tasks = engine.reminderFor(sessionID);
        if (tasks !== undefined) context.push(tasks);
      } catch (error) {
        log.error("a compaction was not told of the tasks", { sessionID, reason: errorMessage(error) });
      }
    },
    "experimental.chat.messages.transform": async (_, { messages }) => {
      try {
        engine.onModelRequest(messages);
      } catch (error) {
        log.error("a model request could not be looked through", { reason: errorMessage(error) });
      }
    },
    dispose: async () => {
      leave();
      try {
        engine.stop();
        watch?.end();
      } finally {
        await (await serving)?.stop();
      }
    },
  };
};

/**
 * Writes to the host's log. What cannot be written there is dropped: a log that fails must not fail a task, and one that
 * is written to a closed host would open it again.
 */
function logTo(client: Parameters<Plugin>[0]["client"], host: Pick<ClosableHost, "isClosed">): Log {
  const write = (level: "info" | "error") => (message: string, extra?: Record<string, unknown>) => {
    if (host.isClosed()) return;
    const body = { service: SERVICE, level, message, ...(extra ? { extra } : {}) };
    client.app.log({ body }).catch(() => undefined);
  };
  return { info: write("info"), error: write("error") };
}

export default { id: SERVICE, server };
