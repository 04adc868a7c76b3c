import { statePath } from "../../src/machines/chart.ts";
import type { NextRunWay, Recovery, TaskEvent, UserRequest } from "../../src/machines/task/events.ts";
import { nextModel, nextModelWithout } from "../../src/machines/task/fallback.ts";
import { isAtRest, type TaskSnapshot } from "../../src/machines/task/machine.ts";
import type { Claim } from "../../src/task.ts";
import { receipt } from "../fakes/receipt.ts";
import { START, taskInput } from "../fakes/task-input.ts";

/** Milliseconds for which the provider refuses: longer than any path takes. */
const TOLD_TO_WAIT = 10_000_000;

/** What the task of every path goes on with when its model is refused. */
export const FALLBACK = { models: [{ providerID: "fake", modelID: "small" }], after: 2 * TOLD_TO_WAIT };

/** What the task of every path begins with. */
const facts = { fallback: FALLBACK, model: { providerID: "fake", modelID: "m1" } };
export const input = taskInput("ses_0001", facts);

/** The same without another model. */
export const oneModelInput = taskInput("ses_0001", { model: facts.model });

/** What the answers of a task with a gate must pass. */
export const GATE = { command: "npm test", tries: 1, timeout: 60_000 };

/** What the task of a path with a gate begins with. */
export const gatedInput = taskInput("ses_0001", { ...facts, gate: GATE });

/** What the task of a path begins with whose gate is run before its agent begins, too. */
export const gatedBeforeInput = taskInput("ses_0001", { ...facts, gate: { ...GATE, before: true } });

/** How the task of a path that is for other servers is offered to them. */
export const OFFER = { pool: "project", commit: "c0ffee", attempts: 2, patience: 900_000 };

/** What a task that is for other servers begins with. */
export const fleetInput = taskInput("ses_0001", { ...facts, fleet: OFFER });

/** What the results of a task with a schema must fit. */
const SCHEMA = { type: "integer" };

/** What the task of a path with a schema begins with. */
export const typedInput = taskInput("ses_0001", { ...facts, schema: SCHEMA });

const error = { name: "APIError", message: "the model's provider says no" };
const fault = { ...error, kind: "host" } as const;
const requests: UserRequest[] = [
  { id: "per_1", kind: "permission", what: "bash: rm", since: START },
  { id: "que_1", kind: "question", what: "Which one?", since: START },
];
const calls = ["call_1", "call_2"];

const at = START;

/** A task that the child launched. */
const OWN_TASK = "ses_own";

/** True while nobody has taken the task over since its waiting calls began, or all of them are settled. */
const isRecovering = (snapshot: TaskSnapshot) =>
  snapshot.matches({ run: { active: { checking: { asking: "recovering" } } } });

/** The answers that the host can give to the newest check: one to each. */
const answersTo = (snapshot: TaskSnapshot): TaskEvent[] => {
  const { facts, checkId, hostError, nextDeadline, missingSince, storedInstruction, misfits = 0 } = snapshot.context;
  const isAsked =
    snapshot.matches({ run: { active: { checking: "asking" } } }) ||
    snapshot.matches({ run: { pausing: "asking" } }) ||
    snapshot.matches({ run: { pausing: "continuing" } });
  return !isAsked || nextDeadline !== undefined
    ? []
    : [
        ...answersOf(checkId, hostError !== undefined, storedInstruction !== undefined),
        ...(facts.schema ? [misfitTo(checkId, `${misfits + 1}`)] : []),
        // Not found once more, it is either deleted or there.
        ...(missingSince === undefined ? [{ type: "CHECKED_NOT_FOUND", at, checkId } as const] : []),
      ];
};

/** An answer that does not fit the schema. */
const misfitTo = (checkId: number, name: string): TaskEvent => ({
  ...{ type: "CHECKED_ANSWERED", at, checkId, completedAt: at, result: "twelve" },
  misfit: {
    ...{ messageID: `msg_misfit_${name}`, partID: `prt_misfit_${name}`, prompt: "It is no JSON." },
    error: { name: "SchemaMisfit", kind: "schema", message: "It is no JSON." },
  },
});

const answersOf = (checkId: number, hasError: boolean, isSteered: boolean): TaskEvent[] => [
  { type: "CHECKED_BUSY", at, checkId },
  { type: "CHECKED_AWAITING_TASKS", at, checkId },
  { type: "CHECKED_ANSWERED", at, checkId, completedAt: at, result: "12" },
  { type: "CHECKED_FAILED", at, checkId, completedAt: at, error: { ...error, kind: "provider" } },
  { type: "CHECKED_FAILED", at, checkId, completedAt: at, error: { ...error, kind: "provider", refusal: "quota" } },
  { type: "CHECKED_HOST_FAULT", at, checkId, completedAt: at, error: { ...error, kind: "host" } },
  { type: "CHECKED_ABORTED", at, checkId, completedAt: at },
  ...(isSteered ? [{ type: "CHECKED_UNSEEN", at, checkId } as const] : []),
  // An error that was told counts until the host shows something newer.
  ...(hasError ? [] : [{ type: "CHECKED_UNANSWERED", at, checkId } as const]),
  { type: "CHECK_FAILED", at, checkId, error: fault },
];

