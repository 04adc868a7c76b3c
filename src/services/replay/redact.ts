import type {
  Recovery,
  Run,
  RunResult,
  TaskContext,
  TaskEvent,
  TaskInput,
  UserRequest,
} from "../../machines/task/events.ts";
import type { Journal } from "../../machines/task/journal.ts";
import type { StoredSnapshot } from "../../machines/task/machine.ts";
import { replay } from "../../machines/task/replay.ts";
import { type ModelRef, type Question, TaskError, type TaskFacts } from "../../task.ts";
import { toJson } from "./differences.ts";

/** Gives what takes the place of a text: the same for the same text. */
type Hide = (text: string) => string;

/** What becomes of a field's value. */
type Rule = (value: unknown, hide: Hide) => unknown;

/** One rule for each field: one that has none does not compile. */
type Rules<Fields extends PropertyKey> = Record<Fields, Rule>;

/** Every field that any of the types in a union has. */
type FieldOf<Union> = Union extends unknown ? keyof Union : never;

const hidden: Rule = (value, hide) => hide(typeof value === "string" ? value : JSON.stringify(value));

/** A value of that form is kept, anything else is hidden. */
const only =
  (fits: (value: unknown) => boolean): Rule =>
  (value, hide) =>
    value === null || value === undefined || fits(value) ? value : hidden(value, hide);

const like = (form: RegExp): Rule => only((value) => typeof value === "string" && form.test(value));

const oneOf = <Name extends string>(...names: Name[]): Rule => only((value) => names.some((name) => name === value));

const listOf =
  (rule: Rule): Rule =>
  (value, hide) =>
    Array.isArray(value) ? value.map((item) => rule(item, hide)) : hidden(value, hide);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An object of which the fields with a rule are named, and nothing else. */
const objectOf =
  <Fields extends string>(rules: Rules<Fields>): Rule =>
  (value, hide) => {
    if (value === null || value === undefined) return value;
    if (!isRecord(value)) return hidden(value, hide);
    const isKnown = (field: string): field is Fields => Object.hasOwn(rules, field);
    return Object.fromEntries(
      Object.entries(value).map(([field, inner]) =>
        isKnown(field) ? [field, rules[field](inner, hide)] : [hide(field), hidden(inner, hide)],
      ),
    );
  };

const text = hidden;
const number = only((value) => typeof value === "number");
const flag = only((value) => typeof value === "boolean");
/** An id that OpenCode, or we in its manner, made. What a model or a person calls something is text. */
const id = like(/^(?:ses|msg|prt|per|que|batch)_[0-9a-f]{12}[0-9A-Za-z]{14}$/);
/** What agents, providers and models are called. */
const name = like(/^[\w./:@-]{1,100}$/);
/** What errors are called. */
const errorName = like(/^[A-Z][A-Za-z]{0,59}$/);
/** What events and states are called in the charts. */
const chartName = like(/^[A-Za-z_]{1,40}$/);
const time = like(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/);
const outcome = oneOf<RunResult["outcome"]>("completed", "error", "cancelled");

const error = objectOf<keyof TaskError>({
  name: errorName,
  kind: oneOf(...TaskError.shape.kind.options),
  message: text,
});

const run = objectOf<keyof Run>({ index: number, messageID: id, partID: id, prompt: text, startedAt: number });

const request = objectOf<keyof UserRequest>({
  id,
  kind: oneOf<UserRequest["kind"]>("permission", "question"),
  what: text,
  since: number,
  always: listOf(text),
  questions: listOf(objectOf<keyof Question>({ question: text, options: listOf(text), multiple: flag, custom: flag })),
});

const facts = objectOf<keyof TaskFacts>({
  sessionID: id,
  parentSessionID: id,
  parentMessageID: id,
  parentAgent: name,
  parentTaskId: id,
  author: name,
  directory: text,
  description: text,
  prompt: text,
  agent: name,
  model: objectOf<keyof ModelRef>({ providerID: name, modelID: name, variant: name }),
  startedAt: time,
  batchId: id,
  isForked: flag,
  priority: number,
});

const end = objectOf<keyof RunResult>({
  taskId: id,
  run: number,
  parentSessionID: id,
  batchId: id,
  description: text,
  outcome,
  startedAt: number,
  endedAt: number,
  result: text,
  error,
});

const origin = objectOf<keyof TaskInput>({ facts, run });

const event = objectOf<FieldOf<TaskEvent>>({
  type: chartName,
  at: number,
  checkId: number,
  completedAt: number,
  lastStepAt: number,
  result: text,
  error,
  retryable: flag,
  messageID: id,
  partID: id,
  prompt: text,
  recovery: oneOf<Recovery>("continue", "fail"),
  isNoticePending: flag,
  outcome,
  call: id,
  request,
  id,
});

const context = objectOf<keyof TaskContext>({
  facts,
  run,
  sendAttempts: number,
  stopAttempts: number,
  checkId: number,
  failedChecks: number,
  missingSince: number,
  idleHinted: flag,
  nextDeadline: number,
  hostError: error,
  abortedAt: number,
  completedAt: number,
  resultRetrievedAt: number,
  result: text,
  error,
  lastRunResult: end,
  userRequests: listOf(request),
  staleSince: number,
  waiters: listOf(id),
  interruptions: number,
  lastStepAt: number,
  recovery: oneOf<Recovery>("continue", "fail"),
});

const state: Rule = (value, hide) =>
  isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([region, inner]) => [chartName(region, hide), state(inner, hide)]))
    : chartName(value, hide);

const snapshot = objectOf<keyof StoredSnapshot>({ value: state, context });

const journal = objectOf<keyof Journal>({ taskId: id, origin, events: listOf(event), snapshot });

/** Puts a numbered placeholder for each text, in the order in which they come. Those in `kept` stay as they are. */
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

/** What the machine says itself, such as the message of an error that it notes: it says so of a journal without text too. */
const machineTexts = (given: Journal): Set<string> => {
  const words = new Set<string>();
  if (!given.origin) return words;
  const { hide, placeholders } = createPlaceholders();
  const bare = journal(given, hide) as Journal & { origin: TaskInput };
  snapshot(toJson(replay(bare.origin, bare.events).snapshot), (said) => {
    if (!placeholders.has(said)) words.add(said);
    return said;
  });
  return words;
};

/**
 * The journal without what people, agents and models said in it: no prompt, result, description, request, message, path
 * or name that a person gave. What is kept is listed above, by field and by form; all else is hidden, also what no
 * version has had so far. The same text has the same placeholder everywhere, so the journal replays as before.
 */
export const redactJournal = (given: Journal): Journal =>
  journal(given, createPlaceholders(machineTexts(given)).hide) as Journal;
