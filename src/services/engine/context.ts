import { randomUUID } from "node:crypto";
import type { Options } from "../../options.ts";
import type { TaskWithUsage } from "../../task.ts";
import type { Fleet } from "../fleet/create-fleet.ts";
import { type ClosableHost, createHostAfter } from "../host/closable-host.ts";
import type { DirectoryOpening, SessionDirectories } from "../host/directories.ts";
import type { Toast } from "../host/host.ts";
import { createSessionAborter } from "../host/sessions.ts";
import type { Interface } from "../host/this-process.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import { createEventBus } from "../platform/listeners.ts";
import type { Log } from "../platform/log.ts";
import type { RunCommand } from "../platform/shell-command.ts";
import { createReceipts } from "../receipts/receipts.ts";
import type { Inspect } from "../runtime/actor-system.ts";
import type { Effects, EngineEvents } from "../runtime/effects.ts";
import { createHostReads } from "../runtime/host-reads.ts";
import {
  createAncestorTask,
  createLostSessions,
  createObservedSessions,
  createSessionTree,
  createSessionWaits,
  createStopsUnderWay,
} from "../runtime/known-sessions.ts";
import { createDescendantWork, createObservedAnswers, createTurns } from "../runtime/observed-runs.ts";
import { createProgressLog, createUsageReader } from "../runtime/progress.ts";
import { createRuntime } from "../runtime/runtime.ts";
import { createSeenInstructions } from "../runtime/seen-instructions.ts";
import type { Store } from "../store/store.ts";
import type { NoticeStyle } from "../text/notice-text.ts";
import { createTypedResults, type JsonSchemas } from "../typed-results/typed-results.ts";
import type { WorktreeOptions } from "../worktrees/worktrees.ts";
import { createWorktrees, type Worktrees } from "../worktrees/worktrees.ts";
import { createNoticeRepair } from "./delivery/notice-repair.ts";
import { createWakeCosts } from "./delivery/wake-costs.ts";
import { createGates } from "./effects/gates.ts";
import { createLaunchesUnderWay } from "./launch/launches-under-way.ts";
import { createSlots } from "./limits/slots.ts";
import { createWaits } from "./operations/wait.ts";

/** The options of the plugin that an engine needs, and what follows from others. */
export interface EngineOptions
  extends Pick<
    Options,
    | "maxDepth"
    | "budget"
    | "concurrency"
    | "fork"
    | "recovery"
    | "wake"
    | "promptCache"
    | "fallback"
    | "gate"
    | "schema"
    | "retention"
    | "reminder"
  > {
  timeouts: Omit<Options["timeouts"], "takeover">;
  /** `readingTools` only read tasks: calls of them do not count. */
  loop: Options["loop"] & { readingTools: readonly string[] };
  notice: Omit<NoticeStyle, "maxResultChars"> & {
    /** Characters to which a notice cuts each result; undefined: those that have room are whole. */
    maxResultChars: number | undefined;
  };
  worktree: WorktreeOptions;
  /** How this plugin's command is called in a terminal, and through what people see the sessions of this process. */
  attention: Options["attention"] & { command: string; seenThrough: Interface };
  /** True where nobody can answer for a session that is no child of the one in view, as in `opencode run`. */
  isHeadless: boolean;
}

/** What an engine is put together from. */
export interface EngineParts {
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

/**
 * Creates what all parts of one engine share: what it was put together from, its charts, what is observed beside them, and
 * the state of operations. Operations are functions on it, which it does not know.
 * @param effects carries out what the charts ask for
 */
export const createContext = (parts: EngineParts, effects: Effects) => {
  const { opening, store, clock, ids, log, options, directory, sessionDirectories, isServed, fleet } = parts;
  // A process that was suspended stops what another one has taken over before it asks the host for anything.
  const host = createHostAfter(parts.host, () => runtime.renewLease());
  const bus = createEventBus<EngineEvents>(log);
  const abort = createSessionAborter(host, clock, log);

  // What is known in addition to the charts.
  const progress = createProgressLog();
  const receipts = createReceipts({ host, clock, log, progress, bus });
  const observedSessions = createObservedSessions();
  const ancestorTask = createAncestorTask(observedSessions, store, progress);
  const sessionTree = createSessionTree(store, host);

  // Where tasks work.
  const newId = () => randomUUID().slice(0, 8);
  const worktrees: Worktrees = {
    ...createWorktrees({ host, store, clock, log, options: options.worktree, newId }),
    ...parts.worktrees,
  };
  /** Loaded when the receipt of a gate is first read. */
  const loadComparison = async () => {
    const { createGateComparison } = await import("../worktrees/gate-comparison.ts");
    return createGateComparison(worktrees.readFiles, clock);
  };
  let comparison: ReturnType<typeof loadComparison> | undefined;
  const remoteRuns = fleet?.createRemoteRuns({
    ...{ host, store, ancestors: sessionTree.ancestors },
    charts: () => runtime,
    receiveChanges: worktrees.receive,
    onHostEvent: (event) => bus.emit("missedHostEvent", event),
    onSteps: (taskId, steps, at) => {
      progress.replace(taskId, steps, at);
      bus.emit("usedElsewhere", { taskId });
    },
  });

  const runtime = createRuntime({ clock, store, log, progress, effects, bus, inspect: parts.inspect });

  return {
    ...{ host, opening, store, clock, ids, log, options, directory, sessionDirectories, isServed, bus, runtime },
    /** Aborts a session, as often as it takes. Resolves when the host has confirmed that, or was asked in vain. */
    abort,
    /** Shows a toast, or logs that it could not be shown. */
    toast: async (toast: Toast): Promise<void> => {
      const shown = await host.toast(toast);
      if (!shown.ok) log.info("a toast could not be shown", { reason: shown.failure.message });
    },
    /** Undefined where this server is in no fleet. */
    fleet,
    /** What is asked of this server's runs on others; undefined where it is in no fleet. */
    remoteRuns,
    worktrees,
    /** Returns a task, whose receipt says whether files have changed since its gate ended, where that can be said. */
    compareGate: async (task: TaskWithUsage): Promise<TaskWithUsage> => {
      if (!task.receipt?.gate) return task;
      comparison ??= loadComparison();
      return (await comparison)(task);
    },
    ...{ progress, receipts, observedSessions, sessionTree },
    /** Returns the task for which a session counts that has no task of its own. */
    ancestorTask,
    observedAnswers: createObservedAnswers(),
    seenInstructions: createSeenInstructions({ host, clock, runtime }),
    descendantWork: createDescendantWork(clock, ancestorTask),
    reads: createHostReads(host, clock, log, observedSessions.sessionOf, store.isAlone),
    usageReader: createUsageReader(store, progress),
    sessionWaits: createSessionWaits(clock),
    turns: createTurns(host, log),
    noticeRepair: createNoticeRepair(),
    wakeCosts: createWakeCosts(store, progress, log),
    lostSessions: createLostSessions(abort, sessionTree.ancestors),
    stopsUnderWay: createStopsUnderWay(),
    gates: createGates(parts.runCommand, worktrees.readFiles),
    typedResults: createTypedResults(options.schema, parts.loadJsonSchemas),
    slots: createSlots({ store, clock, log, runtime, bus }, options.concurrency),
    waits: createWaits(runtime, store, clock),
    launches: createLaunchesUnderWay(),
    /** Aborted when this process stops the engine. */
    stopping: new AbortController(),
  };
};

/** What all parts of one engine share. Functions take a `Pick` of it where tests call them with less. */
export type EngineContext = ReturnType<typeof createContext>;
