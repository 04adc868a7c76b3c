import { isDeepStrictEqual } from "node:util";
import type { HostEvent } from "../../src/machines/host-events.ts";
import type { LaunchEvent } from "../../src/machines/launch/events.ts";
import type { OutboxEvent } from "../../src/machines/outbox/events.ts";
import type { ActorEffect, SupervisorEvent } from "../../src/machines/supervisor/events.ts";
import type { TaskEvent } from "../../src/machines/task/events.ts";
import type { SupervisorStep } from "./supervisor-paths.ts";

/** What a supervisor has done, in the order in which it does it. */
export type Deed =
  | { do: "start a task"; id: string }
  | { do: "open an outbox"; parent: string }
  | { do: "start a launch"; id: string }
  | { do: "tell a task"; id: string; event: TaskEvent }
  | { do: "tell an outbox"; parent: string; event: OutboxEvent }
  | { do: "tell a launch"; id: string; event: LaunchEvent }
  | { do: "stop a task"; id: string }
  | { do: "stop a launch"; id: string }
  | { do: "close an outbox"; parent: string }
  | { do: "have a service perform"; effect: unknown }
  | { do: "report a failure"; failed: unknown };

/** One step of a supervisor, seen from outside: what came, what it did, and whom it lists afterwards. */
export interface SupervisedStep {
  event: SupervisorStep;
  deeds: Deed[];
  tasks: readonly string[];
  outboxes: readonly string[];
  launches: readonly string[];
}

/** What a task learns of an event in its session. */
const forTask = (event: HostEvent, at: number): TaskEvent | undefined => {
  switch (event.type) {
    case "busy":
      return { type: "HOST_BUSY", at };
    case "idle":
      return { type: "HOST_IDLE", at };
    case "answering":
      return { type: "HOST_ANSWERING", at };
    case "retrying":
      return { type: "HOST_RETRYING", at, attempt: event.attempt, message: event.message, until: event.until };
    case "error":
      return { type: "HOST_ERROR", at, error: event.error };
    case "deleted":
      return { type: "SESSION_DELETED", at };
    case "asked":
      return { type: "REQUEST_ASKED", at, request: event.request };
    case "replied":
      return { type: "REQUEST_ANSWERED", at, id: event.requestID };
    default:
      return undefined;
  }
};

/** What an outbox learns of an event in its parent's session. A provider that refuses for now leaves the parent at work. */
const forOutbox = (event: HostEvent, at: number): OutboxEvent | undefined => {
  switch (event.type) {
    case "busy":
    case "retrying":
      return { type: "PARENT_BUSY", at };
    case "idle":
      return { type: "PARENT_IDLE", at };
    case "error":
      return {
        ...{ type: "PARENT_ERROR", at, message: event.error.message },
        ...(event.error.fault ? { fault: event.error.fault } : {}),
      };
    case "deleted":
      return { type: "PARENT_CLOSED", at };
    case "message": {
      const { id, role, createdAt, promptID, isSummary } = event.message;
      if (role === "user") return { type: "PARENT_STORED", at, messageID: id, createdAt };
      // A summary is the host's own; and what answers nothing acknowledges nothing.
      return isSummary || promptID === undefined ? undefined : { type: "PARENT_ANSWERED", at, promptID, createdAt };
    }
    default:
      return undefined;
  }
};

const sorted = (ids: ReadonlySet<string>): string[] => [...ids].sort();

/**
 * Follows a supervisor from outside, and throws when a step breaks what is promised of every history: each event reaches the
 * task and the outbox that it concerns, and nobody else; who is gone or broken gets nothing, and is listed no more; a parent
 * that launches a task has an open outbox before the task begins. It knows nothing of the chart: its expectations are
 * written down here.
 */
