import type { PermissionRule } from "../../machines/host-events.ts";
import type { TaskContext, UserRequest } from "../../machines/task/events.ts";
import { isAtRest } from "../../machines/task/machine.ts";
import { type ClaimedJob, hasEnded, type ModelRef, type Task, type TaskStatus } from "../../task.ts";
import type { UserReply } from "../../user-request.ts";
import { FLEET_WAITER } from "../engine/operations/wait.ts";
import { errorMessage } from "../platform/log.ts";
import { fail, type Outcome } from "../platform/result.ts";
import type { Store } from "../store/store.ts";
import { modelName } from "../text/model-and-server.ts";
import type { Membership, WorkerEngine } from "./member.ts";
import { countSteps } from "./steps.ts";
import { type Ended, type Job, packPatch, type RunName } from "./wire-messages.ts";

/** What a worker reports of a run that has ended. */
export type RunReport = Omit<Ended, "v" | "type" | "at" | "nonce" | "claim">;

/** Works on jobs with this server's own engine. */
export type LocalEngine = ReturnType<typeof createLocalEngine>;

/** Marks the session that is the parent of an origin server's tasks. */
const ORIGIN_KEY = "taskchartFleetOrigin";

/** A person may have resumed the task here, and work with it. A retry goes on with whatever there is. */
const MAY_RESUME: ReadonlySet<TaskStatus> = new Set(["completed", "resumed"]);

/** A task of another server that is to go on here. */
type GoesOn = Pick<RunName, "origin" | "task"> & Pick<Job, "isRetry">;

const GONE = "its conversation is not there any more";

/** Returns the job that a task's run works on; undefined for a local run, such as one that a person has begun here. */
const jobOf = ({ facts, run }: Pick<TaskContext, "facts" | "run">): ClaimedJob | undefined =>
  run.index === 0 ? facts.job : run.job;

/** Returns the batch of the tasks that were begun for a task of another server, by which they are found. */
const batchOf = ({ origin, task }: Pick<ClaimedJob, "origin" | "task">): string => `${origin}.${task}`.slice(0, 100);

/** Finds the newest task here that was begun for a task of another server; undefined where there is none. */
export const findTaskFor = (
  store: Pick<Store, "get" | "list">,
  { origin, task }: Pick<ClaimedJob, "origin" | "task">,
): string | undefined =>
  store.list({ batchId: batchOf({ origin, task }) }).findLast(({ sessionID }) => {
    const job = store.get(sessionID)?.task.job;
    return job?.origin === origin && job.task === task;
  })?.sessionID;

