import { isAtRest } from "../../../src/machines/task/machine.ts";
import { isInFleet } from "../../../src/machines/task/slot.ts";
import { limitKey } from "../../../src/services/fleet/wire-messages.ts";
import { DENIED, type FleetWorld, jobOf, nameOf, recordOf, type Server, type Work } from "./fleet-world.ts";
import type { ReadLog } from "./log-reading.ts";
import type { InHand } from "./phases.ts";
import { LEASE } from "./steps.ts";

/*
 * What may be so for a while, and not for long, as long as all whom it concerns run, and reach the broker. Hints may be missed:
 * what is promised then follows from what servers look at again and again.
 */

/** What is known while everything is looked at once. */
export interface Moment {
  world: FleetWorld;
  works: readonly Work[];
  hands: readonly InHand[];
  /** It must not be so for longer than that, while these servers are there. */
  notFor(ms: number, who: readonly (Server | undefined)[], words: string): void;
  logOf(run: string): ReadLog;
}

/** Milliseconds within which a server has looked at what it works on, thrice in a lease, and done what follows. */
const SERVER_LOOKS = 30_000;

/** Milliseconds within which an origin has looked at its runs, twice in a lease, and done what follows. */
const ORIGIN_LOOKS = 40_000;

/** Milliseconds within which both have, one after the other. */
const BOTH_LOOK = SERVER_LOOKS + ORIGIN_LOOKS;

/** Milliseconds within which an end is confirmed: its origin is notified up less and less often, up to once in a lease. */
const CONFIRMED = 75_000;

/** Milliseconds within which a server with a free slot has taken a job: it looks every 15 s. */
const TAKEN = 25_000;

/** Milliseconds within which a run that nobody has is enqueued again: nobody was seen to hold it for a lease. */
const FOUND_LOST = 150_000;

/** Milliseconds for which nothing of this holds, once the broker has forgotten something. */
const FORGOTTEN_FOR = 200_000;

const originOf = ({ origins }: FleetWorld, run: string): Server | undefined =>
  origins.find(({ id }) => run.startsWith(`${id}.`));

/** What the origin of a run has stored of its task, while that is the task's newest run. */
const atOrigin = (world: FleetWorld, run: string) => {
  const [, task = "", index] = run.split(".");
  const origin = originOf(world, run);
  const record = origin && recordOf(origin, task);
  return record && String(record.snapshot.context.run.index) === index ? record : undefined;
};

const isForgetful = ({ clock, forgotAt }: FleetWorld): boolean => clock.now() - forgotAt < FORGOTTEN_FOR;

/** What a server is told to do is what its origin wants. */
const checkContent = (world: FleetWorld, run: string, there: ReturnType<typeof recordOf>) => {
  const here = atOrigin(world, run);
  if (!there || !here) return;
  const differs = (["agent", "description"] as const).find((key) => there.task[key] !== here.task[key]);
  if (differs) world.fault(`${run} has another ${differs} where it is worked on: ${there.task[differs]}`);
  const [wanted, given] = [here.snapshot.context.run.prompt, there.snapshot.context.run.prompt];
  if (wanted !== given) world.fault(`${run} is to do "${wanted}", and its server does "${given}"`);
};

/** Whoever works on a run holds it, and stops when it is to. */
export const checkWorks = ({ world, works, notFor, logOf }: Moment): void => {
  for (const { server, run, taskId } of works) {
    const origin = originOf(world, run);
    if (!origin || origin === server) continue;
    const name = `${server.id}/${taskId} works on ${run}`;
    const log = logOf(run);
    const isNewest = log.claims.at(-1)?.entry.server.id === server.id;
    if (log.isStopRequested && isNewest && !log.ended)
      notFor(SERVER_LOOKS, [server], `${name}, which it is asked to stop`);
    if (log.ended) notFor(SERVER_LOOKS, [server], `${name}, which has an end`);
    if (!isNewest && log.claims.length > 0) notFor(SERVER_LOOKS, [server], `${name}, which another one has`);
    if (log.claims.length === 0 && !log.ended) notFor(SERVER_LOOKS, [server], `${name}, and its log does not say so`);
    const holder = world.broker.holderOf(`run.${run}`);
    if (holder === undefined && !log.ended) notFor(SERVER_LOOKS, [server], `${name}, and holds it not`);
    const record = recordOf(server, taskId);
    const permit = record && jobOf(record)?.permit;
    if (permit && world.broker.holderOf(permit.name) === undefined)
      notFor(SERVER_LOOKS, [server], `${name}, and keeps no permit`);
    checkContent(world, run, record);
    const { permission } = server.stage.host.at(taskId);
    if (!permission.some((rule) => rule.permission === DENIED.permission && rule.action === "deny"))
      world.fault(`${name}, and is denied less than its origin denies`);
  }
};

