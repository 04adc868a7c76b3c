import { z } from "@hono/zod-openapi";
import { GateResult, RanCommand, Receipt, ToolCount, WrittenFile } from "../../../receipt.ts";
import {
  Attention,
  Claim,
  Fallback,
  FleetOffer,
  FleetServer,
  Gate,
  ModelRef,
  OrderedRun,
  Overlap,
  Progress,
  QueuePlace,
  RefusedModel,
  RefusingProvider,
  ResultSchema,
  TaskError,
  TaskStatus,
  TaskWithUsage,
  Usage,
  UsedUpLimit,
  Waiting,
  Worktree,
} from "../../../task.ts";
import { OpenUserRequest, Question } from "../../../user-request.ts";
import { describeFields } from "./described.ts";

/** What work has used, described. */
export const DescribedUsage = describeFields(Usage, {
  tokens: "Input, output and reasoning tokens of all steps, as OpenCode counted them.",
  cost: "US dollars, as OpenCode counted them; 0 for models without a price.",
});

const Model = describeFields(ModelRef, {
  providerID: "The provider's id in OpenCode.",
  modelID: "The model's id in OpenCode.",
  variant: "Its reasoning effort or similar; absent when the model has none.",
});

const Failure = describeFields(TaskError, {
  name: "The error's name; that of OpenCode where it reported one.",
  kind: "Why the run ended: `provider` (the model or its provider failed), `sessionGone` (the child session was deleted), `unanswered` (OpenCode took the prompt and never answered it), `host` (OpenCode refused or could not be reached), `interrupted` (OpenCode ended, and the run was not to be continued), `budget`, `loop` or `timeout` (the run went beyond a limit of the options and was stopped), `gate` (its answer did not pass the gate), `schema` (its answer did not fit the schema of its result), `internal` (a fault in this plugin).",
  message: "What happened, in words.",
  refusal:
    "Of kind `provider`, why the model was refused: `auth` (its key is not accepted), `quota` (nothing is left of it), `unknownModel` (there is no such model), `overloaded` (a rate limit, or too much load). Absent for another failure.",
});

const OtherModels = describeFields(Fallback.extend({ models: z.array(Model).min(1) }), {
  models: "The models, in the order in which they are asked.",
  after: "Milliseconds for which a provider may make the run wait before that.",
});

const Refused = describeFields(RefusedModel.extend({ model: Model.optional() }), {
  model: "The model; absent where nothing is known of it but that it is the agent's own.",
  reason: "The provider's reason, as OpenCode gives it.",
});

const AskedQuestion = describeFields(Question, {
  question: "The question.",
  options: "The choices that are offered.",
  multiple: "True when more than one choice may be given.",
  custom: "True when an answer of one's own may be given instead of a choice.",
});

const Request = describeFields(OpenUserRequest.extend({ questions: z.array(AskedQuestion).optional() }), {
  id: "Names the request in the reply to it.",
  kind: "Whether the child asks for a permission or has questions.",
  what: "What the child asks, in words.",
  since: "When it was asked.",
  questions: "The questions that are asked together; absent for a permission.",
  always: "The patterns that the reply `always` allows from then on; absent for a question.",
});

const HeldUp = describeFields(Attention.extend({ requests: z.array(Request).optional() }), {
  kind: "A permission or a question that waits for a person, or `stale`: the child has been silent for long.",
  what: "What the child asks, in words; empty for `stale`.",
  since: "Since when it is so.",
  requests: "All open requests, oldest first, those of tasks below it included. Absent for `stale`.",
});

const Refusal = describeFields(Waiting.shape.refusal.unwrap(), {
  provider: "The provider's id in OpenCode; absent where the task's model is not known.",
  attempt: "How often OpenCode makes the request again, the next time included.",
  message: "Why it refused, as OpenCode gives it.",
});

const Silent = describeFields(Waiting.shape.silent.unwrap(), {
  pid: "Its process id.",
  since: "When it last showed one.",
  until:
    "When another OpenCode in the directory takes the task over, if one is open there; at once if the process ends.",
});

