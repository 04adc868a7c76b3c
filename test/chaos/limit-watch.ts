import type { HostEvent } from "../../src/machines/host-events.ts";
import { hasEnded, type Task } from "../../src/task.ts";
import type { Stage } from "../fakes/stage.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import type { Limits } from "./limits.ts";
import type { TaskObservations } from "./observations.ts";
import type { SlotWatch } from "./slot-watch.ts";
import { isBeyond, since, type UsageCounts } from "./usage-counts.ts";

/** Watches that the engine stops runs, and calls tasks stale, only where there is reason for it. */
export interface LimitWatch {
  /** Records that the living process hears an event of the host. */
  heard(event: HostEvent): void;
  /** Records that a process began: until now it could hear nothing. */
  began(): void;
  /** Records that the process was stopped for so many milliseconds. */
  wasPaused(ms: number): void;
  /** Looks at a task that has just changed. */
  see(task: Task): void;
  /** Looks at the stored tasks: a process may die before it says that it stops one. */
  look(stored: readonly Task[]): void;
}

/** True for a task itself, and for those that it launched, or that they did. */
export const isBelow = (task: Task, lead: Task, all: readonly Task[]): boolean => {
  if (task.sessionID === lead.sessionID) return true;
  const parent = all.find(({ sessionID }) => sessionID === task.parentTaskId);
  return parent !== undefined && isBelow(parent, lead, all);
};

interface WatchedParts {
  stage: Stage;
  tracks: TaskObservations;
  usage: UsageCounts;
  slotWatch: SlotWatch;
  limits: Limits;
  /** The names of the host's calls that a fault was applied to. */
  struck: ReadonlySet<string>;
  fault(words: string): void;
}

export const createLimitWatch = ({
  stage,
  tracks,
  usage,
  slotWatch,
  limits,
  struck,
  fault,
}: WatchedParts): LimitWatch => {
  const { clock } = stage;
  const heardAt = new Map<string, number>();
  /** The runs whose stop was looked at, as `task/run`. */
  const stopped = new Set<string>();
  /** Since when a task is known to be stale. */
  const stale = new Map<string, number>();
  let awakeSince = clock.now();

  /** Says why a run must not be ended for its time; undefined where it may. */
  const whyNotYet = (task: Task): string | undefined => {
    const taken = clock.now() - (slotWatch.begunAt(task.sessionID) ?? clock.now());
    if (limits.runTime === undefined || taken <= limits.runTime) return `it has had its slot for ${taken} ms only`;
    const all = wholeTasks(stage.store);
    for (const other of all.filter((one) => isBelow(one, task, all) && !hasEnded(one))) {
      const { sessionID, attention } = other;
      if (usage.isToolRunning(sessionID)) return `a tool runs in ${sessionID}`;
      if (attention !== undefined && attention.kind !== "stale") return `${sessionID} waits for a person`;
    }
    return undefined;
  };

  /** What the task's agent said last in its run, before a time. */
  const lastWords = ({ sessionID }: Task, before = Number.POSITIVE_INFINITY): string | undefined => {
    const { run } = stage.store.get(sessionID)?.snapshot.context ?? {};
    const { messages } = stage.host.at(sessionID);
    const begin = messages.findIndex(({ id }) => id === run?.messageID);
    // What is there of a run whose prompt was lost is copied from its parent's conversation.
    if (begin < 0) return undefined;
    return messages
      .slice(begin + 1)
      .filter(({ completedAt = 0 }) => completedAt < before)
      .findLast(({ role, text, isSummary }) => role === "assistant" && !isSummary && text !== "")?.text;
  };

  const checkStop = (task: Task) => {
    const run = `${task.sessionID}/${task.resumeCount}`;
    if (!task.state.includes("stopping")) return;
    const error = stage.store.get(task.sessionID)?.snapshot.context.limitError;
    if (!error || stopped.has(run)) return;
    stopped.add(run);
    tracks.mayEnd(task.sessionID);
    const { sessionID } = task;
    const used = since(usage.usedFor(sessionID), stage.store.get(sessionID)?.snapshot.context.run.budgetFrom);
    if (error.kind === "budget" && !isBeyond(used, limits)) {
      fault(`${sessionID} is stopped for its budget, and used ${JSON.stringify(used)} only`);
    }
    if (error.kind === "loop" && usage.usedFor(sessionID).toolCalls < limits.repeat) {
      fault(`${sessionID} is stopped as going round in circles after too few calls`);
    }
    // A session that is deleted meanwhile takes its words along.
    const isThere = stage.host.sessionIDs().includes(sessionID);
    const said = isThere ? lastWords(task) : task.result;
    // What it says in the millisecond in which it is stopped may come after the question.
    const mayHaveSaid = isThere ? [said, lastWords(task, clock.now())] : [said];
    if (!struck.has("messages") && !mayHaveSaid.includes(task.result)) {
      fault(`${sessionID} is stopped with the words "${task.result}", and said "${said}"`);
    }
    const why = error.kind === "timeout" ? whyNotYet(task) : undefined;
    if (why) fault(`${sessionID} is stopped for its time, though ${why}`);
  };

  const checkStale = (task: Task) => {
    const { sessionID, state, attention } = task;
    // Of one that was removed here, another process may have known that it was stale.
    const isStale = attention?.kind === "stale" && stage.store.get(sessionID) !== undefined;
    if (!isStale || stale.has(sessionID)) {
      if (!isStale) stale.delete(sessionID);
      return;
    }
    stale.set(sessionID, clock.now());
    const silent = clock.now() - Math.max(heardAt.get(sessionID) ?? 0, awakeSince, slotWatch.begunAt(sessionID) ?? 0);
    if (silent < limits.stale) fault(`${sessionID} is stale after ${silent} ms of silence`);
    if (state.endsWith("queued")) fault(`${sessionID} is stale in the queue`);
  };

  /** A task that is heard again is stale no longer: that is noticed within a quarter of the time. */
  const checkStaleNoLonger = ({ sessionID, attention }: Task) => {
    const since = stale.get(sessionID);
    const heard = heardAt.get(sessionID);
    if (attention?.kind !== "stale" || since === undefined || heard === undefined) return;
    const ago = clock.now() - heard;
    const isNoticed = heard <= Math.max(since, awakeSince) || ago <= limits.stale / 4 + 1_000 || ago >= limits.stale;
    if (!isNoticed) fault(`${sessionID} is stale still, and was heard ${ago} ms ago`);
  };

  return {
    heard: ({ sessionID }) => void heardAt.set(sessionID, clock.now()),
    // A task that was stale is shown as such until the new process has taken it over.
    began: () => {
      awakeSince = clock.now();
    },
    wasPaused: (ms) => {
      // A shorter pause passes for a silence.
      if (ms > limits.stale / 2) awakeSince = clock.now();
    },
    see: (task) => {
      checkStop(task);
      checkStale(task);
    },
    look: (stored) => {
      stored.forEach(checkStop);
      stored.forEach(checkStaleNoLonger);
    },
  };
};
