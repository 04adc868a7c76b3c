import type { OutboxEvent } from "../machines/outbox/events.ts";
import type { Effect, HostEvent, SupervisorEvent } from "../machines/supervisor/events.ts";
import type { Recovery, RunResult, TaskEvent } from "../machines/task/events.ts";
import { hasEnded, type Task } from "../task.ts";
import type { UserReply } from "../user-request.ts";
import { composeNotice } from "./delivery/notice-prompt.ts";
import { createNoticeRepair, type ModelMessage } from "./delivery/notice-repair.ts";
import { createReminders } from "./delivery/reminders.ts";
import { createSessionNotes } from "./delivery/session-notes.ts";
import { createUndeliveredReport } from "./delivery/undelivered.ts";
import { createUserRequests } from "./delivery/user-requests.ts";
import { createSessionAborter } from "./host/abort-session.ts";
import type { ClosableHost } from "./host/closable-host.ts";
import { createSessionFactory } from "./launch/create-session.ts";
import type { ForkLimits } from "./launch/fork-plan.ts";
import { createForkSources } from "./launch/fork-session.ts";
import { createLaunches, type Launched } from "./launch/launch.ts";
import type { LaunchRequest } from "./launch/launch-plan.ts";
import { createOrphanedLaunches } from "./launch/orphaned-launches.ts";
import { type CancelResult, createCancellation } from "./operations/cancel.ts";
import { createTaskFinder } from "./operations/find.ts";
import { createLastWords } from "./operations/last-words.ts";
import { createRemoteCommands } from "./operations/remote-commands.ts";
import { createResume, type ResumeRequest } from "./operations/resume.ts";
import { createWaits, type WaitOutcome, type WaitRequest } from "./operations/wait.ts";
import type { Clock } from "./platform/clock.ts";
import type { Ids } from "./platform/ids.ts";
import { repeat } from "./platform/interval.ts";
import { errorMessage, type Log } from "./platform/log.ts";
import { fail, type Outcome } from "./platform/result.ts";
import { startAdoption } from "./recovery/adoption.ts";
import { startIdlePoll } from "./recovery/idle-poll.ts";
import type { DirectoryOpening } from "./recovery/reopened-directories.ts";
import { startStaleCheck } from "./recovery/stale-check.ts";
import type { Inspect } from "./runtime/actor-system.ts";
import { createEffects } from "./runtime/effects.ts";
import { createObservedAnswers } from "./runtime/observed-answers.ts";
import { createProgressLog } from "./runtime/progress.ts";
import { createRuntime, type Perform } from "./runtime/runtime.ts";
import { createSessionTree } from "./runtime/session-tree.ts";
import { HEARTBEAT_MS } from "./store/ownership.ts";
import type { Retention, Store, TaskFilter } from "./store/store.ts";
import type { NoticeStyle } from "./text/notice.ts";
import { nameOf, own, quoteLine } from "./text/own-text.ts";
import { taskReminder } from "./text/task-reminder.ts";
import { excerpt, type TranscriptOptions } from "./text/transcript.ts";

/** What tools, and later the API, may ask. Tasks of other parents are invisible to a caller that names its own session. */
export interface Engine {
  /** Makes the child session and sets its run going; does not wait for an answer. */
  launch(request: LaunchRequest): Promise<Outcome<Launched>>;
  /** Sends a follow-up prompt to a completed task's own session; does not wait for the answer. */
  resume(request: ResumeRequest): Promise<Outcome<Task>>;
  get(taskId: string): Task | undefined;
  /** Tasks in the order of their launch. */
  list(filter: TaskFilter): Task[];
  /** The one task of the parent whose id is, or begins with, `id`. */
  find(parentSessionID: string, id: string): Outcome<Task>;
  /** What was said in a task's session, in the labelled form. */
  transcript(taskId: string, wanted: TranscriptOptions): Promise<Outcome<string>>;
  /** What the task's agent said last, finished or not; undefined where it said nothing, or the host does not tell. */
  lastWords(taskId: string): Promise<string | undefined>;
  wait(request: WaitRequest): Promise<WaitOutcome>;
  markRetrieved(taskId: string): void;
  /** Stops tasks and all that they launched; resolves when they have stopped. */
  cancel(taskIds: string[]): Promise<CancelResult[]>;
  /** Has a task stopped of whose end its parent knows already: no notice is owed. */
  cancelSilently(taskId: string): void;
  /** Removes tasks for good, those that run cancelled first; nobody is told of them any more. */
  clear(taskIds: string[]): Promise<Task[]>;
  /** Answers what a task asks, for a person; never for a model. */
  answer(taskId: string, answer: UserReply): Promise<Outcome<void>>;
  /** Does what the status API and other processes have asked for, if it is for this process to do. */
  runRemoteCommands(): void;
  /** Takes what the host tells. Never throws. */
  onHostEvent(event: HostEvent): void;
  /** Sees what is about to go to a session's model, and completes in place what the host has not stored whole yet. */
  onModelRequest(messages: ModelMessage[]): void;
  /** What whoever sums up a session's conversation has to know of its tasks; undefined where it has none. */
  reminderFor(sessionID: string): string | undefined;
  subscribe(listener: (task: Task) => void): () => void;
  /** Closes the host first: nothing that is under way reaches it any more. */
  stop(): void;
}

