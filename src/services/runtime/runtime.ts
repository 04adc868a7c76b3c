import type { HostEvent } from "../../machines/host-events.ts";
import { isCopying } from "../../machines/launch/machine.ts";
import type { NoticePrompt } from "../../machines/outbox/events.ts";
import { isIdle, type OutboxSnapshot, pendingPrompts, watchesParent } from "../../machines/outbox/machine.ts";
import type { Effect, FailedActor, SupervisorEvent } from "../../machines/supervisor/events.ts";
import { launchOfActor } from "../../machines/supervisor/machine.ts";
import type { TaskEvent } from "../../machines/task/events.ts";
import {
  initialSnapshot,
  instructionBeingSent,
  isAtRest,
  isCompatible,
  refusalReason,
  runBeingSent,
  type TaskSnapshot,
  taskMachine,
} from "../../machines/task/machine.ts";
import { toTask } from "../../machines/task/view.ts";
import type { Receipt } from "../../receipt.ts";
import { hasEnded, noProgress, type Progress, type Task } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log, logFault } from "../platform/log.ts";
import { LEASE_MS } from "../store/ownership.ts";
import type { PendingPrompts, Store, TaskRecord } from "../store/store.ts";
import { type Inspect, startActorSystem, type Transitions } from "./actor-system.ts";
import { createAlarm } from "./chart-index.ts";
import type { EngineBus } from "./effects.ts";
import { type Effects, supervisionFailed } from "./effects.ts";
import type { ProgressLog } from "./progress.ts";

/**
 * Starts the charts, without any task, and the shell around them. Each event takes the same way: a chart accepts it, the steps
 * that follow are stored, and only then are the effects carried out and the listeners called. The answer to an effect is the
 * next event.
 */