const Wait = describeFields(Waiting.extend({ refusal: Refusal.optional(), silent: Silent.optional() }), {
  for: "What it waits for: `slot` (its place among the runs that are worked on), `acceptance` (OpenCode, to take the prompt), `retry` (the time at which the prompt is sent again), `agent` (its agent, which is at work), `provider` (the provider of its model, which refuses for now), `check` (OpenCode, to say how the run stands), `session` (OpenCode, to find the session again), `model` (the turn of its refused model to end, so that the next model can go on), `abort` (a moment that shows who aborted it), `recovery` (OpenCode, to say what became of the run, whose process has ended), `stop` (its session, to stop), `person` (a person's answer), `tasks` (the tasks that it launched), `fleet` (the engine of the fleet, to take its order or to give it back), `server` (a server of the fleet, to take it).",
  since: "Since when it waits for that.",
  until: "When something is tried again; absent where nothing is.",
  refusal: "What the provider said when it refused a request for now; absent unless `for` is `provider`.",
  tasks: "How many tasks of its own it waits for; absent unless `for` is `tasks`.",
  lostRequests:
    "What its agent had asked before its OpenCode ended, and may ask again: it does that step once more. Absent where nothing was open.",
  silent:
    "The process that supervises the task, where it has shown no sign of life for 15 s: it is held up. Absent where it has.",
});

const Limit = describeFields(UsedUpLimit, {
  kind: "Whose limit it is: of a model, an agent, a provider, or of all tasks (`total`).",
  name: "The name of the model, the agent or the provider; empty for `total`.",
  used: "Slots of it that are in use; more than `limit` where a task that waited for a person or for its own tasks goes on.",
  limit: "Slots that it has.",
});

const RateLimit = describeFields(RefusingProvider, {
  kind: "The provider refuses another task for now.",
  name: "The provider's id in OpenCode.",
  until: "When OpenCode asks it again for that task. Others start once it has answered, or three seconds later.",
});

const Place = describeFields(QueuePlace.extend({ heldUpBy: z.union([Limit, RateLimit]).optional() }), {
  place: "From 1. Counts the runs before it that wait for a slot of the same limit, or for the same provider.",
  heldUpBy:
    "Its provider, while that refuses another task for now; otherwise the narrowest limit that keeps it waiting. Absent where the run can start, and is about to.",
});

const SharedFile = describeFields(
  Overlap.extend({
    other: describeFields(Overlap.shape.other, {
      sessionID: "The task of the other agent, or the session that launched this task.",
      did: "What the other agent did.",
    }),
  }),
  {
    path: "Absolute.",
    at: "When it was seen.",
    did: "What the task's agent did.",
    other: "The other agent.",
    untold: "Who has not been told of it yet: the task's agent, the agent that launched it.",
  },
);

const Work = describeFields(Progress.extend({ overlaps: z.array(SharedFile).optional() }), {
  tokens: "Input, output and reasoning tokens of its own runs.",
  cost: "US dollars that its own runs cost.",
  toolCalls: "Tool calls of its own runs.",
  toolCallsByName: "Tool calls by the tool's name.",
  lastTools: "The tools that were called last, oldest first; at most five.",
  lastUpdate: "When OpenCode last reported anything of the child.",
  overlaps:
    "Files that it and another agent of the same folder both used during the newest run, and one of them wrote, oldest first; absent where there are none.",
});

const File = describeFields(WrittenFile, {
  path: "From the task's folder; absolute where it lies elsewhere.",
  change: "What was done to it.",
  added: "Lines that were added, as the tools counted them; absent where one of them did not.",
  removed: "Lines that were removed; absent where `added` is, or may be.",
});

const Command = describeFields(RanCommand, {
  command: "The command, on one line and shortened.",
  exit: "Its exit code; absent where none was seen.",
  end: "`exited` by itself; `timedOut`: the tool's time limit ended it; `aborted`: with its turn.",
  tests:
    "Of a command that runs tests, what its exit code says of them. `unclear`: the exit code is that of another part of the line, or there is none. Absent for other commands.",
});

