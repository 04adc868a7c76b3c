import fc, { type Arbitrary } from "fast-check";
import { describe, expect, test } from "vitest";
import { type AnyStateMachine, type AnyStateNode, initialTransition, transition } from "xstate";
import type { NoticePrompt, OutboxEvent } from "../../../src/machines/outbox/events.ts";
import { outboxMachine } from "../../../src/machines/outbox/machine.ts";
import type { Recovery, RunResult, TaskEvent, TaskInput, UserRequest } from "../../../src/machines/task/events.ts";
import { taskMachine } from "../../../src/machines/task/machine.ts";
import { Incompleteness } from "../../../src/receipt.ts";
import type { TaskError, Wake } from "../../../src/task.ts";
import { TaskErrorSchema } from "../../../src/task-schema.ts";
import { receipt } from "../../fakes/receipt.ts";
import { pureRuns } from "../../seed.ts";

/** An arbitrary for each type of event: a new type does not compile until it has one. */
type Events<Event extends { type: string }> = {
  [Type in Event["type"]]: Arbitrary<Omit<Extract<Event, { type: Type }>, "type">>;
};

/** What ends a run, or an outbox's work, comes less often: else every walk would be short. */
const ENDS: ReadonlySet<string> = new Set<TaskEvent["type"] | OutboxEvent["type"]>([
  "SESSION_DELETED",
  "SUPERVISION_FAILED",
  "CANCEL",
  "STOPPED",
  "CHECKED_FAILED",
  "PARENT_CLOSED",
]);

const anyOf = <Event extends { type: string }>(events: Events<Event>): Arbitrary<Event> =>
  fc.oneof(
    ...Object.entries<Arbitrary<object>>(events).map(([type, payload]) => ({
      weight: ENDS.has(type) ? 1 : 5,
      arbitrary: payload.map((rest) => ({ type, ...rest }) as unknown as Event),
    })),
  );

const text = fc.oneof(fc.string(), fc.string({ unit: "binary", maxLength: 5 }), fc.constant("__proto__"));
const id = fc.oneof(fc.constantFrom("a", "b", "constructor"), text);
const at = fc.oneof(fc.constantFrom(0, 1_000, Date.UTC(2026, 0, 1)), fc.maxSafeInteger());
const count = fc.nat({ max: 8 });
const timed = fc.record({ at });
const error: Arbitrary<TaskError> = fc.record({
  name: text,
  kind: fc.constantFrom(
    "host",
    "provider",
    "unanswered",
    "sessionGone",
    "internal",
    "interrupted",
    "budget",
    "loop",
    "timeout",
    "fleet",
  ),
  message: text,
  refusal: fc.option(fc.constantFrom(...TaskErrorSchema.shape.refusal.unwrap().options), { nil: undefined }),
}) as Arbitrary<TaskError>;
const model = fc.record({ providerID: text, modelID: text });
const request: Arbitrary<UserRequest> = fc.record({
  id,
  kind: fc.constantFrom("permission", "question"),
  what: text,
  since: at,
});
const recovery = fc.constantFrom<Recovery>("continue", "fail");
const outcome = fc.constantFrom<RunResult["outcome"]>("completed", "error", "cancelled");
const wake = fc.constantFrom<Wake>("each", "all");
const end: Arbitrary<RunResult> = fc.record({
  taskId: id,
  run: count,
  parentSessionID: id,
  batchId: text,
  wake,
  description: text,
  outcome,
  startedAt: at,
  endedAt: at,
});
const runs = fc.array(fc.record({ taskId: id, run: count }), { maxLength: 3 });
const prompt: Arbitrary<NoticePrompt> = fc.record({
  messageID: id,
  parts: fc.array(fc.record({ id, text, synthetic: fc.boolean() }), { maxLength: 2 }),
  runs,
  toasts: fc.array(fc.record({ message: text, variant: fc.constantFrom("success", "error", "info") }), {
    maxLength: 2,
  }),
});
const looked = { at, checkId: count };
const call = fc.record({ at, call: id });

const claim = fc.record({ epoch: count, seq: count });
const server = fc.record({ id, label: text });

