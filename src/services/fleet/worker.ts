// ADR-253 in docs/decisions.md
import type { Claim, FleetServer, OrderedRun, TaskError } from "../../task.ts";
import { type Clock, repeat } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import { attendRun, SEND_AGAIN_AFTER, type Taken, writeEnd } from "./attended-run.ts";
import type { Bus, Delivery, Queue } from "./bus.ts";
import { type Holding, holdingOf } from "./holding.ts";
import { aboutQueue, poolBell, RESUME_PRIORITY } from "./home.ts";
import { findLog, type RunLog } from "./log-of-run.ts";
import { type EntryOf, type Order, poolOfServer, runHold, VERSION } from "./messages.ts";
import { limitKey, PERMIT_BELL, takePermit } from "./permits.ts";
import type { RunEnd, Workplace } from "./workplace.ts";

/** The most milliseconds between two looks for orders that no bell tells of, such as those of a server that is dead. */
const LOOK_EVERY = 15_000;

/** Milliseconds for which an order is not looked at again that this server cannot work on: its owner may mend what it lacks. */
const NOT_FOR_US_FOR = 300_000;

const PRIORITIES = [0, 1, 2] as const;

/** What a worker is made of. */
export interface FleetWorkerDeps {
  bus: Bus;
  server: FleetServer;
  pool: string;
  /** How many runs of others it works on at once. */
  slots: number;
  workplace: Workplace;
  clock: Clock;
  log: Log;
  newId(): string;
}

/** The side of the server that works for others. */
export interface FleetWorker {
  /** Attends to the runs that a process before this one has begun. No order is taken before the first time. */
  takeOver(): void;
  /** Says why a task of another server's cannot be resumed here; undefined where it can. */
  obstacleToResume: Workplace["obstacleToResume"];
  /** How many runs of others it works on, or is about to. */
  atWork(): number;
  stop(): void;
}

const INTERRUPTED: TaskError = {
  name: "Interrupted",
  kind: "interrupted",
  message: "The servers that worked on the task ended before it was done, as often as it may be begun.",
};

