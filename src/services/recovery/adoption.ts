import type { Recovery } from "../../machines/task/events.ts";
import { isStopping } from "../../machines/task/machine.ts";
import { hasEnded } from "../../task.ts";
import type { NoticeRepair } from "../delivery/notice-repair.ts";
import type { Host } from "../host/host.ts";
import { ABORT_WAITER, CLEAR_WAITER } from "../operations/cancel.ts";
import type { Clock } from "../platform/clock.ts";
import { repeat } from "../platform/interval.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import type { ProgressLog } from "../runtime/progress.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { HEARTBEAT_MS } from "../store/ownership.ts";
import type { AbandonedWork, PendingLaunch, Store, TaskRecord } from "../store/store.ts";
import type { DirectoryOpening } from "./reopened-directories.ts";

/** Milliseconds from the start to the first adoption: the host waits for its plugins, so not while it starts. */
const FIRST_ADOPTION_MS = 50;

/** How often a host that does not answer is asked about a call, a beat apart; then the end is told, perhaps once more. */
const MAX_TRIES = 10;

/** True for a tool call that waits; a task may also be waited for by what ends it. */
const isCall = (waiter: string): boolean => waiter !== ABORT_WAITER && waiter !== CLEAR_WAITER;

/** What adoption works with. */
export interface AdoptionDeps {
  store: Store;
  runtime: Runtime;
  host: Host;
  clock: Clock;
  log: Log;
  progress: ProgressLog;
  noticeRepair: NoticeRepair;
  recovery: Recovery;
  /** Adopt only the tasks of sessions that are at work here: the process ends with its first answer. */
  isHeadless: boolean;
  /** Nothing is adopted before it is sure: a process that ends would send prompts that are paid for and thrown away. */
  opening: Pick<DirectoryOpening, "isProcessStaying" | "whenProcessStays">;
  /** Resolves when the task has ended. */
  waitForEnd(taskId: string): Promise<unknown>;
  /** Learns of all sessions above this one. */
  loadAncestors(sessionID: string): Promise<void>;
  /** The parent is a task that failed or was cancelled: nobody is there to be told, and its tasks go with it. */
  onParentTaskEnded(parentSessionID: string): Promise<void>;
  /** A call of the session was cut off while it waited for a task that goes on. */
  onWaitInterrupted(sessionID: string): void;
  removeOrphanedLaunch(launch: PendingLaunch): Promise<void>;
  /** Called after each beat. */
  onHeartbeat(): void;
}

/** Shows that this process lives, and takes over the tasks of those that do not. */
export interface Adoption {
  /** A session is at work in this process. */
  onSessionBusy(sessionID: string): void;
  stop(): void;
}

