import { initialTransition, transition } from "xstate";
import { getShortestPaths, getSimplePaths } from "xstate/graph";
import type { Recovery, TaskEvent, TaskInput } from "../../src/machines/task/events.ts";
import { isRefusedTooLong } from "../../src/machines/task/fallback.ts";
import { type TaskSnapshot, taskMachine } from "../../src/machines/task/machine.ts";
import { receipt } from "../fakes/receipt.ts";
import { START } from "../fakes/task-input.ts";
import {
  again,
  fleetInput,
  gatedBeforeInput,
  gatedInput,
  input,
  oneModelInput,
  possibleIn,
  typedInput,
} from "./task-events.ts";
import { takenAtFirst, takenBy, transitionsOf } from "./transitions.ts";

/** A way through the task's chart. */
export interface TaskPath {
  /** What the task begins with: one with a gate, one with a schema, or one with neither. */
  input: TaskInput;
  recovery: Recovery;
  events: TaskEvent[];
}

/**
 * A part of the chart that can be walked exhaustively: all of it at once has too many states, since it counts tries of
 * several kinds. What no slice comes to shows in the coverage.
 */
interface Slice {
  input: TaskInput;
  recovery: Recovery;
  types: ReadonlySet<TaskEvent["type"]>;
}

type Type = TaskEvent["type"];

/** What leads to a run's end, to its telling, and to the next run. */
const LIFE: Type[] = [
  "SLOT_GRANTED",
  "PROMPT_ACCEPTED",
  "HOST_IDLE",
  "CHECKED_ANSWERED",
  "NOTICE_COMPOSED",
  "NOTICE_ACKNOWLEDGED",
  "RESUME",
  "RETRY",
];

const slice = (recovery: Recovery, ...types: Type[]): Slice => ({
  input,
  recovery,
  types: new Set([...LIFE, ...types]),
});

/** The same for a task whose answers must pass a gate. */
const gated = (...types: Type[]): Slice => ({ ...slice("continue", "GATE_ENDED", ...types), input: gatedInput });

/** The same for a task whose gate is run before its agent begins, too. */
const gatedBefore = (...types: Type[]): Slice => ({
  ...slice("continue", "GATE_ENDED_BEFORE", "GATE_ENDED", ...types),
  input: gatedBeforeInput,
});

/** The same for a task that has no other model. */
const withOneModel = (...types: Type[]): Slice => ({ ...slice("continue", ...types), input: oneModelInput });

/** The same for a task whose results must fit a schema. */
const typed = (...types: Type[]): Slice => ({ ...slice("continue", ...types), input: typedInput });

/** The same for a task that is for other servers. */
const offered = (...types: Type[]): Slice => ({ ...slice("continue", ...types), input: fleetInput });

