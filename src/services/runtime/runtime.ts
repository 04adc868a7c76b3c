import type { NoticePrompt, OutboxEvent } from "../../machines/outbox/events.ts";
import { isIdle, type OutboxSnapshot, pendingPrompts } from "../../machines/outbox/machine.ts";
import type { Effect, SupervisorEvent } from "../../machines/supervisor/events.ts";
import type { TaskEvent } from "../../machines/task/events.ts";
import {
  initialSnapshot,
  isAtRest,
  isCompatible,
  refusalReason,
  type TaskSnapshot,
  taskMachine,
} from "../../machines/task/machine.ts";
import { toTask } from "../../machines/task/view.ts";
import { hasEnded, noProgress, type Progress, type Task } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import type { PendingPrompts, Store, TaskRecord } from "../store/store.ts";
import { type Inspect, startActorSystem, type Transitions } from "./actor-system.ts";
import type { ProgressLog } from "./progress.ts";

/** Does an effect. What it returns, now or later, goes back to the supervisor. */
export type Perform = (effect: Effect) => SupervisorEvent | Promise<SupervisorEvent | undefined> | undefined;

/** The shell around the machines: feeds them events, stores what changed, and only then has effects done. */
export interface Runtime {
  dispatch(event: SupervisorEvent): void;
  /** The machine's state of a live task; undefined when it is at rest or unknown. */
  snapshotOf(taskId: string): TaskSnapshot | undefined;
  liveTasks(): TaskSnapshot[];
  /** True for the session of a live task and for a parent that has an outbox. */
  supervises(sessionID: string): boolean;
  /** Gives an event to a task; one at rest is brought back from the store for it. A refused event changes nothing. */
  send(taskId: string, event: TaskEvent): void;
  /** The notice prompt that was formed for this parent and is not acknowledged yet: its message id. */
  pendingPrompt(parentSessionID: string): string | undefined;
  /** Why a task would refuse an event, live or at rest; undefined when it would accept it. */
  refusalReason(taskId: string, event: TaskEvent): string | undefined;
  /**
   * Brings a task of this process back from its record. False when that is not of this version's chart: then it ends in
   * error, and is told.
   */
  restore(record: TaskRecord): boolean;
  /** Lets go of tasks that another process has taken over, or removed: nothing more is done for them here. */
  releaseTasks(taskIds: string[]): void;
  /** Drops tasks that the store has no more, and what their parents are still owed of them. Whoever waits for them is told. */
  forget(tasks: Task[]): void;
  /** Calls `listener` with each task that changed, once it is stored. Returns how to stop that. */
  subscribe(listener: (task: Task) => void): () => void;
  stop(): void;
}

/** What the runtime works with. */
export interface RuntimeDeps {
  clock: Clock;
  store: Store;
  progress: ProgressLog;
  perform: Perform;
  /** Told of tasks that turned out to be another process's, while they were at work. */
  onLost(tasks: Task[]): void;
  log: Log;
  /** Undefined: nobody watches the machines. */
  inspect?: Inspect | undefined;
}

const broken = (at: number, reason: string): TaskEvent => ({
  type: "SUPERVISION_FAILED",
  at,
  error: { name: "InternalError", kind: "internal", message: `A fault in opencode-taskchart: ${reason}` },
});

/** What an outbox is told when a service could not do its effect. */
const outboxFailure = (effect: Effect, at: number, message: string): OutboxEvent | undefined => {
  switch (effect.type) {
    case "composeNotice":
      return { type: "COMPOSE_FAILED", at, message };
    case "readParent":
      return { type: "READ_FAILED", at, message };
    case "sendNotice":
      return { type: "SEND_REFUSED", at, messageID: effect.prompt.messageID, message, retryable: true };
    case "findParent":
      return { type: "SEARCH_FAILED", at, message };
    case "checkNotice":
      return { type: "CHECK_FAILED", at, messageID: effect.messageID, message };
    default:
      return undefined;
  }
};

const NEVER = Number.POSITIVE_INFINITY;

/** What a machine's context says of times, epoch milliseconds. */
interface Deadlines {
  nextDeadline: number | undefined;
  parentReadyAt?: number | undefined;
}

