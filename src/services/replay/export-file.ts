import { z } from "zod";
import type { PlannedRun, RunResult, TaskContext, TaskInput } from "../../machines/task/events.ts";
import { type Journal, replay } from "../../machines/task/replay.ts";
import { TaskSchema } from "../../task-schema.ts";
import { escapeUnprintable } from "../platform/plain-text.ts";
import {
  type ExportedFile,
  type ExportFacts,
  FORMAT,
  JOURNAL_VERSION,
  parseExported,
} from "../promises/exported-journal.ts";
import { toJson } from "./differences.ts";

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

/** Returns the replacement for a text: the same for the same text. */
type Hide = (text: string) => string;

/** An id made by OpenCode, or by this plugin in the same form. Ids that a model or a person made up are text. */
const ID = /^(?:ses|msg|prt|per|que|batch)_[0-9a-f]{12}[0-9A-Za-z]{14}$/;
/** The name of an agent, a provider, a model or a variant. */
const NAME = /^[\w./:@-]{1,100}$/;
const ERROR_NAME = /^[A-Z][A-Za-z]{0,59}$/;
const EVENT_TYPE = /^[A-Z_]{1,40}$/;
const STATE = /^[A-Za-z]{1,40}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
/** Fits no string: whatever text the field has is hidden. */
const PRIVATE = /(?!)/;

const namesWith = (form: RegExp, names: string): [string, RegExp][] => names.split(" ").map((name) => [name, form]);

const wordsOf = <Word extends string>(...words: Word[]): RegExp => new RegExp(`^(?:${words.join("|")})$`);

/** Returns the schema of a field's values, of which there may be none or several. */
const valueSchema = (schema: unknown): unknown => {
  if (schema instanceof z.ZodOptional) return valueSchema(schema.unwrap());
  return schema instanceof z.ZodArray ? valueSchema(schema.element) : schema;
};

/** Returns the fields of a schema at any depth, each with the words that it may have where these are listed. */
const fieldsOf = (schema: unknown): [name: string, words: string[]][] => {
  const values = valueSchema(schema);
  if (values instanceof z.ZodUnion) return values.options.flatMap(fieldsOf);
  if (!(values instanceof z.ZodObject)) return [];
  return Object.entries(values.shape).flatMap(([name, field]) => {
    const value = valueSchema(field);
    return [[name, value instanceof z.ZodEnum ? value.options.map(String) : []], ...fieldsOf(value)];
  });
};

/** Each field of a task, at any depth, with the words that it may have. Fields of one name have the words of all of them. */
const WORDS_OF_TASKS = new Map<string, string[]>();
for (const [name, words] of fieldsOf(TaskSchema)) {
  WORDS_OF_TASKS.set(name, [...(WORDS_OF_TASKS.get(name) ?? []), ...words]);
}

/**
 * The form of the strings that each field may keep; a name means the same wherever it occurs. Both the field and the form
 * must fit: a text that looks like an id is hidden in a prompt, and a private text in the place of an id is hidden, since it
 * does not have a known prefix followed by exactly 26 characters without spaces, the first 12 of them hexadecimal. Fields of
 * the chart's own keep numbers and what is in them. A field that is listed neither here nor in the schema of a task is
 * hidden, its name included.
 */
const KEPT: ReadonlyMap<string, RegExp> = new Map([
  ...namesWith(
    PRIVATE,
    "origin launch input isFork needsWorktree asksFleet events snapshot context facts run request userRequests instructions given missed storedInstruction nextRun isCancelled " +
      "lastRunResult said output answer gateBefore hostError limitError retry ownModel misfit misfits pause remote replaces last failures " +
      "index endedAt abortedAt queuedUntil waitingSince missingSince staleSince lastStepAt modelLeftAt nextDeadline " +
      "checkId sendAttempts steerAttempts stopAttempts failedChecks endedInChecks interruptions gateRun blockedCalls " +
      "redoesStep isRetry budgetFrom isFromBelow isNoticePending isNewestForgotten isReceiptIncomplete idleHinted retryable",
  ),
  ...[...WORDS_OF_TASKS].map(([name, words]): [string, RegExp] => [
    name,
    words.length === 0 ? PRIVATE : wordsOf(...words),
  ]),
  ...namesWith(
    ID,
    "taskId task sessionID parentSessionID parentMessageID parentTaskId messageID partID batchId id call taskIds waiters",
  ),
  ...namesWith(NAME, "agent parentAgent author providerID modelID variant tool"),
  ["type", EVENT_TYPE],
  ["value", STATE],
  ["name", ERROR_NAME],
  ["startedAt", TIME],
  ["outcome", wordsOf<RunResult["outcome"]>("completed", "error", "cancelled")],
  ["begins", wordsOf<PlannedRun["begins"]>("RESUME", "RETRY")],
  ["recovery", wordsOf<TaskContext["recovery"]>("continue", "fail")],
]);

/** Hides each string that does not fit `kept`, and each field without an entry in `KEPT`, its name included. */
const redact = (value: unknown, kept: RegExp, hide: Hide): unknown => {
  if (typeof value === "string") return kept.test(value) ? value : hide(value);
  if (Array.isArray(value)) return value.map((item) => redact(item, kept, hide));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      // The names of states are the keys of the states that are within others.
      if (kept === STATE) return [STATE.test(name) ? name : hide(name), redact(inner, STATE, hide)];
      const form = KEPT.get(name);
      return form ? [name, redact(inner, form, hide)] : [hide(name), hide(JSON.stringify(inner))];
    }),
  );
};

/** Numbers the texts in the order in which they come, and returns a placeholder for each. Texts in `kept` stay. */
const createPlaceholders = (
  kept: ReadonlySet<string> = new Set(),
): { hide: Hide; placeholders: ReadonlySet<string> } => {
  const placeholderOf = new Map<string, string>();
  const placeholders = new Set<string>();
  const hide: Hide = (given) => {
    if (kept.has(given)) return given;
    const known = placeholderOf.get(given);
    if (known !== undefined) return known;
    const placeholder = `‹text ${placeholders.size + 1}: ${given.length} characters›`;
    placeholderOf.set(given, placeholder);
    placeholders.add(placeholder);
    return placeholder;
  };
  return { hide, placeholders };
};

/**
 * The texts that the machine itself writes, such as the message of an error that it notes. They appear in the replay of a
 * journal without text, so they are not private; hidden in the snapshot, they would differ from that replay.
 */
const machineTexts = (given: Journal): Set<string> => {
  const words = new Set<string>();
  if (!given.origin) return words;
  const { hide, placeholders } = createPlaceholders();
  const bare = redact(given, PRIVATE, hide) as Journal & { origin: TaskInput };
  redact(toJson(replay(bare.origin, bare.events).snapshot), PRIVATE, (text) => {
    if (!placeholders.has(text)) words.add(text);
    return text;
  });
  return words;
};

/**
 * Returns the journal without anything that people, agents or models said in it: no prompt, result, description, request,
 * message, path, or name given by a person. Numbers, booleans and the strings allowed by `KEPT` stay; everything else is
 * hidden, including fields that no version has had so far. A text has the same placeholder everywhere, so the redacted
 * journal still replays to its snapshot.
 */
export const redactJournal = (given: Journal): Journal =>
  redact(given, PRIVATE, createPlaceholders(machineTexts(given)).hide) as Journal;
