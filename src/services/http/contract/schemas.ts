import { z } from "@hono/zod-openapi";
import { FleetServerSchema } from "../../../launch-schema.ts";
import { hasEnded, type TaskStatus, type Usage } from "../../../task.ts";
import { TaskStatusSchema, UsageSchema, WakeCostsSchema } from "../../../task-schema.ts";
import { OpenUserRequest, UserReply } from "../../../user-request.ts";
import { CHALLENGE } from "../../platform/server-key.ts";
import type { TaskStats } from "../../store/store.ts";
import { ApiTask } from "./api-task.ts";

/** Tasks on a page, by default and at most. The specification sets both numbers. */
const PAGE = { default: 50, max: 200 } as const;

const count = z.int().nonnegative();
const milliseconds = z.number().nonnegative();

/** A whole number in a query, which is text there and a number in the document. */
const wholeNumber = (byDefault: number, description: string) =>
  z
    .string()
    .regex(/^\d{1,15}$/, "must be a whole number, 0 or more")
    .transform(Number)
    .default(byDefault)
    .openapi({ type: "integer", minimum: 0, default: byDefault, description });

export const ListQuery = z.object({
  status: TaskStatusSchema.describe("Only tasks with this status.").optional(),
  agent: z.string().optional().describe("Only tasks of this agent."),
  directory: z.string().optional().describe("Only tasks of this project folder: its whole path."),
  parent: z
    .string()
    .optional()
    .describe("Only tasks that were launched in this session: its whole id. Their descendants are not among them."),
  batch: z.string().optional().describe("Only tasks of this batch."),
  search: z
    .string()
    .optional()
    .describe("Only tasks whose description has this text in it, in upper or lower case. No character is special."),
  limit: wholeNumber(PAGE.default, `Tasks on the page. More than ${PAGE.max} are taken as ${PAGE.max}.`).transform(
    (limit) => Math.min(limit, PAGE.max),
  ),
  offset: wholeNumber(0, "Tasks to skip."),
});

export const TaskPath = z.object({
  id: z.string().describe("The task's id, or the beginning of it where that is unambiguous."),
});

export const GroupPath = z.object({ id: z.string().describe("The batch's id, complete.") });

export const MachinePath = z.object({ name: z.string().describe("The statechart's name, such as `task`.") });

const promptBody = (description: string) =>
  z.object({ prompt: z.string().trim().min(1, "must have some text").describe(description) });

export const ResumeBody = promptBody("The follow-up prompt, to which the task's agent has its whole conversation.");

export const RetryBody = z.object({
  prompt: z
    .string()
    .trim()
    .optional()
    .describe("What the task's agent is given in addition to why it was stopped. Absent or empty: nothing."),
  model: z
    .string()
    .trim()
    .min(1)
    .optional()
    .describe(
      "The model that the task works with from then on, as `provider/model` or `provider/model#variant`. Absent: the one that it has.",
    ),
});

export const SteerBody = promptBody("The further instruction, which the task's agent sees at its next step.");

export const AnswerBody = UserReply;

export const ErrorBody = z
  .object({
    error: z.string().describe("What was wrong, and what to do about it."),
    status: z.int().describe("The HTTP status."),
  })
  .meta({ id: "Error", description: "Why a request failed." });

export const TaskPage = z.object({
  tasks: z.array(ApiTask).describe("The tasks of the page, newest first."),
  total: count.describe("How many tasks match in all."),
  limit: count.describe("How many tasks the page has at most."),
  offset: count.describe("How many tasks were skipped."),
  usage: UsageSchema.optional().describe(
    "Only with `parent` or `batch`: what all tasks of that session or batch used with all their descendants, whatever else is asked for.",
  ),
});
export type TaskPage = z.infer<typeof TaskPage>;

