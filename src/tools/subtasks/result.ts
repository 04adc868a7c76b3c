import { z } from "zod";
import { hasEnded, shortDescription, type Task } from "../../task.ts";
import { truncateField, truncateToLimit } from "../fit-output.ts";
import type { ToolDeps } from "../tool-context.ts";
import { READ } from "./tool-names.ts";

/** What a subtask's tool answers, as JSON, when the subtask has come to its end. */
export const SubtaskResult = z.strictObject({
  /** Absent when the turn was aborted before the subtask had a session. */
  taskId: z.string().optional(),
  agentId: z.string(),
  subTaskStatus: z.enum(["Success", "Error", "Cancel"]),
  /** The first paragraph of the final message. */
  summary: z.string().optional(),
  /** Why it failed; of a cancelled one, what cancelled it, or why nobody knows whether it has stopped. */
  failureReason: z.string().optional(),
  /** What the agent said last, also where it failed then: whole, but for what the host would cut of it. */
  finalAssistantMessage: z.string().optional(),
});
export type SubtaskResult = z.infer<typeof SubtaskResult>;

const STATUS = { completed: "Success", error: "Error", cancelled: "Cancel" } as const;

type EndedTask = Task & { status: keyof typeof STATUS };

export const isOver = (task: Task): task is EndedTask => hasEnded(task);

/** The wait of this call went on to the end: whoever cancelled the subtask, this call did not. */
const BY_OTHERS = "The subtask was cancelled by a person, or by another call.";

/** An ended task as its parent's agent is to have it. */
export const endOf = async (task: EndedTask, { lastWords }: ToolDeps["engine"]): Promise<SubtaskResult> => {
  const ended = { taskId: task.sessionID, agentId: task.agent, subTaskStatus: STATUS[task.status] };
  if (task.status === "completed") {
    return { ...ended, summary: truncateField(task.summary), finalAssistantMessage: task.result };
  }
  if (task.status === "cancelled") return { ...ended, failureReason: truncateField(task.failureReason ?? BY_OTHERS) };
  const said = await lastWords(task.sessionID);
  return {
    ...ended,
    failureReason: truncateField(task.failureReason),
    ...(said === undefined ? {} : { finalAssistantMessage: said }),
  };
};

/** The calling turn was aborted. */
export const aborted = (agentId: string, failureReason: string, taskId?: string): SubtaskResult => ({
  ...(taskId === undefined ? {} : { taskId }),
  agentId,
  subTaskStatus: "Cancel",
  failureReason,
});

/** The result as the host takes it, with the final message from `offset` characters on. */
export const toToolOutput = (title: string, result: SubtaskResult, offset = 0) => {
  const readOn = (next: number) => `Read on: ${READ}(taskId="${result.taskId}", offset=${next}).`;
  return {
    title: shortDescription(title),
    output: JSON.stringify(SubtaskResult.parse(truncateToLimit(result, "finalAssistantMessage", { offset, readOn }))),
    metadata: result.taskId === undefined ? {} : { sessionId: result.taskId },
  };
};
