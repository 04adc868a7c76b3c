import type { Claim, ClaimedJob, TaskError } from "../../task.ts";
import { repeat } from "../platform/clock.ts";
import { errorMessage } from "../platform/log.ts";
import type { Delivery, Queue } from "./broker.ts";
import { type HeldLease, heldLease, takePermit } from "./broker.ts";
import type { LocalEngine, RunReport } from "./local-engine.ts";
import type { Membership } from "./member.ts";
import { type MonitoringWorker, monitorRun, SEND_AGAIN_AFTER, type Taken, writeReport } from "./monitored-run.ts";
import { findLog, type RunLog } from "./run-log.ts";
import {
  aboutQueue,
  type EntryOf,
  type Job,
  limitKey,
  PERMIT_TOPIC,
  poolOfServer,
  poolTopic,
  RESUME_PRIORITY,
  runLease,
  WIRE_VERSION,
} from "./wire-messages.ts";

/** The most milliseconds between two looks for jobs that nobody was notified of, such as those of a dead worker. */
const LOOK_EVERY = 15_000;

/** Milliseconds before a job that this server cannot work on is tried again: its owner may install what it lacks. */
const NOT_FOR_US_FOR = 300_000;

const PRIORITIES = [0, 1, 2] as const;

const INTERRUPTED: TaskError = {
  name: "Interrupted",
  kind: "interrupted",
  message: "The servers that worked on the task ended before it was done, as often as it may be begun.",
};

type WorkerMember = Pick<Membership, "broker" | "server" | "pool" | "work" | "clock" | "log" | "newId">;

