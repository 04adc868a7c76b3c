import { tool } from "@opencode-ai/plugin";
import { TASK_STATUSES, WAKES } from "../../field-values.ts";
import { duration } from "../../services/text/amounts.ts";
import { runsHere } from "../../services/text/model-and-server.ts";
import type { ToolNames } from "../../services/text/notice-text.ts";
import { join, lines, nameOf, type OwnText, own, quoteLine, vouchFor } from "../../services/text/own-text.ts";
import { queueSummary } from "../../services/text/task-state.ts";
import type { TranscriptOptions } from "../../services/text/transcript.ts";
import { whyKept } from "../../services/text/worktree-text.ts";
import { addUp, countTasks, hasEnded, type ListedTask, listedTask, type Task, type TaskWithUsage } from "../../task.ts";
import { wholeNumber } from "../arguments.ts";
import {
  type CallContext,
  defineTool,
  elsewhereError,
  launchForCaller,
  orThrow,
  requirePermission,
  shutdownError,
  type Tool,
  type ToolDeps,
} from "../define-tool.ts";
import { batchHeading, formatBatch, formatReport, formatStanding, formatTaskId, formatTaskList } from "./format.ts";
import { createRepeatedQuestions, type RepeatedQuestions } from "./repeated-questions.ts";

/**
 * Returns tasks of the session: the one with that id, those of that batch, or all.
 * @throws Error if the session has no such task or batch.
 */
