import { createActor } from "xstate";
import { isEmpty, type OutboxSnapshot } from "../machines/outbox.ts";
import type { OutboxEvent } from "../machines/outbox-events.ts";
import { outboxActor, outboxId, supervisorMachine, taskActor } from "../machines/supervisor.ts";
import type { Effect, StoredSnapshot, SupervisorEvent } from "../machines/supervisor-events.ts";
import { isAtRest, type TaskSnapshot } from "../machines/task.ts";
import type { TaskEvent } from "../machines/task-events.ts";
import { noProgress, type Progress, type Task } from "../task.ts";
import type { Clock } from "./clock.ts";
import { type Log, reasonOf } from "./log.ts";
import type { ProgressLog } from "./progress.ts";
import { toTask } from "./projection.ts";
import type { JournalEntry, Store } from "./store.ts";

/** Does an effect. What it returns, now or later, goes back to the supervisor. */
export type Perform = (effect: Effect) => SupervisorEvent | Promise<SupervisorEvent | undefined> | undefined;

/** The shell around the machines: feeds them events, stores what changed, and only then has effects done. */
export interface Runtime {
  dispatch(event: SupervisorEvent): void;
  /** The machine's state of a live task; undefined when it is at rest or unknown. */
  live(taskId: string): TaskSnapshot | undefined;
  liveTasks(): TaskSnapshot[];
  /** True for the session of a live task and for a parent that has an outbox. */
  watches(sessionID: string): boolean;
  /** Gives an event to a task; one at rest is brought back from the store for it. A refused event changes nothing. */
  send(taskId: string, event: TaskEvent): void;
  /** Drops tasks that the store has no more, and what their parents are still owed of them. Whoever waits for them is told. */
  forget(tasks: Task[]): void;
  /** Calls `listener` with each task that changed, once it is stored. Returns how to stop that. */
  subscribe(listener: (task: Task) => void): () => void;
  stop(): void;
}

export interface RuntimeParts {
  clock: Clock;
  store: Store;
  progress: ProgressLog;
  perform: Perform;
  log: Log;
}

const broken = (at: number, reason: string): TaskEvent => ({
  type: "BROKEN",
  at,
  error: { name: "InternalError", kind: "internal", message: `A fault in opencode-taskchart: ${reason}` },
});

/** What an outbox is told when a service could not do its effect. */
const outboxFailure = (effect: Effect, at: number, message: string): OutboxEvent | undefined => {
  switch (effect.type) {
    case "form":
      return { type: "FORM_FAILED", at, message };
    case "read":
      return { type: "READ_FAILED", at, message };
    case "send":
      return { type: "SEND_REFUSED", at, messageID: effect.prompt.messageID, message };
    case "check":
      return { type: "CHECK_FAILED", at, messageID: effect.messageID, message };
    default:
      return undefined;
  }
};

/**
 * An actor logic that reports each step it takes. A refused event leads to the very same snapshot: that is no step; nor
 * is being stopped, which is XState's own.
 */
const observed = <
  Snapshot extends { status: string },
  Event,
  Scope,
  Logic extends { transition(s: Snapshot, e: Event, scope: Scope): Snapshot },
>(
  logic: Logic & { transition(s: Snapshot, e: Event, scope: Scope): Snapshot },
  onStep: (snapshot: Snapshot, event: Event) => void,
): Logic =>
  Object.assign(Object.create(logic) as Logic, {
    transition: (before: Snapshot, event: Event, scope: Scope): Snapshot => {
      const after = logic.transition(before, event, scope);
      if (after !== before && after.status === "active") onStep(after, event);
      return after;
    },
  });

