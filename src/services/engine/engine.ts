import type { HostEvent } from "../../machines/host-events.ts";
import type { PausedBy } from "../../machines/task/events.ts";
import type { Task, WorktreeChanges } from "../../task.ts";
import type { ModelMessage } from "../host/host.ts";
import { logFault } from "../platform/log.ts";
import type { Effects } from "../runtime/effects.ts";
import type { RemoteCommand, TaskFilter } from "../store/store.ts";
import type { TranscriptOptions } from "../text/transcript.ts";
import { createContext, type EngineParts } from "./context.ts";
import { createReminders, createSessionNotes, reminderFor } from "./delivery/session-notes.ts";
import { createUserRequests } from "./delivery/user-requests.ts";
import { createEffects } from "./effects/effects.ts";
import { launch } from "./launch/launch.ts";
import { launchesHere } from "./launch/launches-here.ts";
import { createRunLimits } from "./limits/run-limits.ts";
import { cancel, cancelSilently, clear } from "./operations/cancel.ts";
import { continueTasks, pauseTasks } from "./operations/pause.ts";
import {
  findTask,
  getTask,
  listTasks,
  readLastWords,
  readTranscript,
  tasksOfOriginal,
} from "./operations/read-task.ts";
import { executeCommand, runRemoteCommands } from "./operations/remote-commands.ts";
import { resume, steer } from "./operations/resume.ts";
import { retry } from "./operations/retry.ts";
import { createOverlaps } from "./overlaps/overlaps.ts";
import { createHostEventRouter, subscribeReactions } from "./reactions.ts";
import { startAdoption } from "./recovery/adoption.ts";
import { startHousekeeping } from "./recovery/housekeeping.ts";
import type { LaunchRequest, ResumeRequest, RetryRequest, SteerRequest } from "./requests.ts";

/** Runs all functions, even if some throw. @throws what the first one threw that failed */
const runEach = (works: (() => void)[]): void => {
  const faults = works.flatMap((work) => {
    try {
      work();
      return [];
    } catch (error) {
      return [error];
    }
  });
  if (faults.length > 0) throw faults[0];
};

/**
 * Starts an engine: its charts, the parts around them, and the timers of what recurs. Returns all that tools and the status API
 * may ask of the tasks of one directory. A caller that names its own session sees the tasks of that session only.
 */
