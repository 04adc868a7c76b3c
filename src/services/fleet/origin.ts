import { statusOf, type TaskSnapshot } from "../../machines/task/machine.ts";
import { isInFleet } from "../../machines/task/slot.ts";
import { type FleetServer, hasEnded, type Task } from "../../task.ts";
import type { UserReply } from "../../user-request.ts";
import type { RemoteRuns } from "../engine/requests.ts";
import type { Host, HostResult } from "../host/host.ts";
import { repeat } from "../platform/clock.ts";
import { createOneAtATime } from "../platform/concurrency.ts";
import { errorMessage } from "../platform/log.ts";
import type { BrokerFailure } from "./broker.ts";
import { jobFor, mayGoOn } from "./jobs.ts";
import type { Membership, OriginEngine } from "./member.ts";
import { findLog, type RunLog, reportRun } from "./run-log.ts";
import { listenToSteps } from "./steps.ts";
import {
  aboutQueue,
  type Job,
  originTopic,
  poolTopic,
  type RunName,
  readRunName,
  runLease,
  WIRE_VERSION,
} from "./wire-messages.ts";

/** How often an entry is tried to be written where others write as well. */
const ATTEMPTS = 5;

/** True for a task that was meant for other servers, and runs here. */
const isWorkedOnHere = (snapshot: TaskSnapshot): boolean => {
  const { facts, run, completedAt } = snapshot.context;
  return facts.fleet !== undefined && run.index === 0 && completedAt === undefined && !isInFleet(snapshot);
};

/**
 * Creates what the engine asks of its runs on other servers. From then on it reads their logs, and reports to the charts what the
 * workers wrote.
 */
