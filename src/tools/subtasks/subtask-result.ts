import { z } from "zod";
import { whatResultLacks } from "../../services/text/result-text.ts";
import { queueSummary } from "../../services/text/task-state.ts";
import { hasEnded, shortDescription, type Task } from "../../task.ts";
import type { ToolDeps } from "../define-tool.ts";
import { truncateField, truncateToLimit } from "../fit-output.ts";
import { READ_TOOL } from "./subagents.ts";

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
export const notEnded = (task: Task): string => {
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
export const abortedResult = (agentId: string, failureReason: string, taskId?: string): SubtaskResult => ({
  ...(taskId === undefined ? {} : { taskId }),
  agentId,
  subTaskStatus: "Cancel",
  failureReason,
});

/** Converts a result to a tool's output, with the final message from `offset` characters on. */
export const subtaskOutput = (title: string, result: SubtaskResult, offset = 0) => {
  const readOn = (next: number) => `Read on: ${READ_TOOL}(taskId="${result.taskId}", offset=${next}).`;
  return {
    title: shortDescription(title),
    output: JSON.stringify(SubtaskResult.parse(truncateToLimit(result, "finalAssistantMessage", { offset, readOn }))),
    metadata: result.taskId === undefined ? {} : { sessionId: result.taskId },
  };
};
