import { z } from "zod";
import { shortDescription } from "../../services/plain.ts";
import type { Task } from "../../task.ts";
import { beside, fitting } from "../fitting.ts";

/** What a subtask's tool answers, as JSON, when the subtask has come to its end. */
export const SubtaskResult = z.strictObject({
  /** Absent when the turn was aborted before the subtask had a session. */
  taskId: z.string().optional(),
  agentId: z.string(),
  subTaskStatus: z.enum(["Success", "Error", "Cancel"]),
  /** The first paragraph of the final message. */
  summary: z.string().optional(),
  /** Why it failed; of a cancelled one, that the turn was aborted, or why nobody knows whether it has stopped. */
  failureReason: z.string().optional(),
  /** What the agent said last: whole, but for what the host would cut of it. */
  finalAssistantMessage: z.string().optional(),
});
export type SubtaskResult = z.infer<typeof SubtaskResult>;

const STATUS = { completed: "Success", error: "Error", cancelled: "Cancel" } as const;

/** An ended task as its parent's agent is to have it. */
export const resultOf = (task: Task & { status: keyof typeof STATUS }): SubtaskResult => ({
  taskId: task.sessionID,
  agentId: task.agent,
  subTaskStatus: STATUS[task.status],
  ...(task.status === "completed" ? { summary: beside(task.summary) } : {}),
  ...(task.failureReason === undefined ? {} : { failureReason: beside(task.failureReason) }),
  ...(task.status === "completed" ? { finalAssistantMessage: task.result } : {}),
});

/** The calling turn was aborted. */
export const aborted = (agentId: string, failureReason: string, taskId?: string): SubtaskResult => ({
  ...(taskId === undefined ? {} : { taskId }),
  agentId,
  subTaskStatus: "Cancel",
  failureReason,
});

const WHOLE = "The whole is in the session whose id is taskId.";

/** The result as the host takes it. */
export const answer = (title: string, result: SubtaskResult) => ({
  title: shortDescription(title),
  output: JSON.stringify(
    SubtaskResult.parse(fitting(result, "finalAssistantMessage", { offset: 0, readOn: () => WHOLE })),
  ),
  metadata: result.taskId === undefined ? {} : { sessionId: result.taskId },
});
