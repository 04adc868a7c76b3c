// ADR-253 in docs/decisions.md

import type { PermissionRule } from "../../machines/host-events.ts";
import { statusOf, type TaskSnapshot } from "../../machines/task/machine.ts";
import { isInFleet } from "../../machines/task/slot.ts";
import { type FleetServer, hasEnded, type Task, type TaskFacts } from "../../task.ts";
import type { UserReply } from "../../user-request.ts";
import type { RemoteRuns } from "../engine/requests.ts";
import type { HostResult } from "../host/host.ts";
import { repeat } from "../platform/clock.ts";
import { createOneAtATime } from "../platform/concurrency.ts";
import { errorMessage } from "../platform/log.ts";
import type { Outcome } from "../platform/result.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Store } from "../store/store.ts";
import type { Bus, BusFailure } from "./bus.ts";
import { listenToSteps } from "./live-steps.ts";
import { findLog, type RunLog } from "./log-of-run.ts";
import { mayResume } from "./may-resume.ts";
import { type Ended, type Order, poolOfServer, type RunName, readRunName, runHold, VERSION } from "./messages.ts";
import { limitKey } from "./permits.ts";
import { createRunReports, type RunReportDeps } from "./run-reports.ts";

/** How often an entry is tried to be written where others write as well. */
const ATTEMPTS = 5;

/** The charts of the tasks that are launched here. */
export type HomeCharts = Pick<Runtime, "send" | "snapshotOf" | "liveTasks">;

/** What the home's side of the fleet works with. */
export interface FleetHomeDeps extends Omit<RunReportDeps, "charts"> {
  bus: Bus;
  /** The id of this server. */
  server: string;
  /** The project as people know it. */
  project: string;
  store: Pick<Store, "get">;
  newId(): string;
  /** The permissions that the agent of a task is denied. */
  deniedTo(facts: TaskFacts): Promise<Outcome<PermissionRule[]>>;
  depthOf(facts: TaskFacts): number;
}

/** The side of the server that launched a task: it orders runs, and takes their ends. */
export interface FleetHome extends RemoteRuns {
  /** Begins to serve the tasks of these charts. */
  serve(runtime: HomeCharts): void;
  /** Says whether the server that has a task's conversation can go on with it; a failure says why it cannot. */
  mayResume(task: Task, server: FleetServer): Promise<Outcome<void>>;
  /** Replies to what an agent asks on another server; undefined for a request of this one. */
  reply(requestId: string, reply: Omit<UserReply, "requestId">): Promise<HostResult<void>> | undefined;
  stop(): void;
}

/** The bell by which the servers of a pool hear of an order: that of the queue that it is rung about. */
export const poolBell = (pool: string): string => `pool.${pool}`;

/** Says what that bell is rung about. */
export const aboutQueue = ({ priority, key }: Pick<Order, "priority" | "key">): string => `${priority} ${key}`;

/** The bell by which a server hears that an end waits to be received: that of the run that it is rung about. */
export const homeBell = (home: string): string => `home.${home}`;

/** Priorities of tasks are any number; the fleet has three. */
export const fleetPriority = (priority: number): number => (priority > 0 ? 0 : priority === 0 ? 1 : 2);

/** That of a follow-up prompt: somebody waits for it already, and few are queued at one server. */
export const RESUME_PRIORITY = 0;

/** True for a task that was meant for other servers, and is worked on here. */
const isWorkedOnHere = (snapshot: TaskSnapshot): boolean => {
  const { facts, run, completedAt } = snapshot.context;
  return facts.fleet !== undefined && run.index === 0 && completedAt === undefined && !isInFleet(snapshot);
};

