import { z } from "@hono/zod-openapi";
import { TaskStatus } from "../../../task.ts";
import { UserReply } from "../../../user-request.ts";
import { ShownTask } from "./status-source.ts";

/** Tasks on a page, when nothing else is asked for, and at most. Both numbers are the specification's. */
const PAGE = { default: 50, most: 200 } as const;

const count = z.int().nonnegative();
const milliseconds = z.number().nonnegative();

/** A whole number in a query. */
const digits = z
  .string()
  .regex(/^\d{1,15}$/, "must be a whole number, 0 or more")
  .transform(Number);

/** What `GET /v1/tasks` takes. */
export const ListQuery = z.object({
  status: TaskStatus.optional(),
  agent: z.string().optional(),
  directory: z.string().optional(),
  batch: z.string().optional(),
  search: z.string().optional(),
  limit: digits.transform((limit) => Math.min(limit, PAGE.most)).default(PAGE.default),
  offset: digits.default(0),
});

/** What `POST /v1/tasks/{id}/resume` takes. */
export const ResumeBody = z.object({ prompt: z.string().trim().min(1, "must have some text") });

/** What `POST /v1/tasks/{id}/answers` takes. */
export const AnswerBody = UserReply;

export const ErrorBody = z.object({ error: z.string(), status: z.int() }).meta({ id: "Error" });

export const Shown = ShownTask.meta({ id: "Task" });

export const TaskPage = z.object({ tasks: z.array(Shown), total: count, limit: count, offset: count });

export const Health = z.object({
  status: z.literal("ok"),
  /** Seconds since the server started. */
  uptime: z.number().nonnegative(),
  version: z.string(),
  taskCount: count,
  /** As in `server.json`: who finds that file can tell that this is the server which it means. */
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
  })
  .meta({ id: "Stats" });
export type Stats = z.infer<typeof Stats>;

export const Group = z.object({
  batchId: z.string(),
  /** In the order of their launch. */
  tasks: z.array(Shown),
  completed: count,
  /** Those that are resumed too. */
  running: count,
  error: count,
  cancelled: count,
  total: count,
  /** Completed ones of all, from 0 to 1. */
  completionRate: z.number().min(0).max(1),
  totalToolCalls: count,
  /** Milliseconds from the first launch to the last end, or to now while one of them runs. */
  duration: milliseconds,
});
export type Group = z.infer<typeof Group>;

/** What a task's machine accepted. `at` is epoch milliseconds; further fields are those of its type. */
export const Journal = z.array(z.looseObject({ type: z.string(), at: z.number() }));

/** The messages of a session, as OpenCode has them. */
export const Logs = z.array(z.unknown());

/** Statecharts by name. */
export const Machines = z.record(z.string(), z.unknown());
export const Machine = z.unknown();

/** The data of a `snapshot` event. */
export const Snapshot = z.object({
  /** All that have not ended, and the newest that have. */
  tasks: z.array(Shown),
  stats: Stats,
  /** The number of the newest change that is in it. */
  at: count,
});
