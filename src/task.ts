import { z } from "zod";
import { Incompleteness, Receipt } from "./receipt.ts";
import { truncateLine } from "./services/platform/plain-text.ts";
import { OpenUserRequest } from "./user-request.ts";

/* What the words mean, here and elsewhere, is in docs/glossary.md. */

/** The five public statuses. Each is the name of a state of the task's lifecycle; nothing else computes it. */
export const TaskStatus = z.enum(["running", "completed", "error", "cancelled", "resumed"]);
export type TaskStatus = z.infer<typeof TaskStatus>;

/** A model by its names in the host. `variant` is its reasoning effort or similar; absent when the model has none. */
export const ModelRef = z.object({ providerID: z.string(), modelID: z.string(), variant: z.string().optional() });
export type ModelRef = z.infer<typeof ModelRef>;

/** True for the same model, whatever its variant: a provider refuses a model, not its reasoning effort. */
export const isSameModel = (one: ModelRef | undefined, other: ModelRef | undefined): boolean =>
  one?.providerID === other?.providerID && one?.modelID === other?.modelID;

/**
 * Why a provider refuses a model, so that another model may do:
 * - `auth`: the provider does not accept the key, or not for this model
 * - `quota`: nothing is left of the account's quota or credit
 * - `unknownModel`: there is no such model
 * - `overloaded`: a rate limit or too much load, for longer than is waited
 */
export const ModelRefusal = z.enum(["auth", "quota", "unknownModel", "overloaded"]);
export type ModelRefusal = z.infer<typeof ModelRefusal>;

/** A model that refused a run for which there are others. */
export const RefusedModel = z.object({
  /** Absent where nothing is known of it but that it is the agent's own. */
  model: ModelRef.optional(),
  /** The provider's reason, as the host gives it. */
  reason: z.string(),
});
export type RefusedModel = z.infer<typeof RefusedModel>;

/** What a run does when its model is refused: it goes on with the first of these that has not refused it. */
export const Fallback = z.object({
  models: z.array(ModelRef).min(1),
  /** Milliseconds for which the provider may make the run wait before that. */
  after: z.int().nonnegative(),
});
export type Fallback = z.infer<typeof Fallback>;

/**
 * Why a run ended in `error`:
 * - `provider`: the child's model or its provider failed; `name` and `message` are the host's own
 * - `sessionGone`: the child session was deleted
 * - `unanswered`: the host accepted the prompt and never answered it
 * - `host`: the host refused or could not be reached
 * - `interrupted`: OpenCode ended while the run was under way, and it was not to be continued
 * - `budget`, `loop`, `timeout`: the run went beyond a limit, and was stopped; `message` says which
 * - `gate`: its answer did not pass the gate, as often as it may be tried
 * - `fleet`: the servers that worked on it are gone, or could not be reached
 * - `schema`: its answer did not fit the schema of its result, and the next one did not either
 * - `internal`: a fault in this plugin
 */
export const TaskError = z.object({
  name: z.string(),
  kind: z.enum([
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
  ]),
  message: z.string(),
  /** Of kind `provider`: why the model was refused; absent for another failure. */
  refusal: ModelRefusal.optional(),
});
export type TaskError = z.infer<typeof TaskError>;

/** What an agent answered in a run. */
export type Answer = {
  /** The text of the message that ended the run; empty where it has none. */
  result: string;
  /** Absent where the result is the whole answer. */
  incomplete?: Incompleteness | undefined;
  /** What the agent wrote last before that message, where that has no text; absent where it has, or nothing was written. */
  earlierText?: string | undefined;
};

/** Returns what an answer says beside its text, without empty fields: what is compared and sent has none. */
export const besideText = ({
  incomplete,
  earlierText,
}: Omit<Answer, "result">): { incomplete?: Incompleteness; earlierText?: string } => ({
  ...(incomplete === undefined ? {} : { incomplete }),
  ...(earlierText === undefined ? {} : { earlierText }),
});

