// The status is a region of its own.
import { initialTransition, type SnapshotFrom } from "xstate";
import type { TaskStatus } from "../../task.ts";
import { statePath, withEventDescriptions } from "../chart.ts";
import { attention } from "./attention.ts";
import { type TaskEvent, type TaskInput, taskEventDescriptions } from "./events.ts";
import { goOn, goOnAfterFailure, nextRun } from "./next-run.ts";
import { notice } from "./notice.ts";
import { retryObstacle } from "./retry-obstacle.ts";
import { run } from "./run.ts";
import { NEW_RUN, namesModel, taskSetup } from "./setup.ts";
import { isStoppedForPause } from "./slot.ts";
import { steering } from "./steering.ts";

/** Begins the run in the region `run`. Its time is the run's own: entering the chart is no event with one. */
const beginRun = taskSetup.raise(({ context }) => ({ type: "RUN_BEGAN", at: context.run.startedAt }));

const onRunEnded = {
  RUN_ENDED: [
    { guard: "isCompleted", target: "completed" },
    { guard: "isFailed", target: "error" },
    { target: "cancelled" },
  ],
} as const;

const onResultRead = {
  RESULT_READ: { actions: taskSetup.assign({ resultRetrievedAt: ({ event }) => event.at }) },
} as const;

/** The status of the newest run, for everything outside the chart. The region `run` says where in it the task is. */
const lifecycle = taskSetup.createStateConfig({
  description: "The status of the task: that of its newest run.",
  initial: "running",
  states: {
    running: {
      description: "The launch prompt is being worked on.",
      meta: {
        refuses: {
          RESUME: "only completed tasks can be resumed (this one is running)",
          RETRY: "still runs: use steer",
        },
      },
      entry: beginRun,
      on: onRunEnded,
    },
    resumed: {
      description: "A follow-up prompt is being worked on, or what the run before did not bring to its end.",
      meta: { refuses: { RESUME: "is currently being resumed", RETRY: "still runs: use steer" } },
      entry: beginRun,
      on: onRunEnded,
    },
    completed: {
      description: "The newest run was answered.",
      meta: {
        refuses: {
          CANCEL: "has already finished (completed)",
          PAUSE: "has already finished (completed)",
          CONTINUE: "has already finished (completed): use resume",
          STEER: "has already finished (completed): use resume",
          RETRY: "has completed: use resume",
        },
      },
      on: {
        ...onResultRead,
        RESUME: goOn,
      },
    },
    error: {
      description: "The newest run failed.",
      meta: {
        refuses: {
          CANCEL: "has already finished (error)",
          PAUSE: "has already finished (error)",
          CONTINUE: "has already finished (error): use retry",
          STEER: "has already finished (error): use retry",
          RESUME: "only completed tasks can be resumed (this one is error): use retry",
        },
      },
      on: { ...onResultRead, RETRY: goOnAfterFailure },
    },
    cancelled: {
      description: "The newest run was stopped, by the agent or by a person.",
      meta: {
        refuses: {
          CANCEL: "has already finished (cancelled)",
          PAUSE: "has already finished (cancelled)",
          CONTINUE: "has already finished (cancelled): use retry",
          STEER: "has already finished (cancelled): use retry",
          RESUME: "only completed tasks can be resumed (this one is cancelled): use retry",
        },
      },
      on: { ...onResultRead, RETRY: goOn },
    },
  },
});

/** One background task. Pure: no clock, no randomness, no I/O. What it wants done leaves as the action `emitEffect`. */
export const taskMachine = taskSetup.createMachine(
  withEventDescriptions(taskEventDescriptions, {
    id: "task",
    description:
      "One background task: its runs, the notices of their ends, what holds it up, and further instructions for it.",
    type: "parallel",
    context: ({ input }) => ({
      facts: input.facts,
      run: input.run,
      ...NEW_RUN,
      checkId: 0,
      limitError: undefined,
      resultRetrievedAt: undefined,
      result: undefined,
      error: undefined,
      lastRunResult: undefined,
      userRequests: [],
      staleSince: undefined,
      waiters: [],
      recovery: "continue",
    }),
    states: {
      lifecycle,
      run,
      notice,
      attention,
      steering,
      nextRun,
    },
  }),
);

/** The snapshot of a task's chart as it is stored. */
export type TaskSnapshot = SnapshotFrom<typeof taskMachine>;

/** The part of a snapshot that is stored. The chart has no child actors and no history states, so this is all of it. */
export type StoredSnapshot = Pick<TaskSnapshot, "value" | "context">;

/** Returns the snapshot that a task with this input begins with. */
export const initialSnapshot = (input: TaskInput): StoredSnapshot => {
  const [{ value, context }] = initialTransition(taskMachine, input);
  return { value, context };
};

