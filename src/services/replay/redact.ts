// ADR-087 in docs/decisions.md
import type {
  GateEnd,
  GateState,
  Instruction,
  Misfit,
  ProviderRetry,
  Run,
  RunResult,
  TaskContext,
  TaskEvent,
  TaskInput,
  UserRequest,
} from "../../machines/task/events.ts";
import type { StoredSnapshot } from "../../machines/task/machine.ts";
import type { Journal } from "../../machines/task/replay.ts";
import { replay } from "../../machines/task/replay.ts";
import { GateResult, Incompleteness, RanCommand, type Receipt, type ToolCount, WrittenFile } from "../../receipt.ts";
import {
  type Claim,
  type Fallback,
  type FleetOffer,
  type FleetServer,
  type Gate,
  type ModelRef,
  ModelRefusal,
  type OrderedRun,
  type RefusedModel,
  TaskError,
  type TaskFacts,
  Wake,
  type Worktree,
} from "../../task.ts";
import { OpenUserRequest, type Question } from "../../user-request.ts";
import { toJson } from "./differences.ts";

/** Returns the replacement for a text: the same for the same text. */
type Hide = (text: string) => string;

/** Every field of any of the types in a union. */
type FieldOf<Union> = Union extends unknown ? keyof Union : never;

/** Every field of a journal, at any depth. A name means the same wherever it occurs. */
type Field = FieldOf<
  | Journal
  | StoredSnapshot
  | TaskContext
  | TaskEvent
  | TaskInput
  | TaskFacts
  | ModelRef
  | Run
  | Instruction
  | RunResult
  | UserRequest
  | Question
  | TaskError
  | ProviderRetry
  | RefusedModel
  | Receipt
  | Receipt["omitted"]
  | ToolCount
  | WrittenFile
  | RanCommand
  | GateResult
  | GateState
  | GateEnd
  | Gate
  | Misfit
  | Fallback
  | Worktree
  | Claim
  | FleetOffer
  | FleetServer
  | OrderedRun
  | NonNullable<TaskContext["remote"]>
>;

const oneOf = <Name extends string>(...names: Name[]): RegExp => new RegExp(`^(?:${names.join("|")})$`);

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

/**
 * The form of the strings that each field may keep. Both the field and the form must fit: a text that looks like an id is
 * hidden in a prompt, and a private text in the place of an id is hidden, since it does not have a known prefix followed
 * by exactly 26 characters without spaces, the first 12 of them hexadecimal. Code with a new field does not compile until
 * the field is listed here; a field that is not listed is hidden, its name included.
 */