const SLICES: Slice[] = [
  slice(
    "continue",
    "PROMPT_REFUSED",
    "SUPERVISION_FAILED",
    "HOST_ERROR",
    "TICK",
    "CHECKED_BUSY",
    "CHECKED_FAILED",
    "CHECKED_UNANSWERED",
    "SESSION_DELETED",
    "RESULT_READ",
  ),
  slice("continue", "TICK", "CHECK_FAILED", "CHECKED_ABORTED", "ADOPTED"),
  slice("continue", "SESSION_NOT_FOUND", "CHECKED_NOT_FOUND", "TICK", "HOST_ERROR", "ADOPTED"),
  slice("continue", "TICK", "CANCEL", "STOPPED", "NOT_STOPPED", "SESSION_DELETED", "RESULT_READ"),
  slice("continue", "CANCEL", "STOPPED", "ADOPTED"),
  slice("continue", "LIMIT_EXCEEDED", "TICK", "STOPPED", "NOT_STOPPED", "SESSION_DELETED", "ADOPTED"),
  slice("continue", "ADOPTED", "CHECKED_BUSY", "CHECKED_FAILED", "CHECKED_ABORTED", "CHECKED_UNANSWERED"),
  slice("fail", "ADOPTED", "CHECKED_ABORTED", "CHECKED_UNANSWERED"),
  slice("continue", "WAIT_BEGAN", "WAIT_ABANDONED", "WAIT_DELIVERED", "ADOPTED"),
  slice("continue", "NEXT_RUN_ASKED", "CANCEL", "STOPPED", "CHECKED_FAILED"),
  slice("continue", "PAUSE", "STOPPED", "NOT_STOPPED", "TICK", "CHECKED_BUSY"),
  slice("continue", "PAUSE", "STOPPED", "CHECKED_ABORTED", "CONTINUE", "CANCEL", "ADOPTED"),
  slice("continue", "PAUSE", "STOPPED", "CONTINUE", "CHECKED_AWAITING_TASKS", "CHECKED_FAILED", "CHECKED_HOST_FAULT"),
  slice("continue", "PAUSE", "STOPPED", "CONTINUE", "CHECKED_ABORTED", "CHECKED_UNANSWERED", "CHECKED_NOT_FOUND"),
  slice("continue", "PAUSE", "STOPPED", "CONTINUE", "CHECK_FAILED", "TICK"),
  slice("continue", "PAUSE", "STOPPED", "CHECKED_ABORTED", "CONTINUE", "CHECKED_BUSY", "HOST_RETRYING"),
  slice("continue", "PAUSE", "STOPPED", "CONTINUE", "STEER", "STEERING_STORED", "CHECKED_UNSEEN"),
  slice("continue", "PAUSE", "STOPPED", "CONTINUE", "REQUEST_ASKED", "REQUEST_ANSWERED"),
  slice("continue", "PAUSE", "CHECKED_FAILED", "MODEL_CHANGED", "TICK"),
  slice("continue", "CHECKED_AWAITING_TASKS", "OWN_TASK_ENDED", "HOST_BUSY", "HOST_ERROR", "ADOPTED"),
  slice(
    "continue",
    "HOST_RETRYING",
    "HOST_BUSY",
    "HOST_ERROR",
    "TICK",
    "CHECKED_BUSY",
    "CHECKED_UNANSWERED",
    "CHECKED_AWAITING_TASKS",
    "CANCEL",
    "STOPPED",
    "ADOPTED",
  ),
  slice("continue", "HOST_RETRYING", "HOST_ANSWERING", "HOST_BUSY", "CHECKED_BUSY"),
  slice("continue", "HOST_RETRYING", "MODEL_CHANGED", "TICK", "HOST_ERROR", "CANCEL", "STOPPED", "ADOPTED"),
  slice("continue", "CHECKED_FAILED", "MODEL_CHANGED", "NOT_STOPPED", "TICK", "ADOPTED"),
  slice("continue", "HOST_RETRYING", "STEER", "STEERING_STORED", "STEERING_REFUSED", "TICK"),
  slice("continue", "HOST_RETRYING", "STEPS_WITHOUT_END", "CHECKED_BUSY"),
  slice("continue", "CHECKED_HOST_FAULT", "TICK", "ADOPTED"),
  slice("fail", "CHECKED_HOST_FAULT", "ADOPTED"),
  slice("continue", "CALL_BLOCKED", "CALL_RETURNED", "OWN_TASK_ENDED"),
  slice("continue", "STEER", "STEERING_STORED", "STEERING_REFUSED", "CHECKED_BUSY", "TICK"),
  slice("continue", "STEER", "STEERING_STORED", "CHECKED_UNSEEN", "CANCEL", "STOPPED", "ADOPTED"),
  slice("fail", "STEER", "STEERING_STORED", "CHECKED_UNSEEN", "ADOPTED"),
  slice("continue", "STEER", "STEERING_STORED", "STEERING_REFUSED", "CHECKED_AWAITING_TASKS", "TICK"),
  slice("continue", "STEER", "STEERING_STORED", "INSTRUCTION_SEEN"),
  slice("continue", "STEER", "STEERING_STORED", "LIMIT_EXCEEDED", "STOPPED"),
  gated("CANCEL", "STOPPED", "SESSION_DELETED", "ADOPTED"),
  gated("PAUSE", "STOPPED", "CONTINUE"),
  gated("STEER", "STEERING_STORED", "STEERING_REFUSED", "CHECKED_UNSEEN", "TICK"),
  gatedBefore("PAUSE", "CONTINUE"),
  gatedBefore("CANCEL", "STOPPED", "SESSION_DELETED", "ADOPTED", "STEER", "CHECKED_UNANSWERED"),
  withOneModel("HOST_RETRYING", "PAUSE", "STOPPED", "CHECKED_ABORTED", "CONTINUE", "ADOPTED"),
  typed("CHECKED_BUSY", "ADOPTED", "TICK", "CHECKED_UNANSWERED"),
  typed("PAUSE", "STOPPED", "CONTINUE"),
  typed("STEER", "STEERING_STORED", "CHECKED_UNSEEN", "CANCEL", "STOPPED"),
  offered("JOB_ENQUEUED", "JOB_REFUSED", "REMOTE_CLAIMED", "REMOTE_ENDED", "TICK", "CLOSED"),
  offered("JOB_ENQUEUED", "REMOTE_CLAIMED", "REMOTE_ENDED", "REMOTE_LOST", "ADOPTED", "SESSION_DELETED"),
  offered(
    "JOB_ENQUEUED",
    "REMOTE_CLAIMED",
    "REMOTE_ENDED",
    "REMOTE_LOST",
    "REMOTE_HELD",
    "JOB_REFUSED",
    "TICK",
    "CLOSED",
  ),
  offered("JOB_REFUSED", "REMOTE_CLAIMED", "SUPERVISION_FAILED", "CANCEL", "TICK", "CLOSED"),
  offered(
    "JOB_ENQUEUED",
    "REMOTE_CLAIMED",
    "REMOTE_ENDED",
    "REMOTE_LOST",
    "CANCEL",
    "TICK",
    "CLOSED",
    "SESSION_DELETED",
  ),
  offered("JOB_ENQUEUED", "REMOTE_CLAIMED", "REMOTE_ENDED", "LIMIT_EXCEEDED", "TICK", "CLOSED", "SESSION_DELETED"),
  slice("continue", "REQUEST_ASKED", "REQUEST_ANSWERED", "BECAME_STALE", "ACTIVITY_SEEN", "ADOPTED"),
];