/** What holds a task up: a user request, or silence. */
export const Attention = z.object({
  kind: z.enum(["permission", "question", "stale"]),
  /** What the child asks, in words; empty for `stale`. */
  what: z.string(),
  since: z.iso.datetime(),
  /** All open requests, oldest first; `kind`, `what` and `since` are those of the first. Absent for `stale`. */
  requests: z.array(OpenUserRequest).optional(),
});
export type Attention = z.infer<typeof Attention>;

/**
 * What a run under way waits for:
 * - `slot`: its place among those that are worked on
 * - `acceptance`: the host, to take the prompt
 * - `retry`: the time at which the prompt is sent again
 * - `agent`: its agent, which is at work
 * - `provider`: the provider of its model, which refuses for now
 * - `check`: the host, to say how the run stands
 * - `gate`: the command that checks its answer, to end
 * - `session`: the host, to find the session again
 * - `model`: the turn of its refused model to end, so that the next model can go on
 * - `abort`: a moment that shows who aborted it
 * - `recovery`: the host, to say what became of the run, whose process has ended
 * - `stop`: its session, to stop
 * - `person`: a person, to answer its request
 * - `tasks`: the tasks that it launched
 * - `fleet`: the engine of the fleet, to take its order or to give it back
 * - `server`: a server of the fleet, to take it
 */
export const WaitsFor = z.enum([
  "slot",
  "acceptance",
  "retry",
  "agent",
  "provider",
  "check",
  "gate",
  "session",
  "model",
  "abort",
  "recovery",
  "stop",
  "person",
  "tasks",
  "fleet",
  "server",
]);
export type WaitsFor = z.infer<typeof WaitsFor>;

/** What a run under way waits for, and since when. */
export const Waiting = z.object({
  for: WaitsFor,
  since: z.iso.datetime(),
  /** When something is tried again; absent where nothing is. */
  until: z.iso.datetime().optional(),
  /** What the provider said when it refused a request for now; absent for other waits. */
  refusal: z
    .object({
      /** Absent where the task's model is not known. */
      provider: z.string().optional(),
      /** How often the request is made again, the next time included. */
      attempt: z.int().positive(),
      /** The provider's reason, as the host gives it. */
      message: z.string(),
    })
    .optional(),
  /** How many tasks of its own it waits for; absent for other waits. */
  tasks: z.int().positive().optional(),
  /** What its agent had asked before its process ended. It does that step again, and may ask again; absent where it had not. */
  lostRequests: z.array(z.string()).optional(),
  /** The process that supervises the task, where it has shown no sign of life for 15 s; absent where it has. */
  silent: z
    .object({
      pid: z.int(),
      /** When it last showed one. */
      since: z.iso.datetime(),
      /** When another process takes the task over. */
      until: z.iso.datetime(),
    })
    .optional(),
});
export type Waiting = z.infer<typeof Waiting>;

/** A limit whose slots are in use. */
export const UsedUpLimit = z.object({
  kind: z.enum(["model", "agent", "provider", "total"]),
  /** Of the model, the agent or the provider; empty for `total`. */
  name: z.string(),
  used: z.int().nonnegative(),
  limit: z.int().positive(),
});
export type UsedUpLimit = z.infer<typeof UsedUpLimit>;

/** A provider that refuses another task for now. */
export const RefusingProvider = z.object({
  kind: z.literal("rateLimit"),
  /** The provider's name. */
  name: z.string(),
  /** When the host asks it again for that task. Others start when it has answered that one, a few seconds later at most. */
  until: z.iso.datetime(),
});

