import { lifecyclePath } from "../../../src/machines/task/machine.ts";
import { PARENT } from "../../fakes/stage.ts";
import {
  ATTEMPTS,
  atWork,
  type FleetWorld,
  isReached,
  ownTasks,
  recordOf,
  type Server,
  type Work,
} from "./fleet-world.ts";
import { createLogWatch } from "./log-watch.ts";
import { createSteadyWatch } from "./steady-watch.ts";
import { LEASE } from "./steps.ts";

/** Milliseconds until a server that has lost a run has stopped it: it looks three times in a lease. */
const FENCED_WITHIN = LEASE + 10_000;

/** A server that renews nothing for so long may lose what it holds: some of the lease may be over before. */
const MAY_LAPSE = LEASE / 2;

/** Milliseconds within which a server that reaches the broker has renewed what it holds. */
const RENEWED_WITHIN = 25_000;

/** Milliseconds within which an origin shows that a server works on a run: both look again, one after the other. */
const SHOWN_WITHIN = LEASE + 40_000;

/** How the state of a run begins that a server works on, or is asked to stop. */
const SHOWN = /^\w+\.fleet\.(claimed|stopping)/;

const instanceOf = ({ server, taskId }: Work): string => `${server.id}/${taskId}`;

/** The description of a task, by which it is known in the notice of its end. */
const DESCRIPTION = /job \d+ of \w+/g;

/** An agent's answer, each a different one. */
const ANSWER = /answer \d+/g;

/** How many runs of a task have ended. */
export const endsOf = (server: Server, taskId: string): number => {
  const { run, completedAt } = recordOf(server, taskId)?.snapshot.context ?? {};
  return run ? run.index + (completedAt === undefined ? 0 : 1) : 0;
};

/** How often the end of each task was delivered to its parent, by their descriptions. */
export const deliveries = ({ stage }: Server): Map<string, number> => {
  const times = new Map<string, number>();
  for (const parts of stage.notices(PARENT)) {
    const told = new Set(parts.flatMap(({ text }) => text.match(DESCRIPTION) ?? []));
    for (const description of told) times.set(description, (times.get(description) ?? 0) + 1);
  }
  return times;
};

const checkDeliveries = ({ origins, fault }: FleetWorld, seen: Map<Server, number>) => {
  for (const origin of origins) {
    // Nothing else changes how often ends were delivered, and ends are never taken back.
    const prompts = origin.stage.host.at(PARENT).parts.size;
    if (seen.get(origin) === prompts) continue;
    seen.set(origin, prompts);
    const delivered = deliveries(origin);
    for (const { description, sessionID } of ownTasks(origin)) {
      const [times = 0, ends] = [delivered.get(description), endsOf(origin, sessionID)];
      if (times > ends) fault(`of ${description}, which has ended ${ends} times, ${times} ends were delivered`);
    }
    const told = origin.stage
      .notices(PARENT)
      .flatMap((parts) => [...new Set(parts.flatMap(({ text }) => text.match(ANSWER) ?? []))]);
    const twice = told.find((answer, place) => told.indexOf(answer) !== place);
    if (twice !== undefined) fault(`${twice} was delivered twice`);
  }
};

const checkAttempts = ({ broker, fault }: FleetWorld) => {
  for (const [name, entries] of broker.logs()) {
    // A server that goes on with what the broker has forgotten does not begin it.
    const claims = entries.filter((entry) => entry.type === "claimed" && !entry.replaces).length;
    if (claims > ATTEMPTS) fault(`${name} was begun ${claims} times, and ${ATTEMPTS} are allowed`);
  }
};