/** What tells states apart: the chart's state, and all that its guards ask for. Times are none of it. */
const key = ({ value, context }: TaskSnapshot): string => {
  const {
    run,
    instructions,
    storedInstruction,
    steerAttempts,
    given = [],
    sendAttempts,
    stopAttempts,
    failedChecks,
    idleHinted,
    nextDeadline,
    hostError,
    userRequests: requests,
    waiters,
    interruptions,
    blockedCalls,
    recovery,
    limitError,
    retry,
    model,
    refusedModels,
    gate,
    gateBefore,
    misfits,
    endedInChecks,
    remote,
    pause,
    nextRun,
  } = context;
  const flags = [
    limitError !== undefined,
    retry !== undefined,
    isRefusedTooLong(context),
    idleHinted,
    nextDeadline !== undefined,
    hostError !== undefined,
    context.missingSince !== undefined,
  ];
  const counts = [
    run.index,
    sendAttempts,
    stopAttempts,
    failedChecks,
    interruptions,
    recovery,
    model?.modelID,
    refusedModels?.length,
    gate?.failures,
    gateBefore?.end,
    misfits,
    endedInChecks,
    remote?.attempts.length,
    pause?.attempts,
    pause?.wasSent,
    nextRun?.isCancelled,
    pause?.refusal !== undefined,
  ];
  const seen = given.map(({ seenAt }) => seenAt !== undefined);
  const steering = [instructions?.length, storedInstruction?.messageID, steerAttempts, seen];
  return JSON.stringify([value, flags, counts, steering, requests.map(({ id }) => id), waiters, blockedCalls]);
};

const optionsOf = ({ input, recovery, types }: Slice) => ({
  input,
  // The chart is asked last: that takes much longer than all else.
  events: (snapshot: TaskSnapshot) =>
    possibleIn(snapshot, recovery).filter((event) => types.has(event.type) && snapshot.can(event)),
  serializeState: key,
});

/** The snapshots that a path leads through, its beginning first. */
export const snapshotsOn = ({ input, events }: TaskPath): TaskSnapshot[] => {
  let [snapshot] = initialTransition(taskMachine, input);
  return [
    snapshot,
    ...events.map((event) => {
      [snapshot] = transition(taskMachine, snapshot, again(event, snapshot));
      return snapshot;
    }),
  ];
};