/** Where a run that waits for a slot stands in the queue. */
export const QueuePlace = z.object({
  /** From 1. Counts the runs before it that wait for a slot of the same limit. */
  place: z.int().positive(),
  /**
   * Its provider, while that refuses another task for now. Otherwise the narrowest limit that keeps it waiting: of a model,
   * an agent, a provider, or of all tasks (`total`), and how many slots of it are in use. These may be more than `limit`: a
   * task that waited for a person or for its own tasks goes on above it. Absent where the run can start, and is about to.
   */
  heldUpBy: z.union([UsedUpLimit, RefusingProvider]).optional(),
});
export type QueuePlace = z.infer<typeof QueuePlace>;

/** What work has used, as the host counted it. Zeros where it reports nothing, as for models without a price. */
export const Usage = z.object({
  /** Input, output and reasoning tokens of all steps. */
  tokens: z.int().nonnegative(),
  /** US dollars. */
  cost: z.number().nonnegative(),
});
export type Usage = z.infer<typeof Usage>;

/** Billionths of a dollar are exact in a sum: fractions that floating point adds beyond them are no cost. */
const PRECISION = 1e9;

/** Adds up what several have used. */
export const addUp = (usages: readonly Usage[]): Usage => ({
  tokens: usages.reduce((sum, { tokens }) => sum + tokens, 0),
  cost: Math.round(usages.reduce((sum, { cost }) => sum + cost, 0) * PRECISION) / PRECISION,
});

/** What was done with a file: a write counts, whatever was read before. */
const FileUse = z.enum(["read", "wrote"]);

/** A file that a task and another agent of the same folder both used while the task was at work, and one of them wrote. */
export const Overlap = z.object({
  /** Absolute. */
  path: z.string(),
  at: z.iso.datetime(),
  /** What the task did. */
  did: FileUse,
  /** The other agent: of a task, or of the session that launched this one. */
  other: z.object({ sessionID: z.string(), did: FileUse }),
  /** Who has not been told yet: the task's own agent, the agent that launched it. */
  untold: z.array(z.enum(["agent", "caller"])),
});
export type Overlap = z.infer<typeof Overlap>;

/** What a child has done so far, from the host's events. Not part of the chart: it changes often and decides nothing. */
export const Progress = Usage.extend({
  toolCalls: z.int().nonnegative(),
  toolCallsByName: z.record(z.string(), z.int().positive()),
  /** The tools that were called last, oldest first; at most five. */
  lastTools: z.array(z.string()),
  /** When the host last reported anything of the child. */
  lastUpdate: z.iso.datetime(),
  /** Of the newest run, oldest first; absent where there are none. */
  overlaps: z.array(Overlap).optional(),
});
export type Progress = z.infer<typeof Progress>;

/** What budgets count of a task's progress. */
export type BudgetedUsage = Pick<Progress, "toolCalls" | "tokens" | "cost">;

/** Maximum length of a task's description. It stands in headlines, titles and lists; a model may send its whole prompt. */
export const DESCRIPTION_CHARS = 200;

/** Returns a task's description as it is stored and shown: one line of at most `DESCRIPTION_CHARS` characters. */
export const shortDescription = (text: string): string => truncateLine(text, DESCRIPTION_CHARS);

/**
 * When the ends of tasks wake their parent's agent. `each`: every end does, at once. `all`: the last one of the batch does,
 * and one in `error`; ends before that are delivered with it.
 */
export const Wake = z.enum(["each", "all"]);
export type Wake = z.infer<typeof Wake>;

/** A command that an answer must pass before it counts. */
export const Gate = z.object({
  /** As a shell takes it. */
  command: z.string(),
  /** How often the agent is given what the command said, and goes on, before the run fails. */
  tries: z.int().nonnegative(),
  /** Milliseconds that the command may take. */
  timeout: z.int().positive(),
});
export type Gate = z.infer<typeof Gate>;

/** A JSON Schema that a result must fit: of draft 2020-12, or of draft-07 where its `$schema` says so. */
export const ResultSchema = z.record(z.string(), z.unknown());
export type ResultSchema = z.infer<typeof ResultSchema>;