export const createSupervisorHistory = () => {
  const tasks = new Set<string>();
  const outboxes = new Set<string>();
  const launches = new Set<string>();
  let isOver = false;
  let deeds: Deed[] = [];

  const tellTask = (id: string, event: TaskEvent | undefined) => {
    if (event && tasks.has(id)) deeds.push({ do: "tell a task", id, event });
  };

  const tellOutbox = (parent: string, event: OutboxEvent | undefined) => {
    if (event && outboxes.has(parent)) deeds.push({ do: "tell an outbox", parent, event });
  };

  const open = (parent: string) => {
    if (outboxes.has(parent)) return;
    outboxes.add(parent);
    deeds.push({ do: "open an outbox", parent });
  };

  const begin = (id: string, parent: string, launchedAt: number | undefined) => {
    if (tasks.has(id)) return;
    open(parent);
    if (launchedAt !== undefined) tellOutbox(parent, { type: "PARENT_PRESENT", at: launchedAt });
    tasks.add(id);
    deeds.push({ do: "start a task", id });
  };

  const prepare = (id: string) => {
    if (launches.has(id)) return;
    launches.add(id);
    deeds.push({ do: "start a launch", id });
  };

  /** What actors want of each other stays among them; all else is for the services. */
  const takeEffect = (effect: ActorEffect, at: number) => {
    switch (effect.type) {
      case "reportEnd":
        return tellTask(effect.parentTaskId, { type: "OWN_TASK_ENDED", at, taskId: effect.taskId });
      case "queueNotice":
        open(effect.end.parentSessionID);
        return tellOutbox(effect.end.parentSessionID, { type: "NOTICE_DUE", at, end: effect.end });
      case "withdrawNotice": {
        const { parentSessionID, taskId, run } = effect;
        return tellOutbox(parentSessionID, { type: "WITHDRAW", at, taskId, run });
      }
      case "noticeComposed":
        for (const { taskId } of effect.runs) tellTask(taskId, { type: "NOTICE_COMPOSED", at });
        return;
      case "noticeAcknowledged":
        for (const { taskId } of effect.runs) tellTask(taskId, { type: "NOTICE_ACKNOWLEDGED", at });
        return;
      case "noticeDropped":
        for (const { taskId } of effect.runs) tellTask(taskId, { type: "NOTICE_DROPPED", at });
        return;
      case "leaveCopy":
        // The launch goes on, and cannot have both.
        return prepare(`${effect.left.pending.messageID}/left`);
      default:
        deeds.push({ do: "have a service perform", effect });
    }
  };

  const stopTask = (id: string) => {
    tasks.delete(id);
    deeds.push({ do: "stop a task", id });
  };

  const stopLaunch = (id: string) => {
    launches.delete(id);
    deeds.push({ do: "stop a launch", id });
  };

  const closeOutbox = (parent: string) => {
    outboxes.delete(parent);
    deeds.push({ do: "close an outbox", parent });
  };

  const takeEvent = (event: SupervisorEvent) => {
    switch (event.type) {
      case "PREPARE":
        return prepare(event.launch.id);
      case "PREPARATION":
        if (launches.has(event.id)) deeds.push({ do: "tell a launch", id: event.id, event: event.event });
        return;
      case "LAUNCH":
        return begin(event.task.facts.sessionID, event.task.facts.parentSessionID, event.at);
      case "RESTORE": {
        const { sessionID, parentSessionID } = event.snapshot.context.facts;
        return begin(sessionID, parentSessionID, undefined);
      }
      case "ADOPT_PROMPTS":
        open(event.parentSessionID);
        return tellOutbox(event.parentSessionID, { type: "ADOPTED", at: event.at, prompts: event.prompts });
      case "TASK":
        return tellTask(event.id, event.event);
      case "OUTBOX":
        return tellOutbox(event.id, event.event);
      case "HOST": {
        const { sessionID } = event.event;
        tellTask(sessionID, forTask(event.event, event.at));
        return tellOutbox(sessionID, forOutbox(event.event, event.at));
      }
      case "EFFECT":
        return takeEffect(event.effect, event.at);
      case "REAP_TASK":
        return tasks.has(event.id) ? stopTask(event.id) : undefined;
      case "REAP_OUTBOX":
        return outboxes.has(event.id) ? closeOutbox(event.id) : undefined;
      case "CLOSE":
        isOver = true;
    }
  };

  /** An actor that threw takes nobody with it. */
  const takeFault = ({ actorId, error }: Extract<SupervisorStep, { error: Error }>) => {
    if (actorId.startsWith("launch:")) stopLaunch(actorId.slice("launch:".length));
    else if (actorId.startsWith("outbox:")) closeOutbox(actorId.slice("outbox:".length));
    else stopTask(actorId);
    deeds.push({ do: "report a failure", failed: { id: actorId, message: String(error) } });
  };

  return {
    take: (step: SupervisedStep): void => {
      deeds = [];
      if (isOver) deeds = [];
      else if ("error" in step.event) takeFault(step.event);
      else if ("actorId" in step.event) stopLaunch(step.event.actorId.slice("launch:".length));
      else takeEvent(step.event);
      const done = {
        deeds: step.deeds,
        tasks: [...step.tasks],
        outboxes: [...step.outboxes],
        launches: [...step.launches],
      };
      const due = { deeds, tasks: sorted(tasks), outboxes: sorted(outboxes), launches: sorted(launches) };
      if (!isDeepStrictEqual(done, due))
        throw new Error(`${step.event.type} leads to ${JSON.stringify(done)} in place of ${JSON.stringify(due)}`);
    },
  };
};