const selectTasks = (
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

/** Answers a question that was asked before in vain: how things stand, and what will happen by itself. */
const answerInShort = ({ prefix, isHeadless }: ToolDeps, standing: OwnText): OwnText => {
  const next = isHeadless
    ? own`To wait for an end, call ${nameOf(prefix)}_output with block: true.`
    : own`You will be notified of each end: continue with other work, or end your turn.`;
  return own`${standing}\nNothing has changed since you last asked. ${next}`;
};

/** Creates `<prefix>_list`: lists the tasks that the calling session launched. */
const listTool = (deps: ToolDeps, { isRepeated }: RepeatedQuestions): Tool => {
  const { engine, clock, prefix } = deps;
  return defineTool(engine, {
    description: "List this session's background tasks.",
    args: { status: tool.schema.enum(TASK_STATUSES).optional() },
    execute: async ({ status }, { sessionID }) => {
      const tasks = engine.list({ parentSessionID: sessionID });
      if (isRepeated(sessionID, `list ${status}`, tasks)) {
        const { ended, total } = countTasks(tasks);
        return answerInShort(deps, own`${ended} of ${total} tasks have ended.`);
      }
      const list = formatTaskList(tasks, {
        shown: (task) => status === undefined || task.status === status,
        usageOf: engine.usageOf(tasks),
        now: clock.now(),
        outputTool: `${prefix}_output`,
        maxTasks: deps.listedTasks,
      });
      if (list) return list;
      const others = tasks.length === 0 ? await engine.tasksOfOriginal(sessionID) : undefined;
      return others === undefined ? "No background tasks found" : own`No background tasks found\n${others}`;
    },
  });
};

/** Milliseconds, from the specifications. Applied here, because the host fills in no defaults. */
const DEFAULT_TIMEOUT_MS = 60_000;
const MAX_TIMEOUT_MS = 600_000;

const TIMEOUT_RULE = `be between 0 and ${MAX_TIMEOUT_MS} milliseconds`;

const DEFAULT_MESSAGES = 50;

/** Creates `<prefix>_output`: shows the status and result of a task or a batch, and waits for the end on request. */
const outputTool = (deps: ToolDeps, { isRepeated }: RepeatedQuestions): Tool => {
  const { engine, clock } = deps;
  return defineTool(engine, {
    description:
      "Status, progress and result of a background task, or a line for each task of a batch. Does not wait unless block is true.",
    args: {
      task_id: tool.schema.string().trim().optional(),
      batch_id: tool.schema.string().trim().optional(),
      block: tool.schema.boolean().optional().describe("Wait for the end (default false)"),
      timeout: tool.schema
        .number(TIMEOUT_RULE)
        .refine((ms) => ms >= 0 && ms <= MAX_TIMEOUT_MS, TIMEOUT_RULE)
        .optional()
        .describe("ms to wait; default 60000, max 600000"),
      full_session: tool.schema.boolean().optional().describe("The task's conversation instead of its result"),
      message_limit: wholeNumber(1).optional().describe("With full_session; default 50"),
      since_message_id: tool.schema.string().trim().optional(),
      include_tool_results: tool.schema.boolean().optional(),
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
      const question = `output ${taskId ?? ""} ${batchId ?? ""}`;
      if (!block && !full_session && isRepeated(sessionID, question, tasks.map(listedTask))) {
        return answerInShort(deps, standing());
      }
      const [only] = tasks;
      const changes = taskId !== undefined && only ? await engine.changesOf(only) : undefined;
      const compared = taskId !== undefined && only ? await engine.compareGate(only) : only;
      const waited = outcome === "timedOut" ? own`\nStill running after a wait of ${duration(timeoutMs)}.` : own``;
      if (batchId !== undefined) return own`${formatBatch(batchId, tasks, clock.now())}${waited}`;
      const task = compared;
      if (!task) throw new Error(`Task ${taskId} was cleared meanwhile.`);
      return {
        title: task.description,
        output: full_session ? orThrow(await engine.transcript(task.sessionID, wanted)) : own`${report(task)}${waited}`,
        metadata: { sessionId: task.sessionID },
      };

      /** Writes how things stand in few words. */
      function standing(): OwnText {
        if (batchId !== undefined) return batchHeading(batchId, tasks, addUp(tasks.map(({ usage }) => usage)));
        return lines(...tasks.map((one) => formatStanding(one, clock.now())));
      }

      /** Writes the report, and records that the result of an ended task has been read. */
      function report(read: TaskWithUsage): OwnText {
        if (hasEnded(read)) engine.markRetrieved(read);
        return formatReport(read, clock.now(), changes);
      }
    },
  });
};

const nextStep = ({ prefix, isHeadless }: ToolDeps, { wake }: Pick<Task, "wake">): OwnText => {
  if (isHeadless) {
    return own`This run of OpenCode ends with your answer, and the task with it: collect its result with ${nameOf(prefix)}_output and block: true before you answer.`;
  }
  const when = wake === "all" ? own`when all of its batch have ended, or one has failed` : own`when it ends`;
  return own`You will be notified ${when}. Continue with other work, or end your turn and wait.`;
};

/** Reports that a task which cannot start yet will; empty for one that has. */
const queueNote = (task: Task): OwnText => {
  const queued = queueSummary(task);
  return queued === undefined ? own`` : own` It is ${queued}. It starts by itself.`;
};

/** Reports that a task which was asked to go on will, and what would have it go on sooner. */
const goesOnLater = ({ prefix }: ToolDeps, task: Task, run: NonNullable<Task["nextRun"]>) => ({
  title: task.description,
  output: own`Task ${nameOf(task.sessionID)} has a result that is still to be delivered to you. It goes on with what you gave it as soon as that is done (${run} #${task.resumeCount + 1}), and you will be notified when that ends. To have it go on now, read the result with ${nameOf(prefix)}_output and block: true.`,
  metadata: { sessionId: task.sessionID },
});

const steerTask = async (deps: ToolDeps, id: string, prompt: string, context: CallContext) => {
  const parentSessionID = context.sessionID;
  const { sessionID: taskId, agent, description } = orThrow(deps.engine.find(parentSessionID, id));
  await requirePermission(deps, context, agent, description);
  orThrow(deps.engine.steer({ parentSessionID, taskId, prompt, from: "agent" }));
  return {
    title: description,
    output: own`Task ${nameOf(taskId)} was given the instruction: its agent sees it at its next step. You will still be notified when the task ends, and told if its agent never saw it.`,
    metadata: { sessionId: taskId },
  };
};

/** The arguments of which each names a task that is there, so that none is launched. */
type Named = { [Way in "steer" | "resume" | "retry"]: string | undefined };

/** Returns in which way a call is about a task that is there, and which; undefined for a launch. @throws Error where it is two at once */
const namedTask = ({ steer, resume, retry }: Named, isFork: boolean) => {
  const named = [
    ...(steer === undefined ? [] : [{ way: "steer", taskId: steer } as const]),
    ...(resume === undefined ? [] : [{ way: "resume", taskId: resume } as const]),
    ...(retry === undefined ? [] : [{ way: "retry", taskId: retry } as const]),
  ];
  if (named.length + (isFork ? 1 : 0) > 1) throw new Error("Give only one of steer, resume, retry and fork.");
  return named[0];
};

/** Creates `<prefix>_task`: launches, resumes, retries or steers a task. It returns as soon as the session exists, without waiting for a result. */
const taskTool = (deps: ToolDeps): Tool =>
  defineTool(deps.engine, {
    description:
      "Run a subagent in the background. Returns a task id at once; a notice with the result comes when the task ends. Keep working meanwhile: do not poll. Call several times in one message for parallel tasks. To follow up on a completed task, give resume and prompt only.",
    args: {
      description: tool.schema.string().optional().describe("3-5 words; required for a new task"),
      prompt: tool.schema.string().optional().describe("All the agent needs to know; optional with retry"),
      agent: tool.schema.string().trim().optional().describe("Agent name, e.g. general; required for a new task"),
      batch_id: tool.schema.string().trim().optional().describe("Join this batch; default: one per turn"),
      wake: tool.schema.enum(WAKES).optional().describe("all: once per batch"),
      resume: tool.schema.string().trim().optional().describe("Id of a completed task to continue"),
      retry: tool.schema.string().trim().optional().describe("Id of a failed or cancelled task to go on with"),
      model: tool.schema.string().trim().optional().describe("provider/model or provider/model#variant"),
      steer: tool.schema.string().trim().optional().describe("Id of a running task to instruct"),
      fork: tool.schema.boolean().optional().describe("Let the agent see this conversation"),
      worktree: tool.schema.boolean().optional().describe("In its own git worktree"),
    },
    ignoresUnknown: true,
    execute: async (
      { description, prompt = "", agent, batch_id, wake, resume, retry, steer, model, fork = false, worktree },
      context,
    ) => {
      if (resume !== undefined && fork) {
        throw new Error(
          "fork and resume are mutually exclusive: a resumed task continues its own conversation. Give only one of them.",
        );
      }
      const named = namedTask({ steer, resume, retry }, fork);
      if (named?.way === "steer") return steerTask(deps, named.taskId, prompt, context);
      if (named) {
        const { way, taskId } = named;
        const caller = { parentSessionID: context.sessionID, signal: context.abort };
        const mayUse = (task: Task) => requirePermission(deps, context, task.agent, task.description);
        const request = { ...caller, taskId, prompt, agent, model, permit: mayUse };
        const task = orThrow(await deps.engine[way](request));
        if (task.nextRun) return goesOnLater(deps, task, task.nextRun);
        const [done, run] = way === "resume" ? (["resumed", "resume"] as const) : (["retried", "retry"] as const);
        return {
          title: task.description,
          output: own`Task ${nameOf(task.sessionID)} was ${done} in the background: ${quoteLine(task.description)} (agent ${nameOf(task.agent)}, ${run} #${task.resumeCount}).${queueNote(task)}\n${nextStep(deps, task)}`,
          metadata: { sessionId: task.sessionID },
        };
      }
      const wanted = {
        description: description ?? "",
        prompt,
        agent: agent ?? "",
        batchId: batch_id,
        wake,
        model,
        fork,
        worktree,
      };
      const launched = await launchForCaller(context, deps, wanted);
      if (!launched) throw new Error("The turn was aborted; nothing was launched.");
      const { task, forkRefusal, notOffered } = orThrow(launched);
      const asText =
        forkRefusal === undefined
          ? own``
          : own`\nOpenCode could not fork this conversation (${quoteLine(forkRefusal)}); the agent was given it as text.`;
      const here = notOffered === undefined ? own`` : own`\n${runsHere(notOffered)}`;
      const withModel = model === undefined ? own`` : own`, model ${nameOf(model)}`;
      return {
        title: task.description,
        output: own`Task ${nameOf(task.sessionID)} is running in the background: ${quoteLine(task.description)} (agent ${nameOf(task.agent)}${withModel}, batch ${nameOf(task.batchId)}${fork ? ", forked" : ""}${task.worktree ? ", in a git worktree" : ""}).${queueNote(task)}${asText}${here}\n${nextStep(deps, task)}`,
        metadata: { sessionId: task.sessionID },
      };
    },
  });

/** Says what a cancel has led to: of a task that had ended, it is the next run that does not take place. */
const cancelledOutcome = ({ status }: Task, before: Pick<Task, "nextRun"> | undefined): OwnText =>
  before?.nextRun ? own`stays ${status}, and does not go on: its ${before.nextRun} is cancelled` : own`is ${status}`;

/** Pauses tasks, or has them go on, and says what came of each. */
const pauseOrContinue = async (
  engine: ToolDeps["engine"],
  tasks: readonly Pick<Task, "sessionID">[],
  way: "pause" | "continue",
) => {
  const ids = tasks.map((task) => task.sessionID);
  const results = await (way === "pause" ? engine.pause(ids, "agent") : engine.continue(ids));
  return results
    .map(({ task, refused }) => {
      const named = own`Task ${formatTaskId(task)} ${quoteLine(task.description)}`;
      if (refused !== undefined) return own`${named} ${vouchFor(refused)}.`;
      if (way === "continue") return own`${named} goes on.${queueNote(task)}`;
      return task.waiting?.for === "continue"
        ? own`${named} is paused: it keeps what was done, and goes on when you give instead: "continue".`
        : own`${named} is not paused: it is ${task.status}.`;
    })
    .join("\n");
};

/** Creates `<prefix>_cancel`: cancels tasks and their child tasks. */
const cancelTool = ({ engine }: ToolDeps): Tool =>
  defineTool(engine, {
    description: "Cancel, or only pause, running background tasks. Give exactly one of task_id, batch_id and all.",
    args: {
      task_id: tool.schema.string().trim().optional(),
      batch_id: tool.schema.string().trim().optional(),
      all: tool.schema.boolean().optional(),
      instead: tool.schema.enum(["pause", "continue"]).optional(),
    },
    execute: async ({ task_id, batch_id, all, instead }, { sessionID }) => {
      const choices = [task_id, batch_id, all || undefined].filter((choice) => choice !== undefined);
      if (choices.length !== 1) {
        throw new Error(
          `Give exactly one of task_id, batch_id and all: ${choices.length === 0 ? "none" : choices.length} given.`,
        );
      }
      const chosen = selectTasks(engine, sessionID, task_id, batch_id);
      const tasks = task_id ? chosen : chosen.filter((task) => !hasEnded(task) || task.nextRun);
      if (tasks.length === 0) return `No running tasks to ${instead ?? "cancel"}.`;
      if (instead) return pauseOrContinue(engine, tasks, instead);
      const before = ({ sessionID: id }: Task) => tasks.find(({ sessionID }) => sessionID === id);
      const results = await engine.cancel(tasks.map((task) => task.sessionID));
      const output = results
        .map(({ task, refused }) => {
          const outcome = refused === undefined ? cancelledOutcome(task, before(task)) : vouchFor(refused);
          return own`Task ${formatTaskId(task)} ${quoteLine(task.description)} ${outcome}.`;
        })
        .join("\n");
      // The record of a running task may be damaged: then nothing can be done with it but to clear it.
      if (output === "") return "No running tasks to cancel.";
      const [only] = results;
      return only && results.length === 1 ? { output, metadata: { sessionId: only.task.sessionID } } : output;
    },
  });

/** Refuses an id that is null or empty: a call that means one task must not remove all. */
const NOT_EMPTY = "not be empty: leave both out to remove all of this session's tasks";

const id = () =>
  tool.schema
    .string()
    .trim()
    .refine((text) => text !== "", NOT_EMPTY);

/** Creates `<prefix>_clear`: removes tasks permanently, and cancels the running ones. */
const clearTool = ({ engine }: ToolDeps): Tool =>
  defineTool(engine, {
    description: "Remove background tasks, all of this session's if no argument is given. Running ones are cancelled.",
    args: { task_id: id().optional(), batch_id: id().optional() },
    refusesBlank: true,
    execute: async ({ task_id, batch_id }, { sessionID }) => {
      if (task_id !== undefined && batch_id !== undefined) {
        throw new Error("Give task_id or batch_id, not both; neither removes all of this session's tasks.");
      }
      const tasks = selectTasks(engine, sessionID, task_id, batch_id);
      if (tasks.length === 0) return "No background tasks found";
      const kept = await engine.clear(tasks.map((task) => task.sessionID));
      return tasks
        .map((task) => {
          const named = own`${formatTaskId(task)} ${quoteLine(task.description)} (${hasEnded(task) ? task.status : "cancelled"})`;
          const keptTask = kept.find((one) => one.task.sessionID === task.sessionID);
          if (!keptTask) return own`Removed ${named}.`;
          return own`Kept ${named}: ${whyKept(task, keptTask.owner, keptTask.changes)}`;
        })
        .join("\n");
    },
  });

/** The names under which texts mention these tools. */
export const tasksNames = (prefix: string): ToolNames => ({
  launch: `${prefix}_task`,
  output: `${prefix}_output`,
  list: `${prefix}_list`,
  resume: `${prefix}_task`,
});

/** Creates the five tools of the toolset `tasks`, under the configured prefix. Their definitions cost tokens in every model request. */
export const tasksToolset = (deps: ToolDeps): Record<string, Tool> => {
  const repeated = createRepeatedQuestions(deps.clock);
  return {
    [`${deps.prefix}_task`]: taskTool(deps),
    [`${deps.prefix}_output`]: outputTool(deps, repeated),
    [`${deps.prefix}_list`]: listTool(deps, repeated),
    [`${deps.prefix}_cancel`]: cancelTool(deps),
    [`${deps.prefix}_clear`]: clearTool(deps),
  };
};
