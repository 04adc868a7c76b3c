// ADR-253 in docs/decisions.md
import type { UserRequest } from "../../machines/task/events.ts";
import type { Claim, FleetServer, OrderedRun } from "../../task.ts";
import { type Clock, repeat, sleep } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import type { Bus, Delivery } from "./bus.ts";
import type { Holding } from "./holding.ts";
import { homeBell } from "./home.ts";
import { tellSteps } from "./live-steps.ts";
import { findLog, isOutrun, type RunLog } from "./log-of-run.ts";
import { cutToFit, type EntryOf, type RunName, VERSION } from "./messages.ts";
import type { RunEnd, Workplace } from "./workplace.ts";

/** Milliseconds until what the engine did not take is sent to it again. */
export const SEND_AGAIN_AFTER = 2_000;

/** What runs are attended to with. */
export interface AttendDeps {
  bus: Bus;
  server: FleetServer;
  workplace: Workplace;
  clock: Clock;
  log: Log;
  /** True once this process works for nobody any more. */
  isStopped(): boolean;
}

/** What was taken for a run. */
export interface Taken {
  hold: Holding;
  /** Undefined where its model has no limit. */
  permit: Holding | undefined;
  /** Undefined where a process before this one has taken the order: that is offered again after the lease, and put back. */
  delivery: Delivery | undefined;
}

/**
 * Writes the end of a run, as long as `claim` is the newest. False where it is not. Where the engine has lost all claims, it is
 * claimed anew: its home may know none, or another one. What has the same `nonce` was written by the same.
 */
