import type { UserRequest } from "../../machines/task/events.ts";
import { isSameClaim } from "../../machines/task/setup.ts";
import type { Claim, ClaimedJob } from "../../task.ts";
import { repeat, sleep } from "../platform/clock.ts";
import { errorMessage } from "../platform/log.ts";
import type { Delivery, HeldLease } from "./broker.ts";
import type { LocalEngine, RunReport } from "./local-engine.ts";
import type { Membership } from "./member.ts";
import { findLog, isSuperseded, type RunLog } from "./run-log.ts";
import { reportSteps } from "./steps.ts";
import { cutToFit, type EntryOf, originTopic, type RunName, WIRE_VERSION } from "./wire-messages.ts";

/** Milliseconds until what the broker did not take is sent to it again. */
export const SEND_AGAIN_AFTER = 2_000;

/** A worker that monitors its runs. */
export interface MonitoringWorker extends Pick<Membership, "broker" | "server" | "clock" | "log"> {
  engine: LocalEngine;
  /** True once this process works for nobody any more. */
  isStopped(): boolean;
}

/** What a worker holds for a run. */
export interface Taken {
  lease: HeldLease;
  /** Undefined where its model has no limit. */
  permit: HeldLease | undefined;
  /** Undefined where a process before this one has taken the job. The broker gives it out again after `leaseMs`. */
  delivery: Delivery | undefined;
}

/**
 * Writes what a run ended with into its log, unless `claim` was superseded; then it returns false. Where the broker has lost it,
 * the run is claimed anew: its origin server may know no claim, or another one. Entries with the same `nonce` have the same
 * author. `begunBy` is the claim by which the run was begun, if that is not `claim`.
 */
export const writeReport = async (
  { broker, server, clock, log, isStopped }: MonitoringWorker,
  name: RunName,
  { claim: given, begunBy = given, nonce }: { claim: Claim | undefined; begunBy?: Claim | undefined; nonce: string },
  report: RunReport,
): Promise<boolean> => {
  const message = { v: WIRE_VERSION, at: clock.now(), nonce } as const;
  const ended = cutToFit({ ...report, ...message, type: "ended" });
  let claim = given;
  for (;;) {
    const found = await findLog(broker, name);
    const newest = found?.claims.at(-1);
    if (newest?.entry.nonce === nonce) claim = newest.at;
    if (found?.ended?.nonce === nonce) return true;
    if (found && claim && isSuperseded(found, claim)) return false;
    if (found?.ended) return false;
    if (found) {
      const entry: EntryOf<"claimed" | "ended"> =
        begunBy && !isSameClaim(claim, newest?.at)
          ? { ...message, type: "claimed", server, replaces: begunBy }
          : { ...ended, type: "ended", ...(claim ? { claim } : {}) };
      const written = await broker.append(name, entry, found.last);
      if (written.is === "stored" && entry.type === "ended") return true;
      if (written.is === "stored" || written.is === "conflict") continue;
      if (written.is === "refused")
        log.error("the fleet does not take the end of a run", { ...name, reason: written.message });
    }
    if (isStopped()) return false;
    await sleep(clock, SEND_AGAIN_AFTER);
  }
};

const hasSameIds = (some: readonly UserRequest[], others: readonly UserRequest[]): boolean =>
  some.length === others.length && some.every(({ id }, index) => id === others[index]?.id);

/**
 * Monitors a run that this server works on until its origin server has what it ended with: renews lease, permit and job, passes on
 * the requests of its agent and the replies, and stops it when another server has it.
 * @param onSlotFree called when the run has ended here
 */