/** Creates the worker's side. */
export const createFleetWorker = (deps: FleetWorkerDeps): FleetWorker => {
  const { bus, server, pool, slots, workplace, clock, log, newId } = deps;
  /** The runs that are attended to here, by the id of their task. Those that have not ended take a slot each. */
  const runs = new Map<string, { hold: string; hasSlot: boolean }>();
  /** Orders that this server cannot work on, by the name of their hold, and until when they are not looked at again. */
  const notForUs = new Map<string, number>();
  const isForUs = (id: string): boolean => {
    for (const [other, until] of notForUs) if (until <= clock.now()) notForUs.delete(other);
    return !notForUs.has(id);
  };
  /** Orders that are being taken up, and runs that are being begun. */
  let taking = 0;
  /** False until it is known which runs a process before this one has begun: they have slots. */
  let isReady = false;
  let isStopped = false;
  /** Where runs wait whose conversations are here. */
  const ownPool = poolOfServer(pool, server.id);
  const attending = { bus, server, workplace, clock, log, newId, isStopped: () => isStopped };

  const slotsLeft = (): number => slots - taking - [...runs.values()].filter(({ hasSlot }) => hasSlot).length;

  const attend = (taskId: string, run: OrderedRun, taken: Taken) => {
    const entry = { hold: runHold(run), hasSlot: true };
    runs.set(taskId, entry);
    const freeSlot = () => {
      entry.hasSlot = false;
      if (taken.permit) bus.ring(PERMIT_BELL);
      lookForOrders();
    };
    attendRun(attending, taskId, run, taken, freeSlot)
      .catch((error) => log.error("a run could not be attended to", { taskId, reason: errorMessage(error) }))
      .finally(() => {
        runs.delete(taskId);
        if (entry.hasSlot) lookForOrders();
      });
  };

  /** Takes a run for this server. Returns its claim; undefined where another one was faster, or the engine is away. */
  const claim = async (order: Order, found: RunLog): Promise<Claim | undefined> => {
    const nonce = newId();
    const entry: EntryOf<"claimed"> = { v: VERSION, type: "claimed", at: clock.now(), nonce, server };
    const written = await bus.append(order, entry, found.last);
    if (written.is === "stored") return written.at;
    if (written.is === "outrun" || written.is === "refused") return undefined;
    // Its answer may have been lost.
    const newest = (await findLog(bus, order))?.claims.at(-1);
    return newest?.entry.nonce === nonce ? newest.at : undefined;
  };

  /**
   * Takes up an order, or gives it back. True where its run is attended to from now on. It may take long: a commit is
   * fetched, a worktree made and prepared.
   */
  const takeUp = async (delivery: Delivery, permit: Holding | undefined): Promise<boolean> => {
    const kept: { renew(): Promise<unknown> }[] = permit ? [delivery, permit] : [delivery];
    const stopRenewing = repeat(clock, log, {
      every: bus.lease / 3,
      work: async () => void (await Promise.all(kept.map((one) => one.renew()))),
      fault: "an order could not be renewed",
    });
    try {
      return await begin(delivery, permit, (hold) => kept.push(hold));
    } finally {
      stopRenewing();
    }
  };

  const begin = async (
    delivery: Delivery,
    permit: Holding | undefined,
    keep: (hold: Holding) => void,
  ): Promise<boolean> => {
    const { order } = delivery;
    const id = runHold(order);
    const giveBack = async (afterMs: number) => {
      await delivery.putBack(afterMs);
      return false;
    };
    // One that this server works on is offered again when it has slept for longer than the lease.
    const isAttended = [...runs.values()].some((run) => run.hold === id);
    if (!isForUs(id) || isAttended) return giveBack(bus.lease / 2);
    const obstacle = await workplace.obstacleTo(order);
    if (obstacle) {
      log.info("this server cannot work on an order", { order: id, reason: obstacle.reason });
      if (!obstacle.isPassing) notForUs.set(id, clock.now() + NOT_FOR_US_FOR);
      // What is for this server alone is put back for itself.
      return giveBack(order.run > 0 ? SEND_AGAIN_AFTER : bus.lease / 2);
    }
    const held = await bus.hold(id, server.id, 0);
    if (held.is !== "held") return giveBack(bus.lease / 2);
    const hold = holdingOf(bus, id, server.id, held.seq);
    keep(hold);
    const found = await findLog(bus, order);
    const claimed = found && (await claimOrEnd(order, found));
    if (claimed === "ended") await delivery.done();
    if (claimed === undefined || claimed === "ended") {
      await hold.drop();
      return claimed === "ended" ? false : giveBack(SEND_AGAIN_AFTER);
    }
    const { home, task, run } = order;
    const claimedRun: OrderedRun = {
      ...{ home, task, run, claim: claimed, depth: order.depth },
      ...(permit ? { permit: { name: permit.name, holder: permit.holder } } : {}),
    };
    const begun = await workplace.begin(order, claimedRun);
    if (begun.ok) {
      attend(begun.value, claimedRun, { hold, permit, delivery });
      return true;
    }
    const error: TaskError = { name: "NotBegun", kind: "fleet", message: `${server.label}: ${begun.reason}` };
    await writeEnd(
      attending,
      order,
      { claim: claimed, nonce: newId() },
      { outcome: "error", completedAt: clock.now(), error },
    );
    await delivery.done();
    await hold.drop();
    return false;
  };

  /**
   * Claims a run; or says that it has ended. It ends here where its home has asked for a stop that nobody has heard, or where
   * it may not be claimed once more.
   */
  const claimOrEnd = async (order: Order, found: RunLog): Promise<Claim | "ended" | undefined> => {
    if (found.ended) return "ended";
    if (!found.isRecalled && found.claims.length < order.attempts) return claim(order, found);
    const completedAt = clock.now();
    const end: RunEnd = found.isRecalled
      ? { outcome: "cancelled", completedAt }
      : { outcome: "error", completedAt, error: INTERRUPTED };
    await writeEnd(attending, order, { claim: found.claims.at(-1)?.at, nonce: newId() }, end);
    return "ended";
  };

  /** The limits of the fleet, as they were read last. */
  let limits: Readonly<Record<string, number | null>> = {};

  /**
   * Takes up an order that came without a permit, or gives it back. It needs one where it was queued before its model was
   * limited.
   */
  const takeUpFree = async (delivery: Delivery): Promise<boolean> => {
    const key = limitKey(delivery.order.model);
    const limit = limits[key] ?? null;
    if (limit === null) return takeUp(delivery, undefined);
    const permit = await takePermit(bus, key, limit, `${server.id} ${newId()}`);
    if (permit === "unavailable" || !permit) {
      await delivery.putBack(bus.lease / 6);
      return false;
    }
    let isAttended = false;
    try {
      isAttended = await takeUp(delivery, permit);
      return isAttended;
    } finally {
      if (!isAttended) await permit.drop();
    }
  };

  /** Takes the next order of a queue, and sees to it beside all else. False where there is none, or it may not be taken now. */
  const takeNext = async (queue: Queue, limit: number | null): Promise<boolean> => {
    const permit = limit === null ? undefined : await takePermit(bus, queue.key, limit, `${server.id} ${newId()}`);
    if (permit === "unavailable" || (limit !== null && !permit)) return false;
    const taken = await bus.take(queue);
    if (taken.is !== "taken" || !taken.delivery) {
      await permit?.drop();
      return false;
    }
    taking += 1;
    const { delivery } = taken;
    const isAttended = (permit ? takeUp(delivery, permit) : takeUpFree(delivery)).catch((error) => {
      log.error("an order could not be taken up", { reason: errorMessage(error) });
      return false;
    });
    void isAttended.then(async (isTrue) => {
      taking -= 1;
      if (isTrue) return;
      await permit?.drop();
      lookForOrders();
    });
    return true;
  };

  /** True once a person wants this server to take no more. */
  let isDrained = false;

  const takeAll = async (queue: Queue, limit: number | null) => {
    while (!isStopped && !isDrained && slotsLeft() > 0 && (await takeNext(queue, limit)));
  };

  /** Takes orders while slots are free, the most urgent first. */
  const takeFromAll = async () => {
    const read = await bus.limits();
    if (read.is !== "read") return;
    limits = read.limits;
    isDrained = read.drained.includes(server.id) || read.drained.includes(server.label);
    const keys: [key: string, limit: number | null][] = [["", null], ...Object.entries(limits)];
    for (const [key, limit] of keys) await takeAll({ pool: ownPool, priority: RESUME_PRIORITY, key }, limit);
    for (const priority of PRIORITIES) for (const [key, limit] of keys) await takeAll({ pool, priority, key }, limit);
  };

  /** Where orders are to be looked for: in the queues of some priorities that have no limit, or in all. */
  const wanted = new Set<(typeof PRIORITIES)[number] | "all">();
  let isLooking = false;

  /** Looks until nothing more is wanted; without a free slot, until there is one again. */
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
      // At once: what is wanted from now on is looked for anew.
      isLooking = false;
    }
  };

  const lookFor = (where: (typeof PRIORITIES)[number] | "all") => {
    wanted.add(where);
    if (isLooking) return;
    look().catch((error) => log.error("orders could not be taken", { reason: errorMessage(error) }));
  };
  const lookForOrders = () => lookFor("all");

  const onOrder = (about: string) => {
    lookFor(PRIORITIES.find((priority) => about === aboutQueue({ priority, key: "" })) ?? "all");
  };

  /** Attends to a run that a process before this one has begun. */
  const takeOver = (taskId: string, run: OrderedRun) => {
    const hold = holdingOf(bus, runHold(run), server.id, 0);
    const permit = run.permit && holdingOf(bus, run.permit.name, run.permit.holder, 0);
    attend(taskId, run, { hold, permit, delivery: undefined });
  };

  let stopLooking: () => void = () => undefined;
  /** Looks at once, and from now on as often as the engine's lease wants: that of a dead server may have ended. */
  const lookAgain = () => {
    stopLooking();
    const every = Math.min(LOOK_EVERY, bus.lease / 3);
    stopLooking = repeat(clock, log, { first: 0, every, work: lookForOrders, fault: "orders could not be taken" });
  };

  const stops = [
    bus.onBell(poolBell(pool), onOrder),
    bus.onBell(poolBell(ownPool), lookForOrders),
    bus.onBell(PERMIT_BELL, lookForOrders),
    bus.onReached(lookAgain),
    () => stopLooking(),
  ];

  return {
    takeOver: () => {
      for (const [taskId, run] of workplace.open()) {
        if (!runs.has(taskId)) takeOver(taskId, run);
      }
      if (isReady) return;
      isReady = true;
      lookForOrders();
    },
    obstacleToResume: async (name) => (isDrained ? "it takes no more orders" : workplace.obstacleToResume(name)),
    atWork: () => slots - slotsLeft(),
    stop: () => {
      isStopped = true;
      for (const stop of stops) stop();
    },
  };
};