/** Creates what works on jobs with this server's own engine. */
export const createLocalEngine = ({ commits, clock, log }: Membership, engine: WorkerEngine) => {
  const { host, reads, runtime, store } = engine;
  /** The session that is the parent of an origin server's tasks, by the id of that server. */
  const sessions = new Map<string, Promise<Outcome<string>>>();

  const openSession = async ({ origin, project }: Job): Promise<Outcome<string>> => {
    const listed = await host.sessionsSince(0);
    const known = listed.ok ? listed.value.find(({ metadata }) => metadata[ORIGIN_KEY] === origin) : undefined;
    if (known) return { ok: true, value: known.id };
    const title = `Tasks of another server (${project})`;
    const session = { title, agent: "build", model: undefined, permission: [], metadata: { [ORIGIN_KEY]: origin } };
    const created = await host.createSession(session);
    return created.ok ? { ok: true, value: created.value.id } : fail(created.failure.message, "host");
  };

  /** Returns the session of an origin server. One that could not be opened is tried again with the next job. */
  const sessionOf = async (job: Job): Promise<Outcome<string>> => {
    const opened = sessions.get(job.origin) ?? openSession(job);
    sessions.set(job.origin, opened);
    const session = await opened;
    if (!session.ok) sessions.delete(job.origin);
    return session;
  };

  /** Returns the task here with whose conversation the run of another server's task may go on; undefined where there is none. */
  const taskFor = (name: GoesOn): Task | undefined => {
    const task = store.get(findTaskFor(store, name) ?? "")?.task;
    return task && (name.isRetry || MAY_RESUME.has(task.status)) ? task : undefined;
  };

  /** Tasks whose changes stay here, because they could not be sent. */
  const keepsChanges = new Set<string>();

  /** Returns what a task has changed, packed; where that cannot be sent, a note for whoever reads the result. */
  const changesIn = async (task: Task): Promise<{ patch?: string; note?: string }> => {
    const { sessionID } = task;
    const stays = (why: string) => {
      keepsChanges.add(sessionID);
      return { note: `[${why}: they stay on the server that worked on it, with its task ${sessionID}.]` };
    };
    try {
      const bytes = await engine.patchOf(task);
      if (!bytes) return {};
      const patch = packPatch(bytes);
      return patch === undefined ? stays("The changes of its files are too large for the fleet") : { patch };
    } catch (error) {
      log.error("what a task changed could not be sent", { taskId: sessionID, reason: errorMessage(error) });
      return stays("The changes of its files could not be read");
    }
  };

  /** Registers the origin server as a waiter for the result, so that no notice is sent here. */
  const waitForOrigin = (taskId: string) => {
    if (runtime.snapshotOf(taskId)?.context.waiters.includes(FLEET_WAITER)) return;
    runtime.send(taskId, { type: "WAIT_BEGAN", at: clock.now(), call: FLEET_WAITER });
  };

  const launch = async (job: Job, run: ClaimedJob): Promise<Outcome<string>> => {
    const session = await sessionOf(job);
    if (!session.ok) return session;
    const denied = job.denied.map((rule): PermissionRule => ({ ...rule, action: "deny" }));
    const launched = await engine.launch({
      description: job.description,
      prompt: job.prompt,
      agent: job.agent,
      model: job.model && modelName(job.model),
      batchId: batchOf(run),
      wake: undefined,
      parentSessionID: session.value,
      parentMessageID: "",
      parentAgent: "",
      directory: engine.directory,
      priority: 1 - job.priority,
      worktree: undefined,
      schema: job.schema,
      fork: false,
      permit: async () => undefined,
      signal: new AbortController().signal,
      job: { run, commit: job.commit, denied },
    });
    if (!launched.ok) return launched;
    const { sessionID } = launched.value.task;
    waitForOrigin(sessionID);
    return { ok: true, value: sessionID };
  };

  const goOn = async (job: Job, run: ClaimedJob): Promise<Outcome<string>> => {
    const task = taskFor(job);
    if (!task) return fail(GONE);
    const { parentSessionID, sessionID: taskId, status } = task;
    const signal = new AbortController().signal;
    const request = { parentSessionID, taskId, prompt: job.prompt, agent: undefined, job: run, signal };
    // The run that is retried may never have come here, or was answered here before the origin server learned of it.
    const isRetry = job.isRetry && status !== "completed";
    const begun = await (isRetry ? engine.retry(request) : engine.resume(request));
    if (!begun.ok) return begun;
    waitForOrigin(taskId);
    return { ok: true, value: taskId };
  };

  /**
   * True while a task must not be resumed: the origin server does not have its last outcome yet, a person works with it, or a
   * process before this one began this very run, and no process has taken it over yet.
   */
  const isBusy = (taskId: string): boolean => {
    const snapshot = store.get(taskId)?.snapshot;
    return snapshot !== undefined && !isAtRest(snapshot);
  };

  return {
    /** Returns why this server cannot work on a job, now (`isPassing`) or ever; undefined where it can. */
    obstacleTo: async (job: Job): Promise<{ reason: string; isPassing: boolean } | undefined> => {
      if (job.run > 0) {
        const task = taskFor(job);
        return task && isBusy(task.sessionID) ? { reason: "the task is not at rest here", isPassing: true } : undefined;
      }
      const { agent, model, commit } = job;
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
        if (!models.value.some(isKnown)) return lasting(`there is no model ${modelName(model)} here`);
      }
      const reason = await commits.obstacle(engine.directory, commit);
      return reason === undefined ? undefined : lasting(reason);
    },
    /** Returns why a task of another server cannot be resumed here; undefined where it can. */
    obstacleToResume: async (name: GoesOn): Promise<string | undefined> => {
      const task = taskFor(name);
      if (!task) return GONE;
      const session = await host.session(task.sessionID);
      return !session.ok && session.failure.kind === "notFound" ? GONE : undefined;
    },
    /** Begins a run, or goes on with the conversation of the run before. Resolves to the id of its task here. */
    begin: async (job: Job, run: ClaimedJob): Promise<Outcome<string>> => {
      if (job.run > 0) return goOn(job, run);
      const begun = await launch(job, run);
      if (begun.ok) return begun;
      // A person may have deleted the session that was to be its parent.
      sessions.delete(job.origin);
      return launch(job, run);
    },
    /** Returns the runs that were begun here and are not finished, by the id of their task. */
    open: () =>
      new Map(
        runtime.liveTasks().flatMap(({ context }) => {
          const job = jobOf(context);
          if (!job) return [];
          const { sessionID } = context.facts;
          waitForOrigin(sessionID);
          return [[sessionID, job] as const];
        }),
      ),
    /** Resolves to what a task ended with; to undefined where another process has taken it over. */
    untilEnded: async (taskId: string): Promise<RunReport | undefined> => {
      await engine.untilEnded(taskId);
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
        steps: countSteps(store, engine.progress, taskId)(),
        ...(patch === undefined ? {} : { patch }),
      };
    },
    /** Begins to count what a task does. */
    countSteps: (taskId: string) => countSteps(store, engine.progress, taskId),
    isStale: (taskId: string): boolean => runtime.snapshotOf(taskId)?.value.attention === "stale",
    /** Returns the unanswered requests of the agent of a task. */
    requestsOf: (taskId: string): UserRequest[] => runtime.snapshotOf(taskId)?.context.userRequests ?? [],
    /** Passes a person's reply on to the agent of a task. False where the host did not take it now, and may later. */
    reply: async (taskId: string, reply: UserReply): Promise<boolean> => {
      const answered = await engine.answer(taskId, reply);
      if (answered.ok) return true;
      log.info("a reply from another server was not taken", { taskId, reason: answered.reason });
      return answered.cause !== "host";
    },
    /** Calls `listener` with the id of each task that has changed. */
    onChange: (listener: (taskId: string) => void): (() => void) =>
      runtime.subscribe(({ sessionID }) => listener(sessionID)),
    cancel: (taskId: string): void => {
      engine
        .cancel([taskId])
        .catch((error) => log.error("a task could not be stopped", { taskId, reason: String(error) }));
    },
    /** The origin server has what a task ended with (`isDelivered`), or does not want it: nothing is owed any more. */
    finish: (taskId: string, isDelivered: boolean): void => {
      const task = store.get(taskId)?.task;
      if (task?.job) runtime.send(taskId, { type: "WAIT_DELIVERED", at: clock.now(), call: FLEET_WAITER });
      // What was too large to be sent is still there for a person.
      if (task && isDelivered && !keepsChanges.has(taskId)) engine.putWorktreeAway(task);
      keepsChanges.delete(taskId);
    },
  };
};
