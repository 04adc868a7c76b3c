import { z } from "zod";
import { TASK_STATUSES } from "./field-values.ts";
import { FleetServerSchema, ModelRefSchema, TaskFactsSchema } from "./launch-schema.ts";
import { Incompleteness, Receipt } from "./receipt.ts";
import { OpenUserRequest } from "./user-request.ts";

// The only place where the shape of a task and the meaning of its fields are written down: the types, the API and its
// description are made of it. Nothing that OpenCode waits for at its start may load it, so `task.ts` imports its types alone.

export const TaskStatusSchema = z.enum(TASK_STATUSES);

export const RefusedModelSchema = z.object({
  model: ModelRefSchema.optional().describe(
    "The model; absent where nothing is known of it but that it is the agent's own.",
  ),
  reason: z.string().describe("The provider's reason, as OpenCode gives it."),
});

export const TaskErrorSchema = z.object({
  name: z.string().describe("The error's name; that of OpenCode where it reported one."),
  kind: z
    .enum([
      "provider",
      "sessionGone",
      "unanswered",
      "host",
      "interrupted",
      "internal",
      "budget",
      "loop",
      "timeout",
      "gate",
      "schema",
      "fleet",
    ])
    .describe(
      "Why the run ended: `provider` (the model or its provider failed), `sessionGone` (the task's session was deleted), `unanswered` (OpenCode took the prompt and never answered it), `host` (OpenCode refused or could not be reached), `interrupted` (OpenCode ended, and the run was not to be continued), `budget`, `loop` or `timeout` (the run went beyond a limit of the options and was stopped), `gate` (its answer did not pass the gate), `schema` (its answer did not fit the schema of its result, and the next one did not either), `fleet` (the servers that worked on it are gone, or could not be reached), `internal` (a fault in this plugin).",
    ),
  message: z.string().describe("What happened, in words."),
  refusal: z
    .enum(["auth", "quota", "unknownModel", "overloaded"])
    .optional()
    .describe(
      "Of kind `provider`, why the model was refused, so that another one may do: `auth` (its key is not accepted), `quota` (nothing is left of it), `unknownModel` (there is no such model), `overloaded` (a rate limit or too much load, for longer than is waited). Absent for another failure.",
    ),
});

export const AttentionSchema = z.object({
  kind: z
    .enum(["permission", "question", "stale"])
    .describe("A permission or a question that waits for a person, or `stale`: the agent has been silent for long."),
  what: z.string().describe("What the agent asks, in words; empty for `stale`."),
  since: z.iso.datetime().describe("Since when it is so."),
  requests: z
    .array(OpenUserRequest)
    .optional()
    .describe(
      "All open requests, oldest first, those of its descendants included; `kind`, `what` and `since` are those of the first. Absent for `stale`.",
    ),
});

export const WaitingSchema = z.object({
  for: z
    .enum([
      "slot",
      "acceptance",
      "retry",
      "agent",
      "provider",
      "check",
      "gate",
      "gateBefore",
      "session",
      "model",
      "abort",
      "recovery",
      "stop",
      "pause",
      "continue",
      "quota",
      "person",
      "tasks",
      "fleet",
      "server",
    ])
    .describe(
      "What it waits for: `slot` (its place among the runs that are worked on), `acceptance` (OpenCode, to take the prompt), `retry` (the time at which the prompt is sent again), `agent` (its agent, which is at work), `provider` (the provider of its model, which refuses for now), `check` (OpenCode, to say how the run stands), `gate` (the command that checks its answer, to end), `gateBefore` (the same command, to end before its agent begins), `session` (OpenCode, to find the session again), `model` (the turn of its refused model to end, so that the next model can go on), `abort` (a short pause that shows who aborted it), `recovery` (OpenCode, to say what became of the run, whose process has ended), `stop` (its session, to stop), `pause` (its session, to stop, so that it is paused), `continue` (a person or an agent, to have it go on after a pause), `quota` (its provider, to serve again at the time that it has said; it holds no slot meanwhile), `person` (a person's answer), `tasks` (the tasks that it launched), `fleet` (the fleet's broker, to take its job or to give it back), `server` (a server of the fleet, to take it).",
    ),
  since: z.iso.datetime().describe("Since when it waits for that."),
  until: z.iso.datetime().optional().describe("When something is tried again; absent where nothing is."),
  refusal: z
    .object({
      provider: z
        .string()
        .optional()
        .describe("The provider's id in OpenCode; absent where the task's model is not known."),
      attempt: z
        .int()
        .positive()
        .optional()
        .describe(
          "How often OpenCode makes the request again, the next time included; absent where `for` is `quota`: it does not.",
        ),
      message: z.string().describe("Why it refused, as OpenCode gives it."),
    })
    .optional()
    .describe(
      "What the provider said when it refused a request for now; absent unless `for` is `provider` or `quota`.",
    ),
  tasks: z
    .int()
    .positive()
    .optional()
    .describe("How many tasks of its own it waits for; absent unless `for` is `tasks`."),
  lostRequests: z
    .array(z.string())
    .optional()
    .describe(
      "What its agent had asked before its OpenCode ended, and may ask again: it does that step once more. Absent where nothing was open.",
    ),
  silent: z
    .object({
      pid: z.int().describe("Its process id."),
      since: z.iso.datetime().describe("When it last showed one."),
      until: z.iso
        .datetime()
        .describe(
          "When another OpenCode in the directory takes the task over, if one is open there; at once if the process ends.",
        ),
    })
    .optional()
    .describe(
      "The process that supervises the task, where it has shown no sign of life for 15 s: it is stopped or busy. Absent where it has.",
    ),
});