const KEPT: Readonly<Record<Field, RegExp>> = {
  taskId: ID,
  task: ID,
  sessionID: ID,
  parentSessionID: ID,
  parentMessageID: ID,
  parentTaskId: ID,
  messageID: ID,
  partID: ID,
  batchId: ID,
  id: ID,
  call: ID,
  taskIds: ID,
  waiters: ID,

  agent: NAME,
  parentAgent: NAME,
  author: NAME,
  providerID: NAME,
  modelID: NAME,
  variant: NAME,
  tool: NAME,

  type: EVENT_TYPE,
  value: STATE,
  name: ERROR_NAME,
  kind: oneOf(...TaskError.shape.kind.options, ...OpenUserRequest.shape.kind.options),
  incomplete: oneOf(...Incompleteness.options),
  outcome: oneOf<RunResult["outcome"]>("completed", "error", "cancelled"),
  refusal: oneOf(...ModelRefusal.options),
  recovery: oneOf<TaskContext["recovery"]>("continue", "fail"),
  wake: oneOf(...Wake.options),
  change: oneOf(...WrittenFile.shape.change.options),
  end: oneOf(...RanCommand.shape.end.options, ...GateResult.shape.end.options),
  tests: oneOf(...RanCommand.shape.tests.unwrap().options),
  startedAt: TIME,

  // Texts.
  directory: PRIVATE,
  worktree: PRIVATE,
  isShared: PRIVATE,
  description: PRIVATE,
  prompt: PRIVATE,
  result: PRIVATE,
  said: PRIVATE,
  earlierText: PRIVATE,
  message: PRIVATE,
  what: PRIVATE,
  always: PRIVATE,
  question: PRIVATE,
  options: PRIVATE,
  path: PRIVATE,
  command: PRIVATE,
  output: PRIVATE,
  answer: PRIVATE,
  otherFiles: PRIVATE,
  pool: PRIVATE,
  commit: PRIVATE,
  label: PRIVATE,
  permit: PRIVATE,
  depth: PRIVATE,

  // Numbers, booleans, and objects whose fields are listed themselves.
  origin: PRIVATE,
  events: PRIVATE,
  snapshot: PRIVATE,
  context: PRIVATE,
  facts: PRIVATE,
  model: PRIVATE,
  run: PRIVATE,
  error: PRIVATE,
  hostError: PRIVATE,
  limitError: PRIVATE,
  request: PRIVATE,
  userRequests: PRIVATE,
  lostRequests: PRIVATE,
  redoesStep: PRIVATE,
  isFromBelow: PRIVATE,
  blockedCalls: PRIVATE,
  instructions: PRIVATE,
  storedInstruction: PRIVATE,
  questions: PRIVATE,
  lastRunResult: PRIVATE,
  index: PRIVATE,
  at: PRIVATE,
  since: PRIVATE,
  endedAt: PRIVATE,
  completedAt: PRIVATE,
  abortedAt: PRIVATE,
  queuedUntil: PRIVATE,
  waitingSince: PRIVATE,
  resultRetrievedAt: PRIVATE,
  missingSince: PRIVATE,
  staleSince: PRIVATE,
  lastStepAt: PRIVATE,
  interruptedAt: PRIVATE,
  nextDeadline: PRIVATE,
  checkId: PRIVATE,
  sendAttempts: PRIVATE,
  steerAttempts: PRIVATE,
  retry: PRIVATE,
  modelLeftAt: PRIVATE,
  refusedModels: PRIVATE,
  reason: PRIVATE,
  fallback: PRIVATE,
  models: PRIVATE,
  after: PRIVATE,
  attempt: PRIVATE,
  until: PRIVATE,
  stopAttempts: PRIVATE,
  failedChecks: PRIVATE,
  interruptions: PRIVATE,
  priority: PRIVATE,
  isForked: PRIVATE,
  isNoticePending: PRIVATE,
  isNewestForgotten: PRIVATE,
  idleHinted: PRIVATE,
  retryable: PRIVATE,
  multiple: PRIVATE,
  custom: PRIVATE,
  receipt: PRIVATE,
  isReceiptIncomplete: PRIVATE,
  isWhole: PRIVATE,
  tools: PRIVATE,
  calls: PRIVATE,
  failed: PRIVATE,
  filesRead: PRIVATE,
  files: PRIVATE,
  added: PRIVATE,
  removed: PRIVATE,
  commands: PRIVATE,
  exit: PRIVATE,
  omitted: PRIVATE,
  tokens: PRIVATE,
  cost: PRIVATE,
  workedMs: PRIVATE,
  waitedMs: PRIVATE,
  gate: PRIVATE,
  gateRun: PRIVATE,
  schema: PRIVATE,
  misfit: PRIVATE,
  misfits: PRIVATE,
  endedInChecks: PRIVATE,
  runs: PRIVATE,
  failures: PRIVATE,
  last: PRIVATE,
  tries: PRIVATE,
  timeout: PRIVATE,
  fleet: PRIVATE,
  order: PRIVATE,
  home: PRIVATE,
  remote: PRIVATE,
  server: PRIVATE,
  claim: PRIVATE,
  replaces: PRIVATE,
  epoch: PRIVATE,
  seq: PRIVATE,
  attempts: PRIVATE,
  patience: PRIVATE,
};

const isField = (name: string): name is Field => Object.hasOwn(KEPT, name);

/** Hides each string that does not fit `kept`, and each field without an entry in `KEPT`, its name included. */
const redact = (value: unknown, kept: RegExp, hide: Hide): unknown => {
  if (typeof value === "string") return kept.test(value) ? value : hide(value);
  if (Array.isArray(value)) return value.map((item) => redact(item, kept, hide));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      // The names of states are the keys of the states that are within others.
      if (kept === STATE) return [STATE.test(name) ? name : hide(name), redact(inner, STATE, hide)];
      return isField(name) ? [name, redact(inner, KEPT[name], hide)] : [hide(name), hide(JSON.stringify(inner))];
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
