import { z } from "zod";

/** The five public statuses. Each is the name of a top state of the task's lifecycle; nothing else computes it. */
export const TaskStatus = z.enum(["running", "completed", "error", "cancelled", "resumed"]);
export type TaskStatus = z.infer<typeof TaskStatus>;

/** A model as the host names it. `variant` is the reasoning effort or similar, where the model has any. */
export const ModelRef = z.object({ providerID: z.string(), modelID: z.string(), variant: z.string().optional() });
export type ModelRef = z.infer<typeof ModelRef>;

/**
 * Why a run ended in `error`:
 * - `provider`: the child's model or its provider failed; `name` and `message` are the host's own
 * - `sessionGone`: the child session was deleted
 * - `unanswered`: the host took the prompt and never answered it
 * - `host`: the host refused or could not be reached
 * - `interrupted`: OpenCode ended while the run was under way, and it was not to be continued
 * - `internal`: a fault of this plugin
 */
export const TaskError = z.object({
  name: z.string(),
  kind: z.enum(["provider", "sessionGone", "unanswered", "host", "interrupted", "internal"]),
  message: z.string(),
});
export type TaskError = z.infer<typeof TaskError>;

/** One of the questions that are asked together. */
export const Question = z.object({
  question: z.string(),
  /** What can be chosen. */
  options: z.array(z.string()),
  /** More than one may be chosen. */
  multiple: z.boolean(),
  /** Something else may be said. */
  custom: z.boolean(),
});
export type Question = z.infer<typeof Question>;

/** A permission or a question that waits for a person's answer. */
export const OpenUserRequest = z.object({
  id: z.string(),
  kind: z.enum(["permission", "question"]),
  /** What is asked, in words. */
  what: z.string(),
  since: z.iso.datetime(),
  /** Absent for a permission. */
  questions: z.array(Question).optional(),
  /** What is allowed from then on when a permission is given for always, as patterns; absent for a question. */
  always: z.array(z.string()).optional(),
});
export type OpenUserRequest = z.infer<typeof OpenUserRequest>;

/** What holds a task up: a request that waits for a person, or silence. */
export const Attention = z.object({
  kind: z.enum(["permission", "question", "stale"]),
  /** What is asked, in words; empty for `stale`. */
  what: z.string(),
  since: z.iso.datetime(),
  /** All that is asked, oldest first; the first one is told of above. Absent for `stale`. */
  requests: z.array(OpenUserRequest).optional(),
});
export type Attention = z.infer<typeof Attention>;

/** What a child has done so far, from the host's events. Kept beside the machine: it changes often and decides nothing. */
export const Progress = z.object({
  toolCalls: z.int().nonnegative(),
  toolCallsByName: z.record(z.string(), z.int().positive()),
  /** The newest tool names, oldest first; at most five. */
  lastTools: z.array(z.string()),
  /** When the child was last heard of. */
  lastUpdate: z.iso.datetime(),
  /** Input, output and reasoning tokens of all steps. */
  tokens: z.int().nonnegative(),
  /** US dollars, as the host counts them. */
  cost: z.number().nonnegative(),
});
export type Progress = z.infer<typeof Progress>;

/** What is known at launch and never changes. */
export const TaskFacts = z.object({
  /** The task's id is the id of the child session it runs in. */
  sessionID: z.string(),
  parentSessionID: z.string(),
  /** The assistant message that launched the task. */
  parentMessageID: z.string(),
  parentAgent: z.string(),
  /** The task whose child session launched this one; absent when a person's own session did. */
  parentTaskId: z.string().optional(),
  /** Who asked: the calling agent, or `user`. */
  author: z.string(),
  directory: z.string(),
  /** A few words for people and lists, on one line. */
  description: z.string(),
  prompt: z.string(),
  agent: z.string(),
  model: ModelRef.optional(),
  startedAt: z.iso.datetime(),
  /** Groups the tasks of one parent that belong together; unique only within that parent. */
  batchId: z.string(),
  isForked: z.boolean(),
  /** Higher ones are to get a slot first. */
  priority: z.int(),
});
export type TaskFacts = z.infer<typeof TaskFacts>;

/** A background task as tools, store and API show it. Times are ISO 8601, durations milliseconds. */
export const Task = TaskFacts.extend({
  status: TaskStatus,
  /** Where in the lifecycle it is, as text, such as `running.working`: detail of `status`, never a sixth status. */
  state: z.string(),
  childTaskIds: z.array(z.string()),
  /** When the newest run began. */
  runStartedAt: z.iso.datetime(),
  completedAt: z.iso.datetime().optional(),
  resultRetrievedAt: z.iso.datetime().optional(),
  /** The child's last assistant text. */
  result: z.string().optional(),
  /** The first paragraph of `result`. */
  summary: z.string().optional(),
  error: TaskError.optional(),
  failureReason: z.string().optional(),
  resumeCount: z.int().nonnegative(),
  attention: Attention.optional(),
  progress: Progress,
});
export type Task = z.infer<typeof Task>;

/** True when no run of the task is under way. */
export const hasEnded = (task: Pick<Task, "status">): boolean => task.status !== "running" && task.status !== "resumed";

/** The progress of a task that has done nothing yet. `since` is ISO 8601. */
export const noProgress = (since: string): Progress => ({
  toolCalls: 0,
  toolCallsByName: {},
  lastTools: [],
  lastUpdate: since,
  tokens: 0,
  cost: 0,
});