/** Starts to beat and to adopt. */
export const startAdoption = (parts: AdoptionDeps): Adoption => {
  const { store, runtime, host, clock, log, progress, noticeRepair: completing, recovery, isHeadless, opening } = parts;
  const seen = new Set<string>();

  const takeOver = ({ tasks, prompts, launches }: AbandonedWork) => {
    const at = clock.now();
    const carried = new Set(
      prompts.flatMap((of) => of.prompts.flatMap(({ runs }) => runs.map(({ taskId, run }) => `${taskId}/${run}`))),
    );
    const readable = tasks.filter((record) => {
      progress.begin(record.task.sessionID, at, record.task.progress);
      return runtime.restore(record);
    });
    for (const { parentSessionID, prompts: adopted } of prompts) {
      for (const prompt of adopted) completing.expect(parentSessionID, prompt);
      runtime.dispatch({ type: "ADOPT_PROMPTS", at, parentSessionID, prompts: adopted });
    }
    // Before any prompt goes on: an agent that reads of a call that was cut off would make it again.
    const cutOff = readable.filter(
      ({ task, snapshot: { context } }) => !hasEnded(task) && context.waiters.some(isCall),
    );
    for (const sessionID of new Set(cutOff.map(({ task }) => task.parentSessionID))) parts.onWaitInterrupted(sessionID);
    for (const { task } of readable) {
      const isNoticePending = carried.has(`${task.sessionID}/${task.resumeCount}`);
      runtime.send(task.sessionID, { type: "ADOPTED", at, recovery, isNoticePending });
    }
    const parents = new Set([
      ...tasks.map(({ task }) => task.parentSessionID),
      ...prompts.map((of) => of.parentSessionID),
    ]);
    const leads = [...parents].filter((parent) => {
      const lead = store.get(parent)?.task;
      return lead !== undefined && hasEnded(lead) && lead.status !== "completed";
    });
    inBackground([
      ...leads.map(parts.onParentTaskEnded),
      ...launches.map(parts.removeOrphanedLaunch),
      ...tasks.map(resolveWaits),
      ...[...parents].map(checkParent),
    ]);
  };

  const inBackground = (works: Promise<void>[]) => {
    for (const work of works)
      work.catch((error) => log.error("a part of an adoption failed", { reason: errorMessage(error) }));
  };

  /** The tool calls that waited for the task are gone; an answer of theirs that is in the conversation has told. */
  const resolveWaits = async (record: TaskRecord): Promise<void> => {
    const { task, snapshot } = record;
    for (const call of snapshot.context.waiters) {
      const told = await wasDelivered(record, call).catch((error) => {
        log.error("a waiting call could not be looked after", { call, reason: errorMessage(error) });
        return false;
      });
      runtime.send(task.sessionID, { type: told ? "WAIT_DELIVERED" : "WAIT_ABANDONED", at: clock.now(), call });
    }
  };

  const wasDelivered = async ({ task, snapshot }: TaskRecord, call: string): Promise<boolean> => {
    if (call !== ABORT_WAITER) return isStored(task.parentSessionID, call);
    // Who knows that it ends need not be told, if it was being stopped; else it goes on, and how it ends is news.
    const isEnding = hasEnded(task) || isStopping(snapshot);
    if (isEnding) await parts.waitForEnd(task.sessionID);
    return isEnding;
  };

  /** True when the answer of a tool call is in the conversation. A host that cannot say so yet is asked again. */
  const isStored = async (sessionID: string, call: string): Promise<boolean> => {
    for (let tries = 1; ; tries += 1) {
      const stage = await host.toolCall(sessionID, call);
      if (stage.ok) return stage.value === "stored";
      if (stage.failure.kind !== "unavailable" || tries === MAX_TRIES) return false;
      await new Promise<void>((resolve) => void clock.after(HEARTBEAT_MS, resolve));
    }
  };

  /** It may have been deleted while nobody listened; its outbox finds out. */
  const checkParent = async (parentSessionID: string): Promise<void> => {
    const parent = await host.session(parentSessionID);
    if (!parent.ok && parent.failure.kind === "notFound") {
      const missing = { type: "PARENT_NOT_FOUND", at: clock.now(), message: parent.failure.message } as const;
      runtime.dispatch({ type: "OUTBOX", id: parentSessionID, event: missing });
    }
    if (parent.ok && parent.value.parentID) await parts.loadAncestors(parentSessionID);
  };

  const adopt = () => {
    if (!opening.isProcessStaying()) return;
    const taken = new Set<string>();
    const isWanted = (parentSessionID: string) =>
      !isHeadless || seen.has(parentSessionID) || taken.has(parentSessionID);
    for (;;) {
      const estate = store.adopt(clock.now(), isWanted);
      takeOver(estate);
      // A task's own tasks come with it.
      for (const { task } of estate.tasks) taken.add(task.sessionID);
      if (!isHeadless || estate.tasks.length === 0) return;
    }
  };

  const heartbeat = () => {
    runtime.releaseTasks(store.heartbeat(clock.now()));
    adopt();
    parts.onHeartbeat();
  };

  /** Adopts as soon as this call is over, once for all that ask meanwhile. */
  const adoptSoon = () => {
    callOff();
    callOff = clock.after(0, () => {
      try {
        adopt();
      } catch (error) {
        log.error("tasks could not be adopted", { reason: errorMessage(error) });
      }
    });
  };

  let callOff: () => void = () => undefined;
  if (!opening.isProcessStaying()) opening.whenProcessStays(adoptSoon);
  const stop = repeat(clock, log, {
    first: FIRST_ADOPTION_MS,
    every: HEARTBEAT_MS,
    work: heartbeat,
    fault: "a beat failed",
  });

  return {
    onSessionBusy: (sessionID) => {
      if (!isHeadless || seen.has(sessionID)) return;
      seen.add(sessionID);
      adoptSoon();
    },
    stop: () => {
      stop();
      callOff();
    },
  };
};
