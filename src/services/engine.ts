import type { Effect, HostEvent, SupervisorEvent } from "../machines/supervisor-events.ts";
import { refusalOf } from "../machines/task.ts";
import type { RunEnd } from "../machines/task-events.ts";
import { hasEnded, type Task } from "../task.ts";
import type { Clock } from "./clock.ts";
import { createCompleting, type ModelMessage } from "./completing.ts";
import { createEffects } from "./effects.ts";
import { formPrompt } from "./forming.ts";
import type { Host } from "./host.ts";
import type { Ids } from "./ids.ts";
import { type LaunchRequest, planLaunch } from "./launching.ts";
import { type Log, reasonOf } from "./log.ts";
import type { NoticeStyle } from "./notices.ts";
import { createProgressLog } from "./progress.ts";
import { createRuntime, type Perform } from "./runtime.ts";
import { createSightings } from "./sightings.ts";
import { watchSilence } from "./silence.ts";
import type { Store, TaskFilter } from "./store.ts";
import { createWaiting, type WaitOutcome, type WaitRequest } from "./waiting.ts";

/** A value, or why there is none, in words for the one who asked. */
export type Outcome<T> = { ok: true; value: T } | { ok: false; reason: string };

/** What became of a cancellation: `refused` is a reason that follows "task …"; absent when it was cancelled. */
export interface Cancelled {
  task: Task;
  refused?: string;
}

/** What tools, and later the API, may ask. Tasks of other parents are invisible to a caller that names its own session. */
export interface Engine {
  /** Makes the child session and sets its run going; does not wait for an answer. */
  launch(request: LaunchRequest): Promise<Outcome<Task>>;
  get(taskId: string): Task | undefined;
  /** Tasks in the order of their launch. */
  list(filter: TaskFilter): Task[];
  /** The one task of the parent whose id is, or begins with, `id`. */
  find(parentSessionID: string, id: string): Outcome<Task>;
  wait(request: WaitRequest): Promise<WaitOutcome>;
  markRetrieved(taskId: string): void;
  /** Stops tasks and all that they launched; resolves when they have stopped. */
  cancel(taskIds: string[]): Promise<Cancelled[]>;
  /** Removes tasks for good, those that run cancelled first; nobody is told of them any more. */
  clear(taskIds: string[]): Promise<Task[]>;
  /** Takes what the host tells. Never throws. */
  onHostEvent(event: HostEvent): void;
  /** Sees what is about to go to a session's model, and completes in place what the host has not stored whole yet. */
  onModelRequest(messages: ModelMessage[]): void;
  subscribe(listener: (task: Task) => void): () => void;
  stop(): void;
}

export interface EngineParts {
  host: Host;
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
  };
}

/** Longest wait for a cancelled task to stop, in milliseconds: its machine gives up after about ten attempts. */
const STOP_WITHIN = 60_000;