/** How many instructions a run is given at most. */
const INSTRUCTIONS = 2;

/** The next run of a task that was stopped. */
const RETRY: TaskEvent = {
  ...{ type: "RETRY", at, messageID: "msg_2", partID: "prt_2", prompt: "Go on." },
  budgetFrom: { toolCalls: 0, tokens: 0, cost: 0 },
};

/** The same, asked for while the result is being delivered. */
const asked = (begins: NextRunWay): TaskEvent => ({
  ...{ type: "NEXT_RUN_ASKED", begins, at, messageID: "msg_2", partID: "prt_2", prompt: "And now?" },
});

/** What can be said of instructions: one more is given, the oldest is stored or refused, or the newest that is stored is seen. */
const steeringIn = (snapshot: TaskSnapshot): TaskEvent[] => {
  const { instructions = [], storedInstruction, given = [] } = snapshot.context;
  const next = Number(storedInstruction?.messageID.at(-1) ?? 0) + instructions.length + 1;
  const messageID = instructions[0]?.messageID ?? "";
  return [
    ...(next <= INSTRUCTIONS
      ? [
          {
            type: "STEER",
            at,
            messageID: `msg_steer_${next}`,
            partID: `prt_${next}`,
            prompt: "Faster.",
            text: "Faster.",
            from: "agent",
          } as const,
        ]
      : []),
    ...given.flatMap(({ messageID: id, seenAt }) =>
      seenAt === undefined && id === storedInstruction?.messageID
        ? ({ type: "INSTRUCTION_SEEN", at, messageID: id } as const)
        : [],
    ),
    ...(snapshot.matches({ steering: "sending" })
      ? ([
          { type: "STEERING_STORED", at, messageID },
          { type: "STEERING_REFUSED", at, messageID, error: fault, retryable: true },
          { type: "STEERING_REFUSED", at, messageID, error: fault, retryable: false },
        ] as const)
      : []),
  ];
};

const waitsIn = (snapshot: TaskSnapshot): TaskEvent[] => {
  const { waiters, completedAt } = snapshot.context;
  const next = calls[waiters.length];
  // A call that waits for a task that runs is told, or lets go, when that ends, or when its process is gone.
  const mayTell = completedAt !== undefined || isRecovering(snapshot);
  return [
    ...(next && !isAtRest(snapshot) && !isRecovering(snapshot) && !waiters.includes(next)
      ? [{ type: "WAIT_BEGAN", at, call: next } as const]
      : []),
    ...waiters.map((call) => ({ type: "WAIT_ABANDONED", at, call }) as const),
    ...(mayTell ? waiters.map((call) => ({ type: "WAIT_DELIVERED", at, call }) as const) : []),
  ];
};

/** How the gate's command can end. */
const gateEndsIn = ({ context: { gate } }: TaskSnapshot): TaskEvent[] =>
  ([{ end: "exited", exit: 0 }, { end: "exited", exit: 1 }, { end: "notRun" }] as const).map((end) => ({
    type: "GATE_ENDED",
    at,
    gateRun: gate?.runs ?? 0,
    end: { ...end, output: "" },
    messageID: `msg_gate_${gate?.runs}`,
    partID: `prt_gate_${gate?.runs}`,
    prompt: "It failed.",
  }));

/** A claim that is newer than that of the run. */
const claimAfter = (snapshot: TaskSnapshot): Claim => {
  const { epoch = 1, seq = 0 } = snapshot.context.remote?.claim ?? {};
  return { epoch, seq: seq + 1 };
};

