import { gunzipSync, gzipSync } from "node:zlib";
import { z } from "zod";
import { ClaimSchema, FleetServerSchema, ModelRefSchema, TaskFactsSchema } from "../../launch-schema.ts";
import { Incompleteness, Receipt } from "../../receipt.ts";
import type { ModelRef } from "../../task.ts";
import { TaskErrorSchema } from "../../task-schema.ts";
import { OpenUserRequest } from "../../user-request.ts";

/*
 * What servers of a fleet write to each other. Unknown fields are ignored; an unknown version is left alone by whoever
 * cannot read it.
 */

/** The version of all messages. */
export const WIRE_VERSION = 1;

const Message = z.object({ v: z.literal(WIRE_VERSION), at: z.number() });

/** Names the log of a run: the server that launched the task, the task, and the number of the run. */
export const RunName = z.object({ origin: z.string(), task: z.string(), run: z.int().nonnegative() });
export type RunName = z.infer<typeof RunName>;

/** Reads a text as JSON of this form; undefined for anything else. */
export const readAs = <Form extends z.ZodType>(form: Form, text: string): z.infer<Form> | undefined => {
  try {
    return form.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
};

/** Reads the name of a run; undefined for anything else. */
export const readRunName = (text: string): RunName | undefined => readAs(RunName, text);

/** Names the lease of the server that works on a run. */
export const runLease = ({ origin, task, run }: RunName): string => `run.${origin}.${task}.${run}`;

/** Names the topic that wakes a pool's servers when a job is queued. Its payload is `aboutQueue`. */
export const poolTopic = (pool: string): string => `pool.${pool}`;

/** Returns the payload of a pool's topic: priority and limit key of the queue. */
export const aboutQueue = ({ priority, key }: Pick<Job, "priority" | "key">): string => `${priority} ${key}`;

/** Names the topic that wakes the origin server of a run that has ended. Its payload is the name of the run. */
export const originTopic = (origin: string): string => `origin.${origin}`;

/** The topic of permits that were released. */
export const PERMIT_TOPIC = "permit";

/** Names the limit of a model, whatever the variant: `provider/model`. Empty where a task has no model of its own. */
export const limitKey = (model: ModelRef | undefined): string => (model ? `${model.providerID}/${model.modelID}` : "");

/** The priority of a follow-up prompt: somebody waits for it already, and few are queued at one server. */
export const RESUME_PRIORITY = 0;

/** Names the pool of one server alone, for runs of tasks whose conversations it has. */
export const poolOfServer = (pool: string, server: string): string => `${pool}@${server}`;

/**
 * A run that any server of the pool may work on. The pool of a resume has one server: the one that worked on the run before.
 */
export const Job = Message.extend({
  ...RunName.shape,
  pool: z.string(),
  /** The commit that its agent works from. */
  commit: z.string(),
  /** Where that commit can be had, as the origin server names it: for people. */
  project: z.string(),
  /** How often the run may be claimed. */
  attempts: z.int().positive(),
  /** The model whose limit counts, as `provider/model`; empty where none does. */
  key: z.string(),
  priority: z.int(),
  agent: z.string(),
  model: ModelRefSchema.optional(),
  description: z.string(),
  prompt: z.string(),
  /** True for a run that goes on where the one before was stopped; absent for a launch and a resume. */
  isRetry: z.literal(true).optional(),
  schema: TaskFactsSchema.shape.schema,
  /** The permissions that its agent is denied. */
  denied: z.array(z.object({ permission: z.string(), pattern: z.string() })),
  /** How deep it is among tasks that launch tasks. */
  depth: z.int().positive(),
});
export type Job = z.infer<typeof Job>;

/** A server takes the run. The entry's place in the log is the claim. */
const Claimed = Message.extend({
  type: z.literal("claimed"),
  nonce: z.string(),
  server: FleetServerSchema,
  /** The claim by which the server began the run, where the broker has lost that; absent where the server begins the run now. */
  replaces: ClaimSchema.optional(),
});

/** Names of tools that are counted apart: no agent has more. */
const MOST_TOOLS = 1_000;

const Count = z.int().nonnegative();
const ToolName = z.string().max(200);

/**
 * What a worker has counted of a task and of its descendants there, which nobody else knows. It comes from another server: what
 * is no count is refused.
 */
export const Steps = z.object({
  toolCalls: Count,
  toolCallsByName: z
    .record(ToolName, Count.positive())
    .refine((byName) => Object.keys(byName).length <= MOST_TOOLS, "too many tools"),
  /** Those of the task itself, oldest first. */
  lastTools: z.array(ToolName).max(5),
  tokens: Count,
  cost: z.number().nonnegative().max(Number.MAX_SAFE_INTEGER),
  /** By that server's clock. */
  lastUpdate: z.iso.datetime(),
});
export type Steps = z.infer<typeof Steps>;

/** The run has ended, as its worker reports; or the origin server has closed it. */
export const Ended = Message.extend({
  type: z.literal("ended"),
  nonce: z.string(),
  /** Absent where the origin server closed the run. */
  claim: ClaimSchema.optional(),
  outcome: z.enum(["completed", "error", "cancelled"]),
  completedAt: z.number(),
  result: z.string().optional(),
  /** Why `result` is not known to be the whole answer. Ignored where another version wrote something else. */
  incomplete: Incompleteness.optional().catch(undefined),
  earlierText: z.string().optional(),
  error: TaskErrorSchema.optional(),
  receipt: Receipt.optional(),
  /** All that was counted of it. Ignored where it cannot be read. */
  steps: Steps.optional().catch(undefined),
  /** What its agent changed, as `packPatch` packs it; absent where that is nothing, or too much to be sent. */
  patch: z.string().optional(),
});
export type Ended = z.infer<typeof Ended>;

/** All unanswered requests of the agent. Each such entry replaces the one before. */
export const Asked = Message.extend({
  type: z.literal("asked"),
  claim: ClaimSchema,
  requests: z.array(OpenUserRequest.extend({ since: z.number() })),
});

/** A person at the origin server replies to a request of the agent. */
const Replied = Message.extend({
  type: z.literal("replied"),
  requestId: z.string(),
  reply: z.enum(["once", "always", "reject"]).optional(),
  message: z.string().optional(),
  answers: z.array(z.array(z.string())).optional(),
});

/** The origin server asks the worker that has the run to stop. */
const StopRequested = Message.extend({ type: z.literal("stopRequested") });

/** The origin server has stored how the run ended. */
const Received = Message.extend({ type: z.literal("received") });

/** An entry of a run's log. */
export const Entry = z.discriminatedUnion("type", [Claimed, Asked, Replied, Ended, StopRequested, Received]);
export type Entry = z.infer<typeof Entry>;
export type EntryOf<Type extends Entry["type"]> = Extract<Entry, { type: Type }>;

/** What people have set for a whole fleet. */
export const Limits = z.object({
  v: z.literal(WIRE_VERSION),
  /** How many tasks of a model may be at work, by the model as `provider/model`; null for any number. */
  models: z.record(z.string(), z.int().positive().nullable()),
  /** The names or ids of servers that take no more jobs. */
  drained: z.array(z.string()).optional(),
});
export type Limits = z.infer<typeof Limits>;

/** The most bytes of an entry that ends a run. NATS takes messages of 1 MB, headers included, unless it is configured otherwise. */
const MOST_BYTES = 1_000_000;

/** The most bytes of an answer to a question, without its envelope. */
export const ANSWER_BYTES = 900_000;

/** Stands where a text was cut. */
export const CUT = "\n[The rest is left out: the fleet carries messages of 1 MB.]";

/** Cuts the result of a run, or what was written in place of one, until the entry fits into a message. */
export const cutToFit = (ended: Ended): Ended => {
  const field = ended.earlierText === undefined ? "result" : "earlierText";
  const { [field]: text = "" } = ended;
  const isTooLong = (cut: string) => Buffer.byteLength(JSON.stringify({ ...ended, [field]: cut })) > MOST_BYTES;
  if (!isTooLong(text)) return ended;
  let length = text.length;
  while (length > 0 && isTooLong(text.slice(0, length) + CUT)) length = Math.floor(length * 0.9);
  return { ...ended, [field]: text.slice(0, length) + CUT };
};

/** The most characters of a packed patch in an entry: the result needs room in it as well. */
const MOST_PATCH = 500_000;

/** The most bytes that a patch is unpacked to: what claims to be more is no patch of a task. */
const MOST_UNPACKED = 100_000_000;

/** Returns a patch as it is sent; undefined where it is too large for that. A patch may lease any bytes. */
export const packPatch = (patch: Uint8Array): string | undefined => {
  const packed = gzipSync(patch).toString("base64");
  return packed.length > MOST_PATCH ? undefined : packed;
};

/** Unpacks what `packPatch` packed. @throws Error for anything else */
export const unpackPatch = (packed: string): Uint8Array =>
  gunzipSync(Buffer.from(packed, "base64"), { maxOutputLength: MOST_UNPACKED });
