import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { duration } from "../../services/notices.ts";
import { own } from "../../services/own-text.ts";
import type { Excerpt } from "../../services/transcript.ts";
import { hasEnded, type Task } from "../../task.ts";
import { type CallContext, closing, given, orThrow, type ToolParts } from "../context.ts";
import { tasksOf } from "./selection.ts";
import { batchOf, reportOf } from "./words.ts";

const { string, boolean, number } = tool.schema;

/** Milliseconds, as in the specifications' tool contract. Applied here: the host passes on only what was given. */
const DEFAULT_TIMEOUT = 60_000;
const LONGEST_TIMEOUT = 600_000;

const readTimeout = (timeout = DEFAULT_TIMEOUT): number => {
  if (timeout >= 0 && timeout <= LONGEST_TIMEOUT) return timeout;
  throw new Error(`timeout is ${timeout}, but must be between 0 and ${LONGEST_TIMEOUT} milliseconds.`);
};

const DEFAULT_MESSAGES = 50;

const readExcerpt = ({
  message_limit = DEFAULT_MESSAGES,
  since_message_id,
  include_tool_results = false,
}: {
  message_limit?: number | undefined;
  since_message_id?: string | undefined;
  include_tool_results?: boolean | undefined;
}): Excerpt => {
  if (!Number.isInteger(message_limit) || message_limit < 1) {
    throw new Error(`message_limit is ${message_limit}, but must be a whole number from 1 on.`);
  }
  return {
    sinceMessageId: given(since_message_id),
    messageLimit: message_limit,
    includeToolResults: include_tool_results,
  };
};

/** Shows how a task or a batch stands and what was answered; waits for the end on request. */
export const outputTool = ({ engine, clock }: ToolParts): ToolDefinition =>
  tool({
    description:
      "Status, progress and result of a background task, or a line for each task of a batch. Does not wait unless block is true.",
    args: {
      task_id: string().optional(),
      batch_id: string().optional(),
      block: boolean().optional().describe("Wait for the end (default false)"),
      timeout: number().optional().describe("ms to wait; default 60000, max 600000"),
      full_session: boolean().optional().describe("The task's conversation instead of its result"),
      message_limit: number().optional().describe("With full_session; default 50"),
      since_message_id: string().optional(),
      include_tool_results: boolean().optional(),
    },
    execute: async (args, context: CallContext) => {
      const { task_id, batch_id, block = false, timeout, full_session = false } = args;
      const wanted = readExcerpt(args);
      const timeoutMs = readTimeout(timeout);
      const [taskId, batchId] = [given(task_id), given(batch_id)];
      if ((taskId === undefined) === (batchId === undefined)) {
        throw new Error(`Give exactly one of task_id and batch_id: ${taskId === undefined ? "none" : "2"} given.`);
      }
      const taskIds = tasksOf(engine, context.sessionID, taskId, batchId).map(({ sessionID }) => sessionID);
      const { sessionID, callID, abort } = context;
      const outcome = block ? await engine.wait({ taskIds, sessionID, callID, signal: abort, timeoutMs }) : undefined;
      if (outcome === "stopped") throw closing(taskIds);
      const tasks = taskIds.flatMap((id) => engine.get(id) ?? []);
      if (full_session && batchId !== undefined) throw new Error("full_session shows one task: give task_id.");
      const waited = outcome === "timedOut" ? own`\nStill running after a wait of ${duration(timeoutMs)}.` : own``;
      if (batchId !== undefined) return own`${batchOf(batchId, tasks, clock.now())}${waited}`;
      const task = tasks[0];
      if (!task) throw new Error(`Task ${taskId} was cleared meanwhile.`);
      return {
        title: task.description,
        output: full_session
          ? orThrow(await engine.transcript(task.sessionID, wanted))
          : own`${reportOf(markRead(task), clock.now())}${waited}`,
        metadata: { sessionId: task.sessionID },
      };

      /** Notes that the result of an ended task was read. */
      function markRead(read: Task): Task {
        if (!hasEnded(read)) return read;
        engine.markRetrieved(read.sessionID);
        return orThrow(engine.find(sessionID, read.sessionID));
      }
    },
  });
