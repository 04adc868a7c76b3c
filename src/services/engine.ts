import type { OutboxEvent } from "../machines/outbox-events.ts";
import type { Effect, HostEvent, SupervisorEvent } from "../machines/supervisor-events.ts";
import type { PendingRequest, RunEnd, TaskEvent } from "../machines/task-events.ts";
import { hasEnded, type Task } from "../task.ts";
import type { Clock } from "./clock.ts";
import { createCompleting, type ModelMessage } from "./completing.ts";
import { createEffects } from "./effects.ts";
import { type Cancelled, createEnding } from "./ending.ts";
import type { ForkLimits } from "./fork.ts";
import { createForking, type ForkedSession } from "./forking.ts";
import { formPrompt } from "./forming.ts";
import type { Host, NewSession } from "./host.ts";
import type { Ids } from "./ids.ts";
import { type LaunchRequest, planLaunch } from "./launching.ts";
import { type Log, reasonOf } from "./log.ts";
import type { NoticeStyle } from "./notices.ts";
import { type Outcome, refuse } from "./outcome.ts";
import { startPolling } from "./polling.ts";
import { createProgressLog } from "./progress.ts";
import { createRuntime, type Perform } from "./runtime.ts";
import { createSightings } from "./sightings.ts";
import { watchSilence } from "./silence.ts";
import type { Store, TaskFilter } from "./store.ts";
import { type Excerpt, excerpt } from "./transcript.ts";
import { createWaiting, type WaitOutcome, type WaitRequest } from "./waiting.ts";

/** A task that was launched. */
export interface Launched {
  task: Task;
  /** Why the host did not fork the conversation, if it should have: the task has it as text. */
  forkRefusal: string | undefined;
}

/** A follow-up prompt for a completed task. */
export interface ResumeRequest {
  parentSessionID: string;
  /** The task's id, or the beginning of it. */
  taskId: string;
  prompt: string;
  /** Only to be refused when it is another than the task's: a task never changes its agent. */
  agent: string | undefined;
  /** Aborted when the caller's turn is: nothing is sent any more. */
  signal: AbortSignal;
}

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

/** What an engine is put together from. */
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
    fork: ForkLimits;
    /** True where nobody can answer for a session that is no child of the one in view, as in `opencode run`. */
    isHeadless: boolean;
  };
}

/** Answers of effects that say that the host failed us: each is worth a line in the log. */
const FAILURES: ReadonlySet<string> = new Set<TaskEvent["type"] | OutboxEvent["type"]>([
  "PROMPT_REFUSED",
  "LOOK_FAILED",
  "NOT_STOPPED",
  "READ_FAILED",
  "SEND_REFUSED",
  "CHECK_FAILED",
]);

/** The other kinds are counted and remembered beside the machines, and there are many of them. */
const isRouted = ({ type }: HostEvent): boolean => type !== "text" && type !== "toolCall" && type !== "step";

