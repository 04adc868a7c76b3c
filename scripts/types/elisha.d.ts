import type { Hooks, PluginInput, ToolDefinition } from "@opencode-ai/plugin";

/** What each of the three tools answers, as JSON. Its fields are described in docs/toolsets.md. */
export type TaskResult = {
  status: "running" | "completed" | "failed" | "cancelled";
  task_id?: string;
  agent?: string;
  title?: string;
  result?: string;
  error?: string;
  code?: "AGENT_NOT_FOUND" | "SESSION_ERROR" | "TIMEOUT";
};

/** The name of the tool that creates a task. */
export declare const TOOL_TASK_ID: "elisha_task";

/**
 * Returns the tools for a plugin. They work on the engine of the directory: that of the plugin `opencode-taskchart`, with its
 * options, where it is in the configuration too, or else one that this starts. Hand out `setupTaskHooks` as well.
 */
export declare function setupTaskTools(
  ctx: PluginInput,
): Promise<Record<"elisha_task" | "elisha_task_output" | "elisha_task_cancel", ToolDefinition>>;

/** Returns the hooks by which that engine hears OpenCode, and which remind agents of their tasks after a compaction. */
export declare function setupTaskHooks(input: PluginInput): Hooks;

/**
 * Resolves to the whole text of a task's result.
 * @throws Error where there is no such task, or it has no result
 */
export declare function fetchTaskText(sessionId: string, ctx: PluginInput): Promise<string>;

/**
 * Resolves to true once a task has ended, however.
 * @throws Error where there is no such task
 */
export declare function isTaskComplete(sessionId: string, ctx: PluginInput): Promise<boolean>;

/**
 * Waits until a task has ended, for at most `timeout` milliseconds; undefined is no limit. Resolves to whether it has ended.
 * The end is delivered to the task's parent as if nobody had waited.
 * @throws Error where there is no such task, for a time below 0, and where OpenCode closes the directory meanwhile
 */
export declare function waitForTask(sessionId: string, timeout: number | undefined, ctx: PluginInput): Promise<boolean>;