/** Where a task's agent works that does not work in the task's directory. */
export const Worktree = z.object({
  /** Names the worktree, and its folder in the plugin's data folder. */
  id: z.string(),
  /** The folder in it that stands for the task's directory. */
  directory: z.string(),
  /** True where it was made for a task above this one, or for one that a person works with. */
  isShared: z.boolean(),
});
export type Worktree = z.infer<typeof Worktree>;

/** A file that differs between two trees. */
export const ChangedFile = z.object({
  /** From the top of the tree, with slashes. */
  path: z.string(),
  change: z.enum(["added", "modified", "deleted"]),
  /** Lines that were added; absent for a file that is not text. */
  added: z.int().nonnegative().optional(),
  /** Lines that were removed; absent for a file that is not text. */
  removed: z.int().nonnegative().optional(),
});
export type ChangedFile = z.infer<typeof ChangedFile>;

/** What lies in a task's worktree and is not among its changes. */
export const LeftOut = z.object({
  /** From the top of the tree, with slashes. A folder ends with one, or is one whose name git refuses. */
  path: z.string(),
  /**
   * `ignored`: a `.gitignore` that the task wrote hides it. `name`: git takes no file of such a name, as below `.GIT`.
   * `repository`: a repository of its own, of which the files are among the changes, and the history is not.
   */
  why: z.enum(["ignored", "name", "repository"]),
});
export type LeftOut = z.infer<typeof LeftOut>;

/** What a task changed in its worktree, at the end of a run. */
export const WorktreeChanges = z.object({
  /** The newest run that it has the changes of. */
  run: z.int().nonnegative(),
  /** When they were counted, in epoch milliseconds. */
  at: z.number(),
  /** By path; none where nothing was changed. */
  files: z.array(ChangedFile),
  /** Absent where nothing is left out. */
  leftOut: z.array(LeftOut).optional(),
  /** Why they could not be counted, in git's words; absent where they were. */
  problem: z.string().optional(),
  /**
   * What became of them: taken by a person, removed by one, kept for as long as the options say, or sent to the server that
   * launched the task. Absent until then.
   */
  became: z.enum(["applied", "discarded", "expired", "sent"]).optional(),
});
export type WorktreeChanges = z.infer<typeof WorktreeChanges>;

/**
 * Where a claim stands: when its log's engine was set up, in epoch milliseconds, and its place in the log. An engine that has
 * lost its memory begins anew, and all its claims are newer than those of before.
 */
export const Claim = z.object({ epoch: z.number(), seq: z.int().positive() });
export type Claim = z.infer<typeof Claim>;

/** A server of the fleet: its id, which it keeps, and what people know it by. */
export const FleetServer = z.object({ id: z.string(), label: z.string() });
export type FleetServer = z.infer<typeof FleetServer>;

/** How a task is offered to the servers of the fleet. */
export const FleetOffer = z.object({
  /** The project, whose servers may take it. */
  pool: z.string(),
  /** The commit that its agent works from. */
  commit: z.string(),
  /** How often it may be begun. */
  attempts: z.int().positive(),
  /** Milliseconds for which it waits for a server. After that it is worked on here. */
  patience: z.int().nonnegative(),
});
export type FleetOffer = z.infer<typeof FleetOffer>;

/** A run of another server's task that this server works on: whose it is, and by which claim. */
export const OrderedRun = z.object({
  /** The id of the server that launched the task. */
  home: z.string(),
  /** The task's id there. */
  task: z.string(),
  run: z.int().nonnegative(),
  claim: Claim,
  /** How deep it is there among tasks that launch tasks. */
  depth: z.int().positive(),
  /** The permit that it has of the limit of its model; absent where that has none. */
  permit: z.object({ name: z.string(), holder: z.string() }).optional(),
});
export type OrderedRun = z.infer<typeof OrderedRun>;

