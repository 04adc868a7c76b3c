import { z } from "zod";
import type { Journal } from "../../machines/task/journal.ts";
import { escapeUnprintable } from "../text/printable.ts";
import { redactJournal } from "./redact.ts";

const FORMAT = "opencode-taskchart journal";

/** The version of the layout below, and of the names that the task's chart has. */
const VERSION = 2;

/** A file in which a journal goes from one person to another. What events and contexts are in detail is the chart's. */
const ExportedJournal = z.object({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  /** ISO 8601. */
  exportedAt: z.iso.datetime(),
  /** The version of this plugin that exported it. */
  plugin: z.string(),
  /** The version of the database that it comes from. */
  schema: z.int(),
  /** False when placeholders stand for all that was said. */
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

/** What is known of a journal beside itself. */
export type ExportFacts = Pick<z.infer<typeof ExportedJournal>, "exportedAt" | "plugin" | "schema" | "hasText">;

/** A journal that was exported. */
export interface ExportedFile {
  facts: ExportFacts;
  journal: Journal;
}

/**
 * The text of a file, which a terminal can show: nothing in it moves a cursor or turns text round. Without `hasText`,
 * what was said in the conversation is left out.
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

/** Reads such a text back. Returns what is wrong with it, in words that follow the name of the file, where it is none. */
export const parse = (text: string): ExportedFile | { wrong: string } => {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { wrong: "is not JSON" };
  }
  const version = versionOf(json);
  if (version === undefined) return { wrong: "is no exported journal" };
  if (version === 1) return { wrong: "was exported by an older version of this plugin: export the task again" };
  if (version !== VERSION) return { wrong: `has layout ${version}, and this version reads layout ${VERSION}` };
  const read = ExportedJournal.safeParse(json);
  if (!read.success) {
    const [issue] = read.error.issues;
    return { wrong: `is damaged: ${issue?.path.join(".")}: ${issue?.message}` };
  }
  const { taskId, origin, events, snapshot, ...facts } = read.data;
  // What goes beyond the schema is for the machine to judge: it refuses what it does not know.
  return { facts, journal: { taskId, origin, events, snapshot } as unknown as Journal };
};

const versionOf = (json: unknown): unknown =>
  typeof json === "object" && json !== null && "format" in json && json.format === FORMAT && "version" in json
    ? json.version
    : undefined;
