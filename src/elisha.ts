// What the specification of Elisha's task domain exports, for plugins that were written for it: they import it from here.
import type { Hooks, PluginInput } from "@opencode-ai/plugin";
import { elishaHooksIn, elishaToolsIn, engineIn } from "./shared-start.ts";
import type { Tool } from "./tools/define-tool.ts";
import { CANCEL, OUTPUT, TASK } from "./tools/elisha/names.ts";
import { isComplete, textOf, waitUntilComplete } from "./tools/elisha/task-utilities.ts";

export const TOOL_TASK_ID = TASK;

/** Creates a tool of which nothing is loaded until OpenCode reads it: OpenCode waits while a plugin makes its tools. */
const readLater = (name: string, tools: () => Record<string, Tool>): Tool => {
  const made = (): Tool => {
    const tool = tools()[name];
    if (!tool) throw new Error(`The toolset elisha has no tool ${name}.`);
    return tool;
  };
  return {
    get description() {
      return made().description;
    },
    get args() {
      return made().args;
    },
    execute: (args, context) => made().execute(args, context),
  };
};

/** Returns the three tools for a plugin. They work on the engine of the directory, which their first call starts. */
export const setupTaskTools = async (ctx: PluginInput) => {
  const tools = elishaToolsIn(ctx);
  return { [TASK]: readLater(TASK, tools), [OUTPUT]: readLater(OUTPUT, tools), [CANCEL]: readLater(CANCEL, tools) };
};

/**
 * Returns the hooks by which the engine of the directory hears OpenCode, and which remind agents of their tasks after a
 * compaction. Where the plugin is in the configuration too, they do nothing: it has its own.
 */
export const setupTaskHooks = (input: PluginInput): Hooks => elishaHooksIn(input);

/**
 * Resolves to the whole text of a task's result.
 * @throws Error where there is no such task, or it has no result
 */
export const fetchTaskText = async (sessionId: string, ctx: PluginInput): Promise<string> =>
  textOf(await engineIn(ctx), sessionId);

/**
 * Resolves to true once a task has ended, however.
 * @throws Error where there is no such task
 */
export const isTaskComplete = async (sessionId: string, ctx: PluginInput): Promise<boolean> =>
  isComplete(await engineIn(ctx), sessionId);

/**
 * Waits until a task has ended, for at most `timeout` milliseconds; without one there is no limit. Resolves to whether it has.
 * @throws Error where there is no such task, for a time below 0, and where OpenCode closes the directory meanwhile
 */
export const waitForTask = async (sessionId: string, timeout: number | undefined, ctx: PluginInput): Promise<boolean> =>
  waitUntilComplete(await engineIn(ctx), sessionId, timeout);