export const UsedUpLimitSchema = z.object({
  kind: z
    .enum(["model", "agent", "provider", "total"])
    .describe("Whose limit it is: of a model, an agent, a provider, or of all tasks (`total`)."),
  name: z.string().describe("The name of the model, the agent or the provider; empty for `total`."),
  used: z
    .int()
    .nonnegative()
    .describe(
      "Slots of it that are in use; more than `limit` where a task that waited for a person or for its own tasks goes on.",
    ),
  limit: z.int().positive().describe("Slots that it has."),
});

const RefusingProviderSchema = z.object({
  kind: z.literal("rateLimit").describe("The provider refuses another task for now."),
  name: z.string().describe("The provider's id in OpenCode."),
  until: z.iso
    .datetime()
    .describe("When OpenCode asks it again for that task. Others start once it has answered, or three seconds later."),
});

export const QueuePlaceSchema = z.object({
  place: z
    .int()
    .positive()
    .describe("From 1. Counts the runs before it that wait for a slot of the same limit, or for the same provider."),
  heldUpBy: z
    .union([UsedUpLimitSchema, RefusingProviderSchema])
    .optional()
    .describe(
      "Its provider, while that refuses another task for now; otherwise the narrowest limit that keeps it waiting. Absent where the run can start, and is about to.",
    ),
});

export const UsageSchema = z.object({
  tokens: z.int().nonnegative().describe("Input, output and reasoning tokens of all steps, as OpenCode counted them."),
  cost: z.number().nonnegative().describe("US dollars, as OpenCode counted them; 0 for models without a price."),
});

export const WakeCostsSchema = z.object({
  wakes: z
    .int()
    .nonnegative()
    .describe("How often. One that delivered the ends of several tasks counts for the first of them."),
  tokens: z
    .int()
    .nonnegative()
    .describe(
      "Tokens of these requests, with the conversation that each reads anew: of each, an equal share for each task.",
    ),
  cachedTokens: z.int().nonnegative().describe("Those of `tokens` that the provider had in its prompt cache."),
  cost: z
    .number()
    .nonnegative()
    .describe("US dollars, as OpenCode counted them: of each, an equal share for each task."),
});

const FileUseSchema = z.enum(["read", "wrote"]);

export const OverlapSchema = z.object({
  path: z.string().describe("Absolute."),
  at: z.iso.datetime().describe("When it was seen."),
  did: FileUseSchema.describe("What the task's agent did: a write counts, whatever was read before."),
  other: z
    .object({
      sessionID: z.string().describe("The task of the other agent, or the session that launched this task."),
      did: FileUseSchema.describe("What the other agent did."),
    })
    .describe("The other agent."),
  untold: z
    .array(z.enum(["agent", "caller"]))
    .describe("Who has not been notified of it yet: the task's agent, the agent that launched it."),
});

export const ProgressSchema = z.object({
  tokens: z.int().nonnegative().describe("Input, output and reasoning tokens of its own runs."),
  cost: z.number().nonnegative().describe("US dollars that its own runs cost."),
  toolCalls: z.int().nonnegative().describe("Tool calls of its own runs."),
  toolCallsByName: z.record(z.string(), z.int().positive()).describe("Tool calls by the tool's name."),
  lastTools: z.array(z.string()).describe("The tools that were called last, oldest first; at most five."),
  lastUpdate: z.iso.datetime().describe("When OpenCode last reported anything of the agent."),
  wakeCosts: WakeCostsSchema.optional().describe(
    "What it cost to wake the agent that launched it: the first request of each turn that began because it ended. Part of what that agent used, not of `tokens` and `cost`. Absent where its ends have woken nobody.",
  ),
  overlaps: z
    .array(OverlapSchema)
    .optional()
    .describe(
      "Files that it and another agent of the same folder both used during the newest run, and one of them wrote, oldest first; absent where there are none.",
    ),
});