/** What is known at launch and never changes. */
export const TaskFacts = z.object({
  /** Id of the child session that the task runs in, and the task's own id. */
  sessionID: z.string(),
  parentSessionID: z.string(),
  /** The assistant message that launched the task. */
  parentMessageID: z.string(),
  parentAgent: z.string(),
  /** The task whose child session launched this one; absent when a person's own session did. */
  parentTaskId: z.string().optional(),
  /** Who launched it: the calling agent's name, or `user`. */
  author: z.string(),
  directory: z.string(),
  /** A few words for people and lists, on one line. */
  description: z.string(),
  prompt: z.string(),
  agent: z.string(),
  model: ModelRef.optional(),
  /** Absent where a refused model ends the run. */
  fallback: Fallback.optional(),
  /** Absent where an answer counts as it is. */
  gate: Gate.optional(),
  /** Absent where the result may be any text. */
  schema: ResultSchema.optional(),
  startedAt: z.iso.datetime(),
  /** Unique only within the parent session. */
  batchId: z.string(),
  isForked: z.boolean(),
  /** Tasks with a higher priority are to get a slot first. */
  priority: z.int(),
  /** Absent: `each`. */
  wake: Wake.optional(),
  /** Absent where its agent works in the task's directory. */
  worktree: Worktree.optional(),
  /** Absent where it is for this server alone. */
  fleet: FleetOffer.optional(),
  /** Absent where it was launched on this server. */
  order: OrderedRun.optional(),
});
export type TaskFacts = z.infer<typeof TaskFacts>;

/** Returns the folder in which a task's agent works. */
export const workDirectory = ({ directory, worktree }: Pick<TaskFacts, "directory" | "worktree">): string =>
  worktree?.directory ?? directory;

/** A background task as tools, store and API show it. Times are ISO 8601, durations milliseconds. */
export const Task = TaskFacts.extend({
  /** The model that the newest run works with, or ended with; absent where it is its agent's own. */
  model: ModelRef.optional(),
  /**
   * The models that refused the newest run, oldest first, where it went on with another one; absent where it did not. One
   * that a person asked in the task's session may be among them. The last is `model` where all refused it.
   */
  refusedModels: z.array(RefusedModel).optional(),
  status: TaskStatus,
  /** The status, and where in its run the task is, such as `running.working`: a detail of `status`, never a sixth one. */
  state: z.string(),
  childTaskIds: z.array(z.string()),
  /** When the newest run began. */
  runStartedAt: z.iso.datetime(),
  completedAt: z.iso.datetime().optional(),
  resultRetrievedAt: z.iso.datetime().optional(),
  /**
   * The text of the message with which the child ended the run, or the JSON in it where there is a `schema`; of a run that
   * was stopped, what it had said so far.
   */
  result: z.string().optional(),
  /** Why `result` is not known to be the whole answer; absent where it is. */
  incomplete: Incompleteness.optional(),
  /** What the child wrote last before the message that ended the run, where that has no text: it is not the result. */
  earlierText: z.string().optional(),
  /** The first paragraph of `result`. */
  summary: z.string().optional(),
  error: TaskError.optional(),
  failureReason: z.string().optional(),
  /** What was observed of the newest run; absent while it is under way, and for runs that earlier versions supervised. */
  receipt: Receipt.optional(),
  resumeCount: z.int().nonnegative(),
  attention: Attention.optional(),
  /** Absent when no run is under way. */
  waiting: Waiting.optional(),
  /** When the newest run was interrupted last, by the end of its process, and went on; absent where it was not. */
  interruptedAt: z.iso.datetime().optional(),
  /** The server of the fleet that works on the newest run, or did; absent where that is this one. */
  server: FleetServer.optional(),
  /** How many further instructions are on their way into the task's conversation; absent when none is. */
  pendingInstructions: z.int().positive().optional(),
  /** Absent while the task does not wait for a slot. */
  queue: QueuePlace.optional(),
  progress: Progress,
});
export type Task = z.infer<typeof Task>;