export const createRuntime = ({ clock, store, progress, perform, log }: RuntimeParts): Runtime => {
  const tasks = new Map<string, TaskSnapshot>();
  const outboxes = new Map<string, OutboxSnapshot>();
  const listeners = new Set<(task: Task) => void>();
  const touched = new Map<string, TaskSnapshot>();
  const effects: Effect[] = [];
  let journal: JournalEntry[] = [];
  let flushing = false;
  let stopped = false;
  const emptied = new Set<string>();
  const mended = new Set<string>();
  let callOffAlarm: () => void = () => undefined;

  const noteStep = (snapshot: TaskSnapshot, event: TaskEvent) => {
    const taskId = snapshot.context.facts.sessionID;
    touched.set(taskId, snapshot);
    journal.push({ taskId, event });
  };

  const machine = supervisorMachine.provide({
    actors: {
      task: observed(taskActor, (snapshot: TaskSnapshot, event: TaskEvent) => {
        tasks.set(snapshot.context.facts.sessionID, snapshot);
        noteStep(snapshot, event);
      }),
      outbox: observed(outboxActor, (snapshot: OutboxSnapshot) => {
        outboxes.set(snapshot.context.parentSessionID, snapshot);
        if (isEmpty(snapshot)) emptied.add(snapshot.context.parentSessionID);
      }),
    },
    actions: { perform: (_, effect) => void effects.push(effect) },
  });

  const startSupervisor = () => {
    const actor = createActor(machine);
    // Without an observer, an error of the actor would be the whole process's.
    actor.subscribe({ error: (error) => log.error("a fault in the supervisor", { reason: reasonOf(error) }) });
    return actor.start();
  };

  let supervisor = startSupervisor();

  const feed = (event: SupervisorEvent) => {
    supervisor.send(event);
    if (supervisor.getSnapshot().status === "error") replaceSupervisor();
  };

  /** The supervisor threw: a fault of ours. Another one takes over its tasks, and what their parents are still owed. */
  const replaceSupervisor = () => {
    const orphans = [...tasks.values()];
    outboxes.clear();
    supervisor = startSupervisor();
    for (const { value, context } of orphans) supervisor.send({ type: "RESTORE", snapshot: { value, context } });
    oweAgain(orphans);
  };

  const oweAgain = (snapshots: TaskSnapshot[]) => {
    for (const { context, value } of snapshots) {
      if (value.notice === "none" || value.notice === "held" || !context.end) continue;
      supervisor.send({ type: "EFFECT", at: clock.now(), effect: { type: "tell", end: context.end } });
    }
  };

  const progressOf = ({ context: { facts } }: TaskSnapshot): Progress =>
    progress.of(facts.sessionID) ?? store.get(facts.sessionID)?.task.progress ?? noProgress(facts.startedAt);

  const commit = (): Task[] => {
    if (touched.size === 0) return [];
    const records = [...touched.values()].map((snapshot) => ({
      task: toTask(snapshot, progressOf(snapshot)),
      snapshot: { value: snapshot.value, context: snapshot.context } satisfies StoredSnapshot,
    }));
    const change = { records, journal };
    touched.clear();
    journal = [];
    try {
      store.commit(change);
    } catch (error) {
      // Better a task that goes on unstored than one that stands still.
      log.error("a change could not be stored", { reason: reasonOf(error) });
    }
    return records.map(({ task }) => task);
  };

  /** Finished children that stay would make every later spawn slower. */
  const reap = (changed: Task[]) => {
    for (const { sessionID, parentSessionID } of changed) {
      const snapshot = tasks.get(sessionID);
      if (!snapshot || !isAtRest(snapshot)) continue;
      tasks.delete(sessionID);
      progress.forget(sessionID);
      feed({ type: "REAP_TASK", id: sessionID });
      emptied.add(parentSessionID);
    }
    for (const parentSessionID of emptied) reapOutbox(parentSessionID);
    emptied.clear();
  };

  const reapOutbox = (parentSessionID: string) => {
    const outbox = outboxes.get(parentSessionID);
    if (outbox && !isEmpty(outbox)) return;
    if (Object.values(supervisor.getSnapshot().context.tasks).includes(parentSessionID)) return;
    outboxes.delete(parentSessionID);
    feed({ type: "REAP_OUTBOX", id: parentSessionID });
  };

  const carryOut = (effect: Effect) => {
    if (effect.type === "broken") return mend(effect.id, effect.message);
    try {
      const answer = perform(effect);
      if (!(answer instanceof Promise)) return void (answer && dispatch(answer));
      answer.then(
        (event) => event && dispatch(event),
        (error) => surrender(effect, reasonOf(error)),
      );
    } catch (error) {
      surrender(effect, reasonOf(error));
    }
  };

  /** A service threw: a fault of ours. The task must not wait for an answer that never comes. */
  const surrender = (effect: Effect, reason: string) => {
    log.error(`a fault in the effect "${effect.type}"`, { reason });
    const at = clock.now();
    const failure = outboxFailure(effect, at, reason);
    if (failure && "parentSessionID" in effect) {
      return dispatch({ type: "OUTBOX", id: effect.parentSessionID, event: failure });
    }
    const taskId = effect.type === "prompt" ? effect.prompt.sessionID : "sessionID" in effect && effect.sessionID;
    if (taskId) send(taskId, broken(at, reason));
  };

  /** A machine threw: a fault of ours. What it was responsible for goes on from what is stored. */
  const mend = (id: string, reason: string) => {
    log.error("a fault in a machine", { id, reason });
    const at = clock.now();
    for (const parentSessionID of outboxes.keys()) {
      if (outboxId(parentSessionID) === id) outboxes.delete(parentSessionID);
    }
    oweAgain([...tasks.values()].filter(({ context }) => outboxId(context.facts.parentSessionID) === id));
    if (!tasks.delete(id) || mended.has(id)) return;
    mended.add(id);
    send(id, broken(at, reason));
  };

  const tellOf = (task: Task) => {
    for (const listener of [...listeners]) {
      try {
        listener(task);
      } catch (error) {
        log.error("a listener failed", { taskId: task.sessionID, reason: reasonOf(error) });
      }
    }
  };

  /** Stored first, done second: what is done was written down. */
  const flush = () => {
    if (flushing) return;
    flushing = true;
    try {
      while (touched.size > 0 || effects.length > 0 || emptied.size > 0) {
        const changed = commit();
        reap(changed);
        for (const effect of effects.splice(0)) carryOut(effect);
        for (const task of changed) tellOf(task);
      }
    } finally {
      flushing = false;
      setAlarm();
    }
  };

  const send = (taskId: string, event: TaskEvent) => {
    if (!tasks.has(taskId)) {
      const record = store.get(taskId);
      if (!record) return;
      dispatch({ type: "RESTORE", snapshot: record.snapshot });
    }
    dispatch({ type: "TASK", id: taskId, event });
    // Refused: it was brought back for nothing.
    if (tasks.has(taskId)) return;
    dispatch({ type: "REAP_TASK", id: taskId });
    emptied.add(store.get(taskId)?.task.parentSessionID ?? "");
    flush();
  };

  const dispatch = (event: SupervisorEvent) => {
    if (stopped) return;
    feed(event);
    flush();
  };

  const deadlines = (): { at: number; tick: SupervisorEvent }[] => {
    const now = clock.now();
    const due: { at: number; tick: SupervisorEvent }[] = [];
    for (const [id, { context }] of tasks) {
      if (context.wakeAt !== undefined)
        due.push({ at: context.wakeAt, tick: { type: "TASK", id, event: { type: "TICK", at: now } } });
    }
    for (const [id, { context }] of outboxes) {
      for (const at of [context.wakeAt, context.opensAt]) {
        if (at !== undefined) due.push({ at, tick: { type: "OUTBOX", id, event: { type: "TICK", at: now } } });
      }
    }
    return due;
  };

  /** One timer for all deadlines: those are numbers in the machines' contexts, so nothing is lost with a timer. */
  const setAlarm = () => {
    callOffAlarm();
    if (stopped) return;
    const next = Math.min(...deadlines().map(({ at }) => at));
    if (next === Number.POSITIVE_INFINITY) return;
    callOffAlarm = clock.after(Math.max(0, next - clock.now()), () => {
      const now = clock.now();
      for (const { at, tick } of deadlines()) if (at <= now) feed(tick);
      flush();
    });
  };

  return {
    dispatch,
    live: (taskId) => tasks.get(taskId),
    liveTasks: () => [...tasks.values()],
    watches: (sessionID) => tasks.has(sessionID) || sessionID in supervisor.getSnapshot().context.outboxes,
    send,
    forget: (forgotten) => {
      for (const { sessionID, parentSessionID, resumeCount } of forgotten) {
        const withdraw = { type: "WITHDRAW", at: clock.now(), taskId: sessionID, run: resumeCount } as const;
        dispatch({ type: "OUTBOX", id: parentSessionID, event: withdraw });
        dispatch({ type: "REAP_TASK", id: sessionID });
        tasks.delete(sessionID);
        progress.forget(sessionID);
        reapOutbox(parentSessionID);
      }
      for (const task of forgotten) tellOf(task);
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop: () => {
      stopped = true;
      callOffAlarm();
      supervisor.send({ type: "CLOSE" });
      supervisor.stop();
    },
  };
};
