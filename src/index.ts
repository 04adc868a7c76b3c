// OpenCode opens a directory only when all plugins have started, so it is given no more than the hooks at first
// (docs/decisions/138-a-start-loads-only-the-hooks.md). In a task's worktree the plugin has no engine
// (docs/decisions/243-one-engine-per-project.md).
import { createRequire } from "node:module";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config, Plugin } from "@opencode-ai/plugin";
import { createErrorToasts } from "./error-toasts.ts";
import { setup } from "./opencode-2.ts";
import type { PluginHooks } from "./plugin.ts";
import { createDirectoryOpenings } from "./services/engine/recovery/reopened-directories.ts";
import { createReadDirectories, showsWork } from "./services/host/directories.ts";
import { systemClock as clock } from "./services/platform/clock.ts";
import { errorMessage } from "./services/platform/log.ts";
import { dataFolder } from "./services/platform/private-files.ts";
import { projectOf, worktreesFolder } from "./services/worktrees/folders.ts";
import { createPluginInstances } from "./services/worktrees/plugin-instances.ts";
import { startWorktreeProxy } from "./worktree-proxy.ts";

const SERVICE = "opencode-taskchart";

/**
 * Milliseconds from OpenCode's start of the plugin to the loading of its code, unless something needs it before: tasks of a
 * process that died wait for it. OpenCode has opened the directory after a tenth to a third of it (measured).
 */
const LOAD_AFTER_MS = 1_000;

const require = createRequire(import.meta.url);

/**
 * Loads the plugin's code, which is beside this file: `plugin.ts` in the sources, `plugin.js` in the bundle. At once,
 * for OpenCode asks for the tools only once, and does not wait for them.
 */
const loadPlugin = () => require(`./plugin${extname(fileURLToPath(import.meta.url))}`) as typeof import("./plugin.ts");

// One for the process. It outlives the plugin, which OpenCode disposes of and starts again in the same process.
const openings = createDirectoryOpenings(clock);
const readDirectories = createReadDirectories(clock);
const instances = createPluginInstances<PluginHooks, Parameters<PluginHooks["event"]>[0]>();

/** Starts the plugin for one directory: a task's worktree, or any other. */
const server: Plugin = async (input, given) => {
  const project = projectOf(worktreesFolder(dataFolder()), input.directory);
  if (project === undefined) return startInProject(input, given);
  const opened = readDirectories.open(input.directory);
  return startWorktreeProxy({
    ...{ input, given, project, instances, opened },
    createTools: (wanted) => loadPlugin().createProxyTools(wanted),
  });
};

/**
 * Starts the plugin for a directory of a person. OpenCode waits for that before it opens the directory, so only the hooks
 * are given to it here. The code behind them takes longer to load than all else: it is loaded when the first hook needs it.
 */
const startInProject: Plugin = async (input, given) => {
  const opening = openings.open(input.directory);
  const opened = readDirectories.open(input.directory);
  let config: Config | undefined;
  let plugin: PluginHooks | undefined;
  let isClosed = false;
  /** What OpenCode reported before the code was loaded. */
  const missedEvents: Parameters<PluginHooks["event"]>[0][] = [];

  const errorToasts = createErrorToasts((message) => {
    input.client.tui.showToast({ body: { message, variant: "error" } }).catch(() => undefined);
  });

  const reportFailure = (error: unknown) => {
    isClosed = true;
    missedEvents.length = 0;
    const message = `${SERVICE} cannot start: ${errorMessage(error)}`;
    input.client.app.log({ body: { service: SERVICE, level: "error", message } }).catch(() => undefined);
    errorToasts.show(message);
  };

  /** Returns the started plugin; undefined if it cannot be started, of which a person is notified once. */
  const started = (): PluginHooks | undefined => {
    if (plugin || isClosed) return plugin;
    cancelTimer();
    opened.use();
    try {
      plugin = loadPlugin().startPlugin({
        input,
        given,
        opening,
        configuredAgents: () => config?.agent,
        isServed: instances.isServed,
        readDirectories,
        showError: errorToasts.show,
      });
      for (const missed of missedEvents.splice(0)) void plugin.event(missed);
    } catch (error) {
      reportFailure(error);
    }
    return plugin;
  };
  const cancelTimer = opened.isOnlyRead() ? () => undefined : clock.after(LOAD_AFTER_MS, started);

  const take: PluginHooks["event"] = async (event) => {
    errorToasts.onEvent(event.event.type);
    if (opened.isOnlyRead() && !(showsWork(event.event.type) && started())) return;
    if (plugin) await plugin.event(event);
    else if (!isClosed) missedEvents.push(event);
  };
  const leave = instances.open(input.directory, { started, event: take });

  return {
    // OpenCode reads this with its first prompt: after the `config` hooks of all plugins, which may add agents.
    get tool() {
      return started()?.tool ?? {};
    },
    config: async (configured) => {
      config = configured;
    },
    event: take,
    // Only once the code is loaded: no task is at work before.
    "tool.execute.before": async (...args) => plugin?.["tool.execute.before"](...args),
    "tool.execute.after": async (...args) => plugin?.["tool.execute.after"](...args),
    "experimental.session.compacting": async (...args) => started()?.["experimental.session.compacting"](...args),
    "experimental.chat.messages.transform": async (...args) =>
      started()?.["experimental.chat.messages.transform"](...args),
    dispose: async () => {
      leave();
      cancelTimer();
      isClosed = true;
      const wasOnlyRead = opened.isOnlyRead();
      opened.close();
      if (plugin) await plugin.dispose();
      else if (!wasOnlyRead) opening.close();
    },
  };
};

export default { id: SERVICE, server, setup };