export const Health = z.object({
  status: z.literal("ok").describe("Always `ok`: whoever reads it has reached the server."),
  uptime: z.number().nonnegative().describe("Seconds since the server started."),
  version: z.string().describe("The plugin's version."),
  taskCount: count.describe("The number of tasks."),
  pid: z
    .int()
    .positive()
    .describe("The process, as in `server.json`, so that a reader of that file can verify that this is its server."),
  startedAt: z.iso.datetime().describe("When the server started, as in `server.json`."),
  proof: z
    .string()
    .optional()
    .describe(
      "Answers `challenge`: HMAC-SHA256 of `opencode-taskchart <port> <challenge>` with the key in the file `server-key` of the data folder, in base64url. `pid` and `startedAt` prove nothing, since everybody can read them here.",
    ),
});
export type Health = z.infer<typeof Health>;

export const HealthQuery = z.object({
  challenge: z
    .string()
    .regex(CHALLENGE, "must be 16 to 128 characters of base64url")
    .optional()
    .describe(
      "Random characters of base64url, 16 to 128, which the server answers in proof, to show that it is yours.",
    ),
});

const AnnouncedServer = z.object({
  pid: z.int().positive().describe("The OpenCode process."),
  port: z.int().describe("Its port on 127.0.0.1."),
  url: z.string().describe("Its address."),
  startedAt: z.iso.datetime().describe("When the server started."),
  isThis: z.boolean().describe("Whether it is the one that answers."),
  liveView: z.string().optional().describe("The path of its live view. Absent while that is off there."),
  challenge: z.string().describe("A challenge for `GET /v1/health` there."),
  proof: z.string().describe("What it answers to that, unless another program listens there by then."),
});
export type AnnouncedServer = z.infer<typeof AnnouncedServer>;

export const Servers = z.object({
  servers: z.array(AnnouncedServer).describe("One for each OpenCode process that serves the API."),
});
export type Servers = z.infer<typeof Servers>;

const CountByStatus = z.object({
  running: count.describe("Tasks in their first run."),
  completed: count.describe("Tasks whose newest run ended with a result."),
  error: count.describe("Tasks whose newest run failed."),
  cancelled: count.describe("Tasks whose newest run was cancelled."),
  resumed: count.describe("Tasks in a later run."),
} satisfies Record<TaskStatus, z.ZodType>);

const Durations = z.object({
  avg: milliseconds.describe("The mean, in milliseconds."),
  max: milliseconds.describe("The longest, in milliseconds."),
  min: milliseconds.describe("The shortest, in milliseconds."),
});

export const Stats = z
  .object({
    byStatus: CountByStatus.describe("The number of tasks with each status."),
    byAgent: z.record(z.string(), count).describe("The number of tasks of each agent."),
    duration: Durations.describe("How long the newest runs of ended tasks took; all 0 when no task has ended."),
    totalTasks: count.describe("The number of tasks."),
    activeTasks: count.describe("The number of tasks that have not ended."),
    usage: UsageSchema.describe("What all tasks used together."),
    wakeCosts: WakeCostsSchema.describe(
      "What it cost to wake the agents that launched them, see `progress` of a task.",
    ),
  })
  .meta({ id: "Stats", description: "Counts of all tasks." });
export type Stats = z.infer<typeof Stats>;

/** Converts the counts of all tasks from the form of the store. */
export const toStats = ({ total, byStatus, byAgent, duration, usage, wakeCosts }: TaskStats): Stats => ({
  byStatus,
  byAgent,
  duration,
  totalTasks: total,
  activeTasks: byStatus.running + byStatus.resumed,
  usage,
  wakeCosts,
});

export const Group = z.object({
  batchId: z.string().describe("The batch's id."),
  tasks: z.array(ApiTask).describe("Its tasks, in the order of their launch."),
  completed: count.describe("How many are completed."),
  running: count.describe("How many are in their first run."),
  resumed: count.describe("How many are in a later run."),
  error: count.describe("How many ended in error."),
  cancelled: count.describe("How many were cancelled."),
  total: count.describe("How many there are."),
  completionRate: z.number().min(0).max(1).describe("The share of completed tasks, from 0 to 1."),
  totalToolCalls: count.describe("The tool calls of all of them."),
  usage: UsageSchema.describe("What these tasks and all their descendants used."),
  duration: milliseconds.describe(
    "Milliseconds from the first launch to the last end, or until now while one of them runs.",
  ),
});
export type Group = z.infer<typeof Group>;