/** What the agent of a run asks, is told and does is known on both sides. */
export const checkShown = ({ world, works, notFor, logOf }: Moment): void => {
  for (const { server, run, taskId } of works) {
    const origin = originOf(world, run);
    const log = logOf(run);
    if (!origin || origin === server || log.ended || log.claims.at(-1)?.entry.server.id !== server.id) continue;
    const name = `${server.id}/${taskId} works on ${run}`;
    const record = recordOf(server, taskId);
    const there = record?.snapshot.context.userRequests.map(({ id }) => id).join() ?? "";
    const here = atOrigin(world, run)
      ?.snapshot.context.userRequests.map(({ id }) => id)
      .join();
    if (here !== undefined && here !== there)
      notFor(
        BOTH_LOOK,
        [server, origin],
        `${name}, whose agent asks ${there || "nothing"}; its origin shows ${here || "nothing"}`,
      );
    const answered = world.broker
      .placesIn(run)
      .flatMap(({ entry }) => (entry.type === "replied" && there.includes(entry.requestId) ? entry.requestId : []));
    if (answered.length > 0) notFor(SERVER_LOOKS, [server], `${name}, and has not heard the reply to ${answered}`);
    const calls = server.stage.engine.get(taskId)?.progress.toolCalls ?? 0;
    const shown = origin.stage.engine.get(run.split(".")[1] ?? "")?.progress.toolCalls ?? 0;
    const isDeaf = server.line.isDeaf() || origin.line.isDeaf();
    if (!isDeaf && calls !== shown && atOrigin(world, run)?.snapshot.context.completedAt === undefined)
      notFor(BOTH_LOOK, [server, origin], `${name}, and its origin shows ${shown} of ${calls} calls`);
  }
};

/** Whoever has a run in hand goes on with it. */
export const checkHands = ({ world, hands, notFor }: Moment): void => {
  for (const { server, run, phase, record } of hands) {
    const origin = originOf(world, run);
    const name = `${server.id} has ${run}`;
    if (phase === "unwritten" && !isForgetful(world))
      notFor(SERVER_LOOKS, [server], `${name}, and has not said how it ended`);
    if (phase === "unreceived") notFor(CONFIRMED, [server, origin], `${name}, and waits for its origin`);
    const isSlow = world.beginTook > 0;
    const isBeginning = phase === "taken" || phase === "held" || phase === "claimed" || phase === "begun";
    // What a process before this one has taken is offered again after the lease.
    const isBefore = !record && (world.takingOf({ server, run })?.at ?? 0) <= server.startedAt;
    if (isBeginning && !isBefore && !isSlow) notFor(SERVER_LOOKS, [server], `${name}, and does not begin it`);
  }
};

/** A server works on no more than it has slots for, and forgets a run only when its origin has the end. */
export const checkServers = ({ world, works, hands, notFor, logOf }: Moment): void => {
  for (const server of world.servers) {
    for (const record of server.records.all()) {
      const job = jobOf(record);
      if (!job || !isAtRest(record.snapshot)) continue;
      const { ended, isReceived, claims } = logOf(nameOf(job));
      const isSilent = !ended && claims.at(-1)?.entry.server.id === server.id && !world.troubles.has("setBack");
      const isBegunAnew = hands.some((one) => one.server === server && one.run === nameOf(job));
      // A server that was given the lease without hearing of it lets it expire; then the job is taken again.
      const leaseholder = world.broker.holderOf(`run.${nameOf(job)}`) ?? server.id;
      if (isSilent && !isBegunAnew && leaseholder === server.id)
        notFor(0, [], `${server.id} has nothing more to do with ${nameOf(job)}, which has no end`);
      if (world.forgotAt > 0) continue;
      if (ended?.nonce === `${server.id} ${record.task.sessionID}` && !isReceived)
        world.fault(`${server.id} has forgotten ${nameOf(job)} before its origin had the end`);
    }
    const own = works.filter((work) => work.server === server && originOf(world, work.run) !== server);
    if (own.length > server.work) world.fault(`${server.id} works on ${own.length} runs, and has ${server.work} slots`);
  }
};

