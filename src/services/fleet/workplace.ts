import type { PermissionRule } from "../../machines/host-events.ts";
import type { TaskContext, UserRequest } from "../../machines/task/events.ts";
import { isAtRest } from "../../machines/task/machine.ts";
import { hasEnded, type ModelRef, type OrderedRun, type Task, type TaskStatus } from "../../task.ts";
import type { UserReply } from "../../user-request.ts";
import { FLEET_WAITER } from "../engine/operations/waiters.ts";
import type { Launched, LaunchRequest, ResumeRequest } from "../engine/requests.ts";
import type { Host } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import { fail, type Outcome } from "../platform/result.ts";
import type { HostReads } from "../runtime/host-reads.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store } from "../store/store.ts";
import type { Ended, Order, RunName } from "./messages.ts";
import { packPatch } from "./patches.ts";
import type { Steps } from "./steps.ts";

/** What a server says of the end of a run that it worked on. */
export type RunEnd = Pick<
  Ended,
  "outcome" | "completedAt" | "result" | "incomplete" | "earlierText" | "error" | "receipt" | "steps" | "patch"
>;

/** Works on runs: the tasks of this server's own engine. */
export interface Workplace {
  /** Says why this server cannot work on an order, now or ever; undefined where it can. */
  obstacleTo(order: Order): Promise<{ reason: string; isPassing: boolean } | undefined>;
  /** Says why a task of another server's cannot be resumed here; undefined where it can. */
  obstacleToResume(name: Pick<RunName, "home" | "task">): Promise<string | undefined>;
  /** Begins to work on a run, or goes on with the conversation of the run before. Resolves to the id of its task here. */
  begin(order: Order, run: OrderedRun): Promise<Outcome<string>>;
  /** The runs that were begun here, by the id of their task, and are not settled. */
  open(): Map<string, OrderedRun>;
  /** Resolves to how a task ended; to undefined where another process looks after it now. */
  untilEnded(taskId: string): Promise<RunEnd | undefined>;
  /** Begins to count what a task does. */
  countSteps(taskId: string): () => Steps;
  /** True where nothing was heard of the agent of a task for too long. */
  isStale(taskId: string): boolean;
  /** What the agent of a task asks, and nobody has answered. */
  requestsOf(taskId: string): UserRequest[];
  /** Passes a person's reply on to the agent of a task. False where the host did not take it now, and may later. */
  reply(taskId: string, reply: UserReply): Promise<boolean>;
  /** Calls `listener` with the id of each task that has changed. */
  onChange(listener: (taskId: string) => void): () => void;
  /** Stops a task. */
  cancel(taskId: string): void;
  /** Its home has the end (`isDelivered`), or does not want it: nothing is owed any more. */
  settle(taskId: string, isDelivered: boolean): void;
}

/** What the tasks of other servers are worked on with: this server's own engine. */
export interface WorkplaceDeps {
  host: Pick<Host, "createSession" | "session" | "sessionsSince">;
  reads: Pick<HostReads, "agents" | "models">;
  launch(request: LaunchRequest): Promise<Outcome<Launched>>;
  runtime: Pick<Runtime, "send" | "liveTasks" | "snapshotOf" | "subscribe">;
  store: Pick<Store, "get" | "list">;
  clock: Clock;
  log: Log;
  directory: string;
  resume(request: ResumeRequest): Promise<Outcome<Task>>;
  /** Resolves when the task has ended, or is not this process's any more. */
  untilEnded(taskId: string): Promise<unknown>;
  cancel(taskIds: string[]): Promise<unknown>;
  /** Begins to count what a task does. */
  countSteps(taskId: string): () => Steps;
  /** Passes a person's reply on to the agent of a task. */
  answer(taskId: string, reply: UserReply): Promise<Outcome<void>>;
  /** Says why a commit cannot be had here; undefined where it can. */
  commitObstacle(commit: string): Promise<string | undefined>;
  /** The patch of what a task has changed; undefined where that is nothing. Rejects where it cannot be read. */
  patchOf(task: Task): Promise<Uint8Array | undefined>;
  /** Removes the worktree of a task, whose changes are with its home, until it is resumed. */
  putWorktreeAway(task: Task): void;
}

/** Marks the session below which the tasks of one home are. */
const HOME_KEY = "taskchartFleetHome";

/** A person may have resumed the task here, and work with it. */
const MAY_GO_ON: ReadonlySet<TaskStatus> = new Set(["completed", "resumed"]);

const GONE = "its conversation is not there any more";

/** Says for whom a task's run is; undefined where it is for nobody else, such as one that a person has begun here. */
const orderOf = ({ facts, run }: Pick<TaskContext, "facts" | "run">): OrderedRun | undefined =>
  run.index === 0 ? facts.order : run.order;

