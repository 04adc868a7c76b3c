import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { own, quoteLine } from "../../services/text/own-text.ts";
import { defineTool, orThrow, shutdownError, type ToolDeps } from "../define-tool.ts";
import { launchForCaller } from "../launch-for-caller.ts";
import { promptOf } from "./prompt.ts";
import { abortedResult, endedResult, isEnded, toToolOutput } from "./result.ts";
import type { Subagent } from "./subagents.ts";

const { string, number, array, looseObject, union, enum: oneOf } = tool.schema;

/** What happens to a subtask when the turn that waits for it is aborted. */
export type OnParentCancel = "cancel" | "detach";

const ABORT_REASONS: Record<OnParentCancel, string> = {
  cancel: "The calling turn was aborted; the subtask is being cancelled.",
  detach: "The calling turn was aborted. The subtask continues; you get a notice when it ends.",
};

/** Characters of an agent's description that its tool repeats. They cost tokens in every model request. */
const AGENT_DESCRIPTION_CHARS = 160;

/** Tasks with a higher priority are to get a slot first. `background` and `foreground` are the specification's words. */
const PRIORITIES = { background: -1, low: -1, normal: 0, high: 1, foreground: 1 } as const;

const PRIORITY_WORDS = ["low", "normal", "high", "background", "foreground"] as const;

const A_PRIORITY = 'be a whole number, "low", "normal" or "high"';

const A_REFERENCE = "be a line of text, or an object of such lines with a path or a URI";

/**
 * Creates `create_subtask_<agent>`: launches a subtask and waits until it has ended, even while the subtask waits for the
 * user.
 */
export const subtaskTool = (
  { engine }: ToolDeps,
  { name, description }: Subagent,
  onParentCancel: OnParentCancel,
): ToolDefinition =>
  defineTool({
    description: own`Have agent ${quoteLine(name)} do a subtask; returns when it has ended.${description ? own` ${quoteLine(description, AGENT_DESCRIPTION_CHARS)}` : ""}`,
    args: {
      title: string(),
      intent: string().optional().describe("The prompt; default: the title"),
      artifactRefs: array(union([string(), looseObject({})], A_REFERENCE))
        .optional()
        .describe("Paths, URLs or ids; or objects with a path or uri"),
      priority: union([number().refine(Number.isSafeInteger, A_PRIORITY), oneOf(PRIORITY_WORDS)], A_PRIORITY)
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
        return toToolOutput(title, abortedResult(name, "The calling turn was aborted; no subtask was launched."));
      const { task } = orThrow(launched);
      const taskId = task.sessionID;
      const outcome = await engine.wait({ taskIds: [taskId], sessionID, callID, signal: abort, timeoutMs: undefined });
      if (outcome === "aborted") {
        if (onParentCancel === "cancel") engine.cancelSilently(taskId);
        return toToolOutput(task.description, abortedResult(name, ABORT_REASONS[onParentCancel], taskId));
      }
      if (outcome === "stopped") throw shutdownError([taskId]);
      engine.markRetrieved(taskId);
      const ended = engine.get(taskId);
      if (!ended || !isEnded(ended)) throw new Error(`Subtask ${taskId} was removed before its result was read.`);
      return toToolOutput(ended.description, await endedResult(ended, engine));
    },
  });
