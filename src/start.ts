// OpenCode opens a directory only when all plugins have started, so it is given no more than the hooks at first
// (docs/decisions/138-a-start-loads-only-the-hooks.md). In a task's worktree the plugin has no engine
// (docs/decisions/243-one-engine-per-project.md).
import { createRequire } from "node:module";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config, Hooks, PluginInput } from "@opencode-ai/plugin";
import type { Toolset } from "./options.ts";
import type { PluginHooks } from "./plugin.ts";
import type { Engine } from "./services/engine/engine.ts";
import { createDirectoryOpenings, createReadDirectories, showsWork } from "./services/host/directories.ts";
import { systemClock as clock } from "./services/platform/clock.ts";
import { errorMessage } from "./services/platform/log.ts";
import { dataFolder } from "./services/platform/private-files.ts";
import { projectOf, worktreesFolder } from "./services/worktrees/folders.ts";
import { createPluginInstances } from "./services/worktrees/plugin-instances.ts";

export const SERVICE = "opencode-taskchart";

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

/** What there is one of in a process. It outlives the plugin, which OpenCode disposes of and starts again in the same process. */
export const createProcessParts = () => ({
  openings: createDirectoryOpenings(clock),
  readDirectories: createReadDirectories(clock),
  instances: createPluginInstances<PluginHooks, Parameters<PluginHooks["event"]>[0]>(),
});
type ProcessParts = ReturnType<typeof createProcessParts>;

/** How the plugin is to be started. It counts as it is when the plugin's code is loaded, or tools are created. */
export interface StartSettings {
  /** The options as `opencode.json` has them. */
  given: unknown;
  /** Toolsets whose tools another plugin hands to OpenCode. */
  handedOut: readonly Toolset[];
}

/** The plugin in one directory, as it can be handed to OpenCode. */
export interface DirectoryStart {
  hooks: Omit<Hooks, "tool">;
  /** Returns the tools of the toolsets that the options name, and loads the plugin's code. */
  tools(): PluginHooks["tool"];
  /** Creates the tools of one toolset, whatever the options name. Each call of one waits for the engine. */
  toolsOf(toolset: Toolset): PluginHooks["tool"];
  /**
   * Resolves to the engine once tools may be called.
   * @throws Error where it cannot be started
   */
  engine(): Promise<Engine>;
}

/** Starts the plugin for one directory: a task's worktree, or any other. */
export const startIn = (input: PluginInput, settings: StartSettings, parts: ProcessParts): DirectoryStart => {
  const project = projectOf(worktreesFolder(dataFolder()), input.directory);
  return project === undefined
    ? startInProject(input, settings, parts)
    : startInWorktree(input, settings, project, parts);
};

/**
 * Starts the plugin for a directory of a person. OpenCode waits for that before it opens the directory, so only the hooks
 * are given to it here. The code behind them takes longer to load than all else: it is loaded when the first hook needs it.
 */
