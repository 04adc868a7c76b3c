import { pathToFileURL } from "node:url";
import type { PluginSpec } from "../../test/e2e/lab/home.ts";
import { type Lab, type LabOptions, startLab } from "../../test/e2e/lab/lab.ts";
import type { ModelRequest } from "../../test/e2e/lab/model-request.ts";
import type { ScriptedCall } from "../../test/e2e/lab/reply.ts";

/** What the names of our tools begin with, unless the plugin's options say otherwise. */
export const toolPrefix = "asyncagents_";

/** A task that a parent session launched: its description, which no other task of the run has, and its session's id. */
export type Child = { description: string; sessionID: string };

/** Ours is this repository as it is built, other a second build of it that ours is compared with. */
export type ContenderName = "ours" | "other" | "built-in";

/** One of those that are measured side by side, each in an OpenCode server of its own. */
export type Contender = {
  name: ContenderName;
  lab: Lab;
  /** The tool call that launches a task in the background. */
  launch(description: string, prompt: string): ScriptedCall;
  /** The words that stand once in a notice of that child's completion, and nowhere else in what a parent is sent. */
  notice(child: Child): string;
};

type Kind = Omit<Contender, "lab"> & Pick<LabOptions, "plugin">;

/** More than any round reaches. */
const NO_LIMIT = 1_000_000;

/** The built-in has no limits, so ours are lifted: those that have a default. */
const unlimited = (plugin: URL): PluginSpec => [
  plugin.href,
  { concurrency: { default: NO_LIMIT }, budget: { tasksPerParent: NO_LIMIT }, loop: { repeat: NO_LIMIT } },
];

const ours: Kind = {
  name: "ours",
  plugin: unlimited(new URL("../..", import.meta.url)),
  launch: (description, prompt) => ({
    name: `${toolPrefix}task`,
    args: { description, prompt, agent: "general" },
  }),
  notice: ({ description }) => `**Agent "${description}" finished in `,
};

const builtIn: Kind = {
  name: "built-in",
  plugin: "none",
  launch: (description, prompt) => ({
    name: "task",
    args: { description, prompt, subagent_type: "general", background: true },
  }),
  notice: ({ sessionID }) => `<task id="${sessionID}" state="completed"`,
};

/** Without it OpenCode's own `task` tool refuses `background: true`. All servers get it, so that only the plugin differs. */
const env = { OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS: "1" };

/**
 * Starts our plugin and the built-in, hands them to `measure`, and stops their servers whatever comes of it.
 * @param against the built `index.js` of another version, to be measured as well
 */
export async function withContenders<T>(
  against: string | undefined,
  measure: (contenders: Contender[]) => Promise<T>,
): Promise<T> {
  const other: Kind[] =
    against === undefined ? [] : [{ ...ours, name: "other", plugin: unlimited(pathToFileURL(against)) }];
  const started: Contender[] = [];
  try {
    for (const { plugin, ...kind } of [ours, ...other, builtIn]) {
      started.push({ ...kind, lab: await startLab({ env, ...(plugin && { plugin }) }) });
    }
    return await measure(started);
  } finally {
    await Promise.all(started.map(({ lab }) => lab.stop()));
  }
}

/**
 * What our tools add to each model request: the UTF-8 bytes of their definitions in its `tools` array, and of the comma
 * that each of them brings.
 * @throws Error when the request is not, byte for byte in length, what writing its parsed body again gives.
 */
export function toolBytes({ body, bodyBytes, tools }: ModelRequest): { tools: number; bytes: number } {
  if (jsonBytes(body) !== bodyBytes) throw new Error("the request is not compact JSON: its bytes cannot be told apart");
  const added = tools.filter((tool) => tool.function.name.startsWith(toolPrefix));
  return { tools: added.length, bytes: added.reduce((sum, tool) => sum + jsonBytes(tool) + ",".length, 0) };
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