/** Puts the machines, the services and the store together. */
export const createEngine = ({ host, store, clock, ids, log, options }: EngineParts): Engine => {
  const progress = createProgressLog();
  const completing = createCompleting();
  const forkSession = createForking(host, ids, log, options.fork);
  const sightings = createSightings((sessionID) => {
    const snapshot = runtime.live(sessionID);
    return snapshot !== undefined && snapshot.context.completedAt === undefined;
  });
  const awaitsTasks = (sessionID: string): boolean =>
    runtime.liveTasks().some(({ context }) => context.facts.parentSessionID === sessionID);
  const doEffect = createEffects(host, clock, { answerOf: sightings.answerOf, awaitsTasks });
  /** Launches whose session is being made, with what became of their parent meanwhile. */
  const launches = new Set<{ parentSessionID: string; orphaned: boolean }>();

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
    return attempt(effect);
  };

  const runtime = createRuntime({ clock, store, progress, perform, log });
  const waiting = createWaiting(runtime, store, clock);
  const inBackground = (work: Promise<unknown>, fault: string) => {
    work.catch((error) => log.error(fault, { reason: reasonOf(error) }));
  };

  const markOrphaned = (sessionID: string) => {
    for (const launch of launches) if (launch.parentSessionID === sessionID) launch.orphaned = true;
  };

  /** Tasks whose run has not ended, as far as was heard. */
  const atWork = new Set<string>();
  runtime.subscribe((task) => {
    const { sessionID, status, state } = task;
    if (!hasEnded(task)) {
      atWork.add(sessionID);
      if (state.includes("stopping")) markOrphaned(sessionID);
      return;
    }
    // Once, when the run ends: what a person begins in the session later is theirs.
    if (!atWork.delete(sessionID)) return;
    sightings.forget(sessionID);
    if (status === "completed") return;
    markOrphaned(sessionID);
    // Nobody is left to read what its own tasks answer, and telling would wake a session that was stopped.
    completing.forget(sessionID);
    inBackground(ending.orphan(sessionID), "the tasks of an ended task could not be cancelled");
  });
  const stopWatching = watchSilence(runtime, progress, clock, log, options.staleAfter);
  const stopPolling = startPolling(runtime, host, clock, log, awaitsTasks);

  const get = (taskId: string): Task | undefined => {
    const task = store.get(taskId)?.task;
    if (!task) return undefined;
    const childTaskIds = store.list({ parentSessionID: taskId }).map(({ sessionID }) => sessionID);
    return { ...task, progress: progress.of(taskId) ?? task.progress, childTaskIds };
  };

  const ending = createEnding(runtime, store, clock, waiting.untilOver, get, async (sessionID, messageID) => {
    const answer = await attempt({ type: "stop", sessionID, messageID, requests: [] });
    return answer?.type === "TASK" && answer.event.type === "STOPPED";
  });

  const list = (filter: TaskFilter): Task[] => store.list(filter).flatMap(({ sessionID }) => get(sessionID) ?? []);

  const makeSession = async (
    { fork, parentSessionID, parentMessageID }: LaunchRequest,
    wanted: NewSession,
  ): Promise<Outcome<ForkedSession>> => {
    if (!fork) {
      const created = await host.createSession(wanted);
      if (!created.ok) return refuse(created.failure.message);
      return { ok: true, value: { id: created.value.id, refusal: undefined } };
    }
    try {
      return { ok: true, value: await forkSession(parentSessionID, parentMessageID, wanted) };
    } catch (error) {
      return refuse(reasonOf(error));
    }
  };

  const launch = async (request: LaunchRequest): Promise<Outcome<Launched>> => {
    const plan = await planLaunch(host, store, options.maxDepth, request);
    if (!plan.ok) return plan;
    const { description, batchId, model, permission, parentTask } = plan.value;
    const { parentSessionID, parentMessageID, parentAgent, agent, prompt, directory } = request;
    if (request.signal.aborted) return refuse("The turn was aborted; nothing was launched.");
    const messageID = ids.message();
    const pending = { parentSessionID, orphaned: false };
    launches.add(pending);
    const made = await makeSession(request, {
      parentID: parentSessionID,
      title: `${description} (@${agent} subagent)`,
      agent,
      model,
      permission,
      metadata: { taskchart: { parentSessionID, launch: messageID } },
    });
    launches.delete(pending);
    if (!made.ok) return refuse(`OpenCode made no session for the task: ${made.reason}. Try again.`);
    const sessionID = made.value.id;
    if (pending.orphaned || request.signal.aborted) {
      const removed = await host.deleteSession(sessionID);
      if (!removed.ok) log.error("a session made for nothing stays", { sessionID, reason: removed.failure.message });
      return refuse("The calling session was stopped or deleted meanwhile; nothing was launched.");
    }
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
          isForked: request.fork,
          priority: 0,
        },
        run: { index: 0, messageID, partID: ids.parts(1)[0] ?? "", prompt, startedAt: at },
      },
    });
    const task = get(sessionID);
    return task
      ? { ok: true, value: { task, forkRefusal: made.value.refusal } }
      : refuse("The task was launched and has ended already; the list shows it no more.");
  };

  const resume = async (request: ResumeRequest): Promise<Outcome<Task>> => {
    const found = find(request.parentSessionID, request.taskId);
    if (!found.ok) return found;
    const { sessionID, agent } = found.value;
    if (request.prompt.trim() === "") return refuse("The prompt is empty: say what the agent shall do next.");
    if (request.agent !== undefined && request.agent !== agent) {
      return refuse(`A task never changes its agent: task ${sessionID} works with "${agent}". Leave agent out.`);
    }
    const refusal = () => {
      const reason = runtime.refusal(sessionID, resumption());
      return reason === undefined ? undefined : refuse(`Task ${sessionID} cannot be resumed: ${reason}.`);
    };
    const resumption = (): TaskEvent => {
      const messageID = ids.message();
      return { type: "RESUME", at: clock.now(), messageID, partID: ids.parts(1)[0] ?? "", prompt: request.prompt };
    };
    const refusedAtOnce = refusal();
    if (refusedAtOnce) return refusedAtOnce;
    const session = await host.session(sessionID);
    if (!session.ok && session.failure.kind === "notFound") {
      return refuse(
        `The session of task ${sessionID} does not exist any more. Start a new task with ${options.notice.prefix}_task.`,
      );
    }
    if (!session.ok) return refuse(`OpenCode did not find the task's session: ${session.failure.message}. Try again.`);
    if (request.signal.aborted) return refuse("The turn was aborted; nothing was sent.");
    // Another resume may have come while the host was asked.
    const refusedNow = refusal();
    if (refusedNow) return refusedNow;
    progress.begin(sessionID, clock.now(), found.value.progress);
    runtime.send(sessionID, resumption());
    const task = get(sessionID);
    return task ? { ok: true, value: task } : refuse(`Task ${sessionID} was cleared.`);
  };

  const find = (parentSessionID: string, id: string): Outcome<Task> => {
    const own = store.list({ parentSessionID });
    const exact = own.filter(({ sessionID }) => sessionID === id);
    const found = exact.length > 0 || id === "" ? exact : own.filter(({ sessionID }) => sessionID.startsWith(id));
    const task = found.length === 1 && found[0] ? get(found[0].sessionID) : undefined;
    if (task) return { ok: true, value: task };
    const { prefix } = options.notice;
    return refuse(
      found.length > 1
        ? `"${id}" begins the ids of ${found.length} tasks: ${found.map(({ sessionID }) => sessionID).join(", ")}. Give more of it.`
        : `This session has no task "${id}". ${prefix}_list shows the tasks it has.`,
    );
  };

  /** The host shows what its own children ask, but a forked session is nobody's child. */
  const onAskedByFork = async (request: PendingRequest): Promise<void> => {
    const message = `A forked task asks: ${request.kind}: ${request.what}`;
    const done = options.isHeadless ? await host.reject(request) : await host.toast({ message, variant: "info" });
    if (!done.ok) log.error("a forked task's request reached nobody", { request, reason: done.failure.message });
  };

  const onDeleted = async (sessionID: string) => {
    markOrphaned(sessionID);
    completing.forget(sessionID);
    const orphans = store.list({ parentSessionID: sessionID }).map((task) => task.sessionID);
    if (orphans.length > 0) await ending.clear(orphans);
  };

  return {
    launch,
    resume,
    get,
    list,
    find,
    transcript: async (taskId, wanted) => {
      const spoken = await host.conversation(taskId);
      if (spoken.ok) return { ok: true, value: excerpt(spoken.value, wanted) };
      return refuse(`OpenCode did not give the conversation of task ${taskId}: ${spoken.failure.message}.`);
    },
    wait: waiting.wait,
    markRetrieved: (taskId) => runtime.send(taskId, { type: "RETRIEVED", at: clock.now() }),
    cancel: ending.cancel,
    clear: ending.clear,
    onHostEvent: (event) => {
      const at = clock.now();
      progress.note(event, at);
      sightings.note(event);
      waiting.note(event);
      if (isRouted(event) && runtime.watches(event.sessionID)) runtime.dispatch({ type: "HOST", at, event });
      if (event.type === "asked" && store.get(event.sessionID)?.task.isForked) {
        inBackground(onAskedByFork(event.request), "a forked task's request could not be shown");
      }
      if (event.type === "deleted") {
        inBackground(onDeleted(event.sessionID), "the tasks of a deleted session could not be cleared");
      }
    },
    onModelRequest: (messages) => {
      const added = completing.complete(messages);
      if (added > 0) log.info("a notice was shown whole before it was stored whole", { added });
    },
    subscribe: runtime.subscribe,
    stop: () => {
      waiting.stop();
      stopPolling();
      stopWatching();
      runtime.stop();
    },
  };
};
