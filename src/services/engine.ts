import type { OutboxEvent } from "../machines/outbox/events.ts";
import type { Effect, HostEvent, SupervisorEvent } from "../machines/supervisor/events.ts";
import type { Recovery, RunEnd, TaskEvent } from "../machines/task/events.ts";
import { hasEnded, type Task } from "../task.ts";
import type { Answer } from "../user-request.ts";
import { formPrompt } from "./delivery/notice-prompt.ts";
import { createCompleting, type ModelMessage } from "./delivery/notice-repair.ts";
import { createReminding } from "./delivery/reminders.ts";
import { createAsides } from "./delivery/session-notes.ts";
import { createUndelivered } from "./delivery/undelivered.ts";
import { createAttention } from "./delivery/user-requests.ts";
import { createAborting } from "./host/abort-session.ts";
import type { ClosableHost } from "./host/closable-host.ts";
import { createSessionMaking } from "./launch/create-session.ts";
import type { ForkLimits } from "./launch/fork-plan.ts";
import { createForking } from "./launch/fork-session.ts";
import { createLaunches, type Launched } from "./launch/launch.ts";
import type { LaunchRequest } from "./launch/launch-plan.ts";
import { createLeftovers } from "./launch/orphaned-launches.ts";
import { type Cancelled, createEnding } from "./operations/cancel.ts";
import { createFinding } from "./operations/find.ts";
import { createLastWords } from "./operations/last-words.ts";
import { createFulfilling } from "./operations/remote-commands.ts";
import { createResuming, type ResumeRequest } from "./operations/resume.ts";
import { createWaiting, type WaitOutcome, type WaitRequest } from "./operations/wait.ts";
import type { Clock } from "./platform/clock.ts";
import type { Ids } from "./platform/ids.ts";
import { repeat } from "./platform/interval.ts";
import { type Log, reasonOf } from "./platform/log.ts";
import { type Outcome, refuse } from "./platform/result.ts";
import { startAdoption } from "./recovery/adoption.ts";
import { startPolling } from "./recovery/idle-poll.ts";
import type { Opening } from "./recovery/reopened-directories.ts";
import { watchSilence } from "./recovery/stale-check.ts";
import type { Inspect } from "./runtime/actor-system.ts";
import { createEffects } from "./runtime/effects.ts";
import { createSightings } from "./runtime/observed-answers.ts";
import { createProgressLog } from "./runtime/progress.ts";
import { createRuntime, type Perform } from "./runtime/runtime.ts";
import { createLineage } from "./runtime/session-tree.ts";
import { BEAT } from "./store/ownership.ts";
import type { Retention, Store, TaskFilter } from "./store/store.ts";
import type { NoticeStyle } from "./text/notice.ts";
import { nameOf, own, quoteLine } from "./text/own-text.ts";
import { taskContext } from "./text/task-reminder.ts";
import { type Excerpt, excerpt } from "./text/transcript.ts";

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
  transcript(taskId: string, wanted: Excerpt): Promise<Outcome<string>>;
  /** What the task's agent said last, finished or not; undefined where it said nothing, or the host does not tell. */
  lastWords(taskId: string): Promise<string | undefined>;
  wait(request: WaitRequest): Promise<WaitOutcome>;
  markRetrieved(taskId: string): void;
  /** Stops tasks and all that they launched; resolves when they have stopped. */
  cancel(taskIds: string[]): Promise<Cancelled[]>;
  /** Has a task stopped of whose end its parent knows already: no notice is owed. */
  cancelUntold(taskId: string): void;
  /** Removes tasks for good, those that run cancelled first; nobody is told of them any more. */
  clear(taskIds: string[]): Promise<Task[]>;
  /** Answers what a task asks, for a person; never for a model. */
  answer(taskId: string, answer: Answer): Promise<Outcome<void>>;
  /** Does what the status API and other processes have asked for, if it is for this process to do. */
  fulfilRequests(): void;
  /** Takes what the host tells. Never throws. */
  onHostEvent(event: HostEvent): void;
  /** Sees what is about to go to a session's model, and completes in place what the host has not stored whole yet. */
  onModelRequest(messages: ModelMessage[]): void;
  /** What whoever sums up a session's conversation has to know of its tasks; undefined where it has none. */
  contextOf(sessionID: string): string | undefined;
  subscribe(listener: (task: Task) => void): () => void;
  /** Closes the host first: nothing that is under way reaches it any more. */
  stop(): void;
}

