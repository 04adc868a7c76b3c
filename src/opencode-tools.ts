import type { ToolDefinition } from "@opencode-ai/plugin";
import type { CallContext, Tool } from "./tools/define-tool.ts";

/**
 * Turns tools into those of OpenCode 1. Its types lack two things that it passes to a call (seen in 1.18.33): the id of the
 * call, and whether the user named an agent in the prompt.
 */
export const toOpencodeTools = (tools: Record<string, Tool>): Record<string, ToolDefinition> =>
  Object.fromEntries(
    Object.entries(tools).map(([name, { description, args, execute }]) => [
      name,
      { description, args, execute: (sent, context) => execute(sent, context as CallContext) } satisfies ToolDefinition,
    ]),
  );
