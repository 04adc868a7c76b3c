import { statePaths } from "../../machines/chart.ts";
import { chartsAsJson } from "../../machines/chart-json.ts";
import { replayLaunch } from "../../machines/launch/replay.ts";
import type { TaskInput } from "../../machines/task/events.ts";
import { allowedEvents } from "../../machines/task/machine.ts";
import { slotOf } from "../../machines/task/slot.ts";
import { wayOfTask } from "../../machines/task/way.ts";
import { NO_WAY } from "../../machines/way.ts";
import { addUp, entryOf, type FleetServer, hasEnded, type Task, type Usage } from "../../task.ts";
import type { UserReply } from "../../user-request.ts";
import type { ReadDirectories } from "../host/directories.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { CommandOutcome, CountedTask, PageFilter, RemoteCommand, TaskRecord } from "../store/store.ts";
import { usageWith, withAwaitedTasks, withSilentSupervisor } from "../store/task-usage.ts";
import { launchElsewhere, launchState } from "../text/launch-text.ts";
import { outOfFleet } from "../text/model-and-server.ts";
import { waitReason } from "../text/task-state.ts";
import { readFiles } from "../worktrees/fingerprints.ts";
import { createGateComparison } from "../worktrees/gate-comparison.ts";
import {
  type ApiTask,
  type ApiTaskChange,
  briefTask,
  type SourceFailure,
  type SourceResult,
  SourceUnavailable,
} from "./contract/api-task.ts";
import type { ApiFleet, Launch, TaskWay } from "./contract/schemas.ts";
import type { OpenDirectories, OpenDirectory } from "./status-api.ts";
import { createWorktreeChanges } from "./worktree-changes.ts";

/** Milliseconds between checks for the outcome of a command. */
const OUTCOME_POLL_MS = 200;

/** Milliseconds for which the outcome of a command is waited for. */
const COMMAND_TIMEOUT_MS = 15_000;

const LATE = `The OpenCode process that supervises the task has not answered within ${COMMAND_TIMEOUT_MS / 1_000} s. It may still do so: check the task again.`;

/** Explains why nothing can be done with a task at the moment, and what to do about it. */
const unattendedReason = (directory = "its directory"): string =>
  `No OpenCode has the task's directory open. Open ${directory} in OpenCode, and try again.`;

/** Thrown while the plugin is being disposed of: there is nothing to read from. */
const NO_DIRECTORY = "OpenCode has no directory open in this process.";

/**
 * Characters of results and prompts that are read from the store at once where many tasks are returned: only a bounded
 * part of each is kept, but each is read completely.
 */
const CHARACTERS_PER_READ = 2_000_000;

/** Tasks in the first read. Their size decides how many the next one takes. */
const TASKS_IN_FIRST_READ = 1;

/** The state of a launch whose actor has ended, and whose session may still be there. */
const LEFT_TO_NEXT = "leftToNext";

/** Returns the steps of a task's launch; undefined where they are not known. */
const launchSteps = ({ launch, run, facts }: TaskInput): TaskWay["launch"] =>
  launch &&
  replayLaunch(launch, run.messageID, facts.parentSessionID).map(({ event, to }) => ({
    ...{ type: event.type, at: event.at, to },
    ...("reason" in event ? { reason: event.reason } : {}),
  }));

const failure = (reason: string, cause: SourceFailure["cause"] = "task"): SourceFailure => ({
  ok: false,
  reason,
  cause,
});

/**
 * Creates what the status API reads from and acts on: the tasks of all directories and processes, read from the store that they
 * share through any directory that is open here. Methods that return several tasks shorten their values, see `briefTask`, unless
 * they are told otherwise. Every
 * method may throw `SourceUnavailable`. `createId` makes the ids of commands, `worktrees` is the folder of all worktrees.
 * What OpenCode opens in order to read of it is noted in `readDirectories`.
 */
