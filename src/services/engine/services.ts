// ADR-122 in docs/decisions.md
import { randomUUID } from "node:crypto";
import type { Recovery } from "../../machines/task/events.ts";
import type { Concurrency } from "../../machines/task/slot-queue.ts";
import { hasEnded, type Wake } from "../../task.ts";
import {
  composeNotice,
  createNoticeRepair,
  createSetAsideReport,
  createUndeliveredReport,
} from "../delivery/notices.ts";
import { createReminders } from "../delivery/reminders.ts";
import { createRoomIn } from "../delivery/room.ts";
import { createSessionNotes } from "../delivery/session-notes.ts";
import { notifyOfStaleTasks } from "../delivery/stale-tasks.ts";
import { createUserRequests } from "../delivery/user-requests.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { withRemoteRequests } from "../fleet/remote-requests.ts";
import { createStepCounts } from "../fleet/steps.ts";
import { createGates } from "../gates/gates.ts";
import { type ClosableHost, createHostAfter } from "../host/closable-host.ts";
import type { SessionDirectories } from "../host/directories.ts";
import { createSessionAborter } from "../host/sessions.ts";
import type { Interface } from "../host/this-process.ts";
import { createSessionFactory } from "../launch/create-session.ts";
import type { FallbackRules } from "../launch/fallback-rules.ts";
import type { ForkLimits } from "../launch/fork-plan.ts";
import { createForkSources } from "../launch/fork-session.ts";
import type { GateRules } from "../launch/gate-rules.ts";
import { createLaunches } from "../launch/launch.ts";
import { createOrphanedLaunches } from "../launch/orphaned-launches.ts";
import { createBudgets } from "../limits/budgets.ts";
import { createEndRun } from "../limits/end-run.ts";
import { createRunTimeCheck } from "../limits/run-time.ts";
import { createSlots } from "../limits/slots.ts";
import { createTaskAbove } from "../limits/sub-sessions.ts";
import { createToolCallLog } from "../limits/tool-calls.ts";
import { createCancellation } from "../operations/cancel.ts";
import { createLastWords, createTaskFinder, createTaskReader } from "../operations/read-task.ts";
import { executeCommand, runStoredCommands } from "../operations/remote-commands.ts";
import { createResume } from "../operations/resume.ts";
import { createSteer } from "../operations/steer.ts";
import { createWaits } from "../operations/wait.ts";
import { createOverlaps } from "../overlaps/overlaps.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import { createEventBus } from "../platform/listeners.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import { fail } from "../platform/result.ts";
import type { RunCommand } from "../platform/shell-command.ts";
import { createReceipts } from "../receipts/receipts.ts";
import { startAdoption } from "../recovery/adoption.ts";
import { startHousekeeping } from "../recovery/housekeeping.ts";
import type { DirectoryOpening } from "../recovery/reopened-directories.ts";
import type { Inspect } from "../runtime/actor-system.ts";
import { createBatches } from "../runtime/batches.ts";
import { createEffects } from "../runtime/effects/effects.ts";
import type { EngineEvents } from "../runtime/engine-events.ts";
import { createHostReads } from "../runtime/host-reads.ts";
import { createLostSessions } from "../runtime/lost-sessions.ts";
import { createObservedAnswers } from "../runtime/observed-answers.ts";
import { createObservedSessions } from "../runtime/observed-sessions.ts";
import { createProgressLog } from "../runtime/progress.ts";
import { createRuntime } from "../runtime/runtime.ts";
import { createSessionTree } from "../runtime/session-tree.ts";
import { createSessionWaits } from "../runtime/session-waits.ts";
import { createUntilNothingIsTakenBack } from "../runtime/taken-back.ts";
import { createTurns } from "../runtime/turns.ts";
import { createUsageReader } from "../runtime/usage-reader.ts";
import { createWorkBelow } from "../runtime/work-below.ts";
import type { PendingLaunch, RemoteCommand, Retention, Store } from "../store/store.ts";
import type { TaskBudget } from "../text/limits.ts";
import type { NoticeStyle } from "../text/notice.ts";
import { own, quoteLine } from "../text/own-text.ts";
import { taskReminder } from "../text/reminders.ts";
import { worktreeLine, worktreeReport } from "../text/worktree.ts";
import { createTypedResults, type JsonSchemas, type SchemaRules } from "../typed-results/typed-results.ts";
import { createWorktrees, type WorktreeOptions, type Worktrees } from "../worktrees/worktrees.ts";
import { createHostEventRouter } from "./host-event-router.ts";
import { subscribeReactions } from "./reactions.ts";