/** What an engine is put together from. */
export interface EngineDeps {
  host: ClosableHost;
  /** Tasks that others have left are taken over once it is known that the process goes on. */
  opening: DirectoryOpening;
  store: Store;
  clock: Clock;
  ids: Ids;
  log: Log;
  options: {
    /** How many tasks deep a task may launch tasks. */
    maxDepth: number;
    /** Milliseconds of silence after which a running task is stale. */
    staleAfter: number;
    notice: NoticeStyle;
    fork: ForkLimits;
    recovery: Recovery;
    /** Which ended tasks stay. */
    retention: Retention;
    attention: {
      /** Milliseconds after which what nobody answers is rejected; undefined: never. */
      timeout: number | undefined;
      /** How this plugin's command is called in a terminal. */
      command: string;
    };
    /** True where nobody can answer for a session that is no child of the one in view, as in `opencode run`. */
    isHeadless: boolean;
  };
  /** Is told of all that the machines do. Undefined: nobody watches them. */
  inspect?: Inspect | undefined;
}

/** Milliseconds between two times that progress is stored: it changes often, and nothing depends on it. */
const PROGRESS_STORE_INTERVAL_MS = 1_000;

/** Milliseconds between two looks for requests of other processes; a person waits for the answer. */
const COMMANDS_POLL_INTERVAL_MS = 1_000;

/** Milliseconds between two times that outdated tasks are removed. */
const SWEEP_INTERVAL_MS = 3_600_000;

/** Milliseconds from some that were removed to the next: others want to write too, and the host to go on. */
const SWEEP_PAUSE_MS = 100;

/** Answers of effects that say that the host failed us: each is worth a line in the log. */
const FAILURES: ReadonlySet<string> = new Set<TaskEvent["type"] | OutboxEvent["type"]>([
  "PROMPT_REFUSED",
  "CHECK_FAILED",
  "SESSION_NOT_FOUND",
  "CHECKED_NOT_FOUND",
  "NOT_STOPPED",
  "READ_FAILED",
  "SEND_REFUSED",
  "CHECK_FAILED",
  "PARENT_NOT_FOUND",
  "SEARCH_FAILED",
]);

/** What is counted and remembered beside the machines, and there is much of it. */
const NOT_FOR_CHARTS: ReadonlySet<HostEvent["type"]> = new Set(["text", "toolCall", "step", "child", "compacted"]);

const isRouted = ({ type }: HostEvent): boolean => !NOT_FOR_CHARTS.has(type);

/** Stops every part, whatever becomes of the others. @throws what the first one threw that could not be stopped. */
const stopEach = (stops: (() => void)[]): void => {
  const faults = stops.flatMap((stop) => {
    try {
      stop();
      return [];
    } catch (error) {
      return [error];
    }
  });
  if (faults.length > 0) throw faults[0];
};