/** Summarizes the tasks of a batch, which used `usage` with all their descendants. `now` is epoch milliseconds. */
export const toGroup = (batchId: string, tasks: ApiTask[], usage: Usage, now: number): Group => {
  const countOf = (status: ApiTask["status"]) => tasks.filter((task) => task.status === status).length;
  const starts = tasks.map(({ startedAt }) => Date.parse(startedAt));
  const ends = tasks.map((task) => (hasEnded(task) && task.completedAt ? Date.parse(task.completedAt) : now));
  return {
    batchId,
    tasks,
    completed: countOf("completed"),
    running: countOf("running"),
    resumed: countOf("resumed"),
    error: countOf("error"),
    cancelled: countOf("cancelled"),
    total: tasks.length,
    completionRate: tasks.length === 0 ? 0 : countOf("completed") / tasks.length,
    totalToolCalls: tasks.reduce((sum, { progress }) => sum + progress.toolCalls, 0),
    usage,
    duration: tasks.length === 0 ? 0 : Math.max(0, Math.max(...ends) - Math.min(...starts)),
  };
};

export const TaskJournal = z
  .array(
    z.looseObject({
      type: z.string().describe("The event's type, such as `CHECKED_ANSWERED`. Further fields depend on it."),
      at: z.number().describe("When it happened, in epoch milliseconds."),
    }),
  )
  .describe("The events that a task's statechart accepted.");

const Way = z.object({
  passed: z
    .array(z.string())
    .describe(
      "The states that the newest run was in on its way and is not in any more, such as `run.queued`; groups, too.",
    ),
  arrivals: z
    .record(z.string(), z.string())
    .describe(
      "For the states that it is in, and the groups around them: the transition that led there, by the state that took it, its event, and its place among the transitions for that event, such as `run.queued:SLOT_GRANTED:0`.",
    ),
});

export const TaskWay = Way.extend({
  launch: z
    .array(
      z.object({
        type: z.string().describe("The event's type, such as `SESSION_CREATED`."),
        at: z.number().describe("When it happened, in epoch milliseconds."),
        to: z.string().describe("The state of the launch's chart that it led to."),
        reason: z.string().optional().describe("What was wrong; absent where nothing was."),
      }),
    )
    .optional()
    .describe("How the task was launched, oldest first. Absent where that is not known."),
});
export type TaskWay = z.infer<typeof TaskWay>;

export const Launch = Way.extend({
  id: z.string().describe("The id of the task's first prompt, by which OpenCode's log and the live view name it, too."),
  parentSessionID: z.string().describe("The session whose agent launches the task."),
  directory: z.string().describe("The directory that OpenCode has open."),
  description: z.string().optional().describe("What the task is about. Absent where the call has been answered."),
  agent: z.string().optional().describe("The task's agent. Absent where the call has been answered."),
  states: z
    .array(z.string())
    .describe(
      "The state that its statechart is in, such as `preparing.makingWorktree`. Empty where another process has it.",
    ),
  since: z
    .string()
    .optional()
    .describe(
      "Since when that is so; where another process has it, since when a session may have been created for it.",
    ),
  why: z.string().describe("What is done for it, or what it waits for, in sentences."),
  refusal: z.string().optional().describe("Why nothing is launched. Absent as long as something may be."),
});
export type Launch = z.infer<typeof Launch>;
export const Launches = z.object({
  launches: z
    .array(Launch)
    .describe("Those of this process, and of others those for which a session may have been created."),
});
export type Launches = z.infer<typeof Launches>;

