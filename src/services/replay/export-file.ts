import type { Journal } from "../../machines/task/replay.ts";
import { escapeUnprintable } from "../platform/plain-text.ts";
import {
  type ExportedFile,
  type ExportFacts,
  FORMAT,
  JOURNAL_VERSION,
  parseExported,
} from "../promises/exported-journal.ts";
import { redactJournal } from "./redact.ts";

/**
 * Returns the text of an export file. It is safe to print on a terminal: no character of it moves the cursor or changes
 * the direction of text. Without `hasText`, all private texts are redacted.
 */
export const serialize = (journal: Journal, facts: ExportFacts): string => {
  const { exportedAt, plugin, schema, hasText } = facts;
  const { taskId, origin, events, snapshot } = hasText ? journal : redactJournal(journal);
  const file = {
    format: FORMAT,
    version: JOURNAL_VERSION,
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

/** Parses the text of an export file for the chart. If it is not one, returns what is wrong, worded to follow the name of the file. */
export const parseExportedJournal = (text: string): ExportedFile<Journal> | { wrong: string } => {
  const read = parseExported(text);
  // The machine checks what the schema does not: it refuses events and states that it does not know.
  return "wrong" in read ? read : { ...read, journal: read.journal as unknown as Journal };
};