const taskEvents: Events<TaskEvent> = {
  SLOT_GRANTED: timed,
  PROMPT_ACCEPTED: timed,
  PROMPT_REFUSED: fc.record({ at, error, retryable: fc.boolean() }),
  HOST_BUSY: timed,
  HOST_RETRYING: fc.record({ at, attempt: count, message: text, until: at }),
  HOST_ANSWERING: timed,
  HOST_IDLE: timed,
  HOST_ERROR: fc.record({ at, error: fc.record({ name: text, message: text }) }),
  STEPS_WITHOUT_END: timed,
  SESSION_NOT_FOUND: timed,
  SESSION_DELETED: timed,
  CHECKED_BUSY: fc.record(looked),
  CHECKED_AWAITING_TASKS: fc.record(looked),
  CHECKED_ANSWERED: fc.record(
    {
      ...{ ...looked, completedAt: at, result: text, earlierText: text },
      incomplete: fc.constantFrom(...Incompleteness.options),
      misfit: fc.record({ messageID: id, partID: id, prompt: text, error }),
    },
    { requiredKeys: ["at", "checkId", "completedAt", "result"] },
  ),
  CHECKED_FAILED: fc.record(
    { ...looked, completedAt: at, error, said: text },
    { requiredKeys: ["at", "checkId", "completedAt", "error"] },
  ),
  CHECKED_HOST_FAULT: fc.record({ ...looked, error, completedAt: at }),
  CHECKED_ABORTED: fc.record({ ...looked, completedAt: at }),
  CHECKED_UNANSWERED: fc.record(looked),
  CHECKED_UNSEEN: fc.record(looked),
  CHECKED_NOT_FOUND: fc.record(looked),
  CHECK_FAILED: fc.record({ ...looked, error }),
  GATE_ENDED: fc.record({
    at,
    gateRun: count,
    end: fc.record({ end: fc.constantFrom("exited", "timedOut", "notRun"), exit: fc.constantFrom(0, 1), output: text }),
    messageID: id,
    partID: id,
    prompt: text,
  }),
  CALL_BLOCKED: fc.record({ at, call: id, taskIds: fc.array(id, { minLength: 1, maxLength: 2 }) }),
  CALL_RETURNED: call,
  OWN_TASK_ENDED: fc.record({ at, taskId: id }),
  CANCEL: timed,
  STOPPED: timed,
  NOT_STOPPED: fc.record({ at, error }),
  MODEL_CHANGED: fc.record({ at, model }),
  JOB_ENQUEUED: timed,
  JOB_REFUSED: fc.record({ at, error, retryable: fc.boolean() }),
  REMOTE_CLAIMED: fc.record({ at, claim, server, replaces: claim }, { requiredKeys: ["at", "claim", "server"] }),
  REMOTE_ENDED: fc.record({
    ...{ at, claim, outcome, completedAt: at },
    result: fc.option(text, { nil: undefined }),
    error: fc.option(error, { nil: undefined }),
    receipt: fc.constantFrom(undefined, receipt()),
  }),
  REMOTE_HELD: fc.record({ at, claim }),
  REMOTE_LOST: timed,
  CLOSED: timed,
  LIMIT_EXCEEDED: fc.record({ at, error, said: fc.option(text, { nil: undefined }) }),
  RESUME: fc.record({ at, messageID: id, partID: id, prompt: text }),
  STEER: fc.record({ at, messageID: id, partID: id, prompt: text }),
  STEERING_STORED: fc.record({ at, messageID: id }),
  STEERING_REFUSED: fc.record({ at, messageID: id, error, retryable: fc.boolean() }),
  TICK: timed,
  RECEIPT_INCOMPLETE: timed,
  RECEIPT_WRITTEN: fc.record({ at, receipt: fc.record({ run: count, tokens: count }).map(receipt) }),
  RESULT_READ: timed,
  SUPERVISION_FAILED: fc.record({ at, error }),
  ADOPTED: fc.record({ at, recovery, isNoticePending: fc.boolean() }),
  RUN_BEGAN: timed,
  RUN_ENDED: fc.record({ at, outcome }),
  WAIT_BEGAN: call,
  WAIT_ABANDONED: call,
  WAIT_DELIVERED: call,
  NOTICE_COMPOSED: timed,
  NOTICE_ACKNOWLEDGED: timed,
  NOTICE_DROPPED: timed,
  REQUEST_ASKED: fc.record({ at, request }),
  REQUEST_ANSWERED: fc.record({ at, id }),
  BECAME_STALE: timed,
  ACTIVITY_SEEN: timed,
};

