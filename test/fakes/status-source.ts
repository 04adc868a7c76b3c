import { initialSnapshot, type StoredSnapshot } from "../../src/machines/task/machine.ts";
import { toTask } from "../../src/machines/task/view.ts";
import type { Engine } from "../../src/services/engine/engine.ts";
import type { LaunchHere } from "../../src/services/engine/launch/launches-here.ts";
import { type RemoteOperations, runRemoteCommands } from "../../src/services/engine/operations/remote-commands.ts";
import type { CancelResult } from "../../src/services/engine/requests.ts";
import type { FleetView } from "../../src/services/fleet/fleet-view.ts";
import { createReadDirectories } from "../../src/services/host/directories.ts";
import type { Host } from "../../src/services/host/host.ts";
import type { ApiTask } from "../../src/services/http/contract/api-task.ts";
import { createEngineSource, type StatusSource } from "../../src/services/http/engine-source.ts";
import { createOpenDirectories } from "../../src/services/http/status-api.ts";
import type { Clock } from "../../src/services/platform/clock.ts";
import type { Log } from "../../src/services/platform/log.ts";
import { fail } from "../../src/services/platform/result.ts";
import { loadSqlite } from "../../src/services/store/sqlite/driver.ts";
import { ensureSchema } from "../../src/services/store/sqlite/schema.ts";
import { createSqliteStore } from "../../src/services/store/sqlite/sqlite-store.ts";
import type { Store } from "../../src/services/store/store.ts";
import { worktreesFolder } from "../../src/services/worktrees/folders.ts";
import { hasEnded, noProgress, type Task, type TaskStatus } from "../../src/task.ts";
import { ownerOf } from "../services/store/owners.ts";
import { taskInput } from "./task-input.ts";

/** The real source over a real store, whose tasks a test changes as it likes, and whose engine and host are scripted. */
export interface FakeSource extends StatusSource {
  /** Launches a task; what is not given is made up. */
  launch(given?: Partial<ApiTask>): ApiTask;
  /** Launches many tasks at once. */
  launchAll(given: Partial<ApiTask>[]): void;
  /** Changes a task. With `elsewhere`, another process does: nobody is told. */
  change(id: string, changes: Partial<ApiTask>, options?: { elsewhere?: boolean }): ApiTask;
  /** Ends a task's run. */
  end(id: string, status?: "completed" | "error" | "cancelled", options?: { elsewhere?: boolean }): ApiTask;
  /** Clears a task. */
  clear(id: string, options?: { elsewhere?: boolean }): void;
  /** What tasks were asked to do, such as `cancel ses_0001`. */
  asked: string[];
  messages: Map<string, unknown[]>;
  /** How the host answers when it gives no messages, and how tasks answer when they refuse. */
  refusal: string | undefined;
  /** What a refusal lies with; default: the task. */
  refusedBy: "host" | undefined;
  /** Requests are left alone, as by a process that is busy. */
  isBusy: boolean;
  /** How many listen to changes. */
  listeners(): number;
  /** Called before each reading of all live tasks: somewhere, something may happen just then. */
  beforeLive: (() => void) | undefined;
  /** The launches that the engine carries out. */
  launching: LaunchHere[];
  /** What the engine sees of its fleet. Undefined: it is in none. */
  view: FleetView | undefined;
  store: Store;
}

const openDatabase = loadSqlite();

/** A store in SQLite, as the plugin has it, but in memory. */
const openMemory = (clock: Clock): Store => {
  const database = openDatabase(":memory:");
  ensureSchema(database);
  return createSqliteStore({ database, owner: ownerOf("here"), now: clock.now });
};

const RUN_STATES: Readonly<Record<TaskStatus, StoredSnapshot["value"]["run"]>> = {
  running: { active: { working: "busy" } },
  resumed: { active: { working: "busy" } },
  completed: "idle",
  error: "idle",
  cancelled: "idle",
};

const ms = (iso: string | undefined): number | undefined => (iso === undefined ? undefined : Date.parse(iso));

