import { tool } from "@opencode-ai/plugin";
import { z } from "zod";
import type { ToolNames } from "../../services/text/notice-text.ts";
import { own, quoteLine } from "../../services/text/own-text.ts";
import { whatResultLacks } from "../../services/text/result-text.ts";
import { queueSummary } from "../../services/text/task-state.ts";
import { hasEnded, shortDescription, type Task } from "../../task.ts";
import { quoted, wholeNumber } from "../arguments.ts";
import {
  defineTool,
  elsewhereError,
  launchForCaller,
  orThrow,
  shutdownError,
  type Tool,
  type ToolDeps,
  truncateField,
  truncateToLimit,
} from "../define-tool.ts";
import { PREFIX, READ_TOOL, type Subagent, subtaskNames } from "./subagents.ts";

/** The answer of a subtask's tool, as JSON, after the subtask has ended. */
export const SubtaskResult = z.strictObject({
  /** Absent if the turn was aborted before the subtask had a session. */
  taskId: z.string().optional(),
  agentId: z.string(),
  subTaskStatus: z.enum(["Success", "Error", "Cancel"]),
  /** The first paragraph of the final message. */
  summary: z.string().optional(),
  /**
   * Why it failed; of one that did not fail, what its final message lacks; of a cancelled one, what cancelled it, or why it is
   * unknown whether it has stopped.
   */
  failureReason: z.string().optional(),
  /** The agent's last message, even if the agent failed after it. It is only cut to the host's limit. */
  finalAssistantMessage: z.string().optional(),
});
export type SubtaskResult = z.infer<typeof SubtaskResult>;

const STATUS = { completed: "Success", error: "Error", cancelled: "Cancel" } as const;

type EndedTask = Task & { status: keyof typeof STATUS };

/** True for a task without a run under way. */
export const isEnded = (task: Task): task is EndedTask => hasEnded(task);

/** Reports that a subtask has no result yet, and where in the queue it is. */
const notEnded = (task: Task): string => {
  const queued = queueSummary(task);
  return `Subtask ${task.sessionID} has not ended yet${queued ? ` (${queued})` : ""}; you get a notice when it does.`;
};

/** For a subtask that was cancelled while this call waited for it: the caller itself did not cancel it. */
const CANCELLED_BY_OTHERS = "The subtask was cancelled by a person, or by another call.";

/** Describes an ended subtask for the calling agent. */
export const endedResult = async (task: EndedTask, { lastWords }: ToolDeps["engine"]): Promise<SubtaskResult> => {
  const ended = { taskId: task.sessionID, agentId: task.agent, subTaskStatus: STATUS[task.status] };
  if (task.status === "completed") {
    const lacks = whatResultLacks(task);
    return {
      ...{ ...ended, summary: truncateField(task.summary), finalAssistantMessage: task.result },
      ...(lacks === undefined ? {} : { failureReason: truncateField(lacks) }),
    };
  }
  if (task.status === "cancelled")
    return { ...ended, failureReason: truncateField(task.failureReason ?? CANCELLED_BY_OTHERS) };
  const lastMessage = await lastWords(task.sessionID);
  return {
    ...ended,
    failureReason: truncateField(task.failureReason),
    ...(lastMessage === undefined ? {} : { finalAssistantMessage: lastMessage }),
  };
};

/** Describes a subtask whose calling turn was aborted. */
const abortedResult = (agentId: string, failureReason: string, taskId?: string): SubtaskResult => ({
  ...(taskId === undefined ? {} : { taskId }),
  agentId,
  subTaskStatus: "Cancel",
  failureReason,
});

/** Converts a result to a tool's output, with the final message from `offset` characters on. */
const subtaskOutput = (title: string, result: SubtaskResult, offset = 0) => {
  const readOn = (next: number) => `Read on: ${READ_TOOL}(taskId="${result.taskId}", offset=${next}).`;
  return {
    title: shortDescription(title),
    output: JSON.stringify(SubtaskResult.parse(truncateToLimit(result, "finalAssistantMessage", { offset, readOn }))),
    metadata: result.taskId === undefined ? {} : { sessionId: result.taskId },
  };
};

/**
 * A reference to something that the subtask needs: a line of text, or an object whose values are such lines, as the
 * specification (from a system called Coauthor) has them.
 */
type ArtifactRef = string | Record<string, unknown>;

const isLine = (text: string): boolean => text.trim() !== "" && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);

/** Fields that say where the artifact is; other fields give details. */
const LOCATION_FIELDS = ["path", "uri", "url"];

/** Returns a field's value as text, or undefined if it does not fit on one line. */
const lineOf = (value: unknown): string | undefined => {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && isLine(value) ? value : undefined;
};