/** What an engine is put together from. */
export interface EngineDeps {
  /** The engine closes it when it is stopped. */
  host: ClosableHost;
  /** Tasks of other processes are taken over once it is known that this process stays. */
  opening: DirectoryOpening;
  /** The engine closes it when it is stopped. */
  store: Store;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Runs the commands of gates. */
  runCommand: RunCommand;
  /** Loads what knows JSON Schema. */
  loadJsonSchemas(): Promise<JsonSchemas>;
  /** The directory whose tasks the engine supervises. */
  directory: string;
  /** The host port's own: the engine says where else its tasks work. */
  sessionDirectories: SessionDirectories;
  /** True where OpenCode has started this plugin in that directory of a worktree. */
  isServed(directory: string): boolean;
  options: EngineOptions;
  /** Undefined where this server is in no fleet. */
  fleet?: Fleet | undefined;
  /** Receives all that XState observes of the charts. Undefined: nothing is observed. */
  inspect?: Inspect | undefined;
  /** Makes the worktrees. Default: git does. */
  worktrees?: Partial<Worktrees> | undefined;
}

/** The options of the plugin that an engine needs. */
export interface EngineOptions {
  /** How many tasks deep a task may launch tasks. */
  maxDepth: number;
  timeouts: {
    /** Milliseconds of silence after which a running task is stale. */
    stale: number;
    /** Milliseconds that a run may take; undefined: any time. */
    run: number | undefined;
  };
  /** What a task may use, the tasks below it included, and how many tasks a parent session may have. */
  budget: TaskBudget & { tasksPerParent: number };
  loop: {
    /** How often in a row a task may call one tool with the same arguments: at this number its run ends. */
    repeat: number;
    /** Tools that only read tasks: calls of them do not count. */
    readingTools: readonly string[];
  };
  concurrency: Concurrency;
  notice: NoticeStyle;
  fork: ForkLimits;
  recovery: Recovery;
  /** When the ends of tasks wake their parent's agent, where a launch does not say it. */
  wake: Wake;
  /** Which models go on, by agent, when a model is refused, and after how many milliseconds of refusals for now. */
  fallback: FallbackRules;
  /** Which commands check the answers of which agents. */
  gate: GateRules;
  /** Which schemas the results of which agents must fit. */
  schema: SchemaRules;
  /** Which ended tasks are kept. */
  retention: Retention;
  worktree: WorktreeOptions;
  attention: {
    /** Milliseconds after which a request that nobody answers is rejected; undefined: never. */
    timeout: number | undefined;
    /** How this plugin's command is called in a terminal. */
    command: string;
    /** Through what people see the sessions of this process. */
    seenThrough: Interface;
  };
  /** True where nobody can answer for a session that is no child of the one in view, as in `opencode run`. */
  isHeadless: boolean;
}

/**
 * Creates all services of an engine, each from those above it. Where a service has to reach one below it, it emits an
 * event on the bus. Adoption and housekeeping start their timers here.
 */