export const createRuntime = ({
  clock,
  store,
  progress,
  effects,
  bus,
  log,
  inspect,
}: {
  clock: Clock;
  store: Store;
  progress: ProgressLog;
  effects: Effects;
  /** Where tasks that changed, and those that were lost to another process, are announced. */
  bus: EngineBus;
  log: Log;
  /** Receives all that XState observes of the charts. Undefined: nothing is observed. */
  inspect?: Inspect | undefined;
}) => {
  const actors = startActorSystem(clock, log, inspect);
  const { live, outboxes } = actors;
  const tasks = live.snapshots;
  /** The pending prompts of each parent, as they are stored. */
  const storedPrompts = new Map<string, NoticePrompt[]>();
  let isFlushing = false;
  let isStopped = false;
  /** When the last heartbeat was, epoch milliseconds. */
  let heartbeatAt = clock.now();

  const progressOf = ({ context: { facts } }: TaskSnapshot): Progress =>
    progress.of(facts.sessionID) ?? store.get(facts.sessionID)?.task.progress ?? noProgress(facts.startedAt);

  /** The pending prompts that differ from what is stored. */
  const changedPrompts = (outboxes: Iterable<[string, OutboxSnapshot]>): PendingPrompts[] =>
    [...outboxes].flatMap(([parentSessionID, outbox]) => {
      const prompts = pendingPrompts(outbox);
      const before = storedPrompts.get(parentSessionID) ?? [];
      if (prompts.length === before.length && prompts.every((prompt, index) => prompt === before[index])) return [];
      return { parentSessionID, prompts };
    });

  /** Notes what is stored now: no prompt with the end of a task that another process owns. */
  const noteStored = ({ parentSessionID, prompts }: PendingPrompts, refused: string[]) => {
    const kept = prompts.filter(({ runs }) => runs.every(({ taskId }) => !refused.includes(taskId)));
    storedPrompts.set(parentSessionID, kept);
  };

  /** Stores the steps. Returns the tasks as they are now, and the ids of those that another process owns. */
  const commit = ({
    launched,
    launchJournals,
    steps,
    outboxes,
  }: Pick<Transitions, "launched" | "launchJournals" | "steps" | "outboxes">): { changed: Task[]; lost: string[] } => {
    const snapshots = [...launched, ...steps.map(({ snapshot }) => snapshot)];
    const newest = new Map(snapshots.map((snapshot) => [snapshot.context.facts.sessionID, snapshot]));
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
      const refused = isChange ? store.commit({ records, journal, prompts, launches: launchJournals }) : [];
      for (const ofParent of prompts) noteStored(ofParent, refused);
      // A process that took one task may have taken others; without this heartbeat a batch could look finished.
      return { changed, lost: refused.length > 0 ? [...refused, ...store.heartbeat(clock.now())] : [] };
    } catch (error) {
      // A task that continues without being stored is better than one that stops.
      log.error("a change could not be stored", { reason: errorMessage(error) });
      return { changed, lost: [] };
    }
  };

  /** Stops the actors that have nothing left to do, so that no task at rest is in memory. */
  const reap = (changed: Task[], idleOutboxes: string[]) => {
    const parents = new Set(idleOutboxes);
    for (const { sessionID, parentSessionID } of changed) {
      const snapshot = tasks.get(sessionID);
      if (!snapshot || !isAtRest(snapshot)) continue;
      actors.reapTask(sessionID);
      progress.forget(sessionID);
      parents.add(parentSessionID);
    }
    for (const parentSessionID of parents) reapOutbox(parentSessionID);
  };

  const reapOutbox = (parentSessionID: string) => {
    const outbox = outboxes.get(parentSessionID);
    if ((outbox && !isIdle(outbox)) || live.hasTasksOf(parentSessionID)) return;
    actors.reapOutbox(parentSessionID);
  };

  const performEffect = (effect: Effect) => {
    try {
      const answer = effects.perform(effect);
      if (!(answer instanceof Promise)) return void (answer && dispatch(answer));
      answer
        .then(
          (event) => event && dispatch(event),
          (error) => reportEffectFault(effect, errorMessage(error)),
        )
        .catch(logFault(log, `a fault after the effect "${effect.type}"`));
    } catch (error) {
      reportEffectFault(effect, errorMessage(error));
    }
  };

  /** A service threw, which is a fault of ours: the chart that waits for its answer gets an event that says so. */
  const reportEffectFault = (effect: Effect, reason: string) => {
    log.error(`a fault in the effect "${effect.type}"`, { reason });
    const event = effects.onFault(effect, clock.now(), reason);
    if (event) dispatch(event);
  };

  /** A chart threw, which is a fault of ours: its task ends with an error, from the snapshot that is stored. */
  const restartActor = ({ id, message: reason }: FailedActor) => {
    log.error("a fault in a chart", { id, reason });
    const launchId = launchOfActor(id);
    if (launchId !== undefined) {
      // What is stored of its session stays for the next process.
      return performEffect({ type: "answerCall", launchId, answer: { is: "refused", why: "fault", reason } });
    }
    if (actors.replaceOutbox(id) || !tasks.has(id)) return;
    actors.reapTask(id);
    // If the task throws on this event too, the event is refused and the task released: nothing brings it back to throw again.
    send(id, supervisionFailed(clock.now(), reason));
  };

  /** True if another process now owns the task, or the outbox has dropped the notice. */
  const isReleased = (effect: Effect, lost: string[]): boolean => {
    if (effect.type === "sendNotice") return outboxes.get(effect.parentSessionID)?.context.prompt !== effect.prompt;
    return "taskId" in effect && lost.includes(effect.taskId);
  };

  /** Gives the charts the answer to an effect where it is known without the host. False where it is not. */
  const answerIfKnown = (effect: Effect): boolean => {
    try {
      const answer = effects.know(effect);
      if (answer) actors.feed(answer);
      return answer !== undefined;
    } catch (error) {
      reportEffectFault(effect, errorMessage(error));
      return true;
    }
  };

  /** Drains the charts. The steps that follow from known answers are stored with those that led to them. */
  const drain = (): Transitions & { effects: Effect[] } => {
    const open: Effect[] = [];
    for (let asked = actors.takeEffects(); asked.length > 0; asked = actors.takeEffects()) {
      open.push(...asked.filter((effect) => !answerIfKnown(effect)));
    }
    return { ...actors.drain(), effects: open };
  };

  /** Stores all steps before it carries out their effects: a process that dies may repeat an effect, but loses none. */
  const flush = () => {
    if (isFlushing) return;
    isFlushing = true;
    try {
      for (let transitions = drain(); !isEmpty(transitions); transitions = drain()) {
        const { changed, lost } = commit(transitions);
        releaseTasks(lost);
        const kept = changed.filter(({ sessionID }) => !lost.includes(sessionID));
        reap(kept, transitions.idleOutboxes);
        for (const effect of transitions.effects) if (!isReleased(effect, lost)) performEffect(effect);
        transitions.failed.forEach(restartActor);
        for (const task of kept) bus.emit("taskChanged", task);
      }
    } finally {
      isFlushing = false;
      alarm.set();
    }
  };

  const heartbeat = () => {
    heartbeatAt = clock.now();
    releaseTasks(store.heartbeat(heartbeatAt));
  };

  const tryHeartbeat = () => {
    try {
      heartbeat();
    } catch (error) {
      // What it was asked before, an event or the alarm, is not to be lost with it.
      log.error("the heartbeat failed", { reason: errorMessage(error) });
    }
  };

  const renewLease = () => {
    if (Math.abs(clock.now() - heartbeatAt) > LEASE_MS) tryHeartbeat();
  };

  const alarm = createAlarm(clock, actors.deadlines, (ticks) => {
    renewLease();
    for (const tick of ticks) actors.feed(tick);
    flush();
  });

  const dispatch = (event: SupervisorEvent) => {
    if (isStopped) return;
    renewLease();
    actors.feed(event);
    flush();
  };

  const send = (taskId: string, event: TaskEvent) => {
    if (tasks.has(taskId)) return dispatch({ type: "TASK", id: taskId, event });
    const record = store.claim(taskId) ? store.get(taskId) : undefined;
    if (!record) return;
    // Its run is over: the result is kept, whatever version stored it.
    if (!isCompatible(record.snapshot)) return store.release(taskId);
    restore(record);
    const restored = tasks.get(taskId);
    dispatch({ type: "TASK", id: taskId, event });
    if (tasks.get(taskId) !== restored) return;
    // Refused: the task goes back to rest.
    store.release(taskId);
    actors.reapTask(taskId);
    reapOutbox(record.task.parentSessionID);
  };

  const restore = ({ task: { sessionID }, snapshot }: TaskRecord): boolean => {
    if (isCompatible(snapshot)) {
      dispatch({ type: "RESTORE", snapshot });
      return true;
    }
    const { facts, run } = snapshot.context;
    const reason = "this version does not know the state in which the task was stored";
    log.error("a task cannot continue", { taskId: sessionID, reason });
    dispatch({ type: "RESTORE", snapshot: initialSnapshot({ facts, run }) });
    dispatch({ type: "TASK", id: sessionID, event: supervisionFailed(clock.now(), reason) });
    return false;
  };

  const releaseTasks = (taskIds: string[]) => {
    const lost = taskIds.flatMap((taskId) => {
      const snapshot = tasks.get(taskId);
      return snapshot ? toTask(snapshot, progressOf(snapshot)) : [];
    });
    if (lost.length === 0) return;
    // Before anything else, for that may call the host: what works on them here is stopped.
    bus.emit("tasksLost", lost);
    forget(lost);
    for (const parentSessionID of new Set(lost.map((task) => task.parentSessionID))) releasePrompts(parentSessionID);
  };

  /**
   * Drops the notices on their way that went to another process with their tasks: sent here too, they would wake the parent
   * again. Also one that could not be stored, as it carries the end of a lost task: after a crash, whoever takes over would
   * deliver its other results a second time. Those are composed anew.
   */
  const releasePrompts = (parentSessionID: string) => {
    const outbox = outboxes.get(parentSessionID);
    const stored = storedPrompts.get(parentSessionID) ?? [];
    const isOurs = stored.some(({ runs }) => runs.some(({ taskId }) => tasks.has(taskId)));
    if (!outbox || pendingPrompts(outbox).length === 0 || isOurs) return;
    actors.restartOutbox(parentSessionID);
    // Those of tasks that were removed are still stored as this process's.
    store.commit({ records: [], journal: [], prompts: [{ parentSessionID, prompts: [] }] });
    storedPrompts.delete(parentSessionID);
    flush();
  };

  const forget = (forgotten: Task[]) => {
    for (const { sessionID, parentSessionID, resumeCount } of forgotten) {
      const withdraw = { type: "WITHDRAW", at: clock.now(), taskId: sessionID, run: resumeCount } as const;
      dispatch({ type: "OUTBOX", id: parentSessionID, event: withdraw });
      actors.reapTask(sessionID);
      progress.forget(sessionID);
      reapOutbox(parentSessionID);
    }
  };

  const isRunning = ({ context }: TaskSnapshot): boolean => context.completedAt === undefined;

  const isStillOurs = (taskId: string): boolean => {
    if (!isStopped) renewLease();
    return tasks.has(taskId);
  };

  const askTask = <Answer>(taskId: string, ask: (task: TaskSnapshot) => Answer): Answer | undefined => {
    const task = isStopped ? undefined : tasks.get(taskId);
    return task && ask(task);
  };

  return {
    /** Gives an event to the charts. Everything that follows from it at once has happened when this returns. */
    dispatch,
    /**
     * Gives an event to a task; one at rest is brought back from the store for it, unless another version's chart stored it.
     * A refused event changes nothing.
     */
    send,
    /** Returns why a task would refuse an event, live or at rest; undefined when it would accept it. */
    refusalReason: (taskId: string, event: TaskEvent): string | undefined => {
      const live = tasks.get(taskId);
      if (live) return refusalReason(live, event);
      if (store.isOwnedElsewhere(taskId)) return "is supervised by another OpenCode process: ask there";
      const stored = store.get(taskId)?.snapshot;
      if (stored && !isCompatible(stored)) return "was stored by another version, and cannot go on";
      return stored ? refusalReason(taskMachine.resolveState(stored), event) : "does not exist";
    },
    /** Returns the snapshot of a live task; undefined when it is at rest or unknown. */
    snapshotOf: (taskId: string): TaskSnapshot | undefined => tasks.get(taskId),
    /** Returns the launches that are under way, or remove what they have left; without a journal where it is not known. */
    launches: () =>
      [...actors.launches].map(([id, snapshot]) => ({ snapshot, journal: actors.launchJournals.get(id) })),
    /** True while a launch is under way, or removes what it has left. */
    isLaunching: (launchId: string): boolean => actors.launches.has(launchId),
    /** True while a copy of this session's conversation may exist for another launch that is not marked as ours yet. */
    isCopyingFor: (parentSessionID: string, otherThan: string): boolean =>
      [...actors.launches].some(
        ([id, launch]) => id !== otherThan && launch.context.parentSessionID === parentSessionID && isCopying(launch),
      ),
    /** Ends all launches: the host can be asked nothing any more, and what is stored of them is left to the next process. */
    closeLaunches: () => {
      for (const id of actors.launches.keys())
        dispatch({ type: "PREPARATION", id, event: { type: "CLOSE", at: clock.now() } });
    },
    liveTasks: (): TaskSnapshot[] => [...tasks.values()],
    /** Returns the live tasks that do more than wait for a slot: few, however many wait. */
    activeTasks: live.active,
    /** Returns the live tasks of a parent session. */
    liveTasksOf: live.of,
    /** False for an event of the host that no task and no outbox could do anything with: most are of that kind. */
    concerns: ({ type, sessionID }: HostEvent): boolean => {
      if (type === "error" || type === "deleted") return actors.supervises(sessionID);
      const task = tasks.get(sessionID);
      if (task && type === "busy" && (task.hasTag("awaitingTasks") || task.hasTag("retrying"))) return true;
      if (task && type === "answering") return task.context.retry !== undefined;
      if (task && (type === "retrying" || type === "idle" || type === "asked" || type === "replied")) return true;
      const outbox = outboxes.get(sessionID);
      if (type === "session") return outbox?.value.delivery === "setAside";
      const isOfParent = type === "busy" || type === "retrying" || type === "idle" || type === "message";
      return isOfParent && outbox !== undefined && watchesParent(outbox);
    },
    /** True while the task lives in this process: it is not at rest, and no other process has taken it over. */
    isStillOurs,
    /** The same, but asks the store first: another process may have taken the task over, or removed it, a moment ago. */
    confirmOurs: (taskId: string): boolean => {
      if (!isStopped) tryHeartbeat();
      return tasks.has(taskId);
    },
    /**
     * True for a task that lives in another process, or was removed there: its session here must be stopped, or the work is
     * done twice.
     */
    isLost: (taskId: string): boolean => {
      if (isStillOurs(taskId)) return false;
      const task = store.get(taskId)?.task;
      return task === undefined || !hasEnded(task);
    },
    /** True while tasks that this session launched, or a descendant session of it, run, or their results are not delivered. */
    awaitsTasks: live.awaitsTasks,
    /** True while runs of such tasks are under way. */
    awaitsRuns: (sessionID: string): boolean => live.awaitedBy(sessionID).some(isRunning),
    /** True while runs of this parent's tasks are under way. */
    hasRunningTasks: (parentSessionID: string): boolean => live.of(parentSessionID).some(isRunning),
    /** Returns the run whose prompt the task is sending, by the id of its first message. */
    runBeingSent: (taskId: string): string | undefined => askTask(taskId, runBeingSent),
    /** Returns the instruction that the task is sending, by its message's id. */
    instructionBeingSent: (taskId: string): string | undefined => askTask(taskId, instructionBeingSent),
    /** Returns the receipt of the newest run of a live task, once it is written. */
    receiptOf: (taskId: string): Receipt | undefined => tasks.get(taskId)?.context.receipt,
    /** Returns the message id of the notice that was composed for this parent and is not acknowledged yet. */
    pendingPrompt: (parentSessionID: string): string | undefined =>
      outboxes.get(parentSessionID)?.context.prompt?.messageID,
    /**
     * Brings a task of this process back from its record. Returns false when another version's chart stored it: then its
     * run ends in an error, which is delivered.
     */
    restore,
    /** Shows other processes that this one lives, and drops the tasks that they have taken over or removed meanwhile. */
    heartbeat,
    /**
     * Does the same after a pause so long that other processes may have this one's tasks; else nothing. Called before whatever
     * a process may do first when it was suspended: it must not go on with what another one works on.
     */
    renewLease: () => void (isStopped || renewLease()),
    /** Drops tasks that were removed from the store, with their notices. Listeners are called, so that every wait for them ends. */
    forget: (forgotten: Task[]) => {
      forget(forgotten);
      for (const task of forgotten) bus.emit("taskChanged", task);
    },
    /** Calls `listener` with each task that changed, once that is stored. Returns how to stop that. */
    subscribe: (listener: (task: Task) => void): (() => void) => bus.on("taskChanged", listener),
    stop: () => {
      isStopped = true;
      alarm.stop();
      actors.stop();
    },
  };
};

/** A task that is launched asks for a slot, or takes the step of having one. */
const isEmpty = ({ steps, effects, outboxes, failed }: Transitions & { effects: Effect[] }): boolean =>
  steps.length === 0 && effects.length === 0 && outboxes.size === 0 && failed.length === 0;

export type Runtime = ReturnType<typeof createRuntime>;