export const monitorRun = async (
  worker: MonitoringWorker,
  taskId: string,
  run: ClaimedJob,
  { lease, permit, delivery }: Taken,
  onSlotFree: () => void,
): Promise<void> => {
  const { broker, server, engine, clock, log, isStopped } = worker;
  const name: RunName = { origin: run.origin, task: run.task, run: run.run };
  /** The same in the next process, which recognizes by it what this one has written. */
  const nonce = `${server.id} ${taskId}`;
  let { claim } = run;
  let isOver = false;
  /** True where lease, permit and job were taken just now: the first `onReached` renews nothing. */
  let isFresh = delivery !== undefined;
  /** Ends the pause of `untilEntry`. */
  let wake: () => void = () => undefined;
  const untilEntry = (ms: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    clock.after(ms, resolve);
    return promise;
  };

  const lose = (why: string) => {
    if (isOver) return;
    isOver = true;
    log.info("a run of the fleet is not this server's any more", { taskId, ...name, why });
    engine.cancel(taskId);
  };

  /** Returns this server's claim: a newer one than it knows where it, or the process before it, has claimed the run anew. */
  const ownClaimIn = ({ claims }: RunLog): Claim => {
    const newest = claims.at(-1);
    if (newest?.entry.nonce === nonce) claim = newest.at;
    return claim;
  };

  /** A server whose run another one has begun anew leaves the lease to that one, which may have been restarted. */
  const isStillOurs = async (): Promise<boolean | undefined> => {
    const found = await findLog(broker, name);
    return found && !isSuperseded(found, ownClaimIn(found));
  };

  const renew = async () => {
    if (isOver) return;
    const [held] = await Promise.all([lease.renew(isStillOurs), permit?.renew(), delivery?.renew()]);
    if (held === "lost") return lose("another server has it");
    await check(held === "kept");
  };

  /** Reads what others have written of the run. `isHeld`: this server has just renewed the lease. */
  const check = async (isHeld = false) => {
    if (isOver) return;
    const found = await findLog(broker, name);
    if (!found || isOver) return;
    const newest = found.claims.at(-1);
    if (isSuperseded(found, ownClaimIn(found)))
      return lose(found.ended ? "it is closed" : "another server has begun it");
    // An older claim may be that of a server which has begun the run since: then that one holds the lease.
    if (!newest || (isHeld && !isSameClaim(claim, newest.at))) return claimAgain(found);
    if (found.isStopRequested) engine.cancel(taskId);
    await passOnReplies(found);
    await passOnRequests(found);
  };

  /** Claims the run anew where the broker has lost its claim: its origin server may not know who works on it. */
  const claimAgain = async ({ last }: RunLog) => {
    const entry = { v: WIRE_VERSION, type: "claimed", at: clock.now(), nonce, server, replaces: run.claim } as const;
    const written = await broker.append(name, entry, last);
    if (written.is === "stored") claim = written.at;
    if (written.is === "stored" || written.is === "conflict") begin(check);
  };

  const replied = new Set<string>();
  const passOnReplies = async ({ replies }: RunLog) => {
    const isOpen = (requestId: string) => engine.requestsOf(taskId).some(({ id }) => id === requestId);
    for (const { requestId, reply, message, answers } of replies) {
      if (replied.has(requestId) || !isOpen(requestId)) continue;
      replied.add(requestId);
      const given = { ...(reply ? { reply } : {}), ...(message ? { message } : {}), ...(answers ? { answers } : {}) };
      if (!(await engine.reply(taskId, { requestId, ...given }))) replied.delete(requestId);
    }
  };

  /** The requests of the agent that the log had when it was read last. */
  let lastAsked: readonly UserRequest[] = [];
  /** Writes the requests of the agent, where the log has others. */
  const passOnRequests = async ({ asked, last }: RunLog) => {
    lastAsked = asked;
    const requests = engine.requestsOf(taskId);
    if (isOver || hasSameIds(asked, requests)) return;
    const entry = { v: WIRE_VERSION, type: "asked", at: clock.now(), claim, requests } as const;
    const written = await broker.append(name, entry, last);
    // What was written between is read, and so is this.
    if (written.is === "conflict") begin(check);
  };

  const begin = (work: () => Promise<void>) => {
    work().catch((error) => log.error("a run could not be monitored", { ...name, reason: errorMessage(error) }));
  };

  const count = engine.countSteps(taskId);
  const stopsAtEnd = [
    reportSteps(worker, name, () => ({ claim, steps: count(), isStale: engine.isStale(taskId) })),
    repeat(clock, log, { every: broker.leaseMs / 3, work: renew, fault: "a run could not be renewed" }),
  ];
  const stopAtEnd = () => {
    isOver = true;
    for (const stop of stopsAtEnd) stop();
  };
  const stops = [
    stopAtEnd,
    // A broker that was unreachable may have forgotten who has the run.
    broker.onReached(() => {
      if (!isFresh) begin(renew);
      isFresh = false;
    }),
    broker.onEntryIn(name, () => {
      wake();
      begin(check);
    }),
    engine.onChange((changed) => {
      if (changed === taskId && !hasSameIds(lastAsked, engine.requestsOf(taskId))) begin(check);
    }),
  ];
  try {
    const report = await engine.untilEnded(taskId);
    if (!report) return;
    const isWritten = !isOver && (await writeReport(worker, name, { claim, begunBy: run.claim, nonce }, report));
    // Its origin server may be off for days.
    stopAtEnd();
    if (isStopped()) return;
    // A job that another server has now is that server's to remove.
    if (isWritten) await delivery?.done();
    await Promise.all([lease.release(), permit?.release()]);
    onSlotFree();
    const isReceived = isWritten && (await untilReceived(worker, name, { nonce, untilEntry }));
    if (!isStopped()) engine.finish(taskId, isReceived);
  } finally {
    for (const stop of stops) stop();
  }
};

/**
 * Notifies the origin server until it has received the report with this nonce. Resolves to false where the log does not have that
 * any more: the broker has forgotten it.
 */
const untilReceived = async (
  { broker, isStopped }: MonitoringWorker,
  name: RunName,
  { nonce, untilEntry }: { nonce: string; untilEntry(ms: number): Promise<void> },
): Promise<boolean> => {
  for (let pause = SEND_AGAIN_AFTER; !isStopped(); pause = Math.min(2 * pause, broker.leaseMs)) {
    await untilEntry(pause);
    const found = await findLog(broker, name);
    if (found?.isReceived) return true;
    // An origin server that lacks the report queues the run again; one that has it has closed the run.
    if (found && found.ended?.nonce !== nonce) return false;
    broker.notify(originTopic(name.origin), JSON.stringify(name));
  }
  return false;
};
