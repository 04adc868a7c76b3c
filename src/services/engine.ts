import type { HostEvent } from "../machines/host-events.ts";
import type { ListedTask, Task, TaskWithUsage, Usage, WorktreeChanges } from "../task.ts";
import type { UserReply } from "../user-request.ts";
import { createServices, type EngineDeps } from "./engine/services.ts";
import type { FleetView } from "./fleet/fleet-view.ts";
import type { ModelMessage } from "./host/host.ts";
import type { Launched } from "./launch/launch.ts";
import type { LaunchRequest } from "./launch/launch-plan.ts";
import type { CancelResult, KeptTask } from "./operations/cancel.ts";
import { createTasksOfOriginal } from "./operations/copied-calls.ts";
import { createLastWords, createTranscriptReader, type Elsewhere } from "./operations/read-task.ts";
import type { ResumeRequest } from "./operations/resume.ts";
import type { SteerRequest } from "./operations/steer.ts";
import type { WaitOutcome, WaitRequest, Waits } from "./operations/wait.ts";
import type { EndedCall } from "./overlaps/overlaps.ts";
import { errorMessage } from "./platform/log.ts";
import type { Outcome } from "./platform/result.ts";
import type { CommandOutcome, RemoteCommand, TaskFilter } from "./store/store.ts";
import type { CountedTask } from "./store/task-usage.ts";
import type { OwnText } from "./text/own-text.ts";
import type { TranscriptOptions } from "./text/transcript.ts";

export type { Launched, LaunchRequest };

/**
 * All that tools and the status API may ask of the tasks of one directory. A caller that names its own session sees the
 * tasks of that session only.
 */
export interface Engine {
  /** Creates the child session and sends its prompt; does not wait for the result. */
  launch(request: LaunchRequest): Promise<Outcome<Launched>>;
  /** Sends a follow-up prompt to a completed task's own session; does not wait for the result. */
  resume(request: ResumeRequest): Promise<Outcome<Task>>;
  /** Gives a running task a further instruction, which its agent sees at its next step. */
  steer(request: SteerRequest): Outcome<Task>;
  get(taskId: string): TaskWithUsage | undefined;
  /** Tasks in the order of their launch, without what only `get` shows. */
  list(filter: TaskFilter): ListedTask[];
  /** Says of these tasks what each used with all tasks below it. */
  usageOf(tasks: readonly CountedTask[]): (task: CountedTask) => Usage;
  /** The one task of the parent whose id is `id`, or begins with it. */
  find(parentSessionID: string, id: string): Outcome<Task>;
  /** Says whose tasks a copied conversation mentions, of which it has none itself; undefined where it mentions none. */
  tasksOfOriginal(sessionID: string): Promise<OwnText | undefined>;
  /** The conversation of a task's session, each message with a label. */
  transcript(taskId: string, wanted: TranscriptOptions): Promise<Outcome<string>>;
  /** Reads conversations that other servers have; undefined where this one is in no fleet. */
  elsewhere: Elsewhere | undefined;
  /** Says which servers the fleet has; undefined where this one is in no fleet. */
  viewFleet: (() => Promise<FleetView>) | undefined;
  /** The last text of the task's agent, finished or not; undefined where there is none, or the host does not give it. */
  lastWords(taskId: string): Promise<string | undefined>;
  /** What an ended task left changed in its worktree; undefined where it has none of its own. */
  changesOf(task: Task): Promise<WorktreeChanges | undefined>;
  /** Waits until tasks have ended. The output of the waiting tool call delivers their results, so no notice follows. */
  wait(request: WaitRequest): Promise<WaitOutcome>;
  /** Takes note that a tool call returns: what it waited for is in its output, which is not to be stored where this is false. */
  onCallReturned: Waits["onCallReturned"];
  /** Records that the result of an ended task was read, the first time that it is. */
  markRetrieved(task: Pick<Task, "sessionID" | "resultRetrievedAt">): void;
  /** Stops tasks and all that they launched; resolves when they have stopped. */
  cancel(taskIds: string[]): Promise<CancelResult[]>;
  /** Stops a task whose parent knows already that it ends: no notice is due. */
  cancelSilently(taskId: string): void;
  /**
   * Removes tasks for good, with all that they launched, and cancels first those that run. No notice is delivered for them any
   * more. Returns those that are kept: a person has to decide about changes of theirs, or of a task below them.
   */
  clear(taskIds: string[]): Promise<KeptTask[]>;
  /** Replies to a request of a task on behalf of a person; never on behalf of a model. */
  answer(taskId: string, answer: UserReply): Promise<Outcome<void>>;
  /** Executes the stored commands of other processes for tasks of this one, and those for tasks at rest in its directory. */
  runRemoteCommands(): void;
  /** Executes a person's command at once; undefined where this process does not supervise the task. */
  executeCommand(taskId: string, command: RemoteCommand): Promise<CommandOutcome> | undefined;
  /**
   * To be asked before a session makes a model request or a tool call. Undefined where it may. Where another process has
   * taken over its task, a promise that resolves once the session has stopped here: it must not go on.
   */
  untilStopped(sessionID: string): Promise<void> | undefined;
  /** Takes a tool call that has ended. Returns what is to be added to its output, for its agent; mostly nothing. */
  onToolCallEnded(call: EndedCall): string | undefined;
  /** Takes an event of the host. */
  onHostEvent(event: HostEvent): void;
  /** Looks through the messages of a model request, and adds in place what the host has not completely stored yet. */
  onModelRequest(messages: ModelMessage[]): void;
  /** What a summary of the session's conversation must say of its tasks; undefined where it has none. */
  reminderFor(sessionID: string): string | undefined;
  /** Calls `listener` with each task that changed, once that is stored. Returns how to stop that. */
  subscribe(listener: (task: Task) => void): () => void;
  /** Closes the host first, so that nothing that is under way can call it any more. */
  stop(): void;
}

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