export const createEngine = (parts: EngineParts) => {
  // The charts ask for effects once they are given events, and by then there are some.
  const table: Effects = {
    know: (effect) => effects.know(effect),
    perform: (effect) => effects.perform(effect),
    onFault: (effect, at, reason) => effects.onFault(effect, at, reason),
  };
  const ctx = createContext(parts, table);
  const effects = createEffects(ctx);
  const { host, opening, store, clock, log, runtime, progress, remoteRuns, waits, launches } = ctx;
  const runLimits = createRunLimits(ctx);
  const notes = createSessionNotes(ctx);
  const reminders = createReminders(ctx, notes);
  const hostOfRequests = remoteRuns?.withReplies(host) ?? host;
  const userRequests = createUserRequests({ ...ctx, host: hostOfRequests }, notes);
  const overlaps = createOverlaps(ctx);

  /** What tools and the status API may ask of tasks. */
  const operations = {
    launch: (request: LaunchRequest) => launch(ctx, request),
    resume: (request: ResumeRequest) => resume(ctx, request),
    retry: (request: RetryRequest) => retry(ctx, request),
    steer: (request: SteerRequest) => steer(ctx, request),
    cancel: (taskIds: string[]) => cancel(ctx, taskIds),
    pause: (taskIds: string[], by: PausedBy) => pauseTasks(ctx, taskIds, by),
    continue: (taskIds: string[]) => continueTasks(ctx, taskIds),
    get: (taskId: string) => getTask(ctx, taskId),
    list: (filter: TaskFilter) => listTasks(ctx, filter),
    find: (parentSessionID: string, idOrPrefix: string) => findTask(ctx, parentSessionID, idOrPrefix),
    transcript: (taskId: string, wanted: TranscriptOptions) => readTranscript(ctx, taskId, wanted),
    lastWords: (sessionID: string) => readLastWords(ctx, sessionID),
    tasksOfOriginal: (sessionID: string) => tasksOfOriginal(ctx, sessionID),
    /** Replies to a request of a task on behalf of a person; never on behalf of a model. */
    answer: userRequests.answer,
    reminderFor: (sessionID: string) => reminderFor(ctx, sessionID),
  };

  // What works for other servers.
  const worker = ctx.fleet?.createWorker({
    ...{ host, reads: ctx.reads, runtime, store, progress, directory: ctx.directory },
    ...operations,
    untilEnded: (taskId) =>
      waits.waitForEnd({ taskIds: [taskId], signal: new AbortController().signal, timeoutMs: undefined }),
    patchOf: ctx.worktrees.patchOf,
    putWorktreeAway: ctx.worktrees.putAway,
  });

  // What makes up for crashes and missed events.
  const adoption = startAdoption(ctx, reminders, () => {
    waits.recheckAll();
    worker?.takeOver();
  });
  /** A process that may be ending begins nothing: what is asked of it is left to one that stays. */
  const runCommands = () => {
    if (ctx.opening.isProcessStaying()) runRemoteCommands(ctx, operations);
  };
  const stopHousekeeping = startHousekeeping(ctx, { notes, runLimits, runCommands });

  subscribeReactions(ctx, userRequests);
  const onHostEvent = createHostEventRouter(ctx, { runLimits, overlaps, adoption, reminders, userRequests });

  return {
    ...operations,
    /** Returns a function that returns what a task and its descendants used. */
    usageOf: ctx.usageReader.usageOf,
    /** Reads conversations that other servers have; undefined where this one is in no fleet. */
    elsewhere: ctx.fleet?.conversations,
    launchesHere: () => launchesHere(ctx),
    /** Returns which servers the fleet has; undefined where this one is in no fleet. */
    viewFleet: ctx.fleet?.view,
    /** Returns what an ended task left changed in its worktree; undefined where it has none of its own. */
    changesOf: (task: Task): Promise<WorktreeChanges | undefined> => ctx.worktrees.latestChanges(task),
    compareGate: ctx.compareGate,
    wait: waits.wait,
    /** Waits until all tasks have ended, for a program: nothing counts as delivered by that. */
    waitForEnd: waits.waitForEnd,
    onCallReturned: waits.onCallReturned,
    /** Records that the result of an ended task was read, the first time that it is. */
    markRetrieved: ({ sessionID, resultRetrievedAt }: Pick<Task, "sessionID" | "resultRetrievedAt">): void => {
      // Each event of a task at rest is two commits.
      if (resultRetrievedAt === undefined) runtime.send(sessionID, { type: "RESULT_READ", at: clock.now() });
    },
    /** Stops a task whose parent knows already that it ends: no notice is due. */
    cancelSilently: (taskId: string): void => {
      cancelSilently(ctx, taskId).catch(logFault(log, "a subtask could not be cancelled", { taskId }));
    },
    /**
     * Removes tasks for good, with all that they launched, and cancels first those that run. No notice is delivered for them
     * any more. Returns those that are kept: a person has to decide about changes of theirs, or of a descendant.
     */
    clear: (taskIds: string[]) => clear(ctx, taskIds, "agent"),
    /** Executes the stored commands of other processes for tasks of this one, and those for tasks at rest in its directory. */
    runRemoteCommands: runCommands,
    /** Executes a person's command at once; undefined where this process does not supervise the task. */
    executeCommand: (taskId: string, command: RemoteCommand) =>
      ctx.runtime.snapshotOf(taskId) && executeCommand(operations, taskId, command),
    /**
     * To be asked before a session makes a model request or a tool call. Undefined where it may. Where another process has
     * taken over its task, a promise that resolves once the session has stopped here: it must not go on.
     */
    untilStopped: (sessionID: string): Promise<void> | undefined => {
      runtime.renewLease();
      return ctx.lostSessions.untilStopped(sessionID);
    },
    onToolCallEnded: overlaps.onToolCallEnded,
    /** Handles an event of the host. */
    onHostEvent: (event: HostEvent): void => onHostEvent(event),
    /** Adds to the messages of a model request, in place, parts of notices that the host has not stored yet. */
    onModelRequest: (messages: ModelMessage[]): void => {
      const added = ctx.noticeRepair.addMissingParts(messages);
      if (added > 0) log.info("a model was shown parts of a message that the host had not stored yet", { added });
      reminders.show(messages);
    },
    /** Calls `listener` with each task that changed, once that is stored. Returns how to stop that. */
    subscribe: runtime.subscribe,
    /** Closes the host first, so that nothing that is under way can call it any more. */
    stop: (): void =>
      runEach([
        parts.host.close,
        opening.close,
        runtime.closeLaunches,
        launches.stop,
        userRequests.stop,
        runLimits.stop,
        ctx.gates.stopAll,
        notes.stop,
        ctx.sessionWaits.stop,
        () => {
          remoteRuns?.stop();
          worker?.stop();
          ctx.fleet?.leave();
        },
        () => ctx.stopping.abort(),
        waits.stop,
        adoption.stop,
        ctx.slots.stop,
        stopHousekeeping,
        runtime.stop,
        () => store.storeProgress(progress.takeChanged()),
        store.close,
      ]),
  };
};

export type Engine = ReturnType<typeof createEngine>;
