import fc from "fast-check";
import { initialTransition, transition } from "xstate";
import type { TaskEvent, TaskInput } from "../../src/machines/task/events.ts";
import { taskMachine } from "../../src/machines/task/machine.ts";
import type { Journal } from "../../src/machines/task/replay.ts";
import { receipt } from "../fakes/receipt.ts";

const START = Date.UTC(2026, 0, 1);

/** Gives a text for each place that wants one. */
type Say = () => string;

/** Every event of the outside, with all that it may bring. */
const pool = (say: Say, checkId: number): TaskEvent[] => {
  const at = 0;
  const fault = { name: "APIError", kind: "provider", message: say() } as const;
  const looked = { at, checkId, completedAt: START };
  const claim = { epoch: START, seq: 1 };
  const ended = { at, claim, completedAt: START, result: undefined, error: undefined, receipt: undefined };
  const remoteEnd = { type: "REMOTE_ENDED", ...ended } as const;
  return [
    { type: "SLOT_GRANTED", at },
    { type: "PROMPT_ACCEPTED", at },
    { type: "PROMPT_REFUSED", at, error: fault, retryable: true },
    { type: "PROMPT_REFUSED", at, error: fault, retryable: false },
    { type: "HOST_RETRYING", at, attempt: 2, message: say(), until: START + 60_000 },
    { type: "HOST_BUSY", at },
    { type: "HOST_IDLE", at },
    { type: "HOST_ERROR", at, error: { name: say(), message: say() } },
    { type: "SESSION_NOT_FOUND", at },
    { type: "SESSION_DELETED", at },
    { type: "CHECKED_BUSY", at, checkId },
    { type: "CHECKED_ANSWERED", ...looked, result: say() },
    { type: "CHECKED_FAILED", ...looked, error: fault },
    { type: "CHECKED_FAILED", ...looked, error: { ...fault, refusal: "overloaded" } },
    { type: "MODEL_CHANGED", at, model: { providerID: "fake", modelID: "m2" } },
    { type: "CHECKED_ABORTED", ...looked },
    { type: "CHECKED_UNANSWERED", at, checkId },
    { type: "CHECKED_NOT_FOUND", at, checkId },
    { type: "CHECK_FAILED", at, checkId, error: fault },
    { type: "CANCEL", at },
    { type: "STOPPED", at },
    { type: "NOT_STOPPED", at, error: fault },
    { type: "LIMIT_EXCEEDED", at, error: { ...fault, kind: "budget" }, said: say() },
    { type: "RESUME", at, messageID: say(), partID: say(), prompt: say() },
    { type: "CHECKED_UNSEEN", at, checkId },
    { type: "STEER", at, messageID: "msg_3", partID: say(), prompt: say(), text: say(), from: "user" },
    { type: "INSTRUCTION_SEEN", at, messageID: "msg_3" },
    { type: "STEERING_STORED", at, messageID: "msg_3" },
    { type: "STEERING_REFUSED", at, messageID: "msg_3", error: fault, retryable: true },
    { type: "TICK", at },
    { type: "RESULT_READ", at },
    { type: "SUPERVISION_FAILED", at, error: fault },
    { type: "ADOPTED", at, recovery: "continue", isNoticePending: true },
    { type: "ADOPTED", at, recovery: "fail", isNoticePending: false },
    { type: "WAIT_BEGAN", at, call: say() },
    { type: "WAIT_ABANDONED", at, call: say() },
    { type: "WAIT_DELIVERED", at, call: say() },
    { type: "NOTICE_COMPOSED", at },
    { type: "NOTICE_ACKNOWLEDGED", at },
    { type: "NOTICE_DROPPED", at },
    { type: "REQUEST_ASKED", at, request: { id: say(), kind: "permission", what: say(), since: START } },
    { type: "REQUEST_ASKED", at, request: { id: say(), kind: "question", what: say(), since: START } },
    { type: "REQUEST_ANSWERED", at, id: say() },
    { type: "BECAME_STALE", at },
    { type: "ACTIVITY_SEEN", at },
    { type: "JOB_ENQUEUED", at },
    { type: "JOB_REFUSED", at, error: { ...fault, kind: "fleet" }, retryable: false },
    { type: "REMOTE_CLAIMED", at, claim, server: { id: say(), label: say() } },
    { ...remoteEnd, outcome: "completed", result: say(), receipt: receipt() },
    { ...remoteEnd, outcome: "error", error: fault },
    { type: "REMOTE_LOST", at },
    { type: "CLOSED", at },
  ];
};

const originWith = (say: Say, isForFleet: boolean): TaskInput => ({
  facts: {
    ...(isForFleet ? { fleet: { pool: say(), commit: say(), attempts: 2, patience: 900_000 } } : {}),
    sessionID: say(),
    parentSessionID: say(),
    parentMessageID: say(),
    parentAgent: "build",
    parentTaskId: say(),
    author: "build",
    directory: say(),
    description: say(),
    prompt: say(),
    agent: "general",
    model: { providerID: "fake", modelID: "m1", variant: "high" },
    fallback: {
      models: [
        { providerID: "fake", modelID: "m2" },
        { providerID: "other", modelID: "m1" },
      ],
      after: 60_000,
    },
    startedAt: new Date(START).toISOString(),
    batchId: say(),
    isForked: false,
    priority: 0,
  },
  run: { index: 0, messageID: say(), partID: say(), prompt: say(), startedAt: START },
});

/** What a walk chooses at each step. */
export const picks = fc.array(fc.nat(), { minLength: 10, maxLength: 60 });

/** Texts of any kind, also names that every object has. There are few, so that the same one comes in several places. */
export const READABLE = fc.array(
  fc.oneof({ weight: 5, arbitrary: fc.string({ unit: "grapheme" }) }, fc.constantFrom("__proto__", "constructor")),
  { minLength: 1, maxLength: 8 },
);

/** A journal of events that the machine accepts, as `chosen` picks them, with `words` wherever there is room for any. */
export const journalFrom = (chosen: number[], words: string[]): Journal & { origin: TaskInput } => {
  let said = 0;
  const say = () => {
    said += 1;
    return words[(said * 7) % words.length] ?? "";
  };
  // Of four tasks one is for other servers.
  const origin = originWith(say, (chosen[0] ?? 0) % 4 === 1);
  let [snapshot] = initialTransition(taskMachine, origin);
  const events = chosen.flatMap((pick, step): TaskEvent[] => {
    const at = START + step * 700;
    const offered = pool(say, snapshot.context.checkId).map((event) => ({ ...event, at }));
    const accepted = offered.filter((event) => snapshot.can(event));
    const event = accepted[pick % accepted.length];
    if (!event) return [];
    [snapshot] = transition(taskMachine, snapshot, event);
    return [event];
  });
  const { value, context } = snapshot;
  return { taskId: origin.facts.sessionID, origin, events, snapshot: { value, context } };
};
