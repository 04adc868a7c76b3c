import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "@opencode-ai/sdk/v2/client";
import { checkJournals } from "../../fakes/checked-journals.ts";

/** How OpenCode is to be started; the same for the server and for `opencode run`. */
export type OpenCodeOptions = {
  /** The base URL of the model server, see `ScriptedModel.url`. */
  modelURL: string;
  /** Plugin specs as in opencode.json, e.g. `file:///…/dist/index.js`, with options or without. */
  plugins: PluginSpec[];
  /** A home folder that exists already, for restarts; it is left in place. Default: a new one, removed at the end. */
  home?: string;
  /** The folder that OpenCode works in. Default: `project` inside the home, a plain folder without git. */
  project?: string;
  /** Merged into the configuration, objects deeply, everything else replaced. */
  config?: Config;
  /** Merged into the environment; `undefined` takes a variable away. */
  env?: Record<string, string | undefined>;
  /** Leave a new home in place at the end, to look into it. Default false. */
  keep?: boolean;
};

/** A plugin with options or without, as `opencode.json` has it. */
export type PluginSpec = string | [string, Record<string, unknown>];

/** Everything that a started OpenCode needs around it. */
export type Home = { home: string; project: string; env: Record<string, string>; remove(): Promise<void> };

/** Makes, or completes, a home in which OpenCode starts at once, alone and offline. */
export async function prepareHome(options: OpenCodeOptions): Promise<Home> {
  const home = options.home ?? (await newHome());
  const project = options.project ?? join(home, "project");
  const configFolder = join(home, "config", "opencode");
  await mkdir(project, { recursive: true });
  await lookInstalled(configFolder);
  await writeFile(catalogue(home), "{}");
  return {
    home,
    project,
    env: environment(home, options),
    async remove() {
      if (options.home === undefined && !options.keep) await removeHome(home);
    },
  };
}

/** OpenCode installs @opencode-ai/plugin into each of its config folders and waits for npm, unless it looks installed already. */
export async function lookInstalled(configFolder: string): Promise<void> {
  await mkdir(join(configFolder, "node_modules"), { recursive: true });
  const lock = { packages: { "": { dependencies: { "@opencode-ai/plugin": "*" } } } };
  await writeFile(join(configFolder, "package-lock.json"), JSON.stringify(lock));
}

/** An empty folder for one OpenCode, or for several in turn. */
export function newHome(): Promise<string> {
  return mkdtemp(join(tmpdir(), "taskchart-lab-"));
}

/** Where the plugin keeps its tasks in a home. */
export const taskDatabase = (home: string): string => join(home, "data", "opencode-taskchart", "tasks.db");

/** Removes a home, after all journals in it were held against what is promised of journals. */
export async function removeHome(home: string): Promise<void> {
  try {
    checkJournals(taskDatabase(home));
  } finally {
    // A process that was just killed may still have files on their way out, hence the retries.
    await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

function environment(home: string, options: OpenCodeOptions): Record<string, string> {
  const env: Record<string, string | undefined> = {
    PATH: process.env.PATH,
    HOME: home,
    OPENCODE_TEST_HOME: home,
    XDG_CONFIG_HOME: join(home, "config"),
    XDG_DATA_HOME: join(home, "data"),
    XDG_STATE_HOME: join(home, "state"),
    XDG_CACHE_HOME: join(home, "cache"),
    OPENCODE_AUTH_CONTENT: "{}",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_PROJECT_CONFIG: "1",
    // The catalogue of all models in the world costs the first prompt 1.4 s; this one is empty.
    OPENCODE_MODELS_PATH: catalogue(home),
    // Not a file in the home: so each start says all of its own configuration, a restart with other options included.
    OPENCODE_CONFIG_CONTENT: JSON.stringify(configuration(options)),
    ...options.env,
  };
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function catalogue(home: string): string {
  return join(home, "models.json");
}

function configuration({ modelURL, plugins, config = {} }: OpenCodeOptions): unknown {
  const model = { tool_call: true, limit: { context: 100_000, output: 4096 } };
  const base = {
    plugin: plugins,
    model: "scripted/m1",
    small_model: "scripted/m1",
    share: "disabled",
    formatter: false,
    lsp: false,
    // OpenCode asks for nothing else by itself. No "*": it would lift what agents such as explore deny.
    permission: { doom_loop: "allow", external_directory: "allow", read: "allow" },
    provider: {
      scripted: {
        npm: "@ai-sdk/openai-compatible",
        name: "Scripted",
        options: { baseURL: modelURL, apiKey: "none" },
        models: { m1: { name: "M1", ...model }, m2: { name: "M2", ...model } },
      },
    },
  };
  return merge(base, config);
}

function merge(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) return over === undefined ? base : over;
  const keys = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries([...keys].map((key) => [key, merge(base[key], over[key])]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