const startInProject = (
  input: PluginInput,
  settings: StartSettings,
  { openings, readDirectories, instances }: ProcessParts,
): DirectoryStart => {
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

  /**
   * Returns the started plugin; undefined if it cannot be started, of which a person is notified once. What needs it before
   * `LOAD_AFTER_MS` have passed is a prompt, as a rule.
   */
  const started = (isPrompted = true): PluginHooks | undefined => {
    if (plugin || isClosed) return plugin;
    cancelTimer();
    opened.use();
    try {
      plugin = loadPlugin().startPlugin({
        ...settings,
        isPrompted,
        input,
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
  const cancelTimer = opened.isOnlyRead() ? () => undefined : clock.after(LOAD_AFTER_MS, () => started(false));

  const take: PluginHooks["event"] = async (event) => {
    errorToasts.onEvent(event.event.type);
    if (opened.isOnlyRead() && !(showsWork(event.event.type) && started())) return;
    if (plugin) await plugin.event(event);
    else if (!isClosed) missedEvents.push(event);
  };
  const leave = instances.open(input.directory, { started, event: take });

  return {
    // OpenCode reads the tools with its first prompt: after the `config` hooks of all plugins, which may add agents.
    tools: () => started()?.tool ?? {},
    ...forOthers(
      input.directory,
      settings,
      async () => started(),
      () => config,
    ),
    hooks: {
      config: async (configured) => {
        config = configured;
      },
      event: take,
      // Tool calls only once the code is loaded: no task is at work before.
      ...passedOn(() => plugin, started),
      dispose: async () => {
        leave();
        cancelTimer();
        isClosed = true;
        const wasOnlyRead = opened.isOnlyRead();
        opened.close();
        if (plugin) await plugin.dispose();
        else if (!wasOnlyRead) opening.close();
      },
    },
  };
};

/** Passes on what a hook is called with, where there is a plugin to take it. */
const passedOn = (running: () => PluginHooks | undefined, started: () => PluginHooks | undefined) =>
  ({
    "tool.execute.before": async (...args) => running()?.["tool.execute.before"](...args),
    "tool.execute.after": async (...args) => running()?.["tool.execute.after"](...args),
    "experimental.session.compacting": async (...args) => started()?.["experimental.session.compacting"](...args),
    "experimental.chat.messages.transform": async (...args) =>
      started()?.["experimental.chat.messages.transform"](...args),
  }) satisfies Hooks;

/** Gives access to the engine of a directory to who has no part in its start; `plugin` resolves to what has that engine. */
const forOthers = (
  project: string,
  settings: StartSettings,
  plugin: () => Promise<PluginHooks | undefined>,
  config: () => Config | undefined,
): Pick<DirectoryStart, "toolsOf" | "engine"> => ({
  toolsOf: (toolset) =>
    loadPlugin().createProxyTools({
      given: settings.given,
      toolsets: [toolset],
      project,
      plugin,
      configuredAgents: () => config()?.agent,
    }),
  engine: async () => {
    const running = await plugin();
    if (!running) throw new Error(`${SERVICE} could not be started in ${project}.`);
    await running.ready();
    return running.engine;
  },
});

/**
 * Creates what shows errors with `toast`. An interface that is starting may not listen yet, and misses what is shown then
 * (seen on a busy machine): the errors of a start are shown when the first session is used.
 */
const createErrorToasts = (toast: (message: string) => void) => {
  let early: string[] | undefined = [];
  return {
    show: (message: string): void => {
      if (early) early.push(message);
      else toast(message);
    },
    /** Takes the type of an event of OpenCode: one of a session says that the interface is in use. */
    onEvent: (type: string): void => {
      if (!early || !type.startsWith("session.")) return;
      for (const message of early) toast(message);
      early = undefined;
    },
  };
};

/**
 * Starts the plugin in a task's worktree as a proxy of the plugin in the project directory: a project has one engine, which
 * supervises all its tasks (docs/decisions/243-one-engine-per-project.md). A session's events, hooks and tools reach only the
 * plugin of its own directory.
 */
const startInWorktree = (
  { client, directory }: PluginInput,
  settings: StartSettings,
  project: string,
  { readDirectories, instances }: ProcessParts,
): DirectoryStart => {
  const opened = readDirectories.open(directory);
  const leave = instances.serve(directory);
  let config: Config | undefined;
  // Where OpenCode opens the worktree first. Not awaited: OpenCode waits for this instance meanwhile.
  const openProject = () => {
    if (!instances.of(project)) client.project.current({ query: { directory: project } }).catch(() => undefined);
  };
  if (!opened.isOnlyRead()) openProject();
  const work = () => {
    if (opened.isOnlyRead()) openProject();
    opened.use();
  };
  const started = () => instances.of(project)?.started();
  /** Waits for the project directory to be open. */
  const plugin = async () => {
    work();
    return (await instances.whenOpen(project)).started();
  };
  return {
    // OpenCode reads the tools only once, perhaps before the project directory is open: then each call waits for that.
    tools: () => {
      work();
      const configuredAgents = () => config?.agent;
      return loadPlugin().createProxyTools({ given: settings.given, project, plugin, configuredAgents });
    },
    ...forOthers(project, settings, plugin, () => config),
    hooks: {
      config: async (configured) => {
        config = configured;
      },
      event: async (event) => {
        if (showsWork(event.event.type)) work();
        if (!opened.isOnlyRead()) await instances.send(project, event);
      },
      ...passedOn(started, started),
      dispose: async () => {
        opened.close();
        leave();
      },
    },
  };
};