/** Writes a reference on one line, such as `docs/plan.md (kind: file_range, lineStart: 3)`; undefined if that is impossible. */
const textOf = (ref: ArtifactRef): string | undefined => {
  if (typeof ref === "string") return lineOf(ref);
  const fields = Object.entries(ref).filter(([, value]) => value !== null);
  const lines = fields.map(([name, value]) => ({ name, line: isLine(name) ? lineOf(value) : undefined }));
  if (lines.length === 0 || lines.some(({ line }) => line === undefined)) return undefined;
  const location = lines.find(({ name }) => LOCATION_FIELDS.includes(name));
  const others = lines.filter((field) => field !== location).map(({ name, line }) => `${name}: ${line}`);
  if (location === undefined) return others.join(", ");
  return others.length === 0 ? location.line : `${location.line} (${others.join(", ")})`;
};

/**
 * Writes the prompt of a subtask: the intent (without one, the title) and its artifacts.
 * @throws Error for a reference that cannot be written on one line.
 */
const promptOf = (title: string, intent: string | undefined, artifactRefs: ArtifactRef[]): string => {
  const lines = artifactRefs.map((ref) => {
    const line = textOf(ref);
    if (line !== undefined) return `- ${line}`;
    throw new Error(
      `artifactRefs holds ${quoted(ref)}, but each must be a line of text, or an object of such lines with a path or a URI.`,
    );
  });
  const prompt = intent ?? title;
  return lines.length === 0 ? prompt : `${prompt}\n\nArtifacts for this, as references:\n${lines.join("\n")}`;
};

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
const subtaskTool = (deps: ToolDeps, { name, description }: Subagent, onParentCancel: OnParentCancel): Tool =>
  defineTool(deps.engine, {
    description: own`Have agent ${quoteLine(name)} do a subtask; returns when it has ended.${description ? own` ${quoteLine(description, AGENT_DESCRIPTION_CHARS)}` : ""}`,
    args: {
      title: tool.schema.string(),
      intent: tool.schema.string().optional().describe("The prompt; default: the title"),
      artifactRefs: tool.schema
        .array(tool.schema.union([tool.schema.string(), tool.schema.looseObject({})], A_REFERENCE))
        .optional()
        .describe("Paths, URLs or ids; or objects with a path or uri"),
      priority: tool.schema
        .union(
          [tool.schema.number().refine(Number.isSafeInteger, A_PRIORITY), tool.schema.enum(PRIORITY_WORDS)],
          A_PRIORITY,
        )
        .optional()
        .describe("The higher, the sooner it gets a slot"),
    },
    ignoresUnknown: true,
    execute: async ({ title, intent, artifactRefs = [], priority: urgency = 0 }, context) => {
      const { engine } = deps;
      const { sessionID, callID, abort } = context;
      const priority = typeof urgency === "number" ? urgency : PRIORITIES[urgency];
      const prompt = promptOf(title, intent, artifactRefs);
      const launched = await launchForCaller(context, deps, { description: title, prompt, agent: name, priority });
      if (!launched)
        return subtaskOutput(title, abortedResult(name, "The calling turn was aborted; no subtask was launched."));
      const { task } = orThrow(launched);
      const taskId = task.sessionID;
      const outcome = await engine.wait({ taskIds: [taskId], sessionID, callID, signal: abort, timeoutMs: undefined });
      if (outcome === "aborted") {
        if (onParentCancel === "cancel") engine.cancelSilently(taskId);
        return subtaskOutput(task.description, abortedResult(name, ABORT_REASONS[onParentCancel], taskId));
      }
      if (outcome === "stopped") throw shutdownError([taskId]);
      if (outcome === "elsewhere") throw elsewhereError();
      const ended = engine.get(taskId);
      if (!ended || !isEnded(ended)) throw new Error(`Subtask ${taskId} was removed before its result was read.`);
      engine.markRetrieved(ended);
      return subtaskOutput(ended.description, await endedResult(ended, engine));
    },
  });

/** Creates `read_subtask`: reads more of a subtask's answer that was too long for one tool output. */
const readTool = ({ engine }: ToolDeps): Tool =>
  defineTool(engine, {
    description: "Read more of a subtask's truncated answer.",
    args: {
      taskId: tool.schema.string().trim(),
      offset: wholeNumber(0).optional().describe("Characters to skip"),
    },
    execute: async ({ taskId, offset }, { sessionID }) => {
      const task = orThrow(engine.find(sessionID, taskId));
      if (!isEnded(task)) throw new Error(notEnded(task));
      engine.markRetrieved(task);
      return subtaskOutput(task.description, await endedResult(task, engine), offset);
    },
  });

/** The names under which texts mention these tools. Each call returns its result, so there is no output, list or resume. */
export const subtasksNames: ToolNames = {
  launch: `${PREFIX}<agent>`,
  output: undefined,
  list: undefined,
  resume: undefined,
};

/** Creates the tools of the toolset `subtasks`: one for each subagent, and one that reads the rest of a truncated answer. */
export const subtasksToolset = (
  deps: ToolDeps,
  subagents: Subagent[],
  onParentCancel: OnParentCancel,
): Record<string, Tool> => {
  const names = subtaskNames(subagents.map(({ name }) => name));
  const tools = subagents.map((subagent) => [names.get(subagent.name), subtaskTool(deps, subagent, onParentCancel)]);
  return { ...Object.fromEntries(tools), [READ_TOOL]: readTool(deps) };
};
