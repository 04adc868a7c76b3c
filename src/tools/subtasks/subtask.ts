import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { own, quoteLine } from "../../services/text/own-text.ts";
import { defineTool } from "../define-tool.ts";
import { launchForCaller } from "../launch-for-caller.ts";
import { orThrow, shutdownError, type ToolDeps } from "../tool-context.ts";
import { promptOf } from "./prompt.ts";
import { aborted, endOf, isOver, toToolOutput } from "./result.ts";
import type { Subagent } from "./subagents.ts";

const { string, number, array, looseObject, union, enum: oneOf } = tool.schema;

/** What becomes of a subtask when its parent's turn is aborted. */
export type OnParentCancel = "cancel" | "detach";

const REASONS: Record<OnParentCancel, string> = {
  cancel: "The calling turn was aborted; the subtask is being cancelled.",
  detach: "The calling turn was aborted. The subtask goes on; a notice comes when it ends.",
};

/** Characters of an agent's own description that its tool repeats: each is paid for on every model request. */
const DESCRIBED = 160;

/** Higher ones are to get a slot first. The words of Coauthor's tasks are among these. */
const PRIORITIES = { background: -1, low: -1, normal: 0, high: 1, foreground: 1 } as const;

const WORDS = ["low", "normal", "high", "background", "foreground"] as const;

const A_PRIORITY = 'be a whole number, "low", "normal" or "high"';

const A_REFERENCE = "be a line of text, or an object of such lines with a path or a URI";

/** Has an agent do a subtask, and answers only when that has come to its end, whatever it waits for meanwhile. */
export const subtaskTool = (
  { engine }: ToolDeps,
  { name, description }: Subagent,
  onParentCancel: OnParentCancel,
): ToolDefinition =>
  defineTool({
    description: own`Have agent ${quoteLine(name)} do a subtask; returns when it has ended.${description ? own` ${quoteLine(description, DESCRIBED)}` : ""}`,
    args: {
      title: string(),
      intent: string().optional().describe("The prompt; default: the title"),
      artifactRefs: array(union([string(), looseObject({})], A_REFERENCE))
        .optional()
        .describe("Paths, URLs or ids; or objects with a path or uri"),
      priority: union([number().refine(Number.isSafeInteger, A_PRIORITY), oneOf(WORDS)], A_PRIORITY)
        .optional()
        .describe("No effect yet"),
    },
    ignoresUnknown: true,
    execute: async ({ title, intent, artifactRefs = [], priority: urgency = 0 }, context) => {
      const { sessionID, callID, abort } = context;
      const priority = typeof urgency === "number" ? urgency : PRIORITIES[urgency];
      const prompt = promptOf(title, intent, artifactRefs);
      const launched = await launchForCaller(context, engine, { description: title, prompt, agent: name, priority });
      if (!launched)
        return toToolOutput(title, aborted(name, "The calling turn was aborted; no subtask was launched."));
      const { task } = orThrow(launched);
      const taskId = task.sessionID;
      const outcome = await engine.wait({ taskIds: [taskId], sessionID, callID, signal: abort, timeoutMs: undefined });
      if (outcome === "aborted") {
        if (onParentCancel === "cancel") engine.cancelSilently(taskId);
        return toToolOutput(task.description, aborted(name, REASONS[onParentCancel], taskId));
      }
      if (outcome === "stopped") throw shutdownError([taskId]);
      engine.markRetrieved(taskId);
      const ended = engine.get(taskId);
      if (!ended || !isOver(ended)) throw new Error(`Subtask ${taskId} was removed before its result was read.`);
      return toToolOutput(ended.description, await endOf(ended, engine));
    },
  });