/** Checks what must hold at every moment. `look` is called after each step, and at least every 5 s. */
export const createWatches = (world: FleetWorld) => {
  const { clock, servers } = world;
  const steady = createSteadyWatch(world);
  const logs = createLogWatch(world);
  world.whenWritten.push(logs.onWritten);
  const deliveriesSeen = new Map<Server, number>();
  let lookedAt = clock.now();
  /** Since when a server does not reach the broker for long enough to renew anything, and when it came back, if it did. */
  const outages = new Map<Server, { since: number; until: number | undefined }>();
  /** When a server came back, the last time, that may have lost what it held. */
  const lapsedAt = new Map<Server, number>();
  /** For how long two agents have been at work on a run, though their servers reached the broker. */
  const together = new Map<string, number>();

  const mayLapse = ({ since, until = clock.now() }: { since: number; until: number | undefined }) =>
    until - since >= MAY_LAPSE;

  const watchLines = () => {
    const now = clock.now();
    for (const server of servers) {
      const outage = outages.get(server);
      if (!isReached(world, server)) {
        outages.set(server, { since: outage?.since ?? lookedAt, until: undefined });
      } else if (outage?.until === undefined) {
        if (outage) outage.until = now;
      } else if (now - outage.until >= RENEWED_WITHIN) {
        outages.delete(server);
        if (mayLapse(outage)) lapsedAt.set(server, now);
      }
    }
  };

  const checkTogether = (works: readonly Work[]) => {
    const passed = clock.now() - lookedAt;
    const pairs = works.flatMap((one, index) =>
      works.slice(index + 1).flatMap((other) => (one.run === other.run ? [[one, other] as const] : [])),
    );
    const now = new Set<string>();
    for (const [one, other] of pairs) {
      if (!isReached(world, one.server) || !isReached(world, other.server)) continue;
      const pair = `${instanceOf(one)} and ${instanceOf(other)}`;
      now.add(pair);
      const ms = (together.get(pair) ?? 0) + passed;
      together.set(pair, ms);
      if (ms > FENCED_WITHIN) world.fault(`${pair} work on ${one.run} together, for longer than a lease`);
    }
    for (const pair of together.keys()) if (!now.has(pair)) together.delete(pair);
  };

  /** For how long an agent has worked on a run, while its server and its origin reached the broker. */
  const working = new Map<string, number>();

  /** A run that a server works on is shown so at the origin, even if that server was unreachable for a while. */
  const checkShown = (works: readonly Work[]) => {
    const passed = clock.now() - lookedAt;
    const now = new Set<string>();
    for (const work of works) {
      const [originId, task = "", run] = work.run.split(".");
      const origin = world.origins.find(({ id }) => id === originId);
      const snapshot = origin && recordOf(origin, task)?.snapshot;
      if (!origin || origin === work.server || !snapshot || String(snapshot.context.run.index) !== run) continue;
      if (!isReached(world, origin) || !isReached(world, work.server)) continue;
      const instance = instanceOf(work);
      now.add(instance);
      const ms = (working.get(instance) ?? 0) + passed;
      working.set(instance, ms);
      if (ms > SHOWN_WITHIN && snapshot.context.completedAt === undefined && !SHOWN.test(lifecyclePath(snapshot)))
        world.fault(`${instance} works on ${work.run}, and its origin shows it as ${lifecyclePath(snapshot)}`);
    }
    for (const instance of working.keys()) if (!now.has(instance)) working.delete(instance);
  };

  /** True for work whose permit may have been lost. */
  const isExcused = ({ server }: Work, takenAt: number): boolean => {
    const outage = outages.get(server);
    const mayHaveLapsed = takenAt <= (lapsedAt.get(server) ?? 0) || (outage !== undefined && mayLapse(outage));
    return mayHaveLapsed || takenAt <= world.forgotAt;
  };

  const checkLimits = (works: readonly Work[]) => {
    const counted = works.flatMap((work) => {
      const taking = world.takingOf(work);
      return taking && taking.key !== "" && !isExcused(work, taking.at) ? { ...work, ...taking } : [];
    });
    for (const key of new Set(counted.map((one) => one.key))) {
      const same = counted.filter((one) => one.key === key);
      const most = Math.max(...same.map((one) => one.most));
      if (same.length > most) world.fault(`${same.map(instanceOf).join(", ")} work under the limit ${most} of ${key}`);
    }
  };

  return {
    look: () => {
      watchLines();
      const works = atWork(world);
      checkTogether(works);
      checkShown(works);
      checkLimits(works);
      checkDeliveries(world, deliveriesSeen);
      checkAttempts(world);
      world.situations?.look(world, works);
      logs.look();
      steady.look(works, clock.now() - lookedAt);
      lookedAt = clock.now();
    },
  };
};