const Calls = describeFields(ToolCount, {
  tool: "The tool's name.",
  calls: "How often it was called.",
  failed: "How many of these calls failed.",
});

const MoreThanListed = describeFields(Receipt.shape.omitted, {
  files: "Files that its tools wrote.",
  otherFiles: "Other files that changed.",
  commands: "Commands.",
});

const GateEnd = describeFields(GateResult, {
  command: "The command.",
  runs: "How often it was run, for one answer after the other.",
  exit: "The exit code of its newest run; absent where it had none.",
  end: "`exited` by itself; `timedOut`: its time limit ended it; `notRun`: it could not be started.",
});

const AnswerGate = describeFields(Gate, {
  command: "The command, as a shell takes it.",
  tries: "How often the agent is given what it said, and goes on, before the run fails.",
  timeout: "Milliseconds that it may take.",
});

const WrittenReceipt = describeFields(
  Receipt.extend({
    tools: z.array(Calls),
    files: z.array(File),
    commands: z.array(Command),
    gate: GateEnd.optional(),
    omitted: MoreThanListed,
  }),
  {
    run: "The number of the run: 0 is the launch.",
    isWhole: "False where part of the run could not be observed.",
    tools: "Its tool calls, the most called tool first; empty where no tool was called.",
    filesRead: "How many files its tools read.",
    files: "The files that its tools wrote.",
    otherFiles:
      "Files that changed in the folder while it was under way, though none of its tools says that it wrote them: a command did, or somebody else.",
    commands: "The commands that its agent ran in a shell, oldest first.",
    gate: "How the command ended that checks its answers; absent where it has none, or no answer came to it.",
    incomplete:
      "Why the run's result is not known to be the whole answer, as in `incomplete` of the task; absent where it is, or there is none.",
    omitted: "How many more there are of each than the lists show.",
    tokens: "Input, output and reasoning tokens of its steps.",
    cost: "US dollars.",
    workedMs: "Milliseconds in which its model and its tools worked.",
    waitedMs: "The rest of the run, in milliseconds.",
  },
);

const Tree = describeFields(Worktree, {
  id: "Names the worktree, and its folder in the plugin's data folder.",
  directory: "The folder in it that stands for the task's directory.",
  isShared: "True where it was made for a task above this one, or for one that a person works with.",
});

const Offer = describeFields(FleetOffer, {
  pool: "The project, whose servers may take it.",
  commit: "The commit that its agent works from.",
  attempts: "How often it may be begun.",
  patience: "Milliseconds for which it waits for a server before it is worked on here.",
});

const Server = describeFields(FleetServer, {
  id: "The server's id, which it keeps.",
  label: "What people know it by.",
});

const OtherServersRun = describeFields(
  OrderedRun.extend({
    claim: describeFields(Claim, {
      epoch: "When the engine of the fleet was set up, epoch milliseconds.",
      seq: "The place of the claim in the engine's log.",
    }),
    permit: describeFields(OrderedRun.shape.permit.unwrap(), {
      name: "Names the permit: one of as many as the limit allows tasks.",
      holder: "Who has it: nobody else uses the same.",
    }).optional(),
  }),
  {
    home: "The id of the server that launched the task.",
    task: "The task's id there.",
    run: "The number of the run: 0 is the launch.",
    claim: "The entry by which this server took the run.",
    depth: "How deep it is there among tasks that launch tasks: 1 for one that a person's agent launched.",
    permit: "The permit that it has of the limit of its model; absent where that has none.",
  },
);

