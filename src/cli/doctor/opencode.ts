import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import manifest from "../../../package.json" with { type: "json" };
import { Options, readOptions } from "../../options.ts";
import { errorMessage } from "../../services/platform/log.ts";
import type { Check, Examined } from "./machine.ts";

const run = promisify(execFile);

/** Milliseconds that OpenCode gets to answer: it starts for each question. */
const TIMEOUT_MS = 60_000;

const ask = async ({ directory, env }: Examined, ...args: string[]): Promise<string> =>
  (await run("opencode", args, { cwd: directory, env, timeout: TIMEOUT_MS, maxBuffer: 10_000_000 })).stdout;

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT";

const numbersOf = (version: string): number[] => version.split(/[.+-]/).slice(0, 3).map(Number);

/** True when a version is that one or newer. */
export const isAtLeast = (version: string, least: string): boolean => {
  const [given, wanted] = [numbersOf(version), numbersOf(least)];
  const place = wanted.findIndex((number, index) => (given[index] ?? 0) !== number);
  return place < 0 || (given[place] ?? 0) > (wanted[place] ?? 0);
};

/** The oldest version that the plugin works with, and the first that it does not work with any more. */
const [LEAST = "", BEYOND = ""] = manifest.engines.opencode.match(/\d[\d.]*/g) ?? [];

/** Looks at the version of the OpenCode in the PATH. */
export const checkOpenCode = async (examined: Examined): Promise<Check> => {
  const about = "OpenCode";
  try {
    const version = (await ask(examined, "--version")).trim();
    const isNewer = isAtLeast(version, BEYOND);
    if (isAtLeast(version, LEAST) && !isNewer) return { about, state: "ok", found: [`version ${version}`] };
    const advice = isNewer
      ? `This plugin does not work with OpenCode ${BEYOND} yet: use a version from ${LEAST} on that is older than ${BEYOND}.`
      : `Update OpenCode: opencode upgrade. This plugin needs ${LEAST} or newer.`;
    return { about, state: "wrong", found: [`version ${version}`], advice };
  } catch (error) {
    if (isMissing(error)) {
      return {
        about,
        state: "unknown",
        found: ["there is no opencode in the PATH, so its version and options are unknown"],
      };
    }
    return { about, state: "unknown", found: [`opencode --version failed: ${errorMessage(error)}`] };
  }
};

/** How far above a file the package that it belongs to is looked for. */
const MAX_LEVELS = 4;

const packageNameOf = (path: string): string | undefined => {
  let folder = path;
  for (let level = 0; level < MAX_LEVELS; level += 1) {
    const file = join(folder, "package.json");
    if (existsSync(file)) {
      const { name } = JSON.parse(readFileSync(file, "utf8")) as { name?: string };
      return name;
    }
    folder = dirname(folder);
  }
  return undefined;
};

/** True for a plugin's name in opencode.json that means this plugin: a package's, with a version or without, or a file's. */
const isThisPlugin = (spec: string): boolean => {
  if (spec === manifest.name || spec.startsWith(`${manifest.name}@`)) return true;
  const isFile = spec.startsWith("file:");
  return (isFile || spec.startsWith("/")) && packageNameOf(isFile ? fileURLToPath(spec) : spec) === manifest.name;
};

/** A plugin in a configuration, with options or without. */
type Entry = string | [string, unknown];

/** What a configuration says of this plugin, and the file, folder or variable that says it, where OpenCode names that. */
interface Named {
  options: unknown;
  source?: string;
}

/** The parts of `opencode debug config` that are read: of the files that OpenCode merges, it says which plugin is whose. */
interface Config {
  plugin?: Entry[];
  plugin_origins?: { spec: Entry; source: string }[];
}

const specOf = (entry: Entry): string => (typeof entry === "string" ? entry : entry[0]);

/** Returns what a configuration says of this plugin, once for each time that it is named. */
export const namedIn = (config: unknown): Named[] => {
  const { plugin = [], plugin_origins: origins = [] } = (config ?? {}) as Config;
  return plugin
    .filter((entry) => isThisPlugin(specOf(entry)))
    .map((entry) => {
      const source = origins.find(({ spec }) => specOf(spec) === specOf(entry))?.source;
      return { options: typeof entry === "string" ? {} : entry[1], ...(source !== undefined && { source }) };
    });
};

/** Returns what is given other than by default, such as `maxDepth 2`. */
const inForce = (given: unknown): string[] => {
  const { options } = readOptions(given);
  const defaults = Options.parse({}) as Record<string, unknown>;
  const changed = Object.entries(options).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(defaults[name]),
  );
  const words = changed.map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  return words.length === 0 ? ["all by default"] : [...words, "the others by default"];
};

/** Looks at the options of the folder that the command was called in, as OpenCode merges them from all its files. */
export const checkOptions = async (examined: Examined): Promise<Check> => {
  const about = "options";
  let config: unknown;
  try {
    config = JSON.parse(await ask(examined, "debug", "config"));
  } catch (error) {
    const reason = isMissing(error) ? "there is no opencode in the PATH" : errorMessage(error);
    return { about, state: "unknown", found: [`OpenCode's configuration cannot be read: ${reason}`] };
  }
  const [named, ...more] = namedIn(config);
  if (named === undefined) {
    const advice = `Name it in opencode.json: "plugin": ["${manifest.name}"].`;
    return { about, state: "wrong", found: [`OpenCode does not load this plugin in ${examined.directory}`], advice };
  }
  const { options, source = "opencode.json" } = named;
  const { problems } = readOptions(options);
  if (problems.length > 0) {
    return { about, state: "wrong", found: problems, advice: `Correct them in ${source}; docs/options.md lists all.` };
  }
  if (more.length > 0) {
    const sources = [named, ...more].map((each) => each.source ?? "opencode.json").join(" and in ");
    const found = [`the plugin is named ${more.length + 1} times: in ${sources}`];
    return { about, state: "wrong", found, advice: "Name it once: each copy has tools of the same names." };
  }
  return { about, state: "ok", found: [...inForce(options), `from ${source}`] };
};