const outboxEvents: Events<OutboxEvent> = {
  NOTICE_DUE: fc.record({ at, end }),
  ADOPTED: fc.record({ at, prompts: fc.array(prompt, { maxLength: 3 }) }),
  WITHDRAW: fc.record({ at, taskId: id, run: count }),
  BATCHES_CHECKED: fc.record({ at, ended: fc.array(text, { maxLength: 3 }) }),
  PARENT_READ: fc.record({
    at,
    sender: fc.record({ agent: fc.option(text, { nil: undefined }), model: fc.constant(undefined) }),
    othersRun: fc.boolean(),
    setAside: fc.constantFrom("reverted" as const, "archived" as const, undefined),
  }) as fc.Arbitrary<Extract<OutboxEvent, { type: "PARENT_READ" }>>,
  READ_FAILED: fc.record({ at, message: text }),
  COMPOSED: fc.record({ at, prompt }),
  COMPOSE_FAILED: fc.record({ at, message: text }),
  SENT: fc.record({ at, messageID: id }),
  SEND_REFUSED: fc.record({ at, messageID: id, message: text, retryable: fc.boolean() }),
  CHECKED: fc.record({
    at,
    messageID: id,
    storedAt: fc.option(at, { nil: undefined }),
    standing: fc.constantFrom("answered", "pending", "unanswered", "stopped"),
  }),
  CHECK_FAILED: fc.record({ at, messageID: id, message: text }),
  PARENT_STORED: fc.record({ at, messageID: id, createdAt: at }),
  PARENT_ANSWERED: fc.record({ at, promptID: id, createdAt: at }),
  PARENT_PRESENT: timed,
  PARENT_CHANGED: timed,
  PARENT_BUSY: timed,
  PARENT_IDLE: timed,
  PARENT_ERROR: fc.record({ at, message: text }),
  PARENT_NOT_FOUND: fc.record({ at, message: text }),
  PARENT_FOUND: timed,
  SEARCH_FAILED: fc.record({ at, message: text }),
  PARENT_CLOSED: timed,
  TICK: timed,
};

const input: Arbitrary<TaskInput> = fc.record({
  facts: fc.record({
    sessionID: id,
    parentSessionID: id,
    parentMessageID: id,
    parentAgent: text,
    author: text,
    directory: text,
    description: text,
    prompt: text,
    agent: text,
    startedAt: fc.constant("2026-01-01T00:00:00.000Z"),
    batchId: text,
    isForked: fc.boolean(),
    priority: count,
    wake,
    gate: fc.option(fc.record({ command: text, tries: count, timeout: at }), { nil: undefined }),
    schema: fc.option(fc.constant({ type: "integer" }), { nil: undefined }),
    // Half of the tasks are for this server alone, where more can happen to them.
    fleet: fc.option(fc.record({ pool: text, commit: text, attempts: fc.integer({ min: 1, max: 3 }), patience: at }), {
      nil: undefined,
      freq: 2,
    }),
    fallback: fc.option(fc.record({ models: fc.array(model, { minLength: 1, maxLength: 3 }), after: at }), {
      nil: undefined,
    }),
  }),
  // The first run alone may be for other servers.
  run: fc.record({ index: fc.oneof(fc.constant(0), count), messageID: id, partID: id, prompt: text, startedAt: at }),
});

type Snapshot = ReturnType<AnyStateMachine["transition"]>;

/** What an event of the outside would carry: the numbers and ids that the machine knows. */
const fitted = (event: { type: string }, { context }: Snapshot): { type: string } => {
  const {
    checkId,
    gate,
    nextDeadline,
    parentReadyAt,
    waiters = [],
    blockedCalls = [],
    userRequests = [],
    prompt,
    remote,
  } = context;
  const known = {
    checkId,
    gateRun: gate?.runs,
    call: event.type === "CALL_RETURNED" ? blockedCalls[0]?.call : waiters[0],
    id: userRequests[0]?.id,
    claim: event.type === "REMOTE_ENDED" ? remote?.claim : undefined,
    messageID: prompt?.messageID,
    promptID: prompt?.messageID,
    at: event.type === "TICK" ? (parentReadyAt ?? nextDeadline) : undefined,
  };
  const fitting = Object.entries(known).filter(([name, value]) => name in event && value !== undefined);
  return { ...event, ...Object.fromEntries(fitting) };
};

const nodesOf = (node: AnyStateNode): AnyStateNode[] => [node, ...Object.values(node.states).flatMap(nodesOf)];

interface Walk {
  begin: unknown;
  /** Events that fit carry what the machine knows; those that are wanted are skipped where they would be refused. */
  steps: { event: { type: string }; fits: boolean; isWanted: boolean }[];
}

/** Leads a task to the refusal of its model. */
const refusal: TaskEvent[] = [
  { type: "SLOT_GRANTED", at: 0 },
  { type: "PROMPT_ACCEPTED", at: 0 },
  { type: "HOST_IDLE", at: 0 },
  {
    type: "CHECKED_FAILED",
    at: 0,
    checkId: 1,
    completedAt: 0,
    error: { name: "APIError", kind: "provider", message: "no credit", refusal: "quota" },
  },
];