/** In which state of its run a task is that is shown so: it runs on another server where one is given. */
const runStateOf = ({ status, state, server, waiting }: Task): StoredSnapshot["value"]["run"] => {
  if (state === "running.queued") return "queued";
  if (hasEnded({ status })) return RUN_STATES[status];
  if (waiting?.for === "continue") return { pausing: "paused" };
  if (waiting?.for === "server") return { fleet: { unclaimed: "enqueued" } };
  return server ? { fleet: "claimed" } : RUN_STATES[status];
};

/** What every task begins with, but for its own facts and its first run. */
const { context: BEGUN } = initialSnapshot(taskInput("ses_any"));

/** What a task's machine would be in for the task to be shown so. */
const snapshotOf = (task: Task): StoredSnapshot => {
  const { facts, run } = taskInput(task.sessionID, {}, Date.parse(task.runStartedAt));
  const kept = Object.keys(facts) as (keyof typeof facts)[];
  const given = Object.fromEntries(
    [...kept, "parentTaskId", "model", "worktree"].flatMap((name) => {
      const value = task[name as keyof Task];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const requestKind = task.attention?.requests?.[0]?.kind;
  return {
    value: {
      lifecycle: task.status,
      run: runStateOf(task),
      notice: "none",
      attention: requestKind ? { awaitingUser: requestKind } : "none",
      steering: "none",
      nextRun: "none",
    },
    context: {
      ...BEGUN,
      facts: { ...facts, ...given },
      run: { ...run, index: task.resumeCount },
      completedAt: ms(task.completedAt),
      resultRetrievedAt: ms(task.resultRetrievedAt),
      result: task.result,
      error: task.error,
      receipt: task.receipt,
      given: task.instructions?.map(({ text, from, givenAt, seenAt }, index) => ({
        ...{ messageID: `msg_given_${index}`, text, from, at: Date.parse(givenAt) },
        ...(seenAt === undefined ? {} : { seenAt: Date.parse(seenAt) }),
      })),
      userRequests: (task.attention?.requests ?? []).map((request) => ({
        ...request,
        since: Date.parse(request.since),
      })),
      ...(task.server ? { remote: { claim: { epoch: 1, seq: 1 }, server: task.server, attempts: [] } } : {}),
      staleSince: task.attention?.kind === "stale" ? Date.parse(task.attention.since) : undefined,
    },
  };
};

export const createFakeSource = (clock: Clock, folder = "/nowhere", store = openMemory(clock)): FakeSource => {
  const sites = createOpenDirectories();
  const listeners = new Set<() => void>();
  let count = 0;

  const now = () => new Date(clock.now()).toISOString();
  const tell = () => {
    for (const listener of listeners) listener();
  };

  const at = (id: string): ApiTask => {
    const found = source.task(id);
    if (!found) throw new Error(`the test has no task ${id}`);
    return found;
  };

  const keepAll = (tasks: Task[], elsewhere: boolean) => {
    store.commit({
      records: tasks.map((task) => {
        const snapshot = snapshotOf(task);
        return { task: toTask(snapshot, task.progress), snapshot };
      }),
      journal: tasks
        .filter((task) => store.get(task.sessionID) === undefined)
        .flatMap(({ sessionID: taskId, attention }) => [
          { taskId, event: { type: "SLOT_GRANTED", at: 1 } },
          { taskId, event: { type: "PROMPT_ACCEPTED", at: 2 } },
          ...(attention?.requests ?? []).map(({ since, ...request }) => ({
            taskId,
            event: { type: "REQUEST_ASKED" as const, at: 3, request: { ...request, since: Date.parse(since) } },
          })),
        ]),
      prompts: [],
    });
    if (!elsewhere) tell();
  };

  const keep = (task: Task, elsewhere: boolean): ApiTask => {
    keepAll([task], elsewhere);
    return at(task.sessionID);
  };

  /** A running task; what is not given is made up. */
  const made = (given: Partial<ApiTask>): Task => {
    count += 1;
    const id = given.sessionID ?? `ses_${String(count).padStart(4, "0")}`;
    const { facts } = taskInput(id, { description: `task number ${count}`, batchId: "msg_turn" }, clock.now());
    return {
      ...facts,
      model: { providerID: "fake", modelID: "m1" },
      status: "running",
      state: "running.active.working.busy",
      childTaskIds: [],
      runStartedAt: now(),
      resumeCount: 0,
      progress: noProgress(now()),
      ...given,
    };
  };

  const asked = (what: string, id: string) => {
    source.asked.push(`${what} ${id}`);
    return source.refusal === undefined ? undefined : fail(source.refusal, source.refusedBy);
  };

  const stopped = (what: string, id: string): CancelResult[] => {
    const refused = asked(what, id);
    return [{ task: at(id), ...(refused ? { refused: refused.reason } : {}) }];
  };

  const operations: RemoteOperations = {
    get: (taskId) => store.get(taskId)?.task,
    cancel: async ([id = ""]) => stopped("cancel", id),
    pause: async ([id = ""]) => stopped("pause", id),
    continue: async ([id = ""]) => stopped("continue", id),
    retry: async ({ taskId, prompt = "", model }) =>
      asked(`retry with ${JSON.stringify(prompt)}${model === undefined ? "" : ` by ${model}`}`, taskId) ?? {
        ok: true,
        value: at(taskId),
      },
    resume: async ({ taskId, prompt }) =>
      asked(`resume with ${JSON.stringify(prompt)}`, taskId) ?? { ok: true, value: at(taskId) },
    steer: ({ taskId, prompt }) =>
      asked(`steer with ${JSON.stringify(prompt)}`, taskId) ?? { ok: true, value: at(taskId) },
    answer: async (taskId, answer) =>
      asked(`answer ${JSON.stringify(answer)}`, taskId) ?? { ok: true, value: undefined },
  };
  const log: Log = { info: () => undefined, error: (message) => console.error(message) };

  const engine: Pick<Engine, "runRemoteCommands" | "executeCommand" | "subscribe" | "viewFleet" | "launchesHere"> = {
    get viewFleet() {
      const { view } = source;
      return view && (async () => view);
    },
    runRemoteCommands: () => {
      if (!source.isBusy) runRemoteCommands({ store, log }, operations);
    },
    launchesHere: () => source.launching,
    // As where another process supervises the task.
    executeCommand: () => undefined,
    subscribe: (listener) => {
      const call = listener as () => void;
      listeners.add(call);
      return () => void listeners.delete(call);
    },
  };
  const host: Pick<Host, "rawMessages"> = {
    rawMessages: async (id) =>
      source.refusal === undefined
        ? { ok: true, value: source.messages.get(id) ?? [] }
        : { ok: false, failure: { kind: "unavailable", name: "Scripted", message: source.refusal } },
  };
  sites.add({ engine: engine as Engine, host: host as Host, store });

  /** No answer is waited for that is there. */
  const impatient: Clock = {
    now: clock.now,
    after: (_, fire) => {
      const timer = setImmediate(fire);
      return () => clearImmediate(timer);
    },
  };
  let requests = 0;
  const createId = () => {
    requests += 1;
    return `request ${requests}`;
  };
  const real = createEngineSource(
    sites,
    impatient,
    createId,
    worktreesFolder(folder),
    createReadDirectories(impatient),
  );
  let subscribers = 0;

  const source: FakeSource = {
    ...real,
    store,
    asked: [],
    messages: new Map(),
    refusal: undefined,
    refusedBy: undefined,
    isBusy: false,
    beforeLive: undefined,
    launching: [],
    view: undefined,
    live: (show) => {
      source.beforeLive?.();
      return real.live(show);
    },
    onChange: (listener) => {
      const stop = real.onChange(listener);
      subscribers += 1;
      return () => {
        subscribers -= 1;
        stop();
      };
    },
    listeners: () => subscribers,
    launch: (given = {}) => keep(made(given), false),
    launchAll: (given) => keepAll(given.map(made), false),
    change: (id, given, { elsewhere = false } = {}) => {
      const task = { ...at(id), ...given };
      return keep(task, elsewhere);
    },
    end: (id, status = "completed", options = {}) =>
      source.change(
        id,
        {
          status,
          completedAt: now(),
          ...(status === "completed" ? { result: "There are 12." } : {}),
          ...(status === "error"
            ? { error: { name: "APIError", kind: "provider" as const, message: "overloaded" } }
            : {}),
        },
        options,
      ),
    clear: (id, { elsewhere = false } = {}) => {
      store.remove([id]);
      if (!elsewhere) tell();
    },
  };
  return source;
};