export const Logs = z.array(z.unknown()).describe("The messages of a session, as OpenCode returns them.");
export type Logs = z.infer<typeof Logs>;

export const Machines = z
  .record(z.string(), z.unknown())
  .describe("The statecharts by name, each as JSON for XState: guards and actions have their names as `type`.");
export const Machine = z
  .unknown()
  .describe("A statechart as JSON for XState: guards and actions have their names as `type`.");

/** The data of a `UserInteractionRequested` event. */
export const UserInteractionRequested = z
  .object({
    sessionID: z.string().describe("The task whose agent asks; those above it list the request, too."),
    request: OpenUserRequest.describe("The request."),
    isCut: z
      .literal(true)
      .optional()
      .describe("Where the request has more than 16,000 characters: its questions are left out, and its text is cut."),
  })
  .meta({ id: "UserInteractionRequested", description: "The data of the event: a task's agent asks the user." });
export type UserInteractionRequested = z.infer<typeof UserInteractionRequested>;

/** The data of a `UserInteractionResponded` event. */
export const UserInteractionResponded = z
  .object({
    sessionID: z.string().describe("The task whose agent had asked."),
    requestId: z.string().describe("The request that is open no more."),
    became: z
      .enum(["answered", "closed"])
      .describe(
        "`answered`: OpenCode has a reply, which may be a rejection. `closed`: the run or the process that waited for one has ended.",
      ),
  })
  .meta({
    id: "UserInteractionResponded",
    description: "The data of the event: a request to the user is open no more.",
  });
export type UserInteractionResponded = z.infer<typeof UserInteractionResponded>;

/** The data of a `snapshot` event. */
const FeedSnapshot = z
  .object({
    tasks: z.array(ApiTask).describe("All tasks that have not ended, and those that ended last."),
    stats: Stats,
    at: count.describe("The number of the newest change that it includes."),
  })
  .meta({ id: "Snapshot", description: "The data of the event `snapshot`." });

/** The data of the events of the stream that are about tasks. */
export const FeedData = z
  .union([FeedSnapshot, ApiTask, UserInteractionRequested, UserInteractionResponded])
  .describe("The data of `snapshot`, of the events of a task, and of the two about requests to the user.");

const PresentServer = FleetServerSchema.extend({
  isDrained: z
    .boolean()
    .optional()
    .describe("True where it is to take no more orders; absent where that could not be read."),
  projects: z
    .array(
      z.object({
        project: z.string().describe("The project as the server knows it."),
        slots: count.describe("How many runs of others it works on at once, for this project."),
        atWork: count.describe("How many of them are taken."),
        version: z.string().describe("The version of its plugin."),
      }),
    )
    .describe("The projects that are open in it, and whose orders it takes."),
});

export const ApiFleet = z
  .object({
    isUsed: z.boolean().describe("True where this server is in a fleet. Where it is in none, all else is empty."),
    isReached: z.boolean().describe("True while the fleet's broker answers."),
    problem: z
      .string()
      .optional()
      .describe("Why the servers could not be asked who is there: the engine does not answer, or does not permit it."),
    server: FleetServerSchema.optional().describe("This server. Absent where it is in no fleet."),
    servers: z
      .array(PresentServer)
      .describe(
        "The servers that work for others and say that they are there, by their labels; this one is among them if it does. What a server says of itself is asked for at most every 5 s, and cut after 200 characters.",
      ),
    isCut: z.boolean().describe("True where there may be more servers: at most 200 answers are read."),
    tasks: z
      .object({
        waiting: count.describe("How many wait for a server, or for the engine to take their order."),
        elsewhere: count.describe("How many are at work on another server."),
      })
      .describe("The tasks of this server that have not ended and are for the fleet."),
  })
  .meta({ id: "Fleet", description: "The servers of the fleet, and the tasks of this one that are for it." });
export type ApiFleet = z.infer<typeof ApiFleet>;
