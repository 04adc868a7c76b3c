import { z } from "zod";
import { TASK_STATUSES } from "../../field-values.ts";
import { duration } from "../../services/text/amounts.ts";
import { join, nameOf, type OwnText, own, quoteLine } from "../../services/text/own-text.ts";
import type { TranscriptOptions } from "../../services/text/transcript.ts";
import { hasEnded, type ListedTask, type Task, type TaskWithUsage } from "../../task.ts";
import { wholeNumber } from "../arguments.ts";
import { defineTool, elsewhereError, orThrow, shutdownError, type Tool, type ToolDeps } from "../define-tool.ts";
import { formatBatch, formatReport, formatTaskList } from "./format.ts";

/**
 * Returns tasks of the session: the one with that id, those of that batch, or all.
 * @throws Error if the session has no such task or batch.
 */
export const selectTasks = (
  engine: ToolDeps["engine"],
  sessionID: string,
  taskId?: string,
  batchId?: string,
): Pick<Task, keyof Task & keyof ListedTask>[] => {
  if (taskId !== undefined) return [orThrow(engine.find(sessionID, taskId))];
  const selected = engine.list({ parentSessionID: sessionID, ...(batchId === undefined ? {} : { batchId }) });
  if (batchId === undefined || selected.length > 0) return selected;
  const batches = [...new Set(engine.list({ parentSessionID: sessionID }).map((task) => task.batchId))];
  const names = batches.length === 0 ? own`none` : join(batches.map(nameOf), ", ");
  throw new Error(own`This session has no batch ${quoteLine(batchId)}. Batches: ${names}.`);
};

/** Creates `<prefix>_list`: lists the tasks that the calling session launched. */
export const listTool = ({ engine, clock, prefix }: ToolDeps): Tool =>
  defineTool(
    { engine },
    {
      description: "List this session's background tasks.",
      args: { status: z.enum(TASK_STATUSES).optional() },
      execute: async ({ status }, { sessionID }) => {
        const tasks = engine.list({ parentSessionID: sessionID });
        const list = formatTaskList(tasks, {
          shown: (task) => status === undefined || task.status === status,
          usageOf: engine.usageOf(tasks),
          now: clock.now(),
          outputTool: `${prefix}_output`,
        });
        if (list) return list;
        const others = tasks.length === 0 ? await engine.tasksOfOriginal(sessionID) : undefined;
        return others === undefined ? "No background tasks found" : own`No background tasks found\n${others}`;
      },
    },
  );

/** Milliseconds, from the specifications. Applied here, because the host fills in no defaults. */
const DEFAULT_TIMEOUT_MS = 60_000;
const MAX_TIMEOUT_MS = 600_000;

const TIMEOUT_RULE = `be between 0 and ${MAX_TIMEOUT_MS} milliseconds`;

const DEFAULT_MESSAGES = 50;

/** Creates `<prefix>_output`: shows the status and result of a task or a batch, and waits for the end on request. */
export const outputTool = ({ engine, clock }: ToolDeps): Tool =>
  defineTool(
    { engine },
    {
      description:
        "Status, progress and result of a background task, or a line for each task of a batch. Does not wait unless block is true.",
      args: {
        task_id: z.string().trim().optional(),
        batch_id: z.string().trim().optional(),
        block: z.boolean().optional().describe("Wait for the end (default false)"),
        timeout: z
          .number(TIMEOUT_RULE)
          .refine((ms) => ms >= 0 && ms <= MAX_TIMEOUT_MS, TIMEOUT_RULE)
          .optional()
          .describe("ms to wait; default 60000, max 600000"),
        full_session: z.boolean().optional().describe("The task's conversation instead of its result"),
        message_limit: wholeNumber(1).optional().describe("With full_session; default 50"),
        since_message_id: z.string().trim().optional(),
        include_tool_results: z.boolean().optional(),
      },
      execute: async (args, context) => {
        const { task_id: taskId, batch_id: batchId, block = false, full_session = false } = args;
        const { timeout: timeoutMs = DEFAULT_TIMEOUT_MS } = args;
        const wanted: TranscriptOptions = {
          sinceMessageId: args.since_message_id,
          messageLimit: args.message_limit ?? DEFAULT_MESSAGES,
          includeToolResults: args.include_tool_results ?? false,
        };
        if ((taskId === undefined) === (batchId === undefined)) {
          throw new Error(`Give exactly one of task_id and batch_id: ${taskId === undefined ? "none" : "2"} given.`);
        }
        if (full_session && batchId !== undefined) throw new Error("full_session shows one task: give task_id.");
        const taskIds = selectTasks(engine, context.sessionID, taskId, batchId).map(({ sessionID }) => sessionID);
        const { sessionID, callID, abort } = context;
        const outcome = block ? await engine.wait({ taskIds, sessionID, callID, signal: abort, timeoutMs }) : undefined;
        if (outcome === "stopped") throw shutdownError(taskIds);
        if (outcome === "elsewhere") throw elsewhereError();
        const tasks = taskIds.flatMap((id) => engine.get(id) ?? []);
        const [only] = tasks;
        const changes = taskId !== undefined && only ? await engine.changesOf(only) : undefined;
        const waited = outcome === "timedOut" ? own`\nStill running after a wait of ${duration(timeoutMs)}.` : own``;
        if (batchId !== undefined) return own`${formatBatch(batchId, tasks, clock.now())}${waited}`;
        const task = tasks[0];
        if (!task) throw new Error(`Task ${taskId} was cleared meanwhile.`);
        return {
          title: task.description,
          output: full_session
            ? orThrow(await engine.transcript(task.sessionID, wanted))
            : own`${report(task)}${waited}`,
          metadata: { sessionId: task.sessionID },
        };

        /** Writes the report, and records that the result of an ended task has been read. */
        function report(read: TaskWithUsage): OwnText {
          if (hasEnded(read)) engine.markRetrieved(read);
          return formatReport(read, clock.now(), changes);
        }
      },
    },
  );
