import { z } from "zod";
import { ClaimSchema, FleetServerSchema, ModelRefSchema, TaskFactsSchema } from "../../launch-schema.ts";
import { Incompleteness, Receipt } from "../../receipt.ts";
import { TaskErrorSchema } from "../../task-schema.ts";
import { OpenUserRequest } from "../../user-request.ts";
import { Steps } from "./steps.ts";

/*
 * What servers of a fleet write to each other. Unknown fields are ignored; an unknown version is left alone by whoever
 * cannot read it.
 */

/** The version of all messages. */
export const VERSION = 1;

const Message = z.object({ v: z.literal(VERSION), at: z.number() });

/** Names the log of a run: the server that launched the task, the task, and the number of the run. */
export const RunName = z.object({ home: z.string(), task: z.string(), run: z.int().nonnegative() });
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

/** Names the hold of the server that works on a run. */
export const runHold = ({ home, task, run }: RunName): string => `run.${home}.${task}.${run}`;

/** The pool of one server alone, for runs of tasks whose conversations it has. */
export const poolOfServer = (pool: string, server: string): string => `${pool}@${server}`;

/** A run that any server of the pool may work on. After a task's first run, that is the one that worked on the run before. */
export const Order = Message.extend({
  ...RunName.shape,
  pool: z.string(),
  /** The commit that its agent works from. */
  commit: z.string(),
  /** Where that commit can be had, as the home names it: for people. */
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
  schema: TaskFactsSchema.shape.schema,
  /** The permissions that its agent is denied. */
  denied: z.array(z.object({ permission: z.string(), pattern: z.string() })),
  /** How deep it is among tasks that launch tasks. */
  depth: z.int().positive(),
});
export type Order = z.infer<typeof Order>;

/** A server takes the run. Its place in the log is the claim. */
export const Claimed = Message.extend({
  type: z.literal("claimed"),
  nonce: z.string(),
  server: FleetServerSchema,
  /** The claim that the engine has lost, where the server goes on with what it had begun by that; absent otherwise. */
  replaces: ClaimSchema.optional(),
});

/** The run has ended, as its server says; or the home has closed it. */
export const Ended = Message.extend({
  type: z.literal("ended"),
  nonce: z.string(),
  /** Absent where the home closed the run. */
  claim: ClaimSchema.optional(),
  outcome: z.enum(["completed", "error", "cancelled"]),
  completedAt: z.number(),
  result: z.string().optional(),
  /** Why `result` is not known to be the whole answer. What another version says of that does not cost the end. */
  incomplete: Incompleteness.optional().catch(undefined),
  earlierText: z.string().optional(),
  error: TaskErrorSchema.optional(),
  receipt: Receipt.optional(),
  /** All that was counted of it. What cannot be read of that does not cost the end. */
  steps: Steps.optional().catch(undefined),
  /** What its agent changed, as `packPatch` packs it; absent where that is nothing, or too much to be sent. */
  patch: z.string().optional(),
});
export type Ended = z.infer<typeof Ended>;

/** All that the agent asks and nobody has answered. It counts until the next such entry. */
export const Asked = Message.extend({
  type: z.literal("asked"),
  claim: ClaimSchema,
  requests: z.array(OpenUserRequest.extend({ since: z.number() })),
});

/** A person at home replies to what the agent asks. */
export const Replied = Message.extend({
  type: z.literal("replied"),
  requestId: z.string(),
  reply: z.enum(["once", "always", "reject"]).optional(),
  message: z.string().optional(),
  answers: z.array(z.array(z.string())).optional(),
});

/** The home asks the server that has the run to stop. */
export const Recalled = Message.extend({ type: z.literal("recalled") });

/** The home has what the run ended with. */
export const Received = Message.extend({ type: z.literal("received") });

/** What stands in the log of a run. */
export const Entry = z.discriminatedUnion("type", [Claimed, Asked, Replied, Ended, Recalled, Received]);
export type Entry = z.infer<typeof Entry>;
export type EntryOf<Type extends Entry["type"]> = Extract<Entry, { type: Type }>;

/** What people have set for a whole fleet. */
export const Limits = z.object({
  v: z.literal(VERSION),
  /** How many tasks of a model may be at work, by the model as `provider/model`; null for any number. */
  models: z.record(z.string(), z.int().positive().nullable()),
  /** The names or ids of servers that are to take no more orders. */
  drained: z.array(z.string()).optional(),
});
export type Limits = z.infer<typeof Limits>;

/** Bytes that an end may have. NATS takes messages of 1 MB, unless it is told otherwise, with their headers. */
const MOST_BYTES = 1_000_000;

/** Bytes that what is answered to a question may have, without what is around it. */
export const ANSWER_BYTES = 900_000;

/** Stands where a text was cut. */
export const CUT = "\n[The rest is left out: the fleet carries messages of 1 MB.]";

/** Returns an end that fits into a message: its result is cut where it must be, or what was written in place of one. */
export const cutToFit = (ended: Ended): Ended => {
  const field = ended.earlierText === undefined ? "result" : "earlierText";
  const { [field]: text = "" } = ended;
  const isTooLong = (cut: string) => Buffer.byteLength(JSON.stringify({ ...ended, [field]: cut })) > MOST_BYTES;
  if (!isTooLong(text)) return ended;
  let length = text.length;
  while (length > 0 && isTooLong(text.slice(0, length) + CUT)) length = Math.floor(length * 0.9);
  return { ...ended, [field]: text.slice(0, length) + CUT };
};