/** The shortest way to every state of every slice. */
const shortestPaths = (): (TaskPath & { slice: Slice; end: TaskSnapshot })[] =>
  SLICES.flatMap((slice) =>
    getShortestPaths(taskMachine, optionsOf(slice)).map(({ steps, state }) => ({
      slice,
      input: slice.input,
      recovery: slice.recovery,
      end: state,
      // The first step is XState's own: how it all began.
      events: steps.map(({ event }) => event).slice(1) as TaskEvent[],
    })),
  );

/**
 * For every transition that can be brought about, a shortest way that ends with it; and for every state of the notice in
 * which the parent may turn out to be gone, a way that ends with that.
 */
export const shortestWays = (): { byTransition: TaskPath[]; toNobody: TaskPath[]; withoutReceipt: TaskPath } => {
  const paths = shortestPaths().sort((a, b) => a.events.length - b.events.length);
  return { byTransition: pathsByTransition(paths), toNobody: pathsToNobody(paths), withoutReceipt };
};

/** A run that was taken over ends, and its process dies before it has read what the run did. */
const withoutReceipt: TaskPath = {
  input,
  recovery: "continue",
  events: (
    [
      "SLOT_GRANTED",
      "PROMPT_ACCEPTED",
      "ADOPTED",
      "CANCEL",
      "STOPPED",
      "RECEIPT_INCOMPLETE",
      "ADOPTED",
      "RECEIPT_WRITTEN",
    ] as const
  ).map((type): TaskEvent => {
    if (type === "RECEIPT_WRITTEN") return { type, at: START, receipt: receipt() };
    return type === "ADOPTED" ? { type, at: START, recovery: "continue", isNoticePending: false } : { type, at: START };
  }),
};

/** What the chart raises by itself: it shows only when a step is taken, which takes much longer than to look the step up. */
const RAISED = ["RUN_BEGAN", "RUN_ENDED"];

const pathsByTransition = (paths: ReturnType<typeof shortestPaths>): TaskPath[] => {
  const found = new Map<unknown, TaskPath>();
  const isFound = (definition: unknown) => found.has(definition);
  // A launch takes these on every path.
  const atFirst = new Set(SLICES.flatMap((slice) => takenAtFirst(taskMachine, slice.input)));
  const ofRaised = transitionsOf(taskMachine)
    .map(({ definition }) => definition)
    .filter((definition) => RAISED.includes(definition.eventType) && !atFirst.has(definition));
  for (const path of paths) {
    const { end } = path;
    for (const event of optionsOf(path.slice).events(end)) {
      // Only what is not found yet makes the step worth its time.
      if (ofRaised.every(isFound) && taskMachine.getTransitionData(end, event).every(isFound)) continue;
      for (const definition of takenBy(taskMachine, end, event)) {
        if (!found.has(definition))
          found.set(definition, { input: path.input, recovery: path.recovery, events: [...path.events, event] });
      }
    }
  }
  return [...found.values()];
};

const pathsToNobody = (paths: ReturnType<typeof shortestPaths>): TaskPath[] => {
  const event: TaskEvent = { type: "NOTICE_DROPPED", at: START };
  const ends = new Map<unknown, TaskPath>();
  for (const { end, input, recovery, events } of paths) {
    const { notice } = end.value;
    if (end.can(event) && !ends.has(notice)) ends.set(notice, { input, recovery, events: [...events, event] });
  }
  return [...ends.values()];
};

/** Every way without a circle through what most tasks go through. */
export const simplePaths = (): TaskPath[] => {
  const common = {
    input,
    recovery: "continue",
    types: new Set<Type>([
      ...LIFE.filter((type) => type !== "RETRY"),
      "CANCEL",
      "STOPPED",
      "CHECKED_FAILED",
      "CHECKED_BUSY",
    ]),
  } as const;
  return getSimplePaths(taskMachine, optionsOf(common)).map(({ steps }) => ({
    input,
    recovery: "continue",
    events: steps.map(({ event }) => event).slice(1) as TaskEvent[],
  }));
};