const shape = TaskWithUsage.extend({
  model: Model.optional(),
  worktree: Tree.optional(),
  fleet: Offer.optional(),
  order: OtherServersRun.optional(),
  server: Server.optional(),
  fallback: OtherModels.optional(),
  gate: AnswerGate.optional(),
  schema: ResultSchema.optional(),
  refusedModels: z.array(Refused).optional(),
  error: Failure.optional(),
  receipt: WrittenReceipt.optional(),
  attention: HeldUp.optional(),
  waiting: Wait.optional(),
  queue: Place.optional(),
  progress: Work,
  usage: DescribedUsage,
});

/** A task, described. */
export const DescribedTask = describeFields(shape, {
  sessionID: "The task's id: that of the child session that it runs in.",
  parentSessionID: "The session whose agent launched it.",
  parentMessageID: "The assistant message that launched it.",
  parentAgent: "The agent that launched it.",
  parentTaskId: "The task whose child session launched it; absent when a person's own session did.",
  author: "Who launched it: the calling agent's name, or `user`.",
  directory: "The project folder that it belongs to.",
  description: "A few words for people and lists, on one line.",
  prompt: "What it was launched with.",
  agent: "The agent that works on it.",
  model:
    "The model that its newest run works with, or ended with: the one that it was launched with, or one of `fallback`. Absent where its agent's own is used.",
  worktree: "The git worktree in which its agent works; absent where it works in the task's directory.",
  fleet: "How it is offered to the servers of the fleet; absent where it is for this server alone.",
  order: "The run of another server's task that this server works on; absent where it was launched here.",
  server: "The server of the fleet that works on the newest run, or did; absent where that is this one.",
  fallback: "What a run goes on with when its model is refused; absent where the run ends then.",
  gate: "The command that an answer must pass before it counts; absent where there is none.",
  schema: "The JSON Schema that the result must fit; absent where it may be any text.",
  refusedModels:
    "The models that refused the newest run, oldest first, where it went on with another one; absent where it did not. One that a person asked in the task's session may be among them. The last is `model` where all refused it.",
  startedAt: "When it was launched.",
  batchId: "The tasks of one parent that were launched together have the same one.",
  isForked: "True when it began with a copy of its parent's conversation.",
  priority: "Tasks with a higher priority get a slot first.",
  wake: "When its end wakes its parent's agent: `each` (at once; also when absent) or `all` (with the last end of the batch, or one in error).",
  status: "How the newest run stands; `resumed` is running again.",
  state:
    "The status, and where in its run the task is, such as `running.working`: a detail of `status`, not a sixth one.",
  childTaskIds: "The tasks that it launched.",
  runStartedAt: "When the newest run began.",
  completedAt: "When the newest run ended; absent while it is under way.",
  resultRetrievedAt: "When an agent first read the result; absent until then.",
  result:
    "The text of the message with which the child ended the run, or the JSON in it where there is a `schema`; of a run that was stopped, what it had said so far.",
  incomplete:
    "Why `result` is not known to be the whole answer: the model reached the limit of its output (`length`), its reasoning used that up (`reasoning`), the provider never said that it had finished (`noStopReason`), or a person wrote to the agent in the middle of its work, and its last message is to that (`remark`). Absent where it is whole.",
  earlierText:
    "What the child wrote last before the message that ended the run, where that has no text: it is not the result. Absent otherwise.",
  summary: "The first paragraph of `result`.",
  error: "Why the newest run failed; absent unless it did.",
  failureReason: "The message of `error`.",
  receipt: "What was observed of the newest run; absent while it is under way.",
  resumeCount: "How many times it was resumed.",
  attention: "What holds it up: a permission, a question, or silence. Absent when nothing does.",
  waiting: "What the run under way waits for. Absent when no run is.",
  interruptedAt:
    "When the newest run was interrupted last, since its OpenCode had ended or did not answer, and went on; absent where it was not.",
  pendingInstructions: "How many further instructions are on their way into its conversation; absent when none is.",
  queue: "Its place among the runs that wait for a slot; absent while it does not.",
  progress: "What it has done itself so far.",
  usage: "What it and all tasks below it used.",
});

/** A status, described for a query. */
export const StatusFilter = TaskStatus.describe("Only tasks with this status.");