/** What the broker of the fleet and its servers can say of a run. */
const fleetEventsIn = (snapshot: TaskSnapshot): TaskEvent[] => {
  const { remote } = snapshot.context;
  const state = statePath(snapshot.value.run).split(".").at(-1) ?? "";
  const isIn = (...states: string[]) => snapshot.matches({ run: "fleet" }) && states.includes(state);
  const end = { at, completedAt: at, result: undefined, error: undefined, receipt: undefined };
  const failed = { outcome: "error", error: { ...error, kind: "provider" } } as const;
  return [
    ...(isIn("enqueuing")
      ? ([
          { type: "JOB_ENQUEUED", at },
          { type: "JOB_REFUSED", at, error: { ...error, kind: "fleet" }, retryable: true },
          { type: "JOB_REFUSED", at, error: { ...error, kind: "fleet" }, retryable: false },
          { type: "SUPERVISION_FAILED", at, error: { ...error, kind: "internal" } },
        ] as const)
      : []),
    ...((remote?.attempts.length ?? 0) < OFFER.attempts + 1
      ? [{ type: "REMOTE_CLAIMED", at, claim: claimAfter(snapshot), server: { id: "srv_1", label: "one" } } as const]
      : []),
    ...(remote && remote.claim.epoch < 3
      ? ([
          {
            type: "REMOTE_CLAIMED",
            at,
            claim: { epoch: remote.claim.epoch + 1, seq: 1 },
            server: { id: "srv_1", label: "one" },
            replaces: remote.claim,
          },
        ] as const)
      : []),
    ...(remote
      ? ([
          { ...end, type: "REMOTE_ENDED", claim: remote.claim, outcome: "completed", result: "12" },
          { ...end, type: "REMOTE_ENDED", claim: remote.claim, ...failed },
          { ...end, type: "REMOTE_ENDED", claim: remote.claim, outcome: "cancelled", receipt: receipt() },
        ] as const)
      : []),
    ...(remote && !isIn("claimed") ? [{ type: "REMOTE_HELD", at, claim: remote.claim } as const] : []),
    ...(isIn("enqueued", "claimed", "requesting") ? [{ type: "REMOTE_LOST", at } as const] : []),
    ...(isIn("withdrawing", "closing", "requesting", "claimed") ? [{ type: "CLOSED", at } as const] : []),
  ];
};

/** A run that its provider refuses for long is set aside by the engine, unless it has another model. */
const refusedForLongIn = (snapshot: TaskSnapshot): TaskEvent[] => {
  const { retry } = snapshot.context;
  if (!retry || !snapshot.hasTag("retrying") || nextModelWithout(snapshot.context)) return [];
  const { message, until } = retry;
  return [{ type: "PAUSE", at, by: "provider", refusal: { message, until } }];
};

