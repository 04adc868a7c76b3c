import { z } from "zod";

/** What the file says that it is. */
export const FORMAT = "opencode-taskchart journal";

/** The version of the layout below, and of the names that the task's chart has. */
export const JOURNAL_VERSION = 2;

const Message = z.object({ messageID: z.string(), partID: z.string() });

const Model = z.object({ providerID: z.string(), modelID: z.string() });

const Failure = z.object({ name: z.string(), kind: z.string().optional(), message: z.string() });

const Claim = z.object({ epoch: z.number(), seq: z.number() });

const Run = Message.extend({ index: z.number(), startedAt: z.number() });

const Facts = z.object({
  description: z.string(),
  agent: z.string(),
  gate: z.object({ tries: z.number(), before: z.boolean().optional() }).optional(),
  fleet: z.unknown().optional(),
});

/** An event as a journal has it: its name, its time in epoch milliseconds, and whatever fields that name brings. */
const Event = Message.partial().extend({
  type: z.string(),
  at: z.number(),
  checkId: z.number().optional(),
  begins: z.string().optional(),
  isCancelled: z.boolean().optional(),
  result: z.string().optional(),
  lastStepAt: z.number().optional(),
  misfit: Message.optional(),
  gateRun: z.number().optional(),
  end: z.object({ exit: z.number().optional(), end: z.string() }).optional(),
  error: Failure.optional(),
  retryable: z.boolean().optional(),
  model: Model.optional(),
  call: z.string().optional(),
  request: z.object({ id: z.string() }).optional(),
  id: z.string().optional(),
  receipt: z.object({ run: z.number() }).optional(),
  isNoticePending: z.boolean().optional(),
  outcome: z.string().optional(),
  claim: Claim.optional(),
  isNewestForgotten: z.boolean().optional(),
});

/** How a task was launched: events of another chart. */
const Launch = z.object({ input: z.record(z.string(), z.unknown()), events: z.array(Event) });

const Snapshot = z.object({
  value: z.object({
    lifecycle: z.string(),
    run: z.unknown(),
    notice: z.string(),
    attention: z.unknown(),
    steering: z.unknown(),
    nextRun: z.unknown(),
  }),
  context: z.object({
    facts: Facts,
    run: Run,
    checkId: z.number(),
    result: z.string().optional(),
    error: Failure.optional(),
    receipt: z.object({ run: z.number() }).optional(),
    instructions: z.array(Message).optional(),
    userRequests: z.array(z.object({ id: z.string() })),
    waiters: z.array(z.string()),
  }),
});

/**
 * The file format in which people pass on journals, as far as anybody but the chart reads it: a field that is not named here
 * may be anything.
 */
const ExportedJournal = z.object({
  format: z.literal(FORMAT),
  version: z.literal(JOURNAL_VERSION),
  /** ISO 8601. */
  exportedAt: z.iso.datetime(),
  /** The version of the plugin that wrote the file. */
  plugin: z.string(),
  /** The version of the database from which the journal comes. */
  schema: z.int(),
  /** False when all private texts are replaced by placeholders. */
  hasText: z.boolean(),
  taskId: z.string(),
  origin: z.object({ facts: Facts, run: Run, launch: Launch.optional() }).nullable(),
  events: z.array(Event),
  snapshot: Snapshot,
});

type ExportedJournal = z.infer<typeof ExportedJournal>;

/** An event as far as anybody but the chart reads it. */
export type RecordedEvent = Readonly<z.infer<typeof Event>>;

/** A task's journal and its snapshot, as far as anybody but the chart reads them. */
export type RecordedJournal = Pick<ExportedJournal, "taskId" | "origin" | "snapshot"> & {
  readonly events: readonly RecordedEvent[];
};

/** The facts about an exported journal. */
export type ExportFacts = Pick<ExportedJournal, "exportedAt" | "plugin" | "schema" | "hasText">;

/** A journal that was exported. */
export interface ExportedFile<Journal = RecordedJournal> {
  facts: ExportFacts;
  journal: Journal;
}

const versionOf = (json: unknown): unknown =>
  typeof json === "object" && json !== null && "format" in json && json.format === FORMAT && "version" in json
    ? json.version
    : undefined;

/**
 * Parses the text of an export file. If it is not one, returns what is wrong, worded to follow the name of the file. The
 * journal has all fields of the file, those that are not named here as well.
 */
export const parseExported = (text: string): ExportedFile | { wrong: string } => {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { wrong: "is not JSON" };
  }
  const version = versionOf(json);
  if (version === undefined) return { wrong: "is not an exported journal" };
  if (version === 1) return { wrong: "was exported by an older version of this plugin: export the task again" };
  if (version !== JOURNAL_VERSION)
    return { wrong: `has layout ${version}, and this version reads layout ${JOURNAL_VERSION}` };
  const read = ExportedJournal.safeParse(json);
  if (!read.success) {
    const [issue] = read.error.issues;
    return { wrong: `is damaged: ${issue?.path.join(".")}: ${issue?.message}` };
  }
  const { exportedAt, plugin, schema, hasText } = read.data;
  const { taskId, origin, events, snapshot } = json as ExportedJournal;
  return { facts: { exportedAt, plugin, schema, hasText }, journal: { taskId, origin, events, snapshot } };
};