/** Creates what takes jobs of other servers, as many at once as the server has slots. */
export const createWorker = (
  { broker, server, pool, work: slots, clock, log, newId }: WorkerMember,
  engine: LocalEngine,
) => {
  /** The runs that are monitored here, by the id of their task. Those that have not ended occupy a slot each. */
  const runs = new Map<string, { lease: string; hasSlot: boolean }>();
  /** Jobs that this server cannot work on, by the name of their lease, and when they are tried again. */
  const notForUs = new Map<string, number>();
  const isForUs = (id: string): boolean => {
    for (const [other, until] of notForUs) if (until <= clock.now()) notForUs.delete(other);
    return !notForUs.has(id);
  };
  /** How many jobs are being taken up. */
  let taking = 0;
  /** False until it is known which runs a process before this one has begun: they have slots. */
  let isReady = false;
  let isStopped = false;
  /** The queue of resumes whose conversation is on this server. */
  const ownPool = poolOfServer(pool, server.id);
  const monitoring: MonitoringWorker = { broker, server, engine, clock, log, isStopped: () => isStopped };

  const slotsLeft = (): number => slots - taking - [...runs.values()].filter(({ hasSlot }) => hasSlot).length;

  const monitor = (taskId: string, run: ClaimedJob, taken: Taken) => {
    const entry = { lease: runLease(run), hasSlot: true };
    runs.set(taskId, entry);
    const freeSlot = () => {
      entry.hasSlot = false;
      if (taken.permit) broker.notify(PERMIT_TOPIC);
      lookForJobs();
    };
    monitorRun(monitoring, taskId, run, taken, freeSlot)
      .catch((error) => log.error("a run could not be monitored", { taskId, reason: errorMessage(error) }))
      .finally(() => {
        runs.delete(taskId);
        if (entry.hasSlot) lookForJobs();
      });
  };

  /** Claims a run for this server; undefined where another one was faster, or the broker is unreachable. */
  const claim = async (job: Job, found: RunLog): Promise<Claim | undefined> => {
    const nonce = newId();
    const entry: EntryOf<"claimed"> = { v: WIRE_VERSION, type: "claimed", at: clock.now(), nonce, server };
    const written = await broker.append(job, entry, found.last);
    if (written.is === "stored") return written.at;
    if (written.is === "conflict" || written.is === "refused") return undefined;
    // Its answer may have been lost.
    const newest = (await findLog(broker, job))?.claims.at(-1);
    return newest?.entry.nonce === nonce ? newest.at : undefined;
  };

  const endRun = (job: Job, claim: Claim | undefined, report: RunReport) =>
    writeReport(monitoring, job, { claim, nonce: newId() }, report);

  /** The limits of the fleet, as they were read last. */
  let limits: Readonly<Record<string, number | null>> = {};

  const permitFor = (key: string, limit: number) => takePermit(broker, key, limit, `${server.id} ${newId()}`);

  /**
   * Begins the run of a job, or puts the job back. True where the run is monitored from now on. It may take long: a commit is
   * fetched, a worktree made and prepared.
   * @param given the permit that was taken before the job was. A job without one needs it all the same where it was queued before
   * its model was limited
   */
  const takeUp = async (delivery: Delivery, given: HeldLease | undefined): Promise<boolean> => {
    const key = limitKey(delivery.job.model);
    const limit = given ? null : (limits[key] ?? null);
    const permit = limit === null ? given : await permitFor(key, limit);
    if (limit !== null && !permit) {
      await delivery.requeue(broker.leaseMs / 6);
      return false;
    }
    const kept: { renew(): Promise<unknown> }[] = permit ? [delivery, permit] : [delivery];
    const stopRenewing = repeat(clock, log, {
      every: broker.leaseMs / 3,
      work: async () => void (await Promise.all(kept.map((one) => one.renew()))),
      fault: "a job could not be renewed",
    });
    let isMonitored = false;
    try {
      isMonitored = await begin(delivery, permit, (lease) => kept.push(lease));
      return isMonitored;
    } finally {
      stopRenewing();
      if (!isMonitored) await permit?.release();
    }
  };

  const begin = async (
    delivery: Delivery,
    permit: HeldLease | undefined,
    keep: (lease: HeldLease) => void,
  ): Promise<boolean> => {
    const { job } = delivery;
    const id = runLease(job);
    const giveBack = async (afterMs: number) => {
      await delivery.requeue(afterMs);
      return false;
    };
    // A job whose run is monitored here is given out again when this server has slept for longer than the lease.
    const isMonitored = [...runs.values()].some((run) => run.lease === id);
    if (!isForUs(id) || isMonitored) return giveBack(broker.leaseMs / 2);
    const obstacle = await engine.obstacleTo(job);
    if (obstacle) {
      log.info("this server cannot work on a job", { job: id, reason: obstacle.reason });
      if (!obstacle.isPassing) notForUs.set(id, clock.now() + NOT_FOR_US_FOR);
      // A resume is for this server alone.
      return giveBack(job.run > 0 ? SEND_AGAIN_AFTER : broker.leaseMs / 2);
    }
    const askedAt = clock.now();
    const held = await broker.acquire(id, server.id, 0);
    if (held.is !== "held") return giveBack(broker.leaseMs / 2);
    const lease = heldLease(broker, id, server.id, held.seq);
    keep(lease);
    const found = await findLog(broker, job);
    // This server may have stood still since, and another one may have the lease that it was given so long ago.
    const mayHaveExpired = clock.now() - askedAt >= broker.leaseMs;
    const claimed = found && !mayHaveExpired ? await claimOrEnd(job, found) : undefined;
    if (claimed === "ended") await delivery.done();
    if (claimed === undefined || claimed === "ended") {
      await lease.release();
      return claimed === "ended" ? false : giveBack(SEND_AGAIN_AFTER);
    }
    const { origin, task, run } = job;
    const claimedRun: ClaimedJob = {
      ...{ origin, task, run, claim: claimed, depth: job.depth },
      ...(permit ? { permit: { name: permit.name, holder: permit.holder } } : {}),
    };
    const begun = await engine.begin(job, claimedRun);
    if (begun.ok) {
      monitor(begun.value, claimedRun, { lease, permit, delivery });
      return true;
    }
    const error: TaskError = { name: "NotBegun", kind: "fleet", message: `${server.label}: ${begun.reason}` };
    await endRun(job, claimed, { outcome: "error", completedAt: clock.now(), error });
    await delivery.done();
    await lease.release();
    return false;
  };

  /**
   * Claims a run, or finds that it has ended. It is ended here where its origin server has asked for a stop that no worker has
   * heard, or where it may not be claimed once more.
   */
  const claimOrEnd = async (job: Job, found: RunLog): Promise<Claim | "ended" | undefined> => {
    if (found.ended) return "ended";
    if (!found.isStopRequested && found.claims.length < job.attempts) return claim(job, found);
    const completedAt = clock.now();
    const report: RunReport = found.isStopRequested
      ? { outcome: "cancelled", completedAt }
      : { outcome: "error", completedAt, error: INTERRUPTED };
    await endRun(job, found.claims.at(-1)?.at, report);
    return "ended";
  };

  /** Takes the next job of a queue, and begins it in the background. False where there is none, or it may not be taken now. */
  const takeNext = async (queue: Queue, limit: number | null): Promise<boolean> => {
    const permit = limit === null ? undefined : await permitFor(queue.key, limit);
    if (limit !== null && !permit) return false;
    const taken = await broker.take(queue);
    if (taken.is !== "taken" || !taken.delivery) {
      await permit?.release();
      return false;
    }
    taking += 1;
    const isMonitored = takeUp(taken.delivery, permit).catch((error) => {
      log.error("a job could not be taken up", { reason: errorMessage(error) });
      return false;
    });
    void isMonitored.then((isTrue) => {
      taking -= 1;
      if (!isTrue) lookForJobs();
    });
    return true;
  };

  /** True while a person wants this server to take no more. */
  let isDrained = false;

  const takeAll = async (queue: Queue, limit: number | null) => {
    while (!isStopped && !isDrained && slotsLeft() > 0 && (await takeNext(queue, limit)));
  };

  /** Takes jobs while slots are free, the most urgent first. */
  const takeFromAll = async () => {
    const read = await broker.limits();
    if (read.is !== "read") return;
    limits = read.limits;
    isDrained = read.drained.includes(server.id) || read.drained.includes(server.label);
    const keys: [key: string, limit: number | null][] = [["", null], ...Object.entries(limits)];
    for (const [key, limit] of keys) await takeAll({ pool: ownPool, priority: RESUME_PRIORITY, key }, limit);
    for (const priority of PRIORITIES) for (const [key, limit] of keys) await takeAll({ pool, priority, key }, limit);
  };

  /** Which queues are to be looked at: those of some priorities that have no limit, or all. */
  const wanted = new Set<(typeof PRIORITIES)[number] | "all">();
  let isLooking = false;

  /** Looks while queues are wanted and slots are free. */
  const look = async () => {
    isLooking = true;
    try {
      while (isReady && wanted.size > 0 && slotsLeft() > 0 && !isStopped) {
        const isAll = wanted.has("all");
        const some = PRIORITIES.filter((priority) => wanted.has(priority));
        wanted.clear();
        if (isAll) await takeFromAll();
        else for (const priority of some) await takeAll({ pool, priority, key: "" }, null);
      }
    } finally {
      // At once: what is wanted from now on begins another look.
      isLooking = false;
    }
  };

  const lookFor = (where: (typeof PRIORITIES)[number] | "all") => {
    wanted.add(where);
    if (isLooking) return;
    look().catch((error) => log.error("jobs could not be taken", { reason: errorMessage(error) }));
  };
  const lookForJobs = () => lookFor("all");

  const onJob = (payload: string) => {
    lookFor(PRIORITIES.find((priority) => payload === aboutQueue({ priority, key: "" })) ?? "all");
  };

  /** Monitors a run that a process before this one has begun. */
  const takeOver = (taskId: string, run: ClaimedJob) => {
    const lease = heldLease(broker, runLease(run), server.id, 0);
    const permit = run.permit && heldLease(broker, run.permit.name, run.permit.holder, 0);
    monitor(taskId, run, { lease, permit, delivery: undefined });
  };

  let stopLooking: () => void = () => undefined;
  /** Looks at once, and from now on three times in the period of a lease: that of a dead server may have expired. */
  const lookAgain = () => {
    stopLooking();
    const every = Math.min(LOOK_EVERY, broker.leaseMs / 3);
    stopLooking = repeat(clock, log, { first: 0, every, work: lookForJobs, fault: "jobs could not be taken" });
  };

  const stops = [
    broker.onNotified(poolTopic(pool), onJob),
    broker.onNotified(poolTopic(ownPool), lookForJobs),
    broker.onNotified(PERMIT_TOPIC, lookForJobs),
    broker.onReached(lookAgain),
    () => stopLooking(),
  ];

  return {
    /** Monitors the runs that a process before this one has begun. No job is taken before the first time. */
    takeOver: (): void => {
      for (const [taskId, run] of engine.open()) {
        if (!runs.has(taskId)) takeOver(taskId, run);
      }
      if (isReady) return;
      isReady = true;
      lookForJobs();
    },
    /** Returns why a task of another server cannot be resumed here; undefined where it can. */
    obstacleToResume: async (name: Parameters<LocalEngine["obstacleToResume"]>[0]): Promise<string | undefined> =>
      isDrained ? "it takes no more jobs" : engine.obstacleToResume(name),
    /** How many runs of others it works on, or is about to. */
    atWork: (): number => slots - slotsLeft(),
    stop: (): void => {
      isStopped = true;
      for (const stop of stops) stop();
    },
  };
};