/** What an engine is put together from. */
export interface EngineParts {
  host: ClosableHost;
  /** Tasks that others have left are taken over once it is known that the process goes on. */
  opening: Opening;
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
const PROGRESS_STORED = 1_000;

/** Milliseconds between two looks for requests of other processes; a person waits for the answer. */
const REQUESTS_TAKEN = 1_000;

/** Milliseconds between two times that outdated tasks are removed. */
const SWEPT = 3_600_000;

/** Milliseconds from some that were removed to the next: others want to write too, and the host to go on. */
const SWEEP_PAUSE = 100;

/** Answers of effects that say that the host failed us: each is worth a line in the log. */
const FAILURES: ReadonlySet<string> = new Set<TaskEvent["type"] | OutboxEvent["type"]>([
  "PROMPT_REFUSED",
  "LOOK_FAILED",
  "SESSION_MISSING",
  "LOOKED_MISSING",
  "NOT_STOPPED",
  "READ_FAILED",
  "SEND_REFUSED",
  "CHECK_FAILED",
  "PARENT_MISSING",
  "SEARCH_FAILED",
]);

/** What is counted and remembered beside the machines, and there is much of it. */
const UNROUTED: ReadonlySet<HostEvent["type"]> = new Set(["text", "toolCall", "step", "child", "compacted"]);

const isRouted = ({ type }: HostEvent): boolean => !UNROUTED.has(type);

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
export const createEngine = ({ host, opening, store, clock, ids, log, options, inspect }: EngineParts): Engine => {
  const progress = createProgressLog();
  const completing = createCompleting();
  const sightings = createSightings((sessionID) => {
    const snapshot = runtime.live(sessionID);
    return snapshot !== undefined && snapshot.context.completedAt === undefined;
  });
  const awaitsTasks = (sessionID: string): boolean =>
    runtime
      .liveTasks()
      .some(({ context: { facts } }) => facts.parentSessionID === sessionID || facts.parentTaskId === sessionID);
  const abort = createAborting(host, clock, log);
  const taskOf = (sessionID: string) => store.get(sessionID)?.task;
  const undelivered = createUndelivered(host, log, taskOf);
  const doEffect = createEffects(host, clock, { answerOf: sightings.answerOf, awaitsTasks });

  const formed = (parentSessionID: string, owed: RunEnd[]): SupervisorEvent => {
    const prompt = formPrompt(owed, store, ids, options.notice);
    completing.expect(parentSessionID, prompt);
    return { type: "OUTBOX", id: parentSessionID, event: { type: "FORMED", at: clock.now(), prompt } };
  };

  const announce = async ({ toasts }: Extract<Effect, { type: "announce" }>): Promise<undefined> => {
    for (const toast of toasts) {
      const shown = await host.toast(toast);
      if (!shown.ok) log.info("a toast could not be shown", { reason: shown.failure.message });
    }
  };

  const attempt = async (effect: Effect): Promise<SupervisorEvent | undefined> => {
    const answer = await doEffect(effect);
    const event = answer && "event" in answer ? answer.event : undefined;
    if (event && FAILURES.has(event.type)) log.error(`the host failed: ${event.type}`, { ...event });
    if (event?.type === "PARENT_GONE" && "parentSessionID" in effect) await onDeleted(effect.parentSessionID);
    return answer;
  };

  const perform: Perform = (effect) => {
    if (effect.type === "form") return formed(effect.parentSessionID, effect.owed);
    if (effect.type === "announce") return announce(effect);
    if (effect.type === "givenUp") return undelivered(effect);
    return attempt(effect);
  };

  /** Another process has them now; what still works on them here would do their work twice. */
  const onLost = (lost: Task[]) => {
    attention.lose(lost.map(({ sessionID }) => sessionID));
    for (const { sessionID } of lost) {
      log.error("a task was taken over by another process, or removed", { sessionID });
      atWork.delete(sessionID);
      sightings.forget(sessionID);
      inBackground(abort(sessionID), "a lost task could not be stopped here");
    }
  };

  const runtime = createRuntime({ clock, store, progress, perform, onLost, log, inspect });
  const waiting = createWaiting(runtime, store, clock);
  const inBackground = (work: Promise<unknown>, fault: string) => {
    work.catch((error) => log.error(fault, { reason: reasonOf(error) }));
  };

  /** Tasks whose run has not ended, as far as was heard. */
  const atWork = new Set<string>();
  runtime.subscribe((task) => {
    const { sessionID, status } = task;
    if (!hasEnded(task)) {
      atWork.add(sessionID);
      if (runtime.live(sessionID)?.hasTag("stopping")) launches.orphan(sessionID);
      return;
    }
    // Once, when the run ends: what a person begins in the session later is theirs.
    if (!atWork.delete(sessionID)) return;
    sightings.forget(sessionID);
    if (status === "completed") return;
    launches.orphan(sessionID);
    // Nobody is left to read what its own tasks answer, and telling would wake a session that was stopped.
    completing.forget(sessionID);
    inBackground(ending.orphan(sessionID), "the tasks of an ended task could not be cancelled");
  });

  const get = (taskId: string): Task | undefined => {
    const task = store.get(taskId)?.task;
    if (!task) return undefined;
    const childTaskIds = store.list({ parentTaskId: taskId }).map(({ sessionID }) => sessionID);
    return { ...task, progress: progress.of(taskId) ?? task.progress, childTaskIds };
  };

  const stopSession = async (sessionID: string, messageID: string): Promise<boolean> => {
    const answer = await attempt({ type: "stop", sessionID, messageID, requests: [] });
    return answer?.type === "TASK" && answer.event.type === "STOPPED";
  };
  const ending = createEnding({ runtime, store, clock, untilOver: waiting.untilOver, get, stopSession });

  const list = (filter: TaskFilter): Task[] => store.list(filter).flatMap(({ sessionID }) => get(sessionID) ?? []);

  const find = createFinding(store, get, options.notice.tools);

  const lineage = createLineage(store, host);
  const leftovers = createLeftovers({
    host,
    store,
    clock,
    log,
    isForking: (sessionID) => sessionMaking.isForking(sessionID),
  });
  const forking = createForking(host, ids, clock, options.fork);
  const sessionMaking = createSessionMaking({ host, store, clock, ids, log, forking, leftovers });
  const launches = createLaunches({
    host,
    tasksAbove: (sessionID) => lineage.above(sessionID).flatMap((id) => taskOf(id) ?? []),
    learnAbove: lineage.learn,
    store,
    runtime,
    progress,
    clock,
    ids,
    maxDepth: options.maxDepth,
    makeSession: sessionMaking.make,
    leftovers,
    get,
  });

  const onDeleted = async (sessionID: string) => {
    launches.orphan(sessionID);
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
    completing,
    recovery: options.recovery,
    isHeadless: options.isHeadless,
    opening,
    learnAbove: lineage.learn,
    untilOver: ending.untilEnded,
    onEndedLead: ending.orphan,
    onCutOff: (sessionID) => reminding.remind(sessionID),
    removeLeftovers: leftovers.inherit,
    onBeat: () => {
      waiting.recheck();
      leftovers.recheck();
    },
  });
  const resume = createResuming({
    host,
    runtime,
    progress,
    clock,
    ids,
    tools: options.notice.tools,
    find,
    get,
    learnAbove: (sessionID) => inBackground(lineage.learn(sessionID), "the sessions above a task are not known"),
  });
  const isPrompted = (sessionID: string) => runtime.promptUnderWay(sessionID) !== undefined;
  const asides = createAsides({ host, clock, ids, log, isPrompted });
  const attention = createAttention({
    host,
    runtime,
    asides,
    clock,
    log,
    abort,
    above: lineage.above,
    isNew: lineage.isNew,
    taskOf,
    isHeadless: options.isHeadless,
    onVanished: (sessionID) => onHostEvent({ type: "deleted", sessionID }),
    ...options.attention,
  });
  const { answer } = attention;
  const contextOf = (sessionID: string) =>
    taskContext(list({ parentSessionID: sessionID }), options.notice.tools, options.isHeadless);
  const launchedBefore = (parentSessionID: string, time: number) =>
    store.list({ parentSessionID }).some(({ startedAt }) => Date.parse(startedAt) < time);
  const reminding = createReminding({ asides, log, contextOf, launchedBefore });
  const fulfilRequests = createFulfilling({ store, log, get, cancel: ending.cancel, resume, answer });
  const onHostEvent = (event: HostEvent): void => {
    const at = clock.now();
    progress.note(event, at);
    sightings.note(event);
    waiting.note(event);
    opening.note(event);
    if (event.type === "busy") adoption.saw(event.sessionID);
    if (isRouted(event) && runtime.watches(event.sessionID)) runtime.dispatch({ type: "HOST", at, event });
    if (event.type === "compacted") reminding.remind(event.sessionID);
    asides.note(event);
    lineage.note(event);
    attention.note(event);
    if (event.type === "deleted") {
      inBackground(onDeleted(event.sessionID), "the tasks of a deleted session could not be cleared");
    }
  };