/** A task with what it used. */
export const TaskWithUsage = Task.extend({
  /** Of its own runs, and of all tasks below it. `progress` has its own alone. */
  usage: Usage,
});
export type TaskWithUsage = z.infer<typeof TaskWithUsage>;

/**
 * What lists show of a task, and what tasks are selected and counted by: all that a store tells without reading a prompt or
 * a result. Times are epoch milliseconds.
 */
export interface TaskEntry
  extends Pick<
    Task,
    "sessionID" | "parentSessionID" | "batchId" | "status" | "agent" | "description" | "resumeCount" | "isForked"
  > {
  launchedAt: number;
  /** When the newest run began. */
  runBeganAt: number;
  /** When the newest run ended; absent while it is under way. */
  runEndedAt?: number;
  /** Of its own runs, without the tasks below it. */
  ownUsage: Usage;
  /** Of a completed task: why its result is not known to be the whole answer; absent where it is. */
  incomplete?: Incompleteness;
}

/** Returns what a list has of a task. */
export const entryOf = (task: Task): TaskEntry => ({
  sessionID: task.sessionID,
  parentSessionID: task.parentSessionID,
  batchId: task.batchId,
  status: task.status,
  agent: task.agent,
  description: task.description,
  resumeCount: task.resumeCount,
  isForked: task.isForked,
  launchedAt: Date.parse(task.startedAt),
  runBeganAt: Date.parse(task.runStartedAt),
  ownUsage: { tokens: task.progress.tokens, cost: task.progress.cost },
  ...(task.status === "completed" && task.incomplete ? { incomplete: task.incomplete } : {}),
  ...(task.completedAt === undefined ? {} : { runEndedAt: Date.parse(task.completedAt) }),
});

/** A task in a list, with what holds it up and what it waits for. */
export interface ListedTask
  extends TaskEntry,
    Pick<Task, "attention" | "waiting" | "queue" | "server" | "model" | "refusedModels">,
    Pick<Progress, "overlaps"> {}

/** Returns a task as a list shows it. */
export const listedTask = (task: Task): ListedTask => ({
  ...entryOf(task),
  attention: task.attention,
  waiting: task.waiting,
  queue: task.queue,
  server: task.server,
  model: task.model,
  refusedModels: task.refusedModels,
  overlaps: task.progress.overlaps,
});

/** True when no run of the task is under way. */
export const hasEnded = (task: Pick<Task, "status">): boolean => task.status !== "running" && task.status !== "resumed";

/** The host's name for the error of an answer that the provider's content filter ended. */
export const CONTENT_FILTER_ERROR = "ContentFilterError";

const LIMITS: readonly TaskError["kind"][] = ["budget", "loop", "timeout"];

/** True for an error that ended a run in the middle: what the child had said so far is the result. */
export const isStop = ({ kind, name }: TaskError): boolean => LIMITS.includes(kind) || name === CONTENT_FILTER_ERROR;

/** True where a run failed whose result is what the child had said until it was stopped. */
export const hasPartialResult = ({
  error,
  result,
}: {
  error?: TaskError | undefined;
  result?: string | undefined;
}): boolean => result !== undefined && error !== undefined && isStop(error);

/** How many tasks of a batch or a session have ended, and how many there are. */
export interface TaskCounts {
  ended: number;
  total: number;
}

/** Counts tasks. Notices and lists both use it, so that their numbers agree. */
export const countTasks = (tasks: readonly Pick<Task, "status">[]): TaskCounts => ({
  ended: tasks.filter(hasEnded).length,
  total: tasks.length,
});

/** Returns how many of the counted tasks have not ended. */
export const runningCount = ({ ended, total }: TaskCounts): number => total - ended;

/** The progress of a task that has done nothing yet. `since` is ISO 8601. */
export const noProgress = (since: string): Progress => ({
  toolCalls: 0,
  toolCallsByName: {},
  lastTools: [],
  lastUpdate: since,
  tokens: 0,
  cost: 0,
});