/** The batch of the tasks that were begun for a task of another server, by which they are found. */
const batchOf = ({ home, task }: Pick<OrderedRun, "home" | "task">): string => `${home}.${task}`.slice(0, 100);

/** Finds the task that was begun here last for a task of another server; undefined where there is none. */
export const findTaskFor = (
  store: Pick<Store, "get" | "list">,
  { home, task }: Pick<OrderedRun, "home" | "task">,
): string | undefined =>
  store.list({ batchId: batchOf({ home, task }) }).findLast(({ sessionID }) => {
    const order = store.get(sessionID)?.task.order;
    return order?.home === home && order.task === task;
  })?.sessionID;

const nameOfModel = ({ providerID, modelID, variant }: ModelRef): string =>
  `${providerID}/${modelID}${variant === undefined ? "" : `#${variant}`}`;

/** Creates the workplace of an engine. */
export const createWorkplace = (deps: WorkplaceDeps): Workplace => {
  const { host, reads, runtime, store, clock, log } = deps;
  /** The session below which the tasks of a home are, by the home's id. */
  const sessions = new Map<string, Promise<Outcome<string>>>();

  const openSession = async ({ home, project }: Order): Promise<Outcome<string>> => {
    const listed = await host.sessionsSince(0);
    const known = listed.ok ? listed.value.find(({ metadata }) => metadata[HOME_KEY] === home) : undefined;
    if (known) return { ok: true, value: known.id };
    const title = `Tasks of another server (${project})`;
    const session = { title, agent: "build", model: undefined, permission: [], metadata: { [HOME_KEY]: home } };
    const created = await host.createSession(session);
    return created.ok ? { ok: true, value: created.value.id } : fail(created.failure.message, "host");
  };

  /** The session of a home. One that could not be opened is tried again with the next order. */
  const sessionOf = async (order: Order): Promise<Outcome<string>> => {
    const opened = sessions.get(order.home) ?? openSession(order);
    sessions.set(order.home, opened);
    const session = await opened;
    if (!session.ok) sessions.delete(order.home);
    return session;
  };

  /** The task here of another server's, with whose conversation one may go on; undefined where there is none. */
  const taskFor = (name: Pick<RunName, "home" | "task">): Task | undefined => {
    const task = store.get(findTaskFor(store, name) ?? "")?.task;
    return task && MAY_GO_ON.has(task.status) ? task : undefined;
  };

  /** Tasks whose changes stay here, because they could not be sent. */
  const keepsChanges = new Set<string>();

  /** What a task has changed, as it is sent; where it cannot be, a note of that for whoever reads the result. */
  const changesIn = async (task: Task): Promise<{ patch?: string; note?: string }> => {
    const { sessionID } = task;
    const stays = (why: string) => {
      keepsChanges.add(sessionID);
      return { note: `[${why}: they stay on the server that worked on it, with its task ${sessionID}.]` };
    };
    try {
      const bytes = await deps.patchOf(task);
      if (!bytes) return {};
      const patch = packPatch(bytes);
      return patch === undefined ? stays("The changes of its files are too large for the fleet") : { patch };
    } catch (error) {
      log.error("what a task changed could not be sent", { taskId: sessionID, reason: errorMessage(error) });
      return stays("The changes of its files could not be read");
    }
  };

  /** Keeps the end for the home, in place of a notice. */
  const keepEnd = (taskId: string) => {
    if (runtime.snapshotOf(taskId)?.context.waiters.includes(FLEET_WAITER)) return;
    runtime.send(taskId, { type: "WAIT_BEGAN", at: clock.now(), call: FLEET_WAITER });
  };

  const launch = async (order: Order, run: OrderedRun): Promise<Outcome<string>> => {
    const session = await sessionOf(order);
    if (!session.ok) return session;
    const denied = order.denied.map((rule): PermissionRule => ({ ...rule, action: "deny" }));
    const launched = await deps.launch({
      description: order.description,
      prompt: order.prompt,
      agent: order.agent,
      model: order.model && nameOfModel(order.model),
      batchId: batchOf(run),
      wake: undefined,
      parentSessionID: session.value,
      parentMessageID: "",
      parentAgent: "",
      directory: deps.directory,
      priority: 1 - order.priority,
      worktree: undefined,
      schema: order.schema,
      fork: false,
      permit: async () => undefined,
      signal: new AbortController().signal,
      order: { run, commit: order.commit, denied },
    });
    if (!launched.ok) return launched;
    const { sessionID } = launched.value.task;
    keepEnd(sessionID);
    return { ok: true, value: sessionID };
  };

  const resume = async (order: Order, run: OrderedRun): Promise<Outcome<string>> => {
    const task = taskFor(order);
    if (!task) return fail(GONE);
    const { parentSessionID, sessionID: taskId } = task;
    const signal = new AbortController().signal;
    const resumed = await deps.resume({
      ...{ parentSessionID, taskId, prompt: order.prompt, agent: undefined, order: run, signal },
    });
    if (!resumed.ok) return resumed;
    keepEnd(taskId);
    return { ok: true, value: taskId };
  };

  /**
   * True until the last end of a task is settled, while a person works with it, and until a process looks after it whose
   * predecessor began this very run: it can be resumed after that, or need not be.
   */
  const isBusy = (taskId: string): boolean => {
    const snapshot = store.get(taskId)?.snapshot;
    return snapshot !== undefined && !isAtRest(snapshot);
  };

  return {
    obstacleTo: async (order) => {
      if (order.run > 0) {
        const task = taskFor(order);
        return task && isBusy(task.sessionID) ? { reason: "the task is not at rest here", isPassing: true } : undefined;
      }
      const { agent, model, commit } = order;
      const lasting = (reason: string) => ({ reason, isPassing: false });
      const agents = await reads.agents();
      if (!agents.ok) return { reason: agents.failure.message, isPassing: true };
      const hasAgent = agents.value.some(({ name, hidden }) => name === agent && !hidden);
      if (!hasAgent) return lasting(`there is no agent ${agent} here`);
      if (model) {
        const models = await reads.models();
        const isKnown = ({ providerID, modelID }: ModelRef) =>
          providerID === model.providerID && modelID === model.modelID;
        if (!models.ok) return { reason: models.failure.message, isPassing: true };
        if (!models.value.some(isKnown)) return lasting(`there is no model ${nameOfModel(model)} here`);
      }
      const reason = await deps.commitObstacle(commit);
      return reason === undefined ? undefined : lasting(reason);
    },
    obstacleToResume: async (name) => {
      const task = taskFor(name);
      if (!task) return GONE;
      const session = await host.session(task.sessionID);
      return !session.ok && session.failure.kind === "notFound" ? GONE : undefined;
    },
    begin: async (order, run) => {
      if (order.run > 0) return resume(order, run);
      const begun = await launch(order, run);
      if (begun.ok) return begun;
      // A person may have deleted the session below which it was to be.
      sessions.delete(order.home);
      return launch(order, run);
    },
    open: () =>
      new Map(
        runtime.liveTasks().flatMap(({ context }) => {
          const order = orderOf(context);
          if (!order) return [];
          const { sessionID } = context.facts;
          keepEnd(sessionID);
          return [[sessionID, order] as const];
        }),
      ),
    untilEnded: async (taskId): Promise<RunEnd | undefined> => {
      await deps.untilEnded(taskId);
      if (!runtime.snapshotOf(taskId)) return undefined;
      const task = store.get(taskId)?.task;
      if (!task || !hasEnded(task)) return undefined;
      const { status, completedAt, result, incomplete, earlierText, error, receipt } = task;
      const { patch, note } = await changesIn(task);
      return {
        outcome: status === "completed" || status === "error" ? status : "cancelled",
        completedAt: completedAt === undefined ? clock.now() : Date.parse(completedAt),
        result: note === undefined ? result : `${result ?? ""}\n\n${note}`.trim(),
        incomplete,
        earlierText,
        error,
        receipt,
        steps: deps.countSteps(taskId)(),
        ...(patch === undefined ? {} : { patch }),
      };
    },
    countSteps: deps.countSteps,
    isStale: (taskId) => runtime.snapshotOf(taskId)?.value.attention === "stale",
    requestsOf: (taskId) => runtime.snapshotOf(taskId)?.context.userRequests ?? [],
    reply: async (taskId, reply) => {
      const answered = await deps.answer(taskId, reply);
      if (answered.ok) return true;
      log.info("a reply from home was not taken", { taskId, reason: answered.reason });
      return answered.cause !== "host";
    },
    onChange: (listener) => runtime.subscribe(({ sessionID }) => listener(sessionID)),
    cancel: (taskId) => {
      deps
        .cancel([taskId])
        .catch((error) => log.error("a task could not be stopped", { taskId, reason: String(error) }));
    },
    settle: (taskId, isDelivered) => {
      const task = store.get(taskId)?.task;
      if (task?.order) runtime.send(taskId, { type: "WAIT_DELIVERED", at: clock.now(), call: FLEET_WAITER });
      // What was too large to be sent is still there for a person.
      if (task && isDelivered && !keepsChanges.has(taskId)) deps.putWorktreeAway(task);
      keepsChanges.delete(taskId);
    },
  };
};