export const GivenInstructionSchema = z.object({
  text: z.string().describe("Its beginning, on one line of at most 200 characters."),
  from: z.enum(["agent", "user"]).describe("Who gave it: the agent that launched the task, or a person (`user`)."),
  givenAt: z.iso.datetime().describe("When it was given."),
  fate: z
    .enum(["waiting", "seen", "missed"])
    .describe(
      "What became of it: `waiting` (the run is under way, and its agent has not seen it yet), `seen` (a step of the agent began after OpenCode had stored it, so that its model was asked with it), `missed` (the run ended before that). A later run does not change it.",
    ),
  seenAt: z.iso.datetime().optional().describe("When it was known to be seen; absent unless it is `seen`."),
});

export const TaskSchema = TaskFactsSchema.extend({
  model: ModelRefSchema.optional().describe(
    "The model that its newest run works with, or ended with: the one that it was launched with, or one of `fallback`. Absent where its agent's own is used.",
  ),
  refusedModels: z
    .array(RefusedModelSchema)
    .optional()
    .describe(
      "The models that refused the newest run, oldest first, where it went on with another one; absent where it did not. One that a person asked in the task's session may be among them. The last is `model` where all refused it.",
    ),
  status: TaskStatusSchema.describe(
    "How the newest run stands; `resumed` is running again, after a resume or a retry.",
  ),
  state: z
    .string()
    .describe(
      "The status, and where in its run the task is, such as `running.active.working.busy`: a detail of `status`, not a sixth one.",
    ),
  childTaskIds: z.array(z.string()).describe("The tasks that it launched."),
  runStartedAt: z.iso.datetime().describe("When the newest run began."),
  completedAt: z.iso.datetime().optional().describe("When the newest run ended; absent while it is under way."),
  resultRetrievedAt: z.iso.datetime().optional().describe("When an agent first read the result; absent until then."),
  result: z
    .string()
    .optional()
    .describe(
      "The text of the message with which the agent ended the run, or the JSON in it where there is a `schema`; of a run that was stopped, what it had said so far.",
    ),
  incomplete: Incompleteness.optional().describe(
    "Why `result` is not known to be the whole answer: the model reached the limit of its output (`length`), its reasoning used that up before it wrote an answer (`reasoning`), the provider never said that it had finished (`noStopReason`), or a person wrote to the agent in the middle of its work, and its last message is to that (`remark`). Absent where it is whole.",
  ),
  earlierText: z
    .string()
    .optional()
    .describe(
      "What the agent wrote last before the message that ended the run, where that has no text: it is not the result. Absent otherwise.",
    ),
  summary: z.string().optional().describe("The first paragraph of `result`."),
  error: TaskErrorSchema.optional().describe("Why the newest run failed; absent unless it did."),
  failureReason: z.string().optional().describe("The message of `error`."),
  receipt: Receipt.optional().describe("What was observed of the newest run; absent while it is under way."),
  resumeCount: z
    .int()
    .nonnegative()
    .describe("How many times it was resumed or retried: the number of its newest run."),
  isRetry: z
    .literal(true)
    .optional()
    .describe("True where the newest run is a retry: it goes on with what the run before did not bring to its end."),
  nextRun: z
    .enum(["resume", "retry"])
    .optional()
    .describe(
      "How an ended task goes on by itself once its result is delivered, because it was asked to before that. Absent where nobody has asked.",
    ),
  attention: AttentionSchema.optional().describe(
    "What holds it up: a permission, a question, or silence. Absent when nothing does.",
  ),
  waiting: WaitingSchema.optional().describe("What the run under way waits for. Absent when no run is."),
  interruptedAt: z.iso
    .datetime()
    .optional()
    .describe(
      "When the newest run was interrupted last, since its OpenCode had ended or did not answer, and went on; absent where it was not.",
    ),
  server: FleetServerSchema.optional().describe(
    "The server of the fleet that works on the newest run, or did; absent where that is this one.",
  ),
  pendingInstructions: z
    .int()
    .positive()
    .optional()
    .describe("How many further instructions are on their way into its conversation; absent when none is."),
  instructions: z
    .array(GivenInstructionSchema)
    .optional()
    .describe(
      "The further instructions that the newest run was given, oldest first, with what became of each; absent where it was given none.",
    ),
  queue: QueuePlaceSchema.optional().describe(
    "Its place among the runs that wait for a slot; absent while it does not.",
  ),
  progress: ProgressSchema.describe("What it has done itself so far."),
});

export const TaskWithUsageSchema = TaskSchema.extend({
  usage: UsageSchema.describe("What it and all its descendants used."),
});