export const createServices = (deps: EngineDeps) => {
  const { opening, store, clock, ids, log, runCommand, options, inspect, directory, sessionDirectories, isServed } =
    deps;
  const { loadJsonSchemas, fleet } = deps;
  const { isHeadless, recovery, retention, timeouts, budget, maxDepth } = options;
  const { tools } = options.notice;
  // A process that was held up first stops what another one has taken over, whatever it was about to ask.
  const host = createHostAfter(deps.host, () => runtime.renewLease());
  const platform = { host, store, clock, ids, log };
  const bus = createEventBus<EngineEvents>(log);
  const abort = createSessionAborter(host, clock, log);
  const taskOf = (sessionID: string) => store.get(sessionID)?.task;

  // What is known in addition to the charts.
  const progress = createProgressLog();
  const gates = createGates(runCommand);
  const typedResults = createTypedResults(options.schema, loadJsonSchemas);
  const receipts = createReceipts({
    ...{ host, clock, log, progress },
    onTakenOver: (events) => bus.emit("storedEventsRead", events),
  });
  const usageReader = createUsageReader(store, progress);
  const observedAnswers = createObservedAnswers();
  const observedSessions = createObservedSessions();
  const taskAbove = createTaskAbove({
    sessionOf: observedSessions.sessionOf,
    isTask: (sessionID) => taskOf(sessionID) !== undefined,
    isCounted: (sessionID) => progress.heardAt(sessionID) !== undefined,
  });
  const workBelow = createWorkBelow(clock, taskAbove);
  const reads = createHostReads(host, clock, log, observedSessions.sessionOf, store.isAlone);
  const sessionWaits = createSessionWaits(clock);
  const turns = createTurns(host, log);
  const noticeRepair = createNoticeRepair();
  const sessionTree = createSessionTree(store, host);
  const { ancestors, loadAncestors, wasCreatedHere } = sessionTree;
  const lostSessions = createLostSessions(abort, ancestors);

  // Where tasks work.
  const ofGit = createWorktrees({ ...platform, options: options.worktree, newId: () => randomUUID().slice(0, 8) });
  const worktrees = { ...ofGit, ...deps.worktrees };

  // Other servers, where this one is in a fleet.
  const home = fleet?.createHome({
    store,
    deniedTo: async ({ parentSessionID }) => {
      const parent = await host.session(parentSessionID);
      if (!parent.ok) return fail(parent.failure.message, "host");
      return { ok: true, value: parent.value.permission.filter(({ action }) => action === "deny") };
    },
    depthOf: ({ parentSessionID }) => {
      const above = ancestors(parentSessionID).flatMap((id) => taskOf(id) ?? []);
      return above.length + (above.at(-1)?.order?.depth ?? 1);
    },
    receiveChanges: worktrees.receive,
    onHostEvent: (event) => bus.emit("missedHostEvent", event),
    onSteps: (taskId, steps, at) => {
      progress.replace(taskId, steps, at);
      bus.emit("usedElsewhere", { taskId });
    },
  });

  // The charts, and what they ask for.
  const slots = createSlots({ ...platform, concurrency: options.concurrency });
  const batches = createBatches(store, isHeadless);
  const worktreeOf = (taskId: string) => {
    const task = taskOf(taskId);
    if (!task?.worktree || task.worktree.isShared) return undefined;
    const changes = worktrees.changesOf(task);
    return { visible: worktreeLine(taskId, changes), hidden: worktreeReport(task, changes) };
  };
  const effects = createEffects({
    ...platform,
    bus,
    gates,
    receipts,
    readAnswer: typedResults.read,
    observedAnswers,
    reads,
    isWorkBelow: workBelow.isUnderWay,
    takeSlot: slots.take,
    remoteRuns: home,
    obstacleTo: (sessionID) => {
      const task = taskOf(sessionID);
      return task && worktrees.obstacleTo(task);
    },
    untilNothingIsTakenBack: createUntilNothingIsTakenBack({
      ...{ reads, sessionOf: observedSessions.sessionOf, isAlone: store.isAlone, waits: sessionWaits },
    }),
    untilNoticeReady: worktrees.untilCounted,
    endedBatches: batches.ended,
    roomIn: createRoomIn(host, reads),
    composeNotice: ({ parentSessionID, queue, room }, receiptOf) => {
      // One that ended at the last moment is left for the next prompt.
      const ready = queue.filter(({ taskId }) => {
        const task = taskOf(taskId);
        return !task || !worktrees.isCounting(task);
      });
      if (ready.length === 0) return undefined;
      const style = { ...options.notice, room };
      const prompt = composeNotice(ready, store, ids, style, usageReader, {
        of: ({ taskId }) => ({ receipt: receiptOf(taskId), worktree: worktreeOf(taskId) }),
        takeOverlaps: ({ taskId }) => progress.takeUntold(taskId, "caller"),
      });
      noticeRepair.expect(parentSessionID, prompt);
      return prompt;
    },
    expectInstruction: (instruction) => noticeRepair.expect(instruction.sessionID, instruction),
    reportSetAside: createSetAsideReport(host, log),
    reportUndelivered: createUndeliveredReport(host, log, taskOf),
  });
  const runtime = createRuntime({ ...platform, progress, effects, bus, inspect });
  slots.serve(runtime, bus);
  home?.serve(runtime);
  const { get, list } = createTaskReader(store, progress, usageReader, runtime, clock);
  const charts = { ...platform, runtime, progress, get };

  // What callers may ask of tasks.
  const find = createTaskFinder(store, get, tools);
  const waits = createWaits(runtime, store, clock);
  const { waitForEnd } = waits;
  const stopSession = async (sessionID: string, messageID: string): Promise<boolean> => {
    const answer = await effects.perform({ type: "stopSession", taskId: sessionID, messageID, requests: [] }, runtime);
    return answer?.type === "TASK" && answer.event.type === "STOPPED";
  };
  const cancellation = createCancellation({ ...charts, waitForEnd, stopSession, worktrees });
  const toolCalls = createToolCallLog(options.loop.readingTools);
  const endRun = createEndRun({
    ...charts,
    lastWords: createLastWords(host, clock),
    cancelChildren: cancellation.cancelChildren,
  });
  const { repeat } = options.loop;
  const budgets = createBudgets({ ...charts, bus, toolCalls, endRun, budget, repeat, taskAbove, abort });
  const checkRunTime =
    timeouts.run === undefined
      ? undefined
      : { limit: timeouts.run, check: createRunTimeCheck({ ...charts, toolCalls, endRun, limit: timeouts.run }) };
  const resume = createResume({
    ...charts,
    tools,
    find,
    sessionDirectories,
    prepareWorktree: worktrees.prepare,
    mayResumeElsewhere: async (task, server) =>
      home
        ? home.mayResume(task, server)
        : fail(own`Its conversation is on server ${quoteLine(server.label)}, and this one is in no fleet.`),
    loadAncestors: (sessionID) => {
      loadAncestors(sessionID).catch((error) =>
        log.error("the sessions above a task could not be read", { sessionID, reason: errorMessage(error) }),
      );
    },
  });
  const steer = createSteer({ ...charts, find });

  // What launches tasks.
  const forksUnderWay = new Set<PendingLaunch>();
  const orphanedLaunches = createOrphanedLaunches({ ...platform, forksUnderWay });
  const forkSources = createForkSources(host, ids, clock, options.fork);
  const sessions = createSessionFactory({ ...platform, forkSources, orphanedLaunches, forksUnderWay });
  const launches = createLaunches({
    ...charts,
    reads,
    batches,
    wake: options.wake,
    fallback: options.fallback,
    gate: options.gate,
    schemaFor: typedResults.schemaFor,
    maxDepth,
    tasksPerParent: budget.tasksPerParent,
    ancestorTasks: (sessionID) => ancestors(sessionID).flatMap((id) => taskOf(id) ?? []),
    loadAncestors,
    turnOf: turns.turnOf,
    offerFor: async (request, plan) =>
      fleet ? fleet.offerFor(options.gate.agents, request, plan) : { ok: true, value: undefined },
    createSession: sessions.create,
    orphanedLaunches,
    worktrees,
    sessionDirectories,
    isServed,
  });

  // What works for other servers.
  const worker = fleet?.createWorker({
    ...{ host, reads, runtime, store, directory, launch: launches.launch, resume, cancel: cancellation.cancel },
    untilEnded: (taskId) =>
      waitForEnd({ taskIds: [taskId], signal: new AbortController().signal, timeoutMs: undefined }),
    answer: (taskId, reply) => userRequests.answer(taskId, reply),
    countSteps: createStepCounts(store, progress),
    patchOf: worktrees.patchOf,
    putWorktreeAway: worktrees.putAway,
  });

  // What agents and people are shown.
  const isPrompted = (sessionID: string) => runtime.pendingPrompt(sessionID) !== undefined;
  const notes = createSessionNotes({ ...platform, waits: sessionWaits, isPrompted });
  const reminderFor = (sessionID: string) => taskReminder(list({ parentSessionID: sessionID }), tools, isHeadless);
  const launchedBefore = (parentSessionID: string, time: number) =>
    store.list({ parentSessionID }).some(({ launchedAt }) => launchedAt < time);
  const reminders = createReminders({ notes, log, reminderFor, launchedBefore });
  const stopTellingOfStaleTasks = notifyOfStaleTasks({ ...charts, notes, tools, staleAfter: timeouts.stale });
  const userRequests = createUserRequests({
    ...charts,
    host: home ? withRemoteRequests(host, home) : host,
    ...options.attention,
    notes,
    abort,
    sessionChain: ancestors,
    wasCreatedHere,
    taskOf,
    isHeadless,
    onSessionDeleted: (sessionID) => bus.emit("missedHostEvent", { type: "deleted", sessionID }),
  });

  const overlaps = createOverlaps({ ...charts, bus, taskAbove, ancestors });

  // What makes up for crashes and missed events.
  const adoption = startAdoption({
    ...charts,
    opening,
    receipts,
    noticeRepair,
    recovery,
    isHeadless,
    onAdopted: (task) => {
      if (!task.worktree) return;
      if (!hasEnded(task)) sessionDirectories.enter(task.sessionID, task.worktree.directory);
      if (worktrees.changesOf(task) === undefined) worktrees.expect(task);
    },
    loadAncestors,
    waitForEnd: cancellation.untilEnded,
    cancelChildren: cancellation.cancelChildren,
    remind: reminders.remind,
    removeOrphanedLaunch: orphanedLaunches.inherit,
    onHeartbeat: () => {
      waits.recheckAll();
      orphanedLaunches.recheck();
      worker?.takeOver();
    },
  });
  const { cancel } = cancellation;
  const { answer } = userRequests;
  const operations = { get, cancel, resume, steer, answer };
  const runRemoteCommands = () => runStoredCommands(operations, store, log);
  const stopHousekeeping = startHousekeeping({
    ...charts,
    workBelow,
    staleAfter: timeouts.stale,
    checkRunTime,
    // Many launches must not remove changes that nobody has decided about.
    retention: () =>
      retention.count === undefined ? retention : { ...retention, uncounted: worktrees.undecidedTasks(directory) },
    runRemoteCommands,
    sweepWorktrees: () => void worktrees.sweep(directory, taskOf),
  });

  // What connects them.
  const services = {
    ...charts,
    bus,
    opening,
    waits,
    lostSessions,
    cancellation,
    budgets,
    launches,
    adoption,
    notes,
    sessionWaits,
    reminders,
    userRequests,
    gates,
    worktrees,
    sessionDirectories,
    overlaps,
  };
  const knowledge = {
    observedAnswers,
    observedSessions,
    workBelow,
    turns,
    noticeRepair,
    sessionTree,
    orphanedLaunches,
  };
  subscribeReactions({ ...services, ...knowledge });
  const onHostEvent = createHostEventRouter({ ...services, ...knowledge, taskAbove });

  const stopFleet = () => {
    home?.stop();
    worker?.stop();
    fleet?.leave();
  };

  return {
    ...services,
    ...knowledge,
    stopFleet,
    slots,
    usageReader,
    list,
    find,
    resume,
    steer,
    reminderFor,
    runRemoteCommands,
    executeCommand: (taskId: string, command: RemoteCommand) =>
      runtime.snapshotOf(taskId) && executeCommand(operations, taskId, command),
    stopHousekeeping,
    stopTellingOfStaleTasks,
    onHostEvent,
  };
};
