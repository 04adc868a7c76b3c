import { type ToolDefinition, type ToolResult, tool } from "@opencode-ai/plugin";
import { type Arguments, type Reading, readArguments, type Shape } from "./arguments.ts";
import type { CallContext } from "./tool-context.ts";

/** A tool before the host has it. */
export interface ToolPlan<S extends Shape> extends Reading {
  description: string;
  args: S;
  /** How the tool answers a call whose arguments are wrong. Default: by throwing the reason, the host's way to say no. */
  refuse?: (reason: string) => ToolResult;
  /** Called with arguments that are as the shape says, and with nothing else. */
  execute(args: Arguments<S>, context: CallContext): Promise<ToolResult>;
}

const thrown = (reason: string): never => {
  throw new Error(reason);
};

/**
 * Makes a tool of a plan. The host checks no arguments (seen in 1.18.33), so every tool is made by this: what a call
 * brings is read here, once, before anything else happens.
 */
export const defineTool = <S extends Shape>({
  description,
  args,
  refuse = thrown,
  refusesBlank,
  ignoresUnknown,
  execute,
}: ToolPlan<S>): ToolDefinition =>
  tool({
    description,
    args,
    execute: async (sent, context) => {
      const read = readArguments(args, sent, { refusesBlank, ignoresUnknown });
      return read.ok ? execute(read.value, context) : refuse(read.reason);
    },
  });