/** Puts the machines, the services and the store together. */
export const createEngine = ({ host, opening, store, clock, ids, log, options, inspect }: EngineDeps): Engine => {
  const progress = createProgressLog();
  const completing = createNoticeRepair();
  const sightings = createObservedAnswers((sessionID) => {
    const snapshot = runtime.snapshotOf(sessionID);
    return snapshot !== undefined && snapshot.context.completedAt === undefined;
  });
  const awaitsTasks = (sessionID: string): boolean =>
    runtime
      .liveTasks()
      .some(({ context: { facts } }) => facts.parentSessionID === sessionID || facts.parentTaskId === sessionID);
  const abort = createSessionAborter(host, clock, log);
  const taskOf = (sessionID: string) => store.get(sessionID)?.task;
  const undelivered = createUndeliveredReport(host, log, taskOf);
  const doEffect = createEffects(host, clock, { answerOf: sightings.answerOf, awaitsTasks });

  const formed = (parentSessionID: string, owed: RunResult[]): SupervisorEvent => {
    const prompt = composeNotice(owed, store, ids, options.notice);
    completing.expect(parentSessionID, prompt);
    return { type: "OUTBOX", id: parentSessionID, event: { type: "COMPOSED", at: clock.now(), prompt } };
  };

  const announce = async ({ toasts }: Extract<Effect, { type: "showToasts" }>): Promise<undefined> => {
    for (const toast of toasts) {
      const shown = await host.toast(toast);
      if (!shown.ok) log.info("a toast could not be shown", { reason: shown.failure.message });
    }
  };

  const attempt = async (effect: Effect): Promise<SupervisorEvent | undefined> => {
    const answer = await doEffect(effect);
    const event = answer && "event" in answer ? answer.event : undefined;
    if (event && FAILURES.has(event.type)) log.error(`the host failed: ${event.type}`, { ...event });
    if (event?.type === "PARENT_CLOSED" && "parentSessionID" in effect) await onDeleted(effect.parentSessionID);
    return answer;
  };

  const perform: Perform = (effect) => {
    if (effect.type === "composeNotice") return formed(effect.parentSessionID, effect.queue);
    if (effect.type === "showToasts") return announce(effect);
    if (effect.type === "noticeRejected") return undelivered(effect);
    return attempt(effect);
  };

  /** Another process has them now; what still works on them here would do their work twice. */
  const onLost = (lost: Task[]) => {
    attention.releaseTasks(lost.map(({ sessionID }) => sessionID));
    for (const { sessionID } of lost) {
      log.error("a task was taken over by another process, or removed", { sessionID });
      atWork.delete(sessionID);
      sightings.forget(sessionID);
      inBackground(abort(sessionID), "a lost task could not be stopped here");
    }
  };

  const runtime = createRuntime({ clock, store, progress, perform, onLost, log, inspect });
  const waiting = createWaits(runtime, store, clock);
  const inBackground = (work: Promise<unknown>, fault: string) => {
    work.catch((error) => log.error(fault, { reason: errorMessage(error) }));
  };

  /** Tasks whose run has not ended, as far as was heard. */
  const atWork = new Set<string>();
  runtime.subscribe((task) => {
    const { sessionID, status } = task;
    if (!hasEnded(task)) {
      atWork.add(sessionID);
      if (runtime.snapshotOf(sessionID)?.hasTag("stopping")) launches.cancelPending(sessionID);
      return;
    }
    // Once, when the run ends: what a person begins in the session later is theirs.
    if (!atWork.delete(sessionID)) return;
    sightings.forget(sessionID);
    if (status === "completed") return;
    launches.cancelPending(sessionID);
    // Nobody is left to read what its own tasks answer, and telling would wake a session that was stopped.
    completing.forget(sessionID);
    inBackground(ending.cancelChildren(sessionID), "the tasks of an ended task could not be cancelled");
  });

  const get = (taskId: string): Task | undefined => {
    const task = store.get(taskId)?.task;
    if (!task) return undefined;
    const childTaskIds = store.list({ parentTaskId: taskId }).map(({ sessionID }) => sessionID);
    return { ...task, progress: progress.of(taskId) ?? task.progress, childTaskIds };
  };

  const stopSession = async (sessionID: string, messageID: string): Promise<boolean> => {
    const answer = await attempt({ type: "stopSession", sessionID, messageID, requests: [] });
    return answer?.type === "TASK" && answer.event.type === "STOPPED";
  };
  const ending = createCancellation({ runtime, store, clock, waitForEnd: waiting.waitForEnd, get, stopSession });

  const list = (filter: TaskFilter): Task[] => store.list(filter).flatMap(({ sessionID }) => get(sessionID) ?? []);

  const find = createTaskFinder(store, get, options.notice.tools);

  const lineage = createSessionTree(store, host);
  const leftovers = createOrphanedLaunches({
    host,
    store,
    clock,
    log,
    isForking: (sessionID) => sessionMaking.isForking(sessionID),
  });
  const forking = createForkSources(host, ids, clock, options.fork);
  const sessionMaking = createSessionFactory({ host, store, clock, ids, log, forking, leftovers });
  const launches = createLaunches({
    host,
    ancestorTasks: (sessionID) => lineage.ancestors(sessionID).flatMap((id) => taskOf(id) ?? []),
    loadAncestors: lineage.loadAncestors,
    store,
    runtime,
    progress,
    clock,
    ids,
    maxDepth: options.maxDepth,
    createSession: sessionMaking.create,
    leftovers,
    get,
  });

  const onDeleted = async (sessionID: string) => {
    launches.cancelPending(sessionID);
    completing.forget(sessionID);
    const orphans = store.list({ parentSessionID: sessionID }).map((task) => task.sessionID);
    if (orphans.length > 0) await ending.clear(orphans);
  };

  const adoption = startAdoption({
    store,
    runtime,
    host,
    clock,
    log,
    progress,
    noticeRepair: completing,
    recovery: options.recovery,
    isHeadless: options.isHeadless,
    opening,
    loadAncestors: lineage.loadAncestors,
    waitForEnd: ending.untilEnded,
    onParentTaskEnded: ending.cancelChildren,
    onWaitInterrupted: (sessionID) => reminding.remind(sessionID),
    removeOrphanedLaunch: leftovers.inherit,
    onHeartbeat: () => {
      waiting.recheckAll();
      leftovers.recheck();
    },
  });
  const resume = createResume({
    host,
    runtime,
    progress,
    clock,
    ids,
    tools: options.notice.tools,
    find,
    get,
    loadAncestors: (sessionID) =>
      inBackground(lineage.loadAncestors(sessionID), "the sessions above a task are not known"),
  });
  const isPrompted = (sessionID: string) => runtime.pendingPrompt(sessionID) !== undefined;
  const notes = createSessionNotes({ host, clock, ids, log, isPrompted });
  const attention = createUserRequests({
    host,
    runtime,
    notes,
    clock,
    log,
    abort,
    sessionChain: lineage.ancestors,
    wasCreatedHere: lineage.wasCreatedHere,
    taskOf,
    isHeadless: options.isHeadless,
    onSessionDeleted: (sessionID) => onHostEvent({ type: "deleted", sessionID }),
    ...options.attention,
  });
  const { answer } = attention;
  const reminderFor = (sessionID: string) =>
    taskReminder(list({ parentSessionID: sessionID }), options.notice.tools, options.isHeadless);
  const launchedBefore = (parentSessionID: string, time: number) =>
    store.list({ parentSessionID }).some(({ startedAt }) => Date.parse(startedAt) < time);
  const reminding = createReminders({ notes, log, reminderFor, launchedBefore });
  const fulfilRequests = createRemoteCommands({ store, log, get, cancel: ending.cancel, resume, answer });
  const onHostEvent = (event: HostEvent): void => {
    const at = clock.now();
    progress.onHostEvent(event, at);
    sightings.onHostEvent(event);
    waiting.onHostEvent(event);
    opening.onHostEvent(event);
    if (event.type === "busy") adoption.onSessionBusy(event.sessionID);
    if (isRouted(event) && runtime.supervises(event.sessionID)) runtime.dispatch({ type: "HOST", at, event });
    if (event.type === "compacted") reminding.remind(event.sessionID);
    notes.onHostEvent(event);
    lineage.onHostEvent(event);
    attention.onHostEvent(event);
    if (event.type === "deleted") {
      inBackground(onDeleted(event.sessionID), "the tasks of a deleted session could not be cleared");
    }
  };

  const stopAll = [
    attention.stop,
    notes.stop,
    ending.stop,
    waiting.stop,
    adoption.stop,
    leftovers.stop,
    startIdlePoll(runtime, host, clock, log, awaitsTasks),
    startStaleCheck(runtime, progress, clock, log, options.staleAfter),
    repeat(clock, log, {
      every: PROGRESS_STORE_INTERVAL_MS,
      work: () => store.storeProgress(progress.takeChanged()),
      fault: "progress could not be stored",
    }),
    repeat(clock, log, {
      every: COMMANDS_POLL_INTERVAL_MS,
      work: fulfilRequests,
      fault: "what other processes ask for could not be read",
    }),
    repeat(clock, log, {
      first: HEARTBEAT_MS,
      every: SWEEP_INTERVAL_MS,
      work: () => (store.sweep(options.retention, clock.now()) > 0 ? SWEEP_PAUSE_MS : SWEEP_INTERVAL_MS),
      fault: "outdated tasks could not be removed",
    }),
    runtime.stop,
  ];

  return {
    launch: launches.launch,
    resume,
    answer,
    runRemoteCommands: fulfilRequests,
    get,
    list,
    find,
    transcript: async (taskId, wanted) => {
      const spoken = await host.conversation(taskId);
      if (spoken.ok) return excerpt(spoken.value, wanted);
      const reason = quoteLine(spoken.failure.message);
      return fail(own`OpenCode did not give the conversation of task ${nameOf(taskId)}: ${reason}.`);
    },
    lastWords: createLastWords(host, clock),
    wait: waiting.wait,
    markRetrieved: (taskId) => runtime.send(taskId, { type: "RESULT_READ", at: clock.now() }),
    cancel: ending.cancel,
    cancelSilently: (taskId) => inBackground(ending.cancelSilently(taskId), "a subtask could not be cancelled"),
    clear: ending.clear,
    onHostEvent,
    onModelRequest: (messages) => {
      const added = completing.addMissingParts(messages);
      if (added > 0) log.info("a notice was shown whole before it was stored whole", { added });
      reminding.show(messages);
    },
    reminderFor,
    subscribe: runtime.subscribe,
    stop: () =>
      stopEach([
        host.close,
        opening.close,
        launches.stop,
        ...stopAll,
        () => store.storeProgress(progress.takeChanged()),
        store.close,
      ]),
  };
};
