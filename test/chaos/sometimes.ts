import { statePath } from "../../src/machines/chart.ts";
import type { OutboxEvent } from "../../src/machines/outbox/events.ts";
import { type OutboxSnapshot, outboxMachine } from "../../src/machines/outbox/machine.ts";
import { carries } from "../../src/machines/outbox/setup.ts";
import { parentOfOutbox } from "../../src/machines/supervisor/machine.ts";
import type { TaskEvent } from "../../src/machines/task/events.ts";
import { isPaused, type TaskSnapshot, taskMachine } from "../../src/machines/task/machine.ts";
import type { Inspect, InspectedRef } from "../../src/services/runtime/actor-system.ts";
import { nameOfTransition, transitionsOf } from "../model/transitions.ts";
import { FILE_SITUATIONS, type FileSituation } from "./file-situations.ts";
import { unreached } from "./rare-schedules.ts";
import { createTally, type Tally } from "./tally.ts";

/*
 * What random schedules must have come to: a promise about a situation that never occurs is not tried at all. Each transition
 * of the charts is one. The others are events that come while something else is under way in the same chart.
 */

const hasUnseen = ({ given = [], completedAt }: TaskSnapshot["context"]): boolean =>
  completedAt === undefined && given.some(({ seenAt }) => seenAt === undefined);

const isSteering = ({ value }: TaskSnapshot): boolean => value.steering !== "none";

const MEETINGS_OF_TASKS: Record<string, (before: TaskSnapshot, event: TaskEvent) => boolean> = {
  "a model is refused while an instruction is on its way": (before, { type }) =>
    type === "CHECKED_FAILED" && isSteering(before),
  "another model goes on while an instruction is on its way": (before, { type }) =>
    type === "MODEL_CHANGED" && isSteering(before),
  "a gate ends while an instruction is on its way": (before, { type }) => type === "GATE_ENDED" && isSteering(before),
  "a limit is exceeded while an instruction is on its way": (before, { type }) =>
    type === "LIMIT_EXCEEDED" && isSteering(before),
  "a run is cancelled while an instruction is on its way": (before, { type }) =>
    type === "CANCEL" && isSteering(before),
  "a process ends while an instruction is on its way": (before, { type }) => type === "ADOPTED" && isSteering(before),
  "a run is cancelled whose agent has not seen an instruction": ({ context }, { type }) =>
    type === "CANCEL" && hasUnseen(context),
  "a run fails whose agent has not seen an instruction": ({ context }, { type }) =>
    type === "CHECKED_FAILED" && hasUnseen(context),
  "a process ends whose task's agent has not seen an instruction": ({ context }, { type }) =>
    type === "ADOPTED" && hasUnseen(context),
  "an instruction is seen before it is known to be stored": ({ context }, event) =>
    event.type === "INSTRUCTION_SEEN" &&
    context.instructions?.some(({ messageID }) => messageID === event.messageID) === true,
  "a call begins to wait while the notice is on its way": ({ value }, { type }) =>
    type === "WAIT_BEGAN" && value.notice === "sending",
  "a result is read while its notice is on its way": ({ value }, { type }) =>
    type === "RESULT_READ" && value.notice === "sending",
  "a process ends while the notice is on its way": ({ value }, { type }) =>
    type === "ADOPTED" && value.notice === "sending",
  "a process ends while a result is owed": ({ value }, { type }) => type === "ADOPTED" && value.notice === "due",
  "a process ends while calls wait for the end": ({ context }, { type }) =>
    type === "ADOPTED" && context.waiters.length > 0,
  "one of several calls that wait is aborted": ({ context }, { type }) =>
    type === "WAIT_ABANDONED" && context.waiters.length > 1,
  "a session is deleted while its run is under way": ({ value }, { type }) =>
    type === "SESSION_DELETED" && value.run !== "idle",
  "a session is deleted while it asks a person": ({ value }, { type }) =>
    type === "SESSION_DELETED" && typeof value.attention === "object",
  "a run is cancelled while it asks a person": ({ value }, { type }) =>
    type === "CANCEL" && typeof value.attention === "object",
  "a silent task asks a person": ({ value }, { type }) => type === "REQUEST_ASKED" && value.attention === "stale",
  "a second request is asked before the first is answered": ({ context }, { type }) =>
    type === "REQUEST_ASKED" && context.userRequests.length === 1,
  "a limit is exceeded while a person is asked": ({ value }, { type }) =>
    type === "LIMIT_EXCEEDED" && typeof value.attention === "object",
  "a task that failed is retried": ({ value }, { type }) => type === "RETRY" && value.lifecycle === "error",
  "a task that was cancelled is retried": ({ value }, { type }) => type === "RETRY" && value.lifecycle === "cancelled",
  "a task is retried a second time": ({ context }, { type }) => type === "RETRY" && context.run.isRetry === true,
  "a retried task is resumed": ({ context }, { type }) => type === "RESUME" && context.run.isRetry === true,
  "a next run is asked for while the notice is on its way": ({ value }, { type }) =>
    type === "NEXT_RUN_ASKED" && value.notice === "sending",
  "a process ends while a next run waits for the delivery": ({ value }, { type }) =>
    type === "ADOPTED" && value.nextRun === "waiting",
  "a process ends while a task is paused": ({ value }, { type }) =>
    type === "ADOPTED" && statePath(value.run) === "pausing.paused",
  "a process ends while a task is being paused": (before, { type }) =>
    type === "ADOPTED" && isPaused(before) && statePath(before.value.run) !== "pausing.paused",
  "an instruction is given while a task is paused": ({ value }, { type }) =>
    type === "STEER" && statePath(value.run) === "pausing.paused",
  "an instruction is on its way while a task is paused": (before, { type }) => type === "PAUSE" && isSteering(before),
  "a paused task is cancelled": ({ value }, { type }) => type === "CANCEL" && statePath(value.run) === "pausing.paused",
  "a task that asks a person is paused": ({ value }, { type }) =>
    type === "PAUSE" && typeof value.attention === "object",
  "a task is resumed a second time": ({ context }, { type }) => type === "RESUME" && context.run.index > 0,
};