export const createRemoteRuns = (member: Membership, engine: OriginEngine) => {
  const { broker, server, clock, log, newId } = member;
  const { store, charts } = engine;
  const nameOf = (task: string, run: number): RunName => ({ origin: server.id, task, run });

  const jobOf = async (taskId: string, run: number): Promise<Job | BrokerFailure | undefined> => {
    const context = charts().snapshotOf(taskId)?.context;
    return context?.run.index === run ? jobFor(member, engine, context) : undefined;
  };

  /** Returns the snapshot of a run that is under way, wherever. */
  const underWay = ({ task, run }: RunName): TaskSnapshot | undefined => {
    const snapshot = charts().snapshotOf(task);
    return snapshot?.context.run.index === run && !hasEnded({ status: statusOf(snapshot) }) ? snapshot : undefined;
  };

  /** Confirms that how the run ended is stored here, so that the worker may forget it. */
  const confirm = async (name: RunName, { ended, isReceived }: RunLog) => {
    if (!ended?.claim || isReceived) return;
    await broker.append(name, { v: WIRE_VERSION, type: "received", at: clock.now() }, undefined);
  };

  /** True where no worker may begin a run: it is being withdrawn or closed, it has ended here, or it runs here. */
  const isToBeClosed = (name: RunName): boolean => {
    const snapshot = underWay(name);
    if (!snapshot || !isInFleet(snapshot)) return true;
    return (
      snapshot.matches({ run: { fleet: { unclaimed: "withdrawing" } } }) ||
      snapshot.matches({ run: { fleet: { stopping: "closing" } } })
    );
  };

  const readings = createOneAtATime();

  /**
   * Reads a run's log, and reports it to the chart. Returns it; undefined where the broker does not answer. Readings of a log
   * follow each other: what was read earlier must not be taken for newer.
   */
  const readAndReport = (name: RunName): Promise<RunLog | undefined> =>
    readings.run(runLease(name), async () => {
      const found = await findLog(broker, name);
      if (found) await reportRun(member, engine, name, found);
      return found;
    });

  /** Ends a run in its log, as that was read last. True once no entry of a worker can count any more. */
  const closeLog = async (name: RunName, found: RunLog): Promise<boolean> => {
    const nonce = newId();
    for (let attempt = 0, current: RunLog | undefined = found; attempt < ATTEMPTS && current; attempt += 1) {
      if (current.ended) return true;
      // A worker has begun it: the chart decides what becomes of that.
      if (!isToBeClosed(name)) return false;
      const at = clock.now();
      const end = { v: WIRE_VERSION, type: "ended", at, nonce, outcome: "cancelled", completedAt: at } as const;
      const closed = await broker.append(name, end, current.last);
      if (closed.is === "stored") return true;
      if (closed.is !== "conflict") return false;
      current = await readAndReport(name);
    }
    return false;
  };

  /**
   * Reports that the worker which claimed a run last still holds its lease, though it was taken for lost: it stood still for longer
   * than the lease, and goes on. True where it does.
   */
  const reportHolder = async (name: RunName, { ended, claims }: RunLog): Promise<boolean> => {
    const newest = claims.at(-1);
    const snapshot = charts().snapshotOf(name.task);
    if (ended || !newest || !snapshot?.can({ type: "REMOTE_HELD", at: clock.now(), claim: newest.at })) return false;
    const held = await broker.holder(runLease(name));
    if (held.is !== "read" || held.lease?.holder !== newest.entry.server.id) return false;
    charts().send(name.task, { type: "REMOTE_HELD", at: clock.now(), claim: newest.at });
    return true;
  };

  /** Reads a run's log, and does what follows from it. Returns it; undefined where the broker does not answer. */
  const look = async (name: RunName): Promise<RunLog | undefined> => {
    const found = await readAndReport(name);
    if (!found) return undefined;
    const snapshot = underWay(name);
    if (snapshot) await reportHolder(name, found);
    else await confirm(name, found);
    // It ended here before a worker claimed it, or runs here, because the broker was unreachable.
    const isElsewhere = found.claims.length > 0 && !isForeign(name.task);
    if (!found.ended && isElsewhere && !(snapshot && isInFleet(snapshot))) await closeLog(name, found);
    return found;
  };

  /** True for a task of another process of this server, which looks after it. */
  const isForeign = (taskId: string): boolean => {
    const task = store.get(taskId)?.task;
    return task !== undefined && !hasEnded(task) && charts().snapshotOf(taskId) === undefined;
  };

  const lookSafely = (name: RunName) => {
    if (isForeign(name.task)) return;
    look(name).catch((error) =>
      log.error("a run in the fleet could not be read", { ...name, reason: errorMessage(error) }),
    );
  };

  /** When the broker was reached last, epoch milliseconds. */
  let reachedAt = Number.POSITIVE_INFINITY;

  /**
   * Since when nobody was seen to hold the lease of a run, and when that was seen last, epoch milliseconds; and how often the run
   * was claimed by then.
   */
  const unheldSince = new Map<string, { at: number; seenAt: number; claims: number }>();

  /** True where nobody has held or claimed a run for the period of a lease in which the broker was reachable. */
  const isUnheld = async (name: RunName, claims: number): Promise<boolean> => {
    const id = runLease(name);
    const held = await broker.holder(id);
    if (held.is !== "read" || held.lease) {
      unheldSince.delete(id);
      return false;
    }
    const known = unheldSince.get(id);
    const seenAt = clock.now();
    // This process may have stood still since, and somebody may have held the lease for its whole period.
    const isKnown = known?.claims === claims && seenAt - known.seenAt < broker.leaseMs;
    const at = isKnown ? known.at : seenAt;
    unheldSince.set(id, { at, seenAt, claims });
    return seenAt - Math.max(at, reachedAt) >= broker.leaseMs;
  };

  /**
   * True where no worker has a run or will take it: nobody holds its lease, and it has not ended. Whether its job is queued counts
   * only for a run that was never claimed: that one waits for its turn.
   */
  const isLost = async (name: RunName, { ended, claims }: RunLog): Promise<boolean> => {
    if (ended || !(await isUnheld(name, claims.length))) return false;
    // A worker writes how the run ended before it releases the lease.
    const found = await findLog(broker, name);
    if (!found || found.ended || found.claims.length !== claims.length) return false;
    if (claims.length > 0) return true;
    const job = await jobOf(name.task, name.run);
    if (!job || "is" in job) return false;
    // Its model may have been limited after it was queued.
    for (const key of new Set([job.key, ""])) {
      const queued = await broker.isQueued({ ...job, key });
      if (queued.is !== "read" || queued.isQueued) return false;
    }
    return true;
  };

  const lookAt = async (snapshot: TaskSnapshot) => {
    const { facts, run } = snapshot.context;
    const name = nameOf(facts.sessionID, run.index);
    // The job of one that runs here may have been queued, though no answer said so.
    const found = isInFleet(snapshot) || isWorkedOnHere(snapshot) ? await look(name) : undefined;
    if (!found || !isInFleet(snapshot) || !(await isLost(name, found))) return;
    unheldSince.delete(runLease(name));
    charts().send(facts.sessionID, { type: "REMOTE_LOST", at: clock.now() });
  };

  /** Reads the logs of all runs that are in the fleet. Those that are lost are queued again. */
  const lookAtAll = async () => {
    const live = charts().liveTasks();
    const names = new Set(live.map(({ context: { facts, run } }) => runLease(nameOf(facts.sessionID, run.index))));
    for (const id of unheldSince.keys()) if (!names.has(id)) unheldSince.delete(id);
    await Promise.all(live.map(lookAt));
  };

  let stopLooking: () => void = () => undefined;
  /** Looks at once, and from now on twice in the period of a lease. */
  const lookAgain = () => {
    stopLooking();
    reachedAt = clock.now();
    const every = broker.leaseMs / 2;
    stopLooking = repeat(clock, log, { first: 0, every, work: lookAtAll, fault: "the fleet could not be read" });
  };

  const stops = [
    broker.onEntryAt(server.id, lookSafely),
    broker.onNotified(originTopic(server.id), (payload) => {
      const name = readRunName(payload);
      if (name?.origin === server.id) lookSafely(name);
    }),
    listenToSteps(member, engine, lookSafely),
    broker.onReached(lookAgain),
    () => stopLooking(),
  ];

  /** Replies to a request of an agent on another server; undefined for a request of this one. */
  const reply = (requestId: string, given: Omit<UserReply, "requestId">): Promise<HostResult<void>> | undefined => {
    const asking = charts()
      .liveTasks()
      .find((snapshot) => isInFleet(snapshot) && snapshot.context.userRequests.some(({ id }) => id === requestId));
    return asking && writeReply(asking, { requestId, ...given });
  };

  const writeReply = async ({ context }: TaskSnapshot, given: UserReply): Promise<HostResult<void>> => {
    const { facts, run } = context;
    const entry = { v: WIRE_VERSION, at: clock.now(), type: "replied", ...given } as const;
    const written = await broker.append(nameOf(facts.sessionID, run.index), entry, undefined);
    if (written.is === "stored") return { ok: true, value: undefined };
    const message = written.is === "conflict" ? "The run has moved on" : written.message;
    return { ok: false, failure: { kind: "unavailable", name: "FleetUnavailable", message } };
  };

  const effects: RemoteRuns = {
    enqueue: async (taskId, run) => {
      const job = await jobOf(taskId, run);
      const refused = (message: string, retryable: boolean) =>
        ({
          type: "JOB_REFUSED",
          at: clock.now(),
          error: { name: "JobRefused", kind: "fleet", message },
          retryable,
        }) as const;
      if (!job) return refused("The task is gone.", false);
      if ("is" in job) return refused(job.message, true);
      const queued = await broker.enqueue(job);
      if (queued.is !== "stored") return refused(queued.message, queued.is === "unavailable");
      broker.notify(poolTopic(job.pool), aboutQueue(job));
      return { type: "JOB_ENQUEUED", at: clock.now() };
    },
    read: async (taskId, run) => void (await look(nameOf(taskId, run))),
    requestStop: async (taskId, run) => {
      await broker.append(nameOf(taskId, run), { v: WIRE_VERSION, type: "stopRequested", at: clock.now() }, undefined);
    },
    close: async (taskId, run) => {
      const name = nameOf(taskId, run);
      const found = await readAndReport(name);
      if (!found || (underWay(name) && (await reportHolder(name, found)))) return;
      if (await closeLog(name, found)) await readAndReport(name);
    },
  };

  return {
    ...effects,
    /** Asks the server that has a task's conversation whether it can go on with it; a failure says why it cannot. */
    mayGoOn: (task: Task, at: FleetServer, done: "resumed" | "retried") => mayGoOn(broker, server.id, task, at, done),
    /** Returns a host that passes replies to requests of agents on other servers on to those. */
    withReplies: <H extends Host>(host: H): H => ({
      ...host,
      answerUserRequest: (request, given) => reply(request.id, given) ?? host.answerUserRequest(request, given),
      rejectUserRequest: (request, why) => {
        // A question is rejected without words.
        const given = { reply: "reject", ...(request.kind === "permission" ? { message: why } : {}) } as const;
        return reply(request.id, given) ?? host.rejectUserRequest(request, why);
      },
    }),
    stop: () => {
      for (const stop of stops) stop();
    },
  };
};