/** What may come in a state: what the host says or does, a person or an agent asks for, or time does. Not all of it is taken. */
export const possibleIn = (snapshot: TaskSnapshot, recovery: Recovery): TaskEvent[] => {
  const { value, context } = snapshot;
  const resume: TaskEvent = { type: "RESUME", at, messageID: "msg_2", partID: "prt_2", prompt: "And now?" };
  // The engine itself says so at once.
  if (value.nextRun === "beginning") {
    const { begins, isCancelled } = context.nextRun ?? {};
    return [{ ...(begins === "RETRY" ? RETRY : resume), ...(isCancelled ? { isCancelled } : {}) }];
  }
  if (snapshot.matches({ run: "queued" })) {
    return [
      { type: "SLOT_GRANTED", at },
      { type: "PAUSE", at, by: "person" },
      { type: "CANCEL", at },
      { type: "ADOPTED", at, recovery, isNoticePending: false },
    ];
  }
  if (snapshot.matches({ run: { active: { prompting: "gatingBefore" } } })) {
    return [
      { type: "GATE_ENDED_BEFORE", at, end: { end: "exited", exit: 0 } },
      { type: "GATE_ENDED_BEFORE", at, end: { end: "timedOut" } },
      { type: "CANCEL", at },
      { type: "PAUSE", at, by: "person" },
      { type: "LIMIT_EXCEEDED", at, error: { ...error, kind: "loop" } },
      { type: "SESSION_DELETED", at },
      { type: "ADOPTED", at, recovery, isNoticePending: false },
      ...steeringIn(snapshot),
    ];
  }
  if (snapshot.matches({ run: "fleet" })) {
    return [
      ...fleetEventsIn(snapshot),
      { type: "CANCEL", at },
      { type: "SESSION_DELETED", at },
      { type: "LIMIT_EXCEEDED", at, error: { ...error, kind: "loop" }, said: "so far" },
      ...(context.nextDeadline === undefined ? [] : [{ type: "TICK", at: context.nextDeadline } as const]),
      ...(context.stopAttempts > 1 ? [] : [{ type: "ADOPTED", at, recovery, isNoticePending: false } as const]),
      ...waitsIn(snapshot),
      ...steeringIn(snapshot),
      ...(snapshot.matches({ run: { fleet: "claimed" } })
        ? [{ type: "BECAME_STALE", at } as const, { type: "ACTIVITY_SEEN", at } as const]
        : []),
    ];
  }
  // The child's turn goes on when the call that it waits for returns.
  if (context.blockedCalls) {
    return [
      { type: "CALL_RETURNED", at, call: "call_own" },
      { type: "OWN_TASK_ENDED", at, taskId: OWN_TASK },
    ];
  }
  const isSending = snapshot.matches({ run: { active: { prompting: "sending" } } });
  const isQuiet = snapshot.matches({ run: { active: { working: "busy" } } }) && context.nextDeadline === undefined;
  return [
    ...(isSending
      ? ([
          { type: "PROMPT_ACCEPTED", at },
          { type: "PROMPT_REFUSED", at, error: fault, retryable: true },
          { type: "PROMPT_REFUSED", at, error: fault, retryable: false },
          { type: "SESSION_NOT_FOUND", at },
          { type: "SUPERVISION_FAILED", at, error: { ...error, kind: "internal" } },
        ] as const)
      : []),
    ...(snapshot.matches({ run: { active: { working: "busy" } } })
      ? [{ type: "CALL_BLOCKED" as const, at, call: "call_own", taskIds: [OWN_TASK] }]
      : []),
    { type: "OWN_TASK_ENDED", at, taskId: OWN_TASK },
    { type: "HOST_BUSY", at },
    { type: "HOST_RETRYING", at, attempt: 1, message: "slow down", until: at + TOLD_TO_WAIT },
    { type: "HOST_RETRYING", at, attempt: 1, message: "come back tomorrow", until: at + 3 * TOLD_TO_WAIT },
    { type: "HOST_ANSWERING", at },
    { type: "HOST_IDLE", at },
    ...(snapshot.hasTag("working") ? [{ type: "STEPS_WITHOUT_END", at } as const] : []),
    { type: "HOST_ERROR", at, error },
    ...(snapshot.matches({ run: { active: { changingModel: "settling" } } })
      ? [{ type: "HOST_ERROR", at, error: { name: "MessageAbortedError", message: "Aborted" } } as const]
      : []),
    { type: "SESSION_DELETED", at },
    ...answersTo(snapshot),
    { type: "CANCEL", at },
    { type: "PAUSE", at, by: "person" },
    ...refusedForLongIn(snapshot),
    ...(snapshot.matches({ run: { pausing: "paused" } }) ? [{ type: "CONTINUE", at } as const] : []),
    { type: "STOPPED", at },
    { type: "NOT_STOPPED", at, error: fault },
    { type: "MODEL_CHANGED", at, model: nextModel(context) ?? { providerID: "", modelID: "" } },
    { type: "LIMIT_EXCEEDED", at, error: { ...error, kind: "loop" }, said: "so far" },
    ...(context.run.index === 0 ? [resume, RETRY, asked("RESUME"), asked("RETRY")] : []),
    ...steeringIn(snapshot),
    ...(snapshot.matches({ run: { active: { checking: "gating" } } }) ? gateEndsIn(snapshot) : []),
    ...(context.nextDeadline === undefined ? [] : [{ type: "TICK", at: context.nextDeadline } as const]),
    { type: "RESULT_READ", at },
    // To be taken over again and again while it is being stopped would go on for ever.
    ...(isAtRest(snapshot) || Math.max(context.stopAttempts, context.pause?.attempts ?? 0) > 1
      ? []
      : [{ type: "ADOPTED", at, recovery, isNoticePending: value.notice === "sending" } as const]),
    // The file was damaged meanwhile, and the prompt is lost.
    ...(value.notice === "sending" ? [{ type: "ADOPTED", at, recovery, isNoticePending: false } as const] : []),
    ...waitsIn(snapshot),
    { type: "NOTICE_COMPOSED", at },
    { type: "NOTICE_ACKNOWLEDGED", at },
    ...requests.map((request) => ({ type: "REQUEST_ASKED", at, request }) as const),
    ...requests.map(({ id }) => ({ type: "REQUEST_ANSWERED", at, id }) as const),
    ...(isQuiet ? [{ type: "BECAME_STALE", at } as const, { type: "ACTIVITY_SEEN", at } as const] : []),
  ];
};

/** The same event as it would come in another snapshot, in which the machine counts or waits from elsewhere. */
export const again = (event: TaskEvent, { context }: TaskSnapshot): TaskEvent => {
  if ("checkId" in event) return { ...event, checkId: context.checkId };
  if (event.type === "REMOTE_CLAIMED" && event.replaces && context.remote)
    return { ...event, replaces: context.remote.claim };
  if ((event.type === "REMOTE_ENDED" || event.type === "REMOTE_HELD") && context.remote)
    return { ...event, claim: context.remote.claim };
  if (event.type === "GATE_ENDED") return { ...event, gateRun: context.gate?.runs ?? 0 };
  if (event.type === "TICK") return { ...event, at: context.nextDeadline ?? event.at };
  return event;
};