  const stopAll = [
    attention.stop,
    asides.stop,
    ending.stop,
    waiting.stop,
    adoption.stop,
    leftovers.stop,
    startPolling(runtime, host, clock, log, awaitsTasks),
    watchSilence(runtime, progress, clock, log, options.staleAfter),
    repeat(clock, log, {
      every: PROGRESS_STORED,
      work: () => store.noteProgress(progress.takeChanged()),
      fault: "progress could not be stored",
    }),
    repeat(clock, log, {
      every: REQUESTS_TAKEN,
      work: fulfilRequests,
      fault: "what other processes ask for could not be read",
    }),
    repeat(clock, log, {
      first: BEAT,
      every: SWEPT,
      work: () => (store.sweep(options.retention, clock.now()) > 0 ? SWEEP_PAUSE : SWEPT),
      fault: "outdated tasks could not be removed",
    }),
    runtime.stop,
  ];

  return {
    launch: launches.launch,
    resume,
    answer,
    fulfilRequests,
    get,
    list,
    find,
    transcript: async (taskId, wanted) => {
      const spoken = await host.conversation(taskId);
      if (spoken.ok) return excerpt(spoken.value, wanted);
      const reason = quoteLine(spoken.failure.message);
      return refuse(own`OpenCode did not give the conversation of task ${nameOf(taskId)}: ${reason}.`);
    },
    lastWords: createLastWords(host, clock),
    wait: waiting.wait,
    markRetrieved: (taskId) => runtime.send(taskId, { type: "RETRIEVED", at: clock.now() }),
    cancel: ending.cancel,
    cancelUntold: (taskId) => inBackground(ending.cancelUntold(taskId), "a subtask could not be cancelled"),
    clear: ending.clear,
    onHostEvent,
    onModelRequest: (messages) => {
      const added = completing.complete(messages);
      if (added > 0) log.info("a notice was shown whole before it was stored whole", { added });
      reminding.show(messages);
    },
    contextOf,
    subscribe: runtime.subscribe,
    stop: () =>
      stopEach([
        host.close,
        opening.close,
        launches.stop,
        ...stopAll,
        () => store.noteProgress(progress.takeChanged()),
        store.close,
      ]),
  };
};