const MEETINGS_OF_OUTBOXES: Record<string, (before: OutboxSnapshot, event: OutboxEvent) => boolean> = {
  "the parent is deleted while its notice is on its way": ({ value }, { type }) =>
    type === "PARENT_CLOSED" && statePath(value.delivery) === "delivering.sending",
  "the parent is deleted while its notice is stored and not answered": ({ value }, { type }) =>
    type === "PARENT_CLOSED" &&
    (statePath(value.delivery) === "delivering.awaiting" || statePath(value.delivery) === "delivering.checking"),
  "the parent is deleted while its notice is to be sent again": ({ value }, { type }) =>
    type === "PARENT_CLOSED" &&
    (statePath(value.delivery) === "delivering.resending" || statePath(value.delivery) === "delivering.backingOff"),
  "the parent is deleted while it is set aside": ({ value }, { type }) =>
    type === "PARENT_CLOSED" && value.delivery === "setAside",
  "a notice becomes due that is queued already, or in a prompt": ({ context }, event) =>
    event.type === "NOTICE_DUE" &&
    (context.queue.some(({ taskId, run }) => taskId === event.end.taskId && run === event.end.run) ||
      [context.prompt, ...context.adoptedPrompts].some((prompt) => prompt && carries(prompt, event.end))),
  "another result becomes due while a notice is on its way": ({ value }, { type }) =>
    type === "NOTICE_DUE" && statePath(value.delivery) === "delivering.sending",
  "another result becomes due while a notice is not answered": ({ value }, { type }) =>
    type === "NOTICE_DUE" &&
    (statePath(value.delivery) === "delivering.awaiting" || statePath(value.delivery) === "delivering.checking"),
  "a prompt is taken over beside one of its own": ({ context }, { type }) =>
    type === "ADOPTED" && context.prompt !== undefined,
  "two prompts are taken over at once": (_, event) => event.type === "ADOPTED" && event.prompts.length > 1,
  "a prompt is to be sent again while the parent's turn has just failed": ({ value }, { type }) =>
    type === "CHECKED" && value.parent === "coolingDown",
  "a notice is acknowledged by the answer to a newer message": ({ context }, event) =>
    event.type === "PARENT_ANSWERED" &&
    context.prompt !== undefined &&
    event.promptID > context.prompt.messageID &&
    event.createdAt >= (context.storedAt ?? Number.POSITIVE_INFINITY),
  "a result is withdrawn while the parent is read": ({ value }, { type }) =>
    type === "WITHDRAW" && statePath(value.delivery) === "preparing.reading",
};

