import { z } from "zod";
import { WAKES } from "./field-values.ts";

export const ModelRefSchema = z.object({
  providerID: z.string().describe("The provider's id in OpenCode."),
  modelID: z.string().describe("The model's id in OpenCode."),
  variant: z.string().optional().describe("Its reasoning effort or similar; absent when the model has none."),
});

export const FallbackSchema = z.object({
  models: z.array(ModelRefSchema).min(1).describe("The models, in the order in which they are asked."),
  after: z.int().nonnegative().describe("Milliseconds for which a provider may make the run wait before that."),
});

export const GateSchema = z.object({
  command: z.string().describe("The command, as a shell takes it."),
  tries: z
    .int()
    .nonnegative()
    .describe("How often the agent is given what it said, and goes on, before the run fails."),
  timeout: z.int().positive().describe("Milliseconds that it may take."),
  before: z
    .literal(true)
    .optional()
    .describe("True where it is run before the agent begins, too; absent where it is not."),
});

export const WorktreeSchema = z.object({
  id: z.string().describe("Names the worktree, and its folder in the plugin's data folder."),
  directory: z.string().describe("The folder in it that takes the place of the task's directory."),
  isShared: z
    .boolean()
    .describe("True where it was made for an ancestor of this task, or for one that a person works with."),
});

/** A broker whose logs were set up anew counts from the beginning: all claims in them are newer than those of before. */
export const ClaimSchema = z.object({
  epoch: z.number().describe("When the broker's logs were set up, epoch milliseconds."),
  seq: z.int().positive().describe("The place of the claim in the broker's log."),
});

export const FleetServerSchema = z.object({
  id: z.string().describe("The server's id, which it keeps."),
  label: z.string().describe("What people know it by: its `fleet.name`."),
});

export const FleetOfferSchema = z.object({
  pool: z.string().describe("The project, whose servers may take it."),
  commit: z.string().describe("The commit that its agent works from."),
  attempts: z.int().positive().describe("How often it may be begun."),
  patience: z.int().nonnegative().describe("Milliseconds for which it waits for a server before it is worked on here."),
});

export const ClaimedJobSchema = z.object({
  origin: z.string().describe("The id of the server that launched the task."),
  task: z.string().describe("The task's id there."),
  run: z.int().nonnegative().describe("The number of the run: 0 is the launch."),
  claim: ClaimSchema.describe("The entry by which this server took the run."),
  depth: z
    .int()
    .positive()
    .describe("How deep it is there among tasks that launch tasks: 1 for one that a person's agent launched."),
  permit: z
    .object({
      name: z.string().describe("Names the permit: one of as many as the limit allows tasks."),
      holder: z.string().describe("Who has it: nobody else uses the same."),
    })
    .optional()
    .describe("The permit that it has of the limit of its model; absent where that has none."),
});

/** What is known at launch and never changes. */
export const TaskFactsSchema = z.object({
  sessionID: z.string().describe("The task's id: that of the session that it runs in."),
  parentSessionID: z.string().describe("The session whose agent launched it."),
  parentMessageID: z.string().describe("The assistant message that launched it."),
  parentAgent: z.string().describe("The agent that launched it."),
  parentTaskId: z
    .string()
    .optional()
    .describe("The task whose child session launched it; absent when a person's own session did."),
  author: z.string().describe("Who launched it: the calling agent's name, or `user`."),
  directory: z.string().describe("The project folder that it belongs to."),
  description: z.string().describe("A few words for people and lists, on one line."),
  prompt: z.string().describe("What it was launched with."),
  agent: z.string().describe("The agent that works on it."),
  model: ModelRefSchema.optional().describe(
    "The model that it was launched with; absent where its agent's own is used.",
  ),
  fallback: FallbackSchema.optional().describe(
    "What a run goes on with when its model is refused: the first of the models that has not refused it. Absent where the run ends then.",
  ),
  gate: GateSchema.optional().describe(
    "The command that an answer must pass before it counts; absent where there is none.",
  ),
  schema: z
    .record(z.string(), z.unknown())
    .optional()
    .describe("The JSON Schema that the result must fit; absent where it may be any text."),
  startedAt: z.iso.datetime().describe("When it was launched."),
  batchId: z
    .string()
    .describe("The tasks of one parent that were launched together have the same one. Other parents may use it, too."),
  isForked: z.boolean().describe("True when it began with a copy of its parent's conversation."),
  priority: z.int().describe("Tasks with a higher priority get a slot first."),
  wake: z
    .enum(WAKES)
    .optional()
    .describe(
      "When its end wakes its parent's agent: `each` (at once; also when absent) or `all` (with the last end of the batch, or one in error).",
    ),
  worktree: WorktreeSchema.optional().describe(
    "The git worktree in which its agent works; absent where it works in the task's directory.",
  ),
  fleet: FleetOfferSchema.optional().describe(
    "How it is offered to the servers of the fleet; absent where it is for this server alone.",
  ),
  job: ClaimedJobSchema.optional().describe(
    "The run of another server's task that this server works on; absent where it was launched here.",
  ),
});
