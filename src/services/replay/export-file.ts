import { z } from "zod";
import type { Journal } from "../../machines/task/replay.ts";
import { escapeUnprintable } from "../platform/plain-text.ts";
import { redactJournal } from "./redact.ts";

const FORMAT = "opencode-taskchart journal";

/** The version of the layout below, and of the names that the task's chart has. */
const VERSION = 2;

/** The file format in which people pass on journals. The details of events and contexts are left to the chart. */
const ExportedJournal = z.object({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  /** ISO 8601. */
  exportedAt: z.iso.datetime(),
  /** The version of the plugin that wrote the file. */
  plugin: z.string(),
  /** The version of the database from which the journal comes. */
  schema: z.int(),
  /** False when all private texts are replaced by placeholders. */
  hasText: z.boolean(),
  taskId: z.string(),
  origin: z.looseObject({ facts: z.looseObject({}), run: z.looseObject({}) }).nullable(),
  events: z.array(z.looseObject({ type: z.string(), at: z.number() })),
  snapshot: z.object({
    value: z.looseObject({ lifecycle: z.unknown(), notice: z.unknown(), attention: z.unknown() }),
    context: z.looseObject({
      facts: z.looseObject({ description: z.string(), agent: z.string() }),
      run: z.looseObject({ index: z.number() }),
    }),
  }),
});

/** The facts about an exported journal. */
export type ExportFacts = Pick<z.infer<typeof ExportedJournal>, "exportedAt" | "plugin" | "schema" | "hasText">;

/** A journal that was exported. */
export interface ExportedFile {
  facts: ExportFacts;
  journal: Journal;
}

/**
 * Returns the text of an export file. It is safe to print on a terminal: no character of it moves the cursor or changes
 * the direction of text. Without `hasText`, all private texts are redacted.
 */
export const serialize = (journal: Journal, facts: ExportFacts): string => {
  const { exportedAt, plugin, schema, hasText } = facts;
  const { taskId, origin, events, snapshot } = hasText ? journal : redactJournal(journal);
  const file = {
    format: FORMAT,
    version: VERSION,
    exportedAt,
    plugin,
    schema,
    hasText,
    taskId,
    origin,
    events,
    snapshot,
  };
  return `${escapeUnprintable(JSON.stringify(file, null, 2))}\n`;
};

/** Parses the text of an export file. If it is not one, returns what is wrong, worded to follow the name of the file. */
export const parse = (text: string): ExportedFile | { wrong: string } => {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { wrong: "is not JSON" };
  }
  const version = versionOf(json);
  if (version === undefined) return { wrong: "is not an exported journal" };
  if (version === 1) return { wrong: "was exported by an older version of this plugin: export the task again" };
  if (version !== VERSION) return { wrong: `has layout ${version}, and this version reads layout ${VERSION}` };
  const read = ExportedJournal.safeParse(json);
  if (!read.success) {
    const [issue] = read.error.issues;
    return { wrong: `is damaged: ${issue?.path.join(".")}: ${issue?.message}` };
  }
  const { taskId, origin, events, snapshot, ...facts } = read.data;
  // The machine checks what the schema does not: it refuses events and states that it does not know.
  return { facts, journal: { taskId, origin, events, snapshot } as unknown as Journal };
};

const versionOf = (json: unknown): unknown =>
  typeof json === "object" && json !== null && "format" in json && json.format === FORMAT && "version" in json
    ? json.version
    : undefined;