const CHARTS = { task: taskMachine, outbox: outboxMachine } as const;

/** Counts in how many schedules each situation has occurred. */
export interface Situations extends Omit<Tally, "note"> {
  /** Returns an observer of the charts of one process. */
  watch(): Inspect;
  /** Notes what has occurred to the file that processes share, or to their clocks. */
  note(situation: FileSituation): void;
}

/** What other tests come to: these schedules have neither fleets nor worktrees. */
const ELSEWHERE: readonly RegExp[] = [
  /^task: run\.fleet/,
  /REMOTE_|CLOSED #|run\.idle RUN_(BEGAN #2|ENDED #1)/,
  /composing COMPOSE_FAILED/,
];

/** True for a situation that belongs to what these schedules play. */
export const isPlayed = (name: string): boolean => !ELSEWHERE.some((one) => one.test(name));

/** True for a situation that must occur. */
export const isExpected = (name: string): boolean => isPlayed(name) && !unreached.includes(name);

/** Creates counters of all transitions of the charts of a task and of an outbox, and of what meets in them. */
export const createSituations = (): Situations => {
  const tally = createTally([
    ...Object.entries(CHARTS).flatMap(([chart, machine]) =>
      transitionsOf(machine).map(({ name }) => `${chart}: ${name}`),
    ),
    ...Object.keys({ ...MEETINGS_OF_TASKS, ...MEETINGS_OF_OUTBOXES }),
    ...FILE_SITUATIONS,
  ]);
  const { note } = tally;

  const meet = <Snapshot, Event>(
    meetings: Record<string, (before: Snapshot, event: Event) => boolean>,
    before: unknown,
    event: unknown,
  ) => {
    for (const [name, occurs] of Object.entries(meetings)) {
      if (occurs(before as Snapshot, event as Event)) note(name);
    }
  };

  return {
    watch: () => {
      const newest = new Map<string, unknown>();
      return (observation) => {
        const { id, sessionId } = observation.actorRef as InspectedRef;
        const chart = parentOfOutbox(id) === undefined ? "task" : "outbox";
        if (observation.type === "@xstate.microstep") {
          for (const definition of observation._transitions) {
            if (definition.source.machine.id === chart) note(`${chart}: ${nameOfTransition(definition)}`);
          }
        }
        if (observation.type !== "@xstate.snapshot") return;
        const { value } = observation.snapshot as { value?: unknown };
        // The supervisor is an actor, too.
        const isOfChart = typeof value === "object" && value !== null && ("lifecycle" in value || "delivery" in value);
        const before = newest.get(sessionId);
        newest.set(sessionId, observation.snapshot);
        if (!isOfChart || before === undefined || observation.event.type.startsWith("xstate.")) return;
        if (chart === "outbox") meet(MEETINGS_OF_OUTBOXES, before, observation.event);
        else meet(MEETINGS_OF_TASKS, before, observation.event);
      };
    },
    ...tally,
  };
};
