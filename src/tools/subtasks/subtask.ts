import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { own, quoteLine } from "../../services/own-text.ts";
import { hasEnded, type Task } from "../../task.ts";
import { type CallContext, closing, given, orThrow, type ToolParts } from "../context.ts";
import { launchFor } from "../launching.ts";
import { aborted, answer, resultOf } from "./result.ts";
import type { Subagent } from "./subagents.ts";

const { string, number, array } = tool.schema;

/** What becomes of a subtask when its parent's turn is aborted. */
export type OnParentCancel = "cancel" | "detach";

const REASONS: Record<OnParentCancel, string> = {
  cancel: "The calling turn was aborted; the subtask is being cancelled.",
  detach: "The calling turn was aborted. The subtask goes on; a notice comes when it ends.",
};

/** Characters of an agent's own description that its tool repeats: each is paid for on every model request. */
const DESCRIBED = 160;

/**
 * What the child is asked.
 * @throws Error for a reference that is no plain line of text.
 */
const promptOf = (title: string, intent: string | undefined, artifactRefs: string[]): string => {
  const odd = artifactRefs.find((ref) => ref.trim() === "" || /[\p{Cc}\p{Zl}\p{Zp}]/u.test(ref));
  if (odd !== undefined) throw new Error(`artifactRefs holds ${JSON.stringify(odd)}, but each must be a line of text.`);
  const prompt = given(intent) ?? title;
  if (artifactRefs.length === 0) return prompt;
  return `${prompt}\n\nArtifacts for this, as references:\n${artifactRefs.map((ref) => `- ${ref}`).join("\n")}`;
};

const isOver = (task: Task): task is Task & { status: "completed" | "error" | "cancelled" } => hasEnded(task);

/** Has an agent do a subtask, and answers only when that has come to its end, whatever it waits for meanwhile. */
export const subtaskTool = (
  { engine }: ToolParts,
  { name, description }: Subagent,
  onParentCancel: OnParentCancel,
): ToolDefinition =>
  tool({
    description: own`Have agent ${quoteLine(name)} do a subtask; returns when it has ended.${description ? own` ${quoteLine(description, DESCRIBED)}` : ""}`,
    args: {
      title: string(),
      intent: string().optional().describe("The prompt; default: the title"),
      artifactRefs: array(string()).optional().describe("Paths, URLs or ids"),
      priority: number().optional().describe("Whole number; no effect yet"),
    },
    execute: async ({ title, intent, artifactRefs = [], priority = 0 }, context: CallContext) => {
      const { sessionID, callID, abort } = context;
      if (!Number.isSafeInteger(priority)) throw new Error(`priority is ${priority}, but must be a whole number.`);
      const prompt = promptOf(title, intent, artifactRefs);
      const launched = await launchFor(context, engine, { description: title, prompt, agent: name, priority });
      if (!launched) return answer(title, aborted(name, "The calling turn was aborted; no subtask was launched."));
      const { task } = orThrow(launched);
      const taskId = task.sessionID;
      const outcome = await engine.wait({ taskIds: [taskId], sessionID, callID, signal: abort, timeoutMs: undefined });
      if (outcome === "aborted") {
        if (onParentCancel === "cancel") engine.cancelUntold(taskId);
        return answer(task.description, aborted(name, REASONS[onParentCancel], taskId));
      }
      if (outcome === "stopped") throw closing([taskId]);
      engine.markRetrieved(taskId);
      const ended = engine.get(taskId);
      if (!ended || !isOver(ended)) throw new Error(`Subtask ${taskId} was removed before its result was read.`);
      return answer(ended.description, resultOf(ended));
    },
  });
