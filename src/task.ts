import type { z } from "zod";
import type * as launch from "./launch-schema.ts";
import type { Incompleteness } from "./receipt.ts";
import { truncateLine } from "./services/platform/plain-text.ts";
import type * as task from "./task-schema.ts";
import type * as worktree from "./worktree-changes.ts";

// The types of a task and what follows from its fields. What the fields mean is written in the schemas, whose types alone are
// imported: they are not loaded while OpenCode starts. What the words mean is in docs/glossary.md.

/** One of the five public statuses. */
export type TaskStatus = z.infer<typeof task.TaskStatusSchema>;
/** A model by its names in the host. */
export type ModelRef = z.infer<typeof launch.ModelRefSchema>;
/** Why a provider refuses a model, so that another model may do. */
export type ModelRefusal = NonNullable<TaskError["refusal"]>;
/** A model that refused a run for which there are others. */
export type RefusedModel = z.infer<typeof task.RefusedModelSchema>;
/** Why a run ended in `error`. */
export type TaskError = z.infer<typeof task.TaskErrorSchema>;
/** What holds a task up: a user request, or silence. */
export type Attention = z.infer<typeof task.AttentionSchema>;
/** What a run under way waits for, and since when. */
export type Waiting = z.infer<typeof task.WaitingSchema>;
export type WaitsFor = Waiting["for"];
/** A further instruction for a run, and what became of it. */
export type GivenInstruction = z.infer<typeof task.GivenInstructionSchema>;
/** An instruction that its run's agent never saw: how it began, and who gave it. */
export type MissedInstruction = Pick<GivenInstruction, "text" | "from">;
/** A limit whose slots are in use. */
export type UsedUpLimit = z.infer<typeof task.UsedUpLimitSchema>;
/** Where a run that waits for a slot stands in the queue. */
export type QueuePlace = z.infer<typeof task.QueuePlaceSchema>;
/** What work has used, as the host counted it. */
export type Usage = z.infer<typeof task.UsageSchema>;
/** What it cost to wake the agents that launched tasks. */
export type WakeCosts = z.infer<typeof task.WakeCostsSchema>;
/** A file that a task and another agent of the same folder both used while the task was at work, and one of them wrote. */
export type Overlap = z.infer<typeof task.OverlapSchema>;
/** What a child has done so far, from the host's events. Not part of the chart: it changes often and decides nothing. */
export type Progress = z.infer<typeof task.ProgressSchema>;
/** What budgets count of a task's progress. */
export type BudgetedUsage = Pick<Progress, "toolCalls" | "tokens" | "cost">;
/** When the ends of tasks wake their parent's agent. */
export type Wake = NonNullable<TaskFacts["wake"]>;
/** A command that an answer must pass before it counts. */
export type Gate = z.infer<typeof launch.GateSchema>;
/** A JSON Schema that a result must fit: of draft 2020-12, or of draft-07 where its `$schema` says so. */
export type ResultSchema = NonNullable<TaskFacts["schema"]>;
/** Where a task's agent works that does not work in the task's directory. */
export type Worktree = z.infer<typeof launch.WorktreeSchema>;
/** A file that differs between two trees. */
export type ChangedFile = z.infer<typeof worktree.ChangedFileSchema>;
/** What lies in a task's worktree and is not among its changes. */
export type LeftOut = z.infer<typeof worktree.LeftOutSchema>;
/** What a task changed in its worktree, as it was counted at the end of a run. */
export type WorktreeChanges = z.infer<typeof worktree.WorktreeChangesSchema>;
/** The place of a claim in the log of a run. */
export type Claim = z.infer<typeof launch.ClaimSchema>;
/** A server of the fleet. */
export type FleetServer = z.infer<typeof launch.FleetServerSchema>;
/** How a task is offered to the servers of the fleet. */
export type FleetOffer = z.infer<typeof launch.FleetOfferSchema>;
/** The run of another server's task that this server works on, and the claim by which it does. */
export type ClaimedJob = z.infer<typeof launch.ClaimedJobSchema>;
/** What is known at launch and never changes. */
export type TaskFacts = z.infer<typeof launch.TaskFactsSchema>;
/** A background task as tools, store and API show it. Times are ISO 8601, durations milliseconds. */
export type Task = z.infer<typeof task.TaskSchema>;
/** A task with what it and all its descendants used. */
export type TaskWithUsage = z.infer<typeof task.TaskWithUsageSchema>;

/** What an agent answered in a run. */
export type RunAnswer = {
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
}: Omit<RunAnswer, "result">): { incomplete?: Incompleteness; earlierText?: string } => ({
  ...(incomplete === undefined ? {} : { incomplete }),
  ...(earlierText === undefined ? {} : { earlierText }),
});

/** True for the same model, whatever its variant: a provider refuses a model, not its reasoning effort. */
export const isSameModel = (one: ModelRef | undefined, other: ModelRef | undefined): boolean =>
  one?.providerID === other?.providerID && one?.modelID === other?.modelID;

/** Billionths of a dollar are exact in a sum: fractions that floating point adds beyond them are no cost. */
const PRECISION = 1e9;

/** Adds up what several have used. */
export const addUp = (usages: readonly Usage[]): Usage => ({
  tokens: usages.reduce((sum, { tokens }) => sum + tokens, 0),
  cost: Math.round(usages.reduce((sum, { cost }) => sum + cost, 0) * PRECISION) / PRECISION,
});

/** Adds up what wakes cost. */
export const addUpWakes = (costs: readonly (WakeCosts | undefined)[]): WakeCosts => {
  const known = costs.filter((each) => each !== undefined);
  const sum = (of: "wakes" | "cachedTokens") => known.reduce((all, each) => all + each[of], 0);
  return { wakes: sum("wakes"), ...addUp(known), cachedTokens: sum("cachedTokens") };
};

/** Maximum length of a task's description. It is shown in headlines, titles and lists; a model may send its whole prompt. */
export const DESCRIPTION_CHARS = 200;

/** Returns a task's description as it is stored and shown: one line of at most `DESCRIPTION_CHARS` characters. */
export const shortDescription = (text: string): string => truncateLine(text, DESCRIPTION_CHARS);

/** Returns the folder in which a task's agent works. */
export const workDirectory = ({ directory, worktree }: Pick<TaskFacts, "directory" | "worktree">): string =>
  worktree?.directory ?? directory;

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
  /** Of its own runs, without its descendants. */
  ownUsage: Usage;
  /** How many further instructions the newest run has missed, now that it has ended; absent where it has missed none. */
  missedInstructions?: number;
  /** Of a completed task: why its result is not known to be the whole answer; absent where it is. */
  incomplete?: Incompleteness;
}

/** Returns the instructions that the newest run ended without its agent having seen. */
export const missedIn = ({ instructions = [] }: Pick<Task, "instructions">): GivenInstruction[] =>
  instructions.filter(({ fate }) => fate === "missed");

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
  ...(missedIn(task).length === 0 ? {} : { missedInstructions: missedIn(task).length }),
  ...(task.completedAt === undefined ? {} : { runEndedAt: Date.parse(task.completedAt) }),
});

/** A task in a list, with what holds it up and what it waits for. */
export interface ListedTask
  extends TaskEntry,
    Pick<Task, "attention" | "waiting" | "queue" | "server" | "model" | "refusedModels" | "nextRun">,
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
  nextRun: task.nextRun,
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