/** Leads a task through its first run and into the next. */
const firstRun: TaskEvent[] = [
  { type: "SLOT_GRANTED", at: 0 },
  { type: "PROMPT_ACCEPTED", at: 0 },
  { type: "HOST_IDLE", at: 0 },
  { type: "CHECKED_ANSWERED", at: 0, checkId: 1, completedAt: 0, result: "12" },
  { type: "NOTICE_COMPOSED", at: 0 },
  { type: "NOTICE_ACKNOWLEDGED", at: 0 },
  { type: "RESUME", at: 0, messageID: "msg_2", partID: "prt_2", prompt: "more" },
];

/** Leads a task to another server, where it is for one. */
const claimed: TaskEvent[] = [
  { type: "JOB_ENQUEUED", at: 0 },
  { type: "REMOTE_CLAIMED", at: 0, claim: { epoch: 1, seq: 1 }, server: { id: "srv_1", label: "one" } },
];

/** Leads an outbox to a prompt that the host has taken, and that is to be checked. */
const sentPrompt: OutboxEvent[] = [
  {
    type: "NOTICE_DUE",
    at: 0,
    end: {
      ...{ taskId: "ses_1", run: 0, parentSessionID: "ses_0", batchId: "b", description: "find it" },
      ...{ outcome: "completed", startedAt: 0, endedAt: 0, result: "12" },
    },
  },
  { type: "PARENT_READ", at: 0, sender: { agent: undefined, model: undefined }, othersRun: false },
  {
    type: "COMPOSED",
    at: 0,
    prompt: { messageID: "msg_1", parts: [], runs: [{ taskId: "ses_1", run: 0 }], toasts: [] },
  },
  { type: "SENT", at: 0, messageID: "msg_1" },
  { type: "TICK", at: 2_000 },
];

const walksOf = (
  begin: Arbitrary<unknown>,
  event: Arbitrary<{ type: string }>,
  leads: { type: string }[][] = [],
): Arbitrary<Walk> => {
  const step = fc.record({ event, fits: fc.boolean(), isWanted: fc.boolean() });
  const steps = fc.array(step, { minLength: 1, maxLength: 80, size: "max" });
  const led = leads.map((lead) =>
    steps.map((rest) => [...lead.map((event) => ({ event, fits: false, isWanted: false })), ...rest]),
  );
  return fc.record({ begin, steps: fc.oneof(steps, ...led) });
};

/** The ids of the states that a walk comes through. Throws where a machine throws, or is in no state of its chart. */
const walkThrough = (machine: AnyStateMachine, { begin, steps }: Walk): Set<string> => {
  const known = new Set(nodesOf(machine.root));
  const seen = new Set<string>();
  let [snapshot] = initialTransition(machine, begin);
  for (const { event, fits, isWanted } of steps) {
    const given = fits ? fitted(event, snapshot) : event;
    if (isWanted && !snapshot.can(given)) continue;
    [snapshot] = transition(machine, snapshot, given);
    expect(snapshot.status).toBe("active");
    for (const node of snapshot._nodes) {
      expect(known.has(node)).toBe(true);
      seen.add(node.id);
    }
  }
  // Plain data all the way down: what is stored is what comes back.
  const { value, context } = snapshot;
  const stored: unknown = JSON.parse(JSON.stringify({ value, context }));
  expect(machine.resolveState(stored as Snapshot).value).toEqual(value);
  return seen;
};

/** They only compute: a few seconds, and much more where the machine has much else to do. */
const LIMIT = { timeout: 60_000 };

describe.each([
  ["task", taskMachine as AnyStateMachine, walksOf(input, anyOf(taskEvents), [firstRun, refusal, claimed])],
  [
    "outbox",
    outboxMachine as AnyStateMachine,
    walksOf(fc.record({ parentSessionID: id }), anyOf(outboxEvents), [sentPrompt]),
  ],
] as const)("the chart %s", (_, machine, walks) => {
  test("never throws and is never left, whatever events come with whatever payload", LIMIT, () => {
    fc.assert(
      fc.property(walks, (walk) => void walkThrough(machine, walk)),
      { numRuns: pureRuns(150) },
    );
  });

  test("is walked through in all its states by such events", LIMIT, () => {
    const seen = new Set(
      fc.sample(walks, { numRuns: 400, seed: 2 }).flatMap((walk) => [...walkThrough(machine, walk)]),
    );
    const all = nodesOf(machine.root).map(({ id }) => id);
    expect(all.filter((id) => !seen.has(id))).toEqual([]);
  });
});