/** Returns false for a snapshot in a state that this version of the chart does not have. */
export const isCompatible = (snapshot: StoredSnapshot): boolean => {
  try {
    taskMachine.resolveState(snapshot);
    return true;
  } catch {
    return false;
  }
};

/** Returns the public status: the name of the lifecycle's state. */
export const statusOf = ({ value: { lifecycle } }: StoredSnapshot): TaskStatus => lifecycle;

/** Formats the status, with the state of the run while one is under way, such as `running.stopping.aborting`. */
export const lifecyclePath = ({ value: { lifecycle, run } }: StoredSnapshot): string =>
  run === "idle" ? lifecycle : `${lifecycle}.${statePath(run)}`;

/** True while the task's session is being stopped. */
export const isStopping = (snapshot: StoredSnapshot): boolean => taskMachine.resolveState(snapshot).hasTag("stopping");

const runState = (snapshot: Pick<StoredSnapshot, "value"> | undefined): string =>
  snapshot ? statePath(snapshot.value.run) : "";

/** True for a task whose session is being stopped so that it is paused. */
export const isBeingPaused = (snapshot: Pick<StoredSnapshot, "value"> | undefined): boolean =>
  /^pausing\.(aborting|resting|asking)$/.test(runState(snapshot));

/** True for a task whose run is paused, or is being paused. */
export const isPaused = (snapshot: Pick<StoredSnapshot, "value"> | undefined): boolean =>
  (snapshot !== undefined && isStoppedForPause(snapshot)) || isBeingPaused(snapshot);

/** True while the command of a task's gate runs, before its agent begins or for its answer. */
export const isAtGate = (snapshot: Pick<StoredSnapshot, "value">): boolean =>
  ["active.prompting.gatingBefore", "active.checking.gating"].includes(runState(snapshot));

/**
 * True when the task has ended, with its receipt, its parent is owed nothing, and it is not to go on: nothing happens to it unless
 * somebody asks.
 */
export const isAtRest = ({ value, context }: StoredSnapshot): boolean =>
  context.completedAt !== undefined &&
  value.notice === "none" &&
  value.nextRun !== "beginning" &&
  context.waiters.length === 0 &&
  !context.isReceiptIncomplete;

/**
 * The run whose prompt is being sent, by the id of its first message; undefined while none is. Instructions may be stored
 * meanwhile: the run waits for what becomes of that prompt all the same.
 */
export const runBeingSent = ({ value, context }: StoredSnapshot): string | undefined =>
  statePath(value.run) === "active.prompting.sending" ? context.run.messageID : undefined;

/** The instruction that is being sent, by its message's id; undefined while none is. */
export const instructionBeingSent = ({ value, context }: StoredSnapshot): string | undefined =>
  value.steering === "sending" ? context.instructions?.[0]?.messageID : undefined;

/** The events that callers may send to a task. */
const CALLER_EVENTS: TaskEvent[] = [
  { type: "CANCEL", at: 0 },
  { type: "PAUSE", at: 0, by: "person" },
  { type: "CONTINUE", at: 0 },
  { type: "RESUME", at: 0, messageID: "", partID: "", prompt: "" },
  { type: "RETRY", at: 0, messageID: "", partID: "", prompt: "", budgetFrom: { toolCalls: 0, tokens: 0, cost: 0 } },
  { type: "STEER", at: 0, messageID: "", partID: "", prompt: "", text: "", from: "user" },
  { type: "RESULT_READ", at: 0 },
];

/** The event by which a task is asked for a run that it cannot begin before its result is delivered; any other is as it was. */
export const asNextRun = (event: TaskEvent): TaskEvent =>
  event.type === "RESUME" || event.type === "RETRY" ? { ...event, type: "NEXT_RUN_ASKED", begins: event.type } : event;

/** Returns the names of the callers' events that the task would accept now, or once its result is delivered. */
export const allowedEvents = (snapshot: StoredSnapshot): TaskEvent["type"][] => {
  const now = taskMachine.resolveState(snapshot);
  return CALLER_EVENTS.flatMap((event) => (now.can(event) || now.can(asNextRun(event)) ? event.type : []));
};

/**
 * Returns why the task would refuse an event, in words that follow "task …"; undefined when it would accept it, now or once its
 * result is delivered.
 */
export const refusalReason = (snapshot: TaskSnapshot, event: TaskEvent): string | undefined => {
  if (snapshot.can(event) || snapshot.can(asNextRun(event))) return undefined;
  const reasons = [
    event.type === "RETRY" ? retryObstacle(snapshot.context.error, namesModel(event)) : undefined,
    ...Object.values(snapshot.getMeta()).map((meta) => meta?.refuses?.[event.type]),
    event.type === "CONTINUE" ? "is not paused" : undefined,
  ];
  return reasons.find((reason) => reason !== undefined) ?? `is ${lifecyclePath(snapshot)} and takes no ${event.type}`;
};