/** An origin takes ends, and queues what nobody has. */
export const checkOrigins = ({ world, notFor, logOf }: Moment): void => {
  for (const origin of world.origins) {
    for (const { task, snapshot } of origin.records.all()) {
      const run = nameOf({ origin: origin.id, task: task.sessionID, run: task.resumeCount });
      if (snapshot.context.completedAt !== undefined || !task.fleet) continue;
      const { ended } = logOf(run);
      const isNowhere =
        !ended &&
        world.broker.holderOf(`run.${run}`) === undefined &&
        !world.broker.queue().some(({ job }) => nameOf(job) === run);
      if (isNowhere && isInFleet(snapshot)) notFor(FOUND_LOST, [origin], `${run} is with nobody, and is not enqueued`);
      if (ended?.claim && !isForgetful(world))
        notFor(ORIGIN_LOOKS, [origin], `${run} has an end, and its origin does not take it`);
    }
  }
};

/** True where a limit allows one more task. */
const hasPermit = (world: FleetWorld, key: string): boolean => {
  const limit = world.limits[key] ?? null;
  return limit === null || world.broker.leases().filter((name) => name.startsWith(`limit.${key}.`)).length < limit;
};

/** Returns how many slots a server uses. It begins runs to the end, also those that have been cancelled since. */
const slotsTaken = (world: FleetWorld, hands: readonly InHand[], server: Server): number => {
  const own = hands.filter((one) => one.server === server && one.phase !== "unreceived");
  const begun = own.filter(({ record }) => record).length;
  const beginning = [...world.beginning].filter(({ by }) => by === server.id).length;
  return begun + Math.max(beginning, own.length - begun);
};

/** A job is there once, and a server that is free takes it. */
export const checkQueue = ({ world, hands, notFor, logOf }: Moment): void => {
  const queue = world.broker.queue();
  for (const { job, from } of queue) {
    const run = nameOf(job);
    const { claims, ended } = logOf(run);
    const isBegun = claims.length > 0 && !ended && !world.hasTrouble;
    if (isBegun && from <= world.clock.now()) world.fault(`the job of ${run} is there again, though nothing failed`);
    // Whoever wrote it removes the job.
    const isRemoved = ended?.claim && [...world.troubles].every((trouble) => trouble.startsWith("append"));
    if (isRemoved) notFor(SERVER_LOOKS, [], `${run} has an end, and its job is there`);
    const isTwice = queue.some((other) => other.job !== job && nameOf(other.job) === run);
    const isEnqueuedOnce = [...world.troubles].every((trouble) => /^(append|pause|drain$)/.test(trouble));
    if (isTwice && claims.length === 0 && isEnqueuedOnce) world.fault(`${run} is enqueued twice`);
    const [pool, only] = job.pool.split("@");
    if (pool !== "project" || from > world.clock.now()) continue;
    const key = job.key === "" ? limitKey(job.model) : job.key;
    if (!hasPermit(world, key)) continue;
    for (const server of world.servers) {
      if (only !== undefined && only !== server.id) continue;
      if (world.drained.has(server) || slotsTaken(world, hands, server) >= server.work) continue;
      const what = logOf(run).ended ? "the job of a run that has ended" : "a job";
      notFor(TAKEN, [server], `${what} (${run}, since ${from}) is there, and ${server.id} does not take it`);
    }
  }
};

/** A server keeps nothing that it does not need. */
export const checkLeases = ({ world, hands, notFor }: Moment): void => {
  // What could not be given up lapses.
  const isGivenUp = [...world.troubles].every((trouble) =>
    /^(append|offer|isQueued|limits|ask|pause|drain$)/.test(trouble),
  );
  const kept = SERVER_LOOKS + world.beginTook + (isGivenUp ? 0 : LEASE);
  for (const name of world.broker.leases()) {
    const holder = world.broker.holderOf(name) ?? "";
    const server = world.servers.find(({ id }) => holder === id || holder.startsWith(`${id} `));
    if (!server) continue;
    const own = hands.filter((one) => one.server === server && one.phase !== "unreceived");
    const isTaking = own.some(({ record }) => record === undefined);
    const isNeeded = name.startsWith("run.")
      ? own.some(({ run }) => name === `run.${run}`)
      : isTaking || own.some(({ record }) => record && jobOf(record)?.permit?.holder === holder);
    if (!isNeeded) notFor(kept, [server], `${server.id} holds ${name} for nothing`);
  }
};