/** Starts the machines, with nothing to do yet. */
export const createRuntime = ({ clock, store, progress, perform, onLost, log, inspect }: RuntimeDeps): Runtime => {
  const supervision = startActorSystem(clock, log, inspect);
  const { tasks, outboxes } = supervision;
  const listeners = new Set<(task: Task) => void>();
  /** The prompts under way as they are stored, by parent. */
  const stored = new Map<string, NoticePrompt[]>();
  let flushing = false;
  let stopped = false;
  let callOffAlarm: () => void = () => undefined;

  const progressOf = ({ context: { facts } }: TaskSnapshot): Progress =>
    progress.of(facts.sessionID) ?? store.get(facts.sessionID)?.task.progress ?? noProgress(facts.startedAt);

  /** The prompts that are not stored as they are now. */
  const changedPrompts = (outboxes: Iterable<[string, OutboxSnapshot]>): PendingPrompts[] =>
    [...outboxes].flatMap(([parentSessionID, outbox]) => {
      const prompts = pendingPrompts(outbox);
      const before = stored.get(parentSessionID) ?? [];
      if (prompts.length === before.length && prompts.every((prompt, index) => prompt === before[index])) return [];
      if (prompts.length === 0) stored.delete(parentSessionID);
      else stored.set(parentSessionID, prompts);
      return { parentSessionID, prompts };
    });

  /** Stores what changed. Returns the tasks as they are now, and the ids of those that another process has. */
  const commit = ({
    steps,
    outboxes,
  }: Pick<Transitions, "steps" | "outboxes">): { changed: Task[]; lost: string[] } => {
    const newest = new Map(steps.map(({ taskId, snapshot }) => [taskId, snapshot]));
    const changed: Task[] = [];
    try {
      const records = [...newest.values()].map((snapshot) => ({
        task: toTask(snapshot, progressOf(snapshot)),
        snapshot: { value: snapshot.value, context: snapshot.context },
      }));
      changed.push(...records.map(({ task }) => task));
      const journal = steps.map(({ taskId, event }) => ({ taskId, event }));
      const prompts = changedPrompts(outboxes);
      const isChange = records.length > 0 || prompts.length > 0;
      return { changed, lost: isChange ? store.commit({ records, journal, prompts }) : [] };
    } catch (error) {
      // Better a task that goes on unstored than one that stands still.
      log.error("a change could not be stored", { reason: errorMessage(error) });
      return { changed, lost: [] };
    }
  };

  /** Finished children that stay would make every later spawn slower. */
  const reap = (changed: Task[], emptied: string[]) => {
    const parents = new Set(emptied);
    for (const { sessionID, parentSessionID } of changed) {
      const snapshot = tasks.get(sessionID);
      if (!snapshot || !isAtRest(snapshot)) continue;
      supervision.reapTask(sessionID);
      progress.forget(sessionID);
      parents.add(parentSessionID);
    }
    for (const parentSessionID of parents) reapOutbox(parentSessionID);
  };

  const reapOutbox = (parentSessionID: string) => {
    const outbox = outboxes.get(parentSessionID);
    if ((outbox && !isIdle(outbox)) || supervision.hasTasksOf(parentSessionID)) return;
    supervision.reapOutbox(parentSessionID);
  };

  const performEffect = (effect: Effect) => {
    if (effect.type === "actorFailed") return restartActor(effect.id, effect.message);
    try {
      const answer = perform(effect);
      if (!(answer instanceof Promise)) return void (answer && dispatch(answer));
      answer
        .then(
          (event) => event && dispatch(event),
          (error) => reportEffectFault(effect, errorMessage(error)),
        )
        .catch((error) => log.error(`a fault after the effect "${effect.type}"`, { reason: errorMessage(error) }));
    } catch (error) {
      reportEffectFault(effect, errorMessage(error));
    }
  };

  /** A service threw: a fault of ours. Nobody must wait for an answer that never comes. */
  const reportEffectFault = (effect: Effect, reason: string) => {
    log.error(`a fault in the effect "${effect.type}"`, { reason });
    const at = clock.now();
    const failure = outboxFailure(effect, at, reason);
    if (failure && "parentSessionID" in effect) {
      return dispatch({ type: "OUTBOX", id: effect.parentSessionID, event: failure });
    }
    const taskId = effect.type === "sendPrompt" ? effect.prompt.sessionID : "sessionID" in effect && effect.sessionID;
    if (taskId) send(taskId, broken(at, reason));
  };

  /** A machine threw: a fault of ours. Its task goes on from what is stored, to an end that is told. */
  const restartActor = (id: string, reason: string) => {
    log.error("a fault in a machine", { id, reason });
    if (supervision.replaceOutbox(id) || !tasks.has(id)) return;
    supervision.reapTask(id);
    // A task that breaks on this, too, is refused it and let go: nothing brings it back to break again.
    send(id, broken(clock.now(), reason));
  };

  const notifyListeners = (task: Task) => {
    for (const listener of [...listeners]) {
      try {
        listener(task);
      } catch (error) {
        log.error("a listener failed", { taskId: task.sessionID, reason: errorMessage(error) });
      }
    }
  };

  /** Stored first, done second: what is done was written down. */
  const flush = () => {
    if (flushing) return;
    flushing = true;
    try {
      for (let since = supervision.drain(); !isNothing(since); since = supervision.drain()) {
        const { changed, lost } = commit(since);
        lose(lost);
        const kept = changed.filter(({ sessionID }) => !lost.includes(sessionID));
        reap(kept, since.idleOutboxes);
        for (const effect of since.effects) if (!belongsTo(effect, lost)) performEffect(effect);
        for (const task of kept) notifyListeners(task);
      }
    } finally {
      flushing = false;
      setAlarm();
    }
  };

  const dispatch = (event: SupervisorEvent) => {
    if (stopped) return;
    supervision.feed(event);
    flush();
  };

  const send = (taskId: string, event: TaskEvent) => {
    if (tasks.has(taskId)) return dispatch({ type: "TASK", id: taskId, event });
    const record = store.claim(taskId) ? store.get(taskId) : undefined;
    if (!record) return;
    if (!restore(record)) return;
    const restored = tasks.get(taskId);
    dispatch({ type: "TASK", id: taskId, event });
    if (tasks.get(taskId) !== restored) return;
    // Refused: it was brought back for nothing.
    store.release(taskId);
    supervision.reapTask(taskId);
    reapOutbox(record.task.parentSessionID);
  };

  const restore = ({ task: { sessionID }, snapshot }: TaskRecord): boolean => {
    if (isCompatible(snapshot)) {
      dispatch({ type: "RESTORE", snapshot });
      return true;
    }
    const { facts, run } = snapshot.context;
    const reason = "the state that it is stored in is none of this version's";
    log.error("a task cannot go on", { taskId: sessionID, reason });
    dispatch({ type: "RESTORE", snapshot: initialSnapshot({ facts, run }) });
    dispatch({ type: "TASK", id: sessionID, event: broken(clock.now(), reason) });
    return false;
  };

  const lose = (taskIds: string[]) => {
    const lost = taskIds.flatMap((taskId) => {
      const snapshot = tasks.get(taskId);
      return snapshot ? toTask(snapshot, progressOf(snapshot)) : [];
    });
    if (lost.length === 0) return;
    forget(lost);
    onLost(lost.filter((task) => !hasEnded(task)));
  };

  const forget = (forgotten: Task[]) => {
    for (const { sessionID, parentSessionID, resumeCount } of forgotten) {
      const withdraw = { type: "WITHDRAW", at: clock.now(), taskId: sessionID, run: resumeCount } as const;
      dispatch({ type: "OUTBOX", id: parentSessionID, event: withdraw });
      supervision.reapTask(sessionID);
      progress.forget(sessionID);
      reapOutbox(parentSessionID);
    }
  };

  const subscribe = (listener: (task: Task) => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };

  /** The earliest time at which a machine has something to do. Asked after every event: it makes nothing but the number. */
  const nextDeadline = (): number => {
    let next = NEVER;
    for (const { context } of tasks.values()) {
      if (context.nextDeadline !== undefined && context.nextDeadline < next) next = context.nextDeadline;
    }
    for (const { context } of outboxes.values())
      next = Math.min(next, context.nextDeadline ?? NEVER, context.parentReadyAt ?? NEVER);
    return next;
  };

  const ticksDue = (): SupervisorEvent[] => {
    const at = clock.now();
    const event = { type: "TICK", at } as const;
    const due = (of: ReadonlyMap<string, { context: Deadlines }>) =>
      [...of].flatMap(
        ([
          id,
          {
            context: { nextDeadline = NEVER, parentReadyAt = NEVER },
          },
        ]) => (Math.min(nextDeadline, parentReadyAt) <= at ? id : []),
      );
    return [
      ...due(tasks).map((id) => ({ type: "TASK", id, event }) as const),
      ...due(outboxes).map((id) => ({ type: "OUTBOX", id, event }) as const),
    ];
  };

  /** One timer for all deadlines: those are numbers in the machines' contexts, so nothing is lost with a timer. */
  const setAlarm = () => {
    callOffAlarm();
    const next = nextDeadline();
    if (stopped || next === NEVER) return;
    callOffAlarm = clock.after(Math.max(0, next - clock.now()), () => {
      for (const tick of ticksDue()) supervision.feed(tick);
      flush();
    });
  };

  return {
    dispatch,
    snapshotOf: (taskId) => tasks.get(taskId),
    liveTasks: () => [...tasks.values()],
    supervises: supervision.supervises,
    send,
    restore,
    pendingPrompt: (parentSessionID) => outboxes.get(parentSessionID)?.context.prompt?.messageID,
    refusalReason: (taskId, event) => {
      const live = tasks.get(taskId);
      if (live) return refusalReason(live, event);
      if (store.isOwnedElsewhere(taskId)) return "is supervised by another OpenCode process: ask there";
      const stored = store.get(taskId)?.snapshot;
      if (stored && !isCompatible(stored)) return "was stored by another version, and cannot go on";
      return stored ? refusalReason(taskMachine.resolveState(stored), event) : "does not exist";
    },
    releaseTasks: lose,
    forget: (forgotten) => {
      forget(forgotten);
      flush();
      for (const task of forgotten) notifyListeners(task);
    },
    subscribe,
    stop: () => {
      stopped = true;
      callOffAlarm();
      supervision.stop();
    },
  };
};

const isNothing = ({ steps, effects, outboxes, idleOutboxes: emptied }: Transitions): boolean =>
  steps.length === 0 && effects.length === 0 && outboxes.size === 0 && emptied.length === 0;

/** True for what a task of these wants done. */
const belongsTo = (effect: Effect, taskIds: string[]): boolean => {
  const taskId = effect.type === "sendPrompt" ? effect.prompt.sessionID : "sessionID" in effect ? effect.sessionID : "";
  return taskIds.includes(taskId);
};