/** Creates the home's side. */
export const createFleetHome = (deps: FleetHomeDeps): FleetHome => {
  const { bus, server, store, clock, log, newId } = deps;
  let runtime: HomeCharts = { send: () => undefined, snapshotOf: () => undefined, liveTasks: () => [] };
  const report = createRunReports({ ...deps, charts: () => runtime });
  const nameOf = (task: string, run: number): RunName => ({ home: server, task, run });

  const orderOf = async (taskId: string, run: number): Promise<Order | BusFailure | undefined> => {
    const context = runtime.snapshotOf(taskId)?.context;
    const fleet = context?.facts.fleet;
    if (!context || !fleet || context.run.index !== run) return undefined;
    const { facts, remote } = context;
    const denied = await deps.deniedTo(facts);
    if (!denied.ok) return { is: "unavailable", message: denied.reason };
    const limits = await bus.limits();
    if (limits.is !== "read") return limits;
    const model = limitKey(facts.model);
    const key = model in limits.limits ? model : "";
    return {
      ...{ v: VERSION, at: clock.now(), ...nameOf(taskId, run) },
      ...{ commit: fleet.commit, key, attempts: fleet.attempts },
      project: deps.project,
      ...(remote && run > 0
        ? { pool: poolOfServer(fleet.pool, remote.server.id), priority: RESUME_PRIORITY }
        : { pool: fleet.pool, priority: fleetPriority(facts.priority) }),
      agent: facts.agent,
      ...(facts.model ? { model: facts.model } : {}),
      description: facts.description,
      prompt: context.run.prompt,
      ...(facts.schema ? { schema: facts.schema } : {}),
      denied: denied.value.map(({ permission, pattern }) => ({ permission, pattern })),
      depth: deps.depthOf(facts),
    };
  };

  /** True while the run is under way here. */
  const isUnderWay = (taskId: string, run: number): boolean => {
    const snapshot = runtime.snapshotOf(taskId);
    return snapshot !== undefined && snapshot.context.run.index === run && !hasEnded({ status: statusOf(snapshot) });
  };

  const reply = async (name: RunName, requestId: string, given: Omit<UserReply, "requestId">) => {
    const entry = { v: VERSION, at: clock.now(), type: "replied", requestId, ...given } as const;
    const written = await bus.append(name, entry, undefined);
    if (written.is === "stored") return { ok: true, value: undefined } as const;
    const message = written.is === "outrun" ? "The run has moved on" : written.message;
    return { ok: false, failure: { kind: "unavailable", name: "FleetUnavailable", message } } as const;
  };

  /** Confirms that the end is stored here, so that the server may forget the run. */
  const confirm = async (name: RunName, { ended, isReceived }: RunLog) => {
    if (!ended?.claim || isReceived) return;
    await bus.append(name, { v: VERSION, type: "received", at: clock.now() }, undefined);
  };

  /** True where no server is to work on a run: it is taken back, it has ended here, or it is worked on here. */
  const isToBeClosed = ({ task, run }: RunName): boolean => {
    const snapshot = isUnderWay(task, run) ? runtime.snapshotOf(task) : undefined;
    if (!snapshot || !isInFleet(snapshot)) return true;
    return snapshot.matches({ run: { fleet: "withdrawing" } }) || snapshot.matches({ run: { fleet: "closing" } });
  };

  const readings = createOneAtATime();

  /**
   * Reads a run's log, and tells the chart what it says. Returns it; undefined where the engine does not answer. One reading of a
   * log comes after the other: what was read earlier must not be taken for newer.
   */
  const readAndReport = (name: RunName): Promise<RunLog | undefined> =>
    readings.run(runHold(name), async () => {
      const found = await findLog(bus, name);
      if (found) await report(name, found);
      return found;
    });

  /** Ends a run in the log of the fleet, as it was read last. True once nobody can write into it who counts. */
  const closeLog = async (name: RunName, found: RunLog): Promise<boolean> => {
    const nonce = newId();
    for (let attempt = 0, current: RunLog | undefined = found; attempt < ATTEMPTS && current; attempt += 1) {
      if (current.ended) return true;
      // A server has begun it: the chart decides what becomes of that.
      if (!isToBeClosed(name)) return false;
      const at = clock.now();
      const end: Ended & { type: "ended" } = {
        v: VERSION,
        type: "ended",
        at,
        nonce,
        outcome: "cancelled",
        completedAt: at,
      };
      const closed = await bus.append(name, end, current.last);
      if (closed.is === "stored") return true;
      if (closed.is !== "outrun") return false;
      current = await readAndReport(name);
    }
    return false;
  };

  /**
   * Tells the chart where the server that took a run last has it in hand, though it was taken for lost: it stood still for
   * longer than the lease, and goes on. True where it has.
   */
  const reportHolder = async (name: RunName, { ended, claims }: RunLog): Promise<boolean> => {
    const snapshot = runtime.snapshotOf(name.task);
    const newest = claims.at(-1);
    if (ended || !newest || !snapshot?.can({ type: "REMOTE_HELD", at: clock.now(), claim: newest.at })) return false;
    const held = await bus.holder(runHold(name));
    if (held.is !== "read" || held.hold?.holder !== newest.entry.server.id) return false;
    runtime.send(name.task, { type: "REMOTE_HELD", at: clock.now(), claim: newest.at });
    return true;
  };

  /** Reads a run's log, and does what follows from it. Returns it; undefined where the engine does not answer. */
  const look = async (name: RunName): Promise<RunLog | undefined> => {
    const found = await readAndReport(name);
    if (!found) return undefined;
    const snapshot = isUnderWay(name.task, name.run) ? runtime.snapshotOf(name.task) : undefined;
    if (snapshot) await reportHolder(name, found);
    else await confirm(name, found);
    // It ended here before a server took it, or is worked on here, because the engine could not be reached.
    const isElsewhere = found.claims.length > 0 && !isForeign(name.task);
    if (!found.ended && isElsewhere && !(snapshot && isInFleet(snapshot))) await closeLog(name, found);
    return found;
  };

  /** True for a task of another process of this server: that one looks after it. */
  const isForeign = (taskId: string): boolean => {
    const task = store.get(taskId)?.task;
    return task !== undefined && !hasEnded(task) && runtime.snapshotOf(taskId) === undefined;
  };

  const lookSafely = (name: RunName) => {
    if (isForeign(name.task)) return;
    look(name).catch((error) =>
      log.error("a run in the fleet could not be read", { ...name, reason: errorMessage(error) }),
    );
  };

  /** When the engine was reached last, epoch milliseconds. */
  let reachedAt = Number.POSITIVE_INFINITY;

  /** Since when nobody was seen to hold a run that is in the fleet, epoch milliseconds, and how often it was claimed by then. */
  const unheldSince = new Map<string, { at: number; claims: number }>();

  /**
   * True where nobody has held a run for the time of a lease, in which nobody claimed it either, and since when the engine was
   * not away.
   */
  const isUnheld = async (name: RunName, claims: number): Promise<boolean> => {
    const id = runHold(name);
    const held = await bus.holder(id);
    if (held.is !== "read" || held.hold) {
      unheldSince.delete(id);
      return false;
    }
    const known = unheldSince.get(id);
    const since = known?.claims === claims ? known : { at: clock.now(), claims };
    unheldSince.set(id, since);
    return clock.now() - Math.max(since.at, reachedAt) >= bus.lease;
  };

  /**
   * True where nobody works on a run, and nobody will: no server holds it, and it has no end. Whether its order is there says
   * something only of a run that no server has begun: that one waits for its turn.
   */
  const isLost = async (name: RunName, { ended, claims }: RunLog): Promise<boolean> => {
    if (ended || !(await isUnheld(name, claims.length))) return false;
    // Whoever worked on it writes how it ended, and gives the hold up after that.
    const found = await findLog(bus, name);
    if (!found || found.ended || found.claims.length !== claims.length) return false;
    if (claims.length > 0) return true;
    const order = await orderOf(name.task, name.run);
    if (!order || "is" in order) return false;
    // Its model may have been limited after it was queued.
    for (const key of new Set([order.key, ""])) {
      const offered = await bus.isOffered({ ...order, key });
      if (offered.is !== "read" || offered.isOffered) return false;
    }
    return true;
  };

  const lookAt = async (snapshot: TaskSnapshot) => {
    const { facts, run } = snapshot.context;
    const name = nameOf(facts.sessionID, run.index);
    // The order of one that is worked on here may have arrived, though nobody said so.
    const found = isInFleet(snapshot) || isWorkedOnHere(snapshot) ? await look(name) : undefined;
    if (!found || !isInFleet(snapshot) || !(await isLost(name, found))) return;
    unheldSince.delete(runHold(name));
    runtime.send(facts.sessionID, { type: "REMOTE_LOST", at: clock.now() });
  };

  /** Reads the logs of all runs that are in the fleet. Those that are lost are ordered again. */
  const lookAtAll = async () => {
    const live = runtime.liveTasks();
    const names = new Set(live.map(({ context: { facts, run } }) => runHold(nameOf(facts.sessionID, run.index))));
    for (const id of unheldSince.keys()) if (!names.has(id)) unheldSince.delete(id);
    await Promise.all(live.map(lookAt));
  };

  let stopLooking: () => void = () => undefined;
  /** Looks at once, and from now on as often as the engine's lease wants. */
  const lookAgain = () => {
    stopLooking();
    reachedAt = clock.now();
    const every = bus.lease / 2;
    stopLooking = repeat(clock, log, { first: 0, every, work: lookAtAll, fault: "the fleet could not be read" });
  };
  const stops: (() => void)[] = [];

  return {
    order: async (taskId, run) => {
      const order = await orderOf(taskId, run);
      const refused = (message: string, retryable: boolean) =>
        ({
          type: "ORDER_REFUSED",
          at: clock.now(),
          error: { name: "OrderRefused", kind: "fleet", message },
          retryable,
        }) as const;
      if (!order) return refused("The task is gone.", false);
      if ("is" in order) return refused(order.message, true);
      const offered = await bus.offer(order);
      if (offered.is !== "stored") return refused(offered.message, offered.is === "unavailable");
      bus.ring(poolBell(order.pool), aboutQueue(order));
      return { type: "ORDERED", at: clock.now() };
    },
    read: async (taskId, run) => void (await look(nameOf(taskId, run))),
    recall: async (taskId, run) => {
      await bus.append(nameOf(taskId, run), { v: VERSION, type: "recalled", at: clock.now() }, undefined);
    },
    close: async (taskId, run) => {
      const name = nameOf(taskId, run);
      const found = await readAndReport(name);
      if (!found || (isUnderWay(taskId, run) && (await reportHolder(name, found)))) return;
      if (await closeLog(name, found)) await readAndReport(name);
    },
    mayResume: (task, at) => mayResume({ bus, home: server }, task, at),
    reply: (requestId, given) => {
      const asking = runtime
        .liveTasks()
        .find((snapshot) => isInFleet(snapshot) && snapshot.context.userRequests.some(({ id }) => id === requestId));
      if (!asking) return undefined;
      const { facts, run } = asking.context;
      return reply(nameOf(facts.sessionID, run.index), requestId, given);
    },
    serve: (charts) => {
      runtime = charts;
      stops.push(
        bus.onEntryAt(server, lookSafely),
        bus.onBell(homeBell(server), (about) => {
          const name = readRunName(about);
          if (name?.home === server) lookSafely(name);
        }),
        listenToSteps({ ...deps, charts: () => runtime }),
        bus.onReached(lookAgain),
        () => stopLooking(),
      );
    },
    stop: () => {
      for (const stop of stops) stop();
    },
  };
};