export const createEngineSource = (
  directories: OpenDirectories,
  clock: Clock,
  createId: () => string,
  worktrees: string,
  readDirectories: ReadDirectories,
) => {
  const anyDirectory = (): OpenDirectory => {
    const [directory] = directories.all();
    if (!directory) throw new SourceUnavailable(NO_DIRECTORY);
    return directory;
  };

  /** Where the store cannot be shared, each directory has its own tasks only. */
  const directoryOf = (taskId: string): OpenDirectory =>
    directories.all().find(({ store }) => store.get(taskId)) ?? anyDirectory();

  /** Omits requests that nobody can answer as their process is gone: the task asks again once another one takes over. */
  const withoutOrphanedRequests = (task: Task): Task => {
    if (!task.attention?.requests || directoryOf(task.sessionID).store.isAttended(task.sessionID)) return task;
    const { attention: _, waiting: __, ...rest } = task;
    return rest;
  };

  const toApiTasks = (records: TaskRecord[]): ApiTask[] => {
    const below = anyDirectory().store.below(records.map(({ task }) => task.sessionID));
    const usageOf = usageWith(below);
    const children = Map.groupBy(below, ({ parentTaskId }) => parentTaskId);
    const places = anyDirectory().store.places(
      records.flatMap(({ task, snapshot }) => (slotOf(snapshot) === "waiting" ? task.sessionID : [])),
    );
    return records.map(({ task, snapshot }) => {
      const { store } = anyDirectory();
      const waiting = withSilentSupervisor(withAwaitedTasks(task, store), store, clock.now());
      const queue = places.get(task.sessionID);
      const shown = withoutOrphanedRequests(queue ? { ...waiting, queue } : waiting);
      const why = waitReason(shown);
      return {
        ...shown,
        ...(why !== undefined && { why }),
        childTaskIds: (children.get(task.sessionID) ?? []).map(({ sessionID }) => sessionID),
        usage: usageOf(entryOf(task)),
        states: statePaths(snapshot.value),
        allowed: allowedEvents(snapshot),
      };
    });
  };

  /** What these tasks and all their descendants used, each counted once. */
  const usageOf = (tasks: readonly CountedTask[]): Usage => {
    const below = anyDirectory().store.below(tasks.map(({ sessionID }) => sessionID));
    const own = [...tasks, ...below].map(({ sessionID, ownUsage }) => [sessionID, ownUsage] as const);
    return addUp([...new Map<string, Usage>(own).values()]);
  };

  const compareGate = createGateComparison((directory) => readFiles(worktrees, directory), clock);

  const get = (taskId: string): ApiTask | undefined => {
    const record = directoryOf(taskId).store.get(taskId);
    return record && toApiTasks([record])[0];
  };

  /** Resolves to undefined when the work is not done in the time that a command may take. */
  const inTime = <T>(work: Promise<T>): Promise<T | undefined> =>
    new Promise((resolve, reject) => {
      const cancel = clock.after(COMMAND_TIMEOUT_MS, () => resolve(undefined));
      void work.then(resolve, reject).finally(cancel);
    });

  const brief = (records: TaskRecord[]): ApiTask[] => toApiTasks(records).map(briefTask);

  /** Reads up to `count` tasks, in portions: few at a time if their results are large, many if they are small. */
  const readInPortions = (
    count: number,
    read: (limit: number, skip: number) => TaskRecord[],
    show: (task: ApiTask) => ApiTask = briefTask,
  ): ApiTask[] => {
    const tasks: ApiTask[] = [];
    let limit = TASKS_IN_FIRST_READ;
    do {
      const portion = Math.min(limit, count - tasks.length);
      const records = read(portion, tasks.length);
      tasks.push(...toApiTasks(records).map(show));
      if (records.length < portion) break;
      const size = records.reduce((sum, { task }) => sum + (task.result?.length ?? 0) + task.prompt.length, 1);
      limit = Math.max(1, Math.min(count, Math.floor((CHARACTERS_PER_READ * records.length) / size)));
    } while (tasks.length < count);
    return tasks;
  };

  /** Stores a command for the process that supervises the task, or for one that may claim it. Undefined: nobody answered in time. */
  const executeThroughStore = async (taskId: string, command: RemoteCommand): Promise<CommandOutcome | undefined> => {
    const pending = { id: createId(), taskId, command };
    const deadline = clock.now() + COMMAND_TIMEOUT_MS;
    const { store } = directoryOf(taskId);
    store.submitCommand(pending, clock.now());
    for (const { engine } of directories.all()) engine.runRemoteCommands();
    for (;;) {
      const outcome = store.takeOutcome(pending.id);
      if (outcome || clock.now() >= deadline) return outcome;
      await sleep(clock, OUTCOME_POLL_MS);
    }
  };

  /** Executes a command in this process where it supervises the task; otherwise another process is asked to. */
  const execute = async (taskId: string, command: RemoteCommand): Promise<SourceResult<ApiTask>> => {
    const { store } = directoryOf(taskId);
    if (!store.isAttended(taskId)) return failure(unattendedReason(store.get(taskId)?.task.directory));
    let executed: Promise<CommandOutcome> | undefined;
    for (const { engine } of directories.all()) executed ??= engine.executeCommand(taskId, command);
    const outcome = await (executed ? inTime(executed) : executeThroughStore(taskId, command));
    if (!outcome) return failure(LATE, "late");
    if (outcome.refused !== undefined) return failure(outcome.refused, outcome.liesWith);
    const task = get(taskId);
    return task ? { ok: true, value: task } : failure(`Task ${taskId} was cleared.`);
  };

  /** Reads the messages of a task from the server that has them, over the fleet of its directory, or else any of this process. */
  const logsElsewhere = async (server: FleetServer, taskId: string): Promise<SourceResult<unknown[]>> => {
    const others = directories.all().flatMap(({ engine }) => engine.elsewhere ?? []);
    const elsewhere = directoryOf(taskId).engine.elsewhere ?? others[0];
    if (!elsewhere) return failure(outOfFleet(server, taskId), "host");
    const messages = await elsewhere.messages(server, taskId);
    return messages.ok ? messages : failure(messages.reason, "host");
  };

  /** Counts the tasks that are for other servers: a resume that waits for its server has a server, too. */
  const tasksInFleet = (): ApiFleet["tasks"] => {
    const live = anyDirectory()
      .store.live()
      .flatMap(({ task }) => (hasEnded(task) ? [] : task));
    const isWaiting = ({ waiting }: Task) => waiting?.for === "server" || waiting?.for === "fleet";
    return {
      waiting: live.filter(isWaiting).length,
      elsewhere: live.filter((task) => task.server && !isWaiting(task)).length,
    };
  };

  return {
    page: (filter: PageFilter) => {
      const { store } = anyDirectory();
      let total = 0;
      const tasks = readInPortions(filter.limit, (limit, skip) => {
        const page = store.page({ ...filter, limit, offset: filter.offset + skip });
        total = page.total;
        return page.records;
      });
      return { tasks, total };
    },
    task: get,
    /** Returns a task, whose receipt says whether files have changed since its gate ended, where that can be said. */
    comparedTask: async (taskId: string): Promise<ApiTask | undefined> => {
      const task = get(taskId);
      return task && compareGate(task);
    },
    has: (taskId: string) => directoryOf(taskId).store.idsStartingWith(taskId, 1)[0] === taskId,
    /** Returns the ids that begin with `beginning`, at most `limit`. */
    idsFrom: (beginning: string, limit: number) =>
      [...new Set(directories.all().flatMap(({ store }) => store.idsStartingWith(beginning, limit)))].slice(0, limit),
    /** Returns all tasks of a batch, in the order of their launch. */
    batch: (batchId: string) => brief(anyDirectory().store.batch(batchId)),
    /** Returns the events that a task's statechart accepted, oldest first; undefined when there is no such task. */
    journal: (taskId: string) => {
      const { store } = directoryOf(taskId);
      return store.get(taskId) ? store.journal(taskId) : undefined;
    },
    /** Returns by which way the newest run of a task came to where it is; undefined when there is no such task. */
    way: (taskId: string): TaskWay | undefined => {
      const { store } = directoryOf(taskId);
      const record = store.get(taskId);
      const origin = store.origin(taskId);
      if (!record || !origin) return record && NO_WAY;
      const launch = launchSteps(origin);
      return { ...wayOfTask(origin, store.journal(taskId), record.snapshot), ...(launch ? { launch } : {}) };
    },
    /** Returns the launches that have led to no task, as far as they are known. */
    launches: (): Launch[] => {
      const here = directories.all().flatMap(({ engine }) => engine.launchesHere());
      const stored = directories.all().flatMap(({ store }) => store.launches());
      const ids = new Set(here.map(({ id }) => id));
      const isOwn = new Set(stored.flatMap(({ of, pending }) => (of === "own" ? pending.messageID : [])));
      return [
        ...here.map(({ way, ...launch }) => ({ ...launch, ...way, why: launchState(launch.states) })),
        ...stored.flatMap(({ pending: { messageID: id, parentSessionID, at }, directory, of }) => {
          if (ids.has(id) || (of !== "own" && isOwn.has(id))) return [];
          ids.add(id);
          const states = of === "own" ? [LEFT_TO_NEXT] : [];
          const why = of === "own" ? launchState(states) : launchElsewhere(of, directory);
          const since = new Date(at).toISOString();
          return { ...{ id, parentSessionID, directory, states, since, why }, ...NO_WAY };
        }),
      ];
    },
    /** Returns what these tasks and all their descendants used, each counted once. */
    usage: (tasks: readonly ApiTask[]) =>
      usageOf(tasks.map(({ sessionID, progress }) => ({ sessionID, ownUsage: progress }))),
    /** Returns the same of all tasks of a parent session, or of a batch. */
    groupUsage: ({ parentSessionID, batchId }: Pick<PageFilter, "parentSessionID" | "batchId">) =>
      usageOf(
        anyDirectory().store.list({
          ...(parentSessionID === undefined ? {} : { parentSessionID }),
          ...(batchId === undefined ? {} : { batchId }),
        }),
      ),
    stats: () => anyDirectory().store.stats(),
    count: () => anyDirectory().store.stats().total,
    /** Returns the tasks that have not ended, in the order of their launch, as `show` shows them. */
    live: (show: (task: ApiTask) => ApiTask) => toApiTasks(anyDirectory().store.live()).map(show),
    /** Returns the places of those of these runs that wait for a slot, and of as many from the front of every lane, see `laneOf`. */
    places: (taskIds: readonly string[], ofEachLane: number) => anyDirectory().store.places(taskIds, ofEachLane),
    /** Returns the ended tasks that ended last, newest first, as `show` shows them. */
    newestEnded: (count: number, show: (task: ApiTask) => ApiTask) =>
      readInPortions(count, (limit, skip) => anyDirectory().store.newestEnded(limit, skip), show),
    latestChange: () => anyDirectory().store.latestChange(),
    /**
     * Returns the tasks that changed after that change, each once, in the order of their newest changes, at most `limit`, as `show`
     * shows them.
     */
    changedSince: (change: number, limit: number, show: (task: ApiTask) => ApiTask): ApiTaskChange[] => {
      const changed = anyDirectory().store.changedSince(change, limit);
      const tasks = toApiTasks(changed.map(({ record }) => record)).map(show);
      return changed.flatMap(({ record: _, ...numbers }, index) => {
        const task = tasks[index];
        return task ? [{ ...numbers, task }] : [];
      });
    },
    /** Reads the messages of a task's session as OpenCode returns them: complete and unmasked. */
    logs: async (taskId: string): Promise<SourceResult<unknown[]>> => {
      const { store, host } = directoryOf(taskId);
      const task = store.get(taskId)?.task;
      if (task?.server) return logsElsewhere(task.server, taskId);
      const places = [task?.worktree?.directory, task?.directory].filter((place) => place !== undefined);
      const messages = await readDirectories.read(places, () => host.rawMessages(taskId), host.closeDirectory);
      return messages.ok ? { ok: true, value: messages.value } : failure(messages.failure.message, "host");
    },
    // Commands reach the task whichever process supervises it.
    cancel: (taskId: string) => execute(taskId, { kind: "cancel" }),
    pause: (taskId: string) => execute(taskId, { kind: "pause" }),
    continue: (taskId: string) => execute(taskId, { kind: "continue" }),
    resume: (taskId: string, prompt: string) => execute(taskId, { kind: "resume", prompt }),
    retry: (taskId: string, asked: { prompt?: string | undefined; model?: string | undefined }) =>
      execute(taskId, { kind: "retry", ...asked }),
    steer: (taskId: string, prompt: string) => execute(taskId, { kind: "steer", prompt }),
    answer: (taskId: string, answer: UserReply) => execute(taskId, { kind: "answer", answer }),
    ...createWorktreeChanges({
      root: worktrees,
      task: get,
      isWorkedIn: (worktreeId) =>
        anyDirectory()
          .store.live()
          .some(({ task }) => task.worktree?.id === worktreeId && !hasEnded(task)),
      now: clock.now,
    }),
    /** Returns the fleet of this process; where it has directories in several, that of the one that was opened first. */
    fleet: async (): Promise<ApiFleet> => {
      const [viewFleet] = directories.all().flatMap(({ engine }) => engine.viewFleet ?? []);
      const tasks = tasksInFleet();
      if (!viewFleet) return { isUsed: false, isReached: false, servers: [], isCut: false, tasks };
      const { own, ...view } = await viewFleet();
      return { isUsed: true, ...view, server: own, tasks };
    },
    machines: chartsAsJson,
    /**
     * Calls the listener after each change that this process makes; returns a function that removes it. Changes of other
     * processes show in `changedSince` only.
     */
    onChange: directories.onChange,
  };
};
export type StatusSource = ReturnType<typeof createEngineSource>;