/** Starts an engine: its charts, the services around them, and the timers of what recurs. */
export const createEngine = (deps: EngineDeps): Engine => {
  const { host, opening, store, clock, log } = deps;
  const services = createServices(deps);
  const { runtime, progress, launches, waits, cancellation, budgets, adoption, orphanedLaunches } = services;
  const { notes, sessionWaits, reminders, userRequests, noticeRepair, usageReader } = services;
  return {
    launch: launches.launch,
    resume: services.resume,
    steer: services.steer,
    get: services.get,
    list: services.list,
    usageOf: usageReader.usageOf,
    find: services.find,
    tasksOfOriginal: createTasksOfOriginal(host, store, deps.options.notice.tools.launch),
    elsewhere: deps.fleet?.elsewhere,
    viewFleet: deps.fleet?.view,
    transcript: createTranscriptReader(host, store, deps.fleet?.elsewhere),
    lastWords: createLastWords(host, clock),
    changesOf: services.worktrees.latestChanges,
    wait: waits.wait,
    onCallReturned: waits.onCallReturned,
    markRetrieved: ({ sessionID, resultRetrievedAt }) => {
      // Each event of a task at rest is two commits.
      if (resultRetrievedAt === undefined) runtime.send(sessionID, { type: "RESULT_READ", at: clock.now() });
    },
    cancel: cancellation.cancel,
    cancelSilently: (taskId) => {
      cancellation
        .cancelSilently(taskId)
        .catch((error) => log.error("a subtask could not be cancelled", { taskId, reason: errorMessage(error) }));
    },
    clear: (taskIds) => cancellation.clear(taskIds, "agent"),
    answer: userRequests.answer,
    runRemoteCommands: services.runRemoteCommands,
    executeCommand: services.executeCommand,
    untilStopped: (sessionID) => {
      runtime.renewLease();
      return services.lostSessions.untilStopped(sessionID);
    },
    onToolCallEnded: services.overlaps.onToolCallEnded,
    onHostEvent: services.onHostEvent,
    onModelRequest: (messages) => {
      const added = noticeRepair.addMissingParts(messages);
      if (added > 0) log.info("a model was shown parts of a message that the host had not stored yet", { added });
      reminders.show(messages);
    },
    reminderFor: services.reminderFor,
    subscribe: runtime.subscribe,
    stop: () =>
      runEach([
        host.close,
        opening.close,
        launches.stop,
        userRequests.stop,
        budgets.stop,
        services.gates.stopAll,
        services.stopTellingOfStaleTasks,
        notes.stop,
        sessionWaits.stop,
        services.stopFleet,
        cancellation.stop,
        waits.stop,
        adoption.stop,
        orphanedLaunches.stop,
        services.slots.stop,
        services.stopHousekeeping,
        runtime.stop,
        () => store.storeProgress(progress.takeChanged()),
        store.close,
      ]),
  };
};