export const createEngine = ({ host, store, clock, ids, log, options }: EngineParts): Engine => {
  const progress = createProgressLog();
  const completing = createCompleting();
  const sightings = createSightings((sessionID) => {
    const snapshot = runtime.live(sessionID);
    return snapshot !== undefined && snapshot.context.completedAt === undefined;
  });
  const doEffect = createEffects(host, clock, sightings);
  /** Parents whose deletion was heard of while a launch may have been on its way. */
  const deleted = new Set<string>();

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

  const perform: Perform = (effect) => {
    if (effect.type === "form") return formed(effect.parentSessionID, effect.owed);
    if (effect.type === "announce") return announce(effect);
    return doEffect(effect);
  };

  const runtime = createRuntime({ clock, store, progress, perform, log });
  const waiting = createWaiting(runtime, store, clock);
  runtime.subscribe((task) => {
    if (hasEnded(task)) sightings.forget(task.sessionID);
  });
  const stopWatching = watchSilence(runtime, progress, clock, options.staleAfter);

  const get = (taskId: string): Task | undefined => {
    const task = store.get(taskId)?.task;
    if (!task) return undefined;
    const childTaskIds = store.list({ parentSessionID: taskId }).map(({ sessionID }) => sessionID);
    return { ...task, progress: progress.of(taskId) ?? task.progress, childTaskIds };
  };

  const list = (filter: TaskFilter): Task[] => store.list(filter).flatMap(({ sessionID }) => get(sessionID) ?? []);

  const launch = async (request: LaunchRequest): Promise<Outcome<Task>> => {
    const plan = await planLaunch(host, store, options.maxDepth, request);
    if (!plan.ok) return plan;
    const { description, batchId, model, permission, parentTask } = plan.value;
    const { parentSessionID, parentMessageID, parentAgent, agent, prompt, directory } = request;
    if (request.signal.aborted) return { ok: false, reason: "The turn was aborted; nothing was launched." };
    const messageID = ids.message();
    const created = await host.createSession({
      parentID: parentSessionID,
      title: `${description} (@${agent} subagent)`,
      agent,
      model,
      permission,
      metadata: { taskchart: { parentSessionID, launch: messageID } },
    });
    if (!created.ok) return { ok: false, reason: `OpenCode made no session for the task: ${created.failure.message}` };
    if (deleted.has(parentSessionID)) return { ok: false, reason: "The calling session was deleted." };
    const sessionID = created.value.id;
    const at = clock.now();
    progress.begin(sessionID, at);
    runtime.dispatch({
      type: "LAUNCH",
      at,
      task: {
        facts: {
          sessionID,
          parentSessionID,
          parentMessageID,
          parentAgent,
          ...(parentTask ? { parentTaskId: parentTask.sessionID } : {}),
          author: parentAgent,
          directory,
          description,
          prompt,
          agent,
          model,
          startedAt: new Date(at).toISOString(),
          batchId,
          isForked: false,
          priority: 0,
        },
        run: { index: 0, messageID, partID: ids.parts(1)[0] ?? "", prompt, startedAt: at },
      },
    });
    const task = get(sessionID);
    return task ? { ok: true, value: task } : { ok: false, reason: "The task could not be stored." };
  };

  const find = (parentSessionID: string, id: string): Outcome<Task> => {
    const own = store.list({ parentSessionID });
    const exact = own.filter(({ sessionID }) => sessionID === id);
    const found = exact.length > 0 || id === "" ? exact : own.filter(({ sessionID }) => sessionID.startsWith(id));
    const task = found.length === 1 && found[0] ? get(found[0].sessionID) : undefined;
    if (task) return { ok: true, value: task };
    const { prefix } = options.notice;
    return {
      ok: false,
      reason:
        found.length > 1
          ? `"${id}" begins the ids of ${found.length} tasks: ${found.map(({ sessionID }) => sessionID).join(", ")}. Give more of it.`
          : `This session has no task "${id}". ${prefix}_list shows the tasks it has.`,
    };
  };

  /** Ends are awaited for as long as a machine may take to give up, whatever the caller's turn does meanwhile. */
  const untilEnded = (taskIds: string[]) =>
    waiting.untilOver({ taskIds, signal: new AbortController().signal, timeoutMs: STOP_WITHIN });

  const launchedBy = (taskIds: string[]): string[] =>
    taskIds.flatMap((taskId) => store.list({ parentSessionID: taskId }).map(({ sessionID }) => sessionID));

  const cancel = async (taskIds: string[]): Promise<Cancelled[]> => {
    const below = launchedBy(taskIds);
    const stopping = taskIds.map((taskId) => {
      const snapshot = runtime.live(taskId);
      const event = { type: "CANCEL", at: clock.now() } as const;
      const refused = snapshot
        ? refusalOf(snapshot, event)
        : `has already finished (${store.get(taskId)?.task.status})`;
      if (refused === undefined) runtime.send(taskId, event);
      return { taskId, refused };
    });
    if (below.length > 0) await cancel(below);
    await untilEnded(taskIds);
    return stopping.flatMap(({ taskId, refused }) => {
      const task = get(taskId);
      if (!task) return [];
      return refused === undefined ? { task } : { task, refused };
    });
  };

  const clear = async (taskIds: string[]): Promise<Task[]> => {
    const below = launchedBy(taskIds);
    if (below.length > 0) await clear(below);
    const removed = taskIds.flatMap((taskId) => get(taskId) ?? []);
    const running = removed.filter((task) => !hasEnded(task)).map(({ sessionID }) => sessionID);
    // Whoever clears a task knows of its end: no notice is owed.
    for (const taskId of running) runtime.send(taskId, { type: "WAIT_BEGAN", at: clock.now() });
    await cancel(running);
    runtime.forget(removed);
    store.remove(taskIds);
    for (const taskId of taskIds) progress.forget(taskId);
    return removed;
  };

  const onDeleted = async (sessionID: string) => {
    deleted.add(sessionID);
    completing.forget(sessionID);
    const orphans = store.list({ parentSessionID: sessionID }).map((task) => task.sessionID);
    if (orphans.length > 0) await clear(orphans);
  };

  return {
    launch,
    get,
    list,
    find,
    wait: waiting.wait,
    markRetrieved: (taskId) => runtime.send(taskId, { type: "RETRIEVED", at: clock.now() }),
    cancel,
    clear,
    onHostEvent: (event) => {
      const at = clock.now();
      progress.note(event, at);
      sightings.note(event);
      waiting.note(event);
      if (runtime.watches(event.sessionID)) runtime.dispatch({ type: "HOST", at, event });
      if (event.type === "deleted") {
        onDeleted(event.sessionID).catch((error) =>
          log.error("the tasks of a deleted session could not be cleared", { reason: reasonOf(error) }),
        );
      }
    },
    onModelRequest: (messages) => {
      const added = completing.complete(messages);
      if (added > 0) log.info("a notice was shown whole before it was stored whole", { added });
    },
    subscribe: runtime.subscribe,
    stop: () => {
      stopWatching();
      runtime.stop();
    },
  };
};
