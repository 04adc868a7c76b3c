import { z } from "@hono/zod-openapi";
import { hasEnded, TaskStatus, Usage } from "../../../task.ts";
import { UserReply } from "../../../user-request.ts";
import type { TaskStats } from "../../store/store.ts";
import { ApiTask } from "./status-source.ts";

/** Tasks on a page, by default and at most. The specification sets both numbers. */
const PAGE = { default: 50, max: 200 } as const;

const count = z.int().nonnegative();
const milliseconds = z.number().nonnegative();

/** A whole number in a query. */
const digits = z
  .string()
  .regex(/^\d{1,15}$/, "must be a whole number, 0 or more")
  .transform(Number);

/** The query of `GET /v1/tasks`. */
export const ListQuery = z.object({
  status: TaskStatus.optional(),
  agent: z.string().optional(),
  directory: z.string().optional(),
  batch: z.string().optional(),
  search: z.string().optional(),
  limit: digits.transform((limit) => Math.min(limit, PAGE.max)).default(PAGE.default),
  offset: digits.default(0),
});

const PromptBody = z.object({ prompt: z.string().trim().min(1, "must have some text") });

/** The body of `POST /v1/tasks/{id}/resume`. */
export const ResumeBody = PromptBody;

/** The body of `POST /v1/tasks/{id}/steer`. */
export const SteerBody = PromptBody;

/** The body of `POST /v1/tasks/{id}/answers`. */
export const AnswerBody = UserReply;

export const ErrorBody = z.object({ error: z.string(), status: z.int() }).meta({ id: "Error" });

export const TaskPage = z.object({ tasks: z.array(ApiTask), total: count, limit: count, offset: count });

export const Health = z.object({
  status: z.literal("ok"),
  /** Seconds since the server started. */
  uptime: z.number().nonnegative(),
  version: z.string(),
  taskCount: count,
  /** As in `server.json`, so that a reader of that file can verify that this is the server it describes. */
  pid: z.int().positive(),
  startedAt: z.iso.datetime(),
});

export const Stats = z
  .object({
    byStatus: z.record(TaskStatus, count),
    byAgent: z.record(z.string(), count),
    duration: z.object({ avg: milliseconds, max: milliseconds, min: milliseconds }),
    totalTasks: count,
    /** Tasks that have not ended. */
    activeTasks: count,
    /** What all tasks used together. */
    usage: Usage,
  })
  .meta({ id: "Stats" });
export type Stats = z.infer<typeof Stats>;

/** Converts the counts of all tasks from the form of the store. */
export const toStats = ({ total, byStatus, byAgent, duration, usage }: TaskStats): Stats => ({
  byStatus,
  byAgent,
  duration,
  totalTasks: total,
  activeTasks: byStatus.running + byStatus.resumed,
  usage,
});

export const Group = z.object({
  batchId: z.string(),
  /** In the order of their launch. */
  tasks: z.array(ApiTask),
  completed: count,
  /** Including resumed ones. */
  running: count,
  error: count,
  cancelled: count,
  total: count,
  /** The share of completed tasks, from 0 to 1. */
  completionRate: z.number().min(0).max(1),
  totalToolCalls: count,
  /** What these tasks used, and all tasks below them. */
  usage: Usage,
  /** Milliseconds from the first launch to the last end, or until now while one of them runs. */
  duration: milliseconds,
});
export type Group = z.infer<typeof Group>;

/** Summarizes the tasks of a batch, which used `usage` with all tasks below them. `now` is epoch milliseconds. */
export const toGroup = (batchId: string, tasks: ApiTask[], usage: Usage, now: number): Group => {
  const countOf = (status: ApiTask["status"]) => tasks.filter((task) => task.status === status).length;
  const starts = tasks.map(({ startedAt }) => Date.parse(startedAt));
  const ends = tasks.map((task) => (hasEnded(task) && task.completedAt ? Date.parse(task.completedAt) : now));
  return {
    batchId,
    tasks,
    completed: countOf("completed"),
    running: countOf("running") + countOf("resumed"),
    error: countOf("error"),
    cancelled: countOf("cancelled"),
    total: tasks.length,
    completionRate: tasks.length === 0 ? 0 : countOf("completed") / tasks.length,
    totalToolCalls: tasks.reduce((sum, { progress }) => sum + progress.toolCalls, 0),
    usage,
    duration: tasks.length === 0 ? 0 : Math.max(0, Math.max(...ends) - Math.min(...starts)),
  };
};

/** The events that a task's statechart accepted. `at` is epoch milliseconds; other fields depend on the type. */
export const Journal = z.array(z.looseObject({ type: z.string(), at: z.number() }));

/** The messages of a session, as OpenCode returns them. */
export const Logs = z.array(z.unknown());

/** Statecharts by name. */
export const Machines = z.record(z.string(), z.unknown());
export const Machine = z.unknown();

/** The data of a `snapshot` event. */
export const Snapshot = z.object({
  /** All tasks that have not ended, and those that ended last. */
  tasks: z.array(ApiTask),
  stats: Stats,
  /** The number of the newest change that it includes. */
  at: count,
});