export const writeEnd = async (
  { bus, server, clock, log, isStopped }: Omit<AttendDeps, "workplace">,
  name: RunName,
  { claim: given, nonce }: { claim: Claim | undefined; nonce: string },
  end: RunEnd,
): Promise<boolean> => {
  const message = { v: VERSION, at: clock.now(), nonce } as const;
  const ended = cutToFit({ ...end, ...message, type: "ended" });
  let claim = given;
  for (;;) {
    const found = await findLog(bus, name);
    const newest = found?.claims.at(-1);
    if (newest?.entry.nonce === nonce) claim = newest.at;
    if (found?.ended?.nonce === nonce) return true;
    if (found && claim && isOutrun(found, claim)) return false;
    if (found?.ended) return false;
    if (found) {
      const isLost = claim !== undefined && newest === undefined;
      const entry: EntryOf<"claimed" | "ended"> = isLost
        ? { ...message, type: "claimed", server, ...(claim ? { replaces: claim } : {}) }
        : { ...ended, type: "ended", ...(claim ? { claim } : {}) };
      const written = await bus.append(name, entry, found.last);
      if (written.is === "stored" && entry.type === "ended") return true;
      if (written.is === "stored" || written.is === "outrun") continue;
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
 * Attends to a run that this server works on until its home has the end: renews what is held for it, passes on what its agent
 * asks and what is replied, and stops it when it is another server's.
 * @param onSlotFree called when the run has ended here
 */
export const attendRun = async (
  deps: AttendDeps,
  taskId: string,
  run: OrderedRun,
  { hold, permit, delivery }: Taken,
  onSlotFree: () => void,
): Promise<void> => {
  const { bus, server, workplace, clock, log, isStopped } = deps;
  const name: RunName = { home: run.home, task: run.task, run: run.run };
  /** The same in the next process: what this one has written is known by it. */
  const nonce = `${server.id} ${taskId}`;
  let { claim } = run;
  let isOver = false;
  /** True while all that is held for it was taken just now. */
  let isFresh = delivery !== undefined;
  /** Ends a pause of whoever waits for an entry. */
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
    workplace.cancel(taskId);
  };

  const renew = async () => {
    if (isOver) return;
    const [held] = await Promise.all([hold.renew(), permit?.renew(), delivery?.renew()]);
    if (held === "lost") return lose("another server has it");
    await check();
  };

  /** Reads what others have written of the run. */
  const check = async () => {
    if (isOver) return;
    const found = await findLog(bus, name);
    if (!found || isOver) return;
    const newest = found.claims.at(-1);
    if (newest?.entry.nonce === nonce) claim = newest.at;
    if (isOutrun(found, claim)) return lose(found.ended ? "it is closed" : "another server has begun it");
    if (!newest) return claimAgain(found);
    if (found.isRecalled) workplace.cancel(taskId);
    await passOnReplies(found);
    await passOnRequests(found);
  };

  /** Claims the run anew in a log that the engine has lost: its home may not know who works on it. */
  const claimAgain = async ({ last }: RunLog) => {
    const entry = { v: VERSION, type: "claimed", at: clock.now(), nonce, server, replaces: claim } as const;
    const written = await bus.append(name, entry, last);
    if (written.is === "stored") claim = written.at;
    if (written.is === "stored" || written.is === "outrun") begin(check);
  };

  const replied = new Set<string>();
  const passOnReplies = async ({ replies }: RunLog) => {
    const isOpen = (requestId: string) => workplace.requestsOf(taskId).some(({ id }) => id === requestId);
    for (const { requestId, reply, message, answers } of replies) {
      if (replied.has(requestId) || !isOpen(requestId)) continue;
      replied.add(requestId);
      const given = { ...(reply ? { reply } : {}), ...(message ? { message } : {}), ...(answers ? { answers } : {}) };
      if (!(await workplace.reply(taskId, { requestId, ...given }))) replied.delete(requestId);
    }
  };

  /** What the log was seen to say that the agent asks. */
  let lastAsked: readonly UserRequest[] = [];
  /** Writes what the agent asks, where the log says something else. */
  const passOnRequests = async ({ asked, last }: RunLog) => {
    lastAsked = asked;
    const requests = workplace.requestsOf(taskId);
    if (isOver || hasSameIds(asked, requests)) return;
    const entry = { v: VERSION, type: "asked", at: clock.now(), claim, requests } as const;
    const written = await bus.append(name, entry, last);
    // What was written between is read, and so is this.
    if (written.is === "outrun") begin(check);
  };

  const begin = (work: () => Promise<void>) => {
    work().catch((error) => log.error("a run could not be attended to", { ...name, reason: errorMessage(error) }));
  };

  const count = workplace.countSteps(taskId);
  const isStale = () => workplace.isStale(taskId);
  const stopsAtEnd = [
    tellSteps(deps, { name, claim: () => claim, count, isStale }),
    repeat(clock, log, { every: bus.lease / 3, work: renew, fault: "a run could not be renewed" }),
  ];
  const stopAtEnd = () => {
    isOver = true;
    for (const stop of stopsAtEnd) stop();
  };
  const stops = [
    stopAtEnd,
    // An engine that was away may have forgotten who has the run.
    bus.onReached(() => {
      if (!isFresh) begin(renew);
      isFresh = false;
    }),
    bus.onEntryIn(name, () => {
      wake();
      begin(check);
    }),
    workplace.onChange((changed) => {
      if (changed === taskId && !hasSameIds(lastAsked, workplace.requestsOf(taskId))) begin(check);
    }),
  ];
  try {
    const end = await workplace.untilEnded(taskId);
    if (!end) return;
    const isWritten = !isOver && (await writeEnd(deps, name, { claim, nonce }, end));
    // Its home may be away for days.
    stopAtEnd();
    if (isStopped()) return;
    // An order that another server has now is that server's to remove.
    if (isWritten) await delivery?.done();
    await Promise.all([hold.drop(), permit?.drop()]);
    onSlotFree();
    const isReceived = isWritten && (await untilReceived(deps, name, { nonce, untilEntry }));
    if (!isStopped()) workplace.settle(taskId, isReceived);
  } finally {
    for (const stop of stops) stop();
  }
};

/**
 * Rings the home until it has received the end that was written with this nonce. Resolves to false where the log does not end
 * with it any more: the engine has forgotten it.
 */
const untilReceived = async (
  { bus, isStopped }: AttendDeps,
  name: RunName,
  { nonce, untilEntry }: { nonce: string; untilEntry(ms: number): Promise<void> },
): Promise<boolean> => {
  for (let pause = SEND_AGAIN_AFTER; !isStopped(); pause = Math.min(2 * pause, bus.lease)) {
    await untilEntry(pause);
    const found = await findLog(bus, name);
    if (found?.isReceived) return true;
    // A home that lacks the end orders the run again; one that has it has closed the run.
    if (found && found.ended?.nonce !== nonce) return false;
    bus.ring(homeBell(name.home), JSON.stringify(name));
  }
  return false;
};
