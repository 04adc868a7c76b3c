import type { PendingRequest, Recovery, TaskEvent } from "../../src/machines/task/events.ts";
import type { TaskSnapshot } from "../../src/machines/task/machine.ts";
import { isAtRest, stateOf } from "../../src/machines/task/machine.ts";
import { START, taskInput } from "../fakes/task-input.ts";

/** What the task of every path begins with. */
export const input = taskInput("ses_0001");

const error = { name: "APIError", message: "the model's provider says no" };
const fault = { ...error, kind: "host" } as const;
const requests: PendingRequest[] = [
  { id: "per_1", kind: "permission", what: "bash: rm", since: START },
  { id: "que_1", kind: "question", what: "Which one?", since: START },
];
const calls = ["call_1", "call_2"];

const at = START;

/** True while nobody has taken the task over since its waiting calls began, or all of them are settled. */
const isReclaimed = (snapshot: TaskSnapshot) => stateOf(snapshot).endsWith(".reclaiming");

/** The answers to the newest look that the host can give now: one to each look. */
const answersTo = ({ context: { look, hostError, wakeAt, missingSince } }: TaskSnapshot): TaskEvent[] =>
  wakeAt !== undefined
    ? []
    : [
        ...answersOf(look, hostError !== undefined),
        // Not found once more, it is either deleted or there.
        ...(missingSince === undefined ? [{ type: "LOOKED_MISSING", at, look } as const] : []),
      ];

const answersOf = (look: number, hasError: boolean): TaskEvent[] => [
  { type: "LOOKED_BUSY", at, look },
  { type: "LOOKED_ANSWERED", at, look, completedAt: at, result: "12" },
  { type: "LOOKED_FAILED", at, look, completedAt: at, error: { ...error, kind: "provider" } },
  { type: "LOOKED_ABORTED", at, look, completedAt: at },
  // An error that was told counts until the host shows something newer.
  ...(hasError ? [] : [{ type: "LOOKED_UNANSWERED", at, look } as const]),
  { type: "LOOK_FAILED", at, look, error: fault },
];

const waitsIn = (snapshot: TaskSnapshot): TaskEvent[] => {
  const { waiters, completedAt } = snapshot.context;
  const next = calls[waiters.length];
  // A call that waits for a task that runs is told, or lets go, when that ends, or when its process is gone.
  const mayTell = completedAt !== undefined || isReclaimed(snapshot);
  return [
    ...(next && !isAtRest(snapshot) && !isReclaimed(snapshot) && !waiters.includes(next)
      ? [{ type: "WAIT_BEGAN", at, call: next } as const]
      : []),
    ...waiters.map((call) => ({ type: "LET_GO", at, call }) as const),
    ...(mayTell ? waiters.map((call) => ({ type: "TOLD", at, call }) as const) : []),
  ];
};

/** What the outside can bring about in a state: what the host may say or do, a person or an agent ask for, or time do. */
export const eventsIn = (snapshot: TaskSnapshot, recovery: Recovery): TaskEvent[] => {
  const { value, context } = snapshot;
  const state = stateOf(snapshot);
  // There is a slot for each run, and it is given at once.
  if (state.endsWith(".queued")) return [{ type: "SLOT_GRANTED", at }];
  const isSending = state.endsWith(".launching") || state.endsWith(".prompting");
  const isQuiet = state.endsWith(".working") && context.wakeAt === undefined;
  const possible: TaskEvent[] = [
    ...(isSending
      ? ([
          { type: "PROMPT_ACCEPTED", at },
          { type: "PROMPT_REFUSED", at, error: fault, retryable: true },
          { type: "PROMPT_REFUSED", at, error: fault, retryable: false },
          { type: "SESSION_MISSING", at },
          { type: "BROKEN", at, error: { ...error, kind: "internal" } },
        ] as const)
      : []),
    { type: "HOST_IDLE", at },
    { type: "HOST_ERROR", at, error },
    { type: "SESSION_GONE", at },
    ...answersTo(snapshot),
    { type: "CANCEL", at },
    { type: "STOPPED", at },
    { type: "NOT_STOPPED", at, error: fault },
    ...(context.run.index === 0
      ? [{ type: "RESUME", at, messageID: "msg_2", partID: "prt_2", prompt: "And now?" } as const]
      : []),
    ...(context.wakeAt === undefined ? [] : [{ type: "TICK", at: context.wakeAt } as const]),
    { type: "RETRIEVED", at },
    // To be taken over again and again while it is being stopped would go on for ever.
    ...(isAtRest(snapshot) || context.stops > 1
      ? []
      : [{ type: "ADOPTED", at, recovery, underWay: value.notice === "sending" } as const]),
    // The file was damaged meanwhile, and the prompt is lost.
    ...(value.notice === "sending" ? [{ type: "ADOPTED", at, recovery, underWay: false } as const] : []),
    ...waitsIn(snapshot),
    { type: "NOTICE_FORMED", at },
    { type: "NOTICE_ACKNOWLEDGED", at },
    ...requests.map((request) => ({ type: "REQUEST_ASKED", at, request }) as const),
    ...requests.map(({ id }) => ({ type: "REQUEST_ANSWERED", at, id }) as const),
    ...(isQuiet ? [{ type: "WENT_QUIET", at } as const, { type: "HEARD", at } as const] : []),
  ];
  return possible.filter((event) => snapshot.can(event));
};

/** The same event as it would come in another snapshot, in which the machine counts or waits from elsewhere. */
export const again = (event: TaskEvent, { context }: TaskSnapshot): TaskEvent => {
  if ("look" in event) return { ...event, look: context.look };
  if (event.type === "TICK") return { ...event, at: context.wakeAt ?? event.at };
  return event;
};
