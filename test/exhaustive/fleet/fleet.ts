import { isInFleet } from "../../../src/machines/task/slot.ts";
import { taskInput } from "../../fakes/task-input.ts";
import { AT } from "../charts.ts";
import type { Move, Space } from "../explore.ts";
import { createOrigin } from "./origin.ts";
import { createServer } from "./server.ts";
import { createParts, type FleetFamily, ID, NOBODY, NOWHERE, QUEUED, type World } from "./world.ts";

/*
 * How a run of a fleet is enqueued, claimed, held and ended: the real chart of the task at its origin, the real reading of the log,
 * and around them, in short, what `origin.ts`, `worker.ts` and `monitored-run.ts` do. The broker decides in which order entries
 * come into the log; it may be away, and it may forget what is newest. `docs/proof.md` lists what is left out.
 */

/** Creates the space of all worlds of a family. */
export const createFleet = (family: FleetFamily): Space<World> => {
  const parts = createParts(family);
  const { charts, chartOf, isUnderWay, read, move } = parts;
  const { originMoves } = createOrigin(parts);
  const { serverMoves } = createServer(parts);

  /** What the broker does when nothing is renewed for the time of a lease. */
  const leases = (before: World): Move<World>[] => {
    const { holder, job } = before;
    const holds = holder >= 0 && ["holding", "working", "ended"].includes(before.servers[holder]?.phase ?? "free");
    const isKept = job >= 0 && before.servers[job]?.hasDelivery === true;
    return [
      ...(holder >= 0 && (!holds || family.standsStill)
        ? [move(before, "the lease lapses", (world) => void Object.assign(world, { holder: NOBODY }), !holds)]
        : []),
      ...(job >= 0 && (!isKept || family.standsStill)
        ? [move(before, "the job is offered again", (world) => void Object.assign(world, { job: QUEUED }), !isKept)]
        : []),
    ];
  };

  const forgets = (before: World): Move<World>[] => {
    if (before.forgotten >= (family.forgets ?? 0)) return [];
    const forget = (what: string, work: (world: World) => void) =>
      move(
        before,
        `the broker forgets ${what}`,
        (world) => {
          work(world);
          world.forgotten += 1;
        },
        false,
      );
    return [
      ...before.log.map((_, kept) =>
        forget(`all but ${kept} of ${before.log.length} entries`, (world) => {
          world.log = world.log.slice(0, kept);
        }),
      ),
      ...(before.job !== NOWHERE ? [forget("the job", (world) => void Object.assign(world, { job: NOWHERE }))] : []),
      forget("everything", (world) =>
        Object.assign(world, { log: [], job: NOWHERE, holder: NOBODY, epoch: world.epoch + 1 }),
      ),
    ];
  };

  /** Where no server is lost. */
  const isSteady = !family.dies && !family.standsStill && !family.isUnreliable;

  /** Where nothing fails, nobody interferes, and nobody is impatient. */
  const isCalm = !["dies", "standsStill", "isUnreliable", "forgets", "cancels", "isImpatient"].some(
    (what) => what in family,
  );

  const faultsOf = (world: World): string[] => {
    const { context } = chartOf(world);
    const begun = world.servers.reduce((sum, server) => sum + server.begun, 0);
    if ((context.remote?.attempts.length ?? 0) > begun) return ["a claim counts twice"];
    // What the broker has forgotten is begun anew; all else that is promised then is that it ends.
    if (world.forgotten > 0) return [];
    const { ended, claims } = read(world);
    const newest = claims.at(-1);
    const isByServer = ended?.nonce.startsWith("server_") === true;
    const isWrong = isByServer && !ended.nonce.startsWith(`${newest?.entry.server.id} `);
    const isHere = isUnderWay(world) && !isInFleet(chartOf(world));
    const faults: [boolean, string][] = [
      [begun > family.attempts, "a run is begun more often than it may"],
      [world.hasMissedEnd, "the origin has another end than the log had"],
      [isWrong, "an end counts of a server that does not have the run any more"],
      [isHere && claims.length > 0 && isSteady, "a run is worked on at the origin that a server has begun"],
      [isCalm && context.lastRunResult?.outcome === "error", "a run fails though nothing does"],
    ];
    return faults.flatMap(([is, what]) => (is ? what : []));
  };

  const first = (): World => {
    const fleet = { pool: "p", commit: "c", attempts: family.attempts, patience: 1 };
    const world: World = {
      origin: charts.begin(taskInput(ID, { fleet }, AT)),
      asks: ["enqueueJob"],
      servers: Array.from({ length: family.servers }, () => ({
        phase: "free",
        claim: null,
        begunBy: null,
        begun: 0,
        hasDelivery: false,
        outcome: "completed",
      })),
      epoch: 1,
      log: [],
      holder: NOBODY,
      job: NOWHERE,
      forgotten: 0,
      hasMissedEnd: false,
    };
    return world;
  };

  return {
    first: first(),
    moves: (world) => [
      ...originMoves(world),
      ...world.servers.flatMap((_, s) => serverMoves(world, s)),
      ...leases(world),
      ...forgets(world),
    ],
    // The same fields in the same order, however the world came about.
    keyOf: ({ origin, asks, servers, epoch, log, holder, job, forgotten, hasMissedEnd }) =>
      JSON.stringify({
        ...{ origin, asks, epoch, log, holder, job, forgotten, hasMissedEnd },
        servers: servers.map(({ phase, claim, begunBy, begun, hasDelivery, outcome }) => ({
          ...{ phase, claim, begunBy, begun, hasDelivery, outcome },
        })),
      }),
    worldOf: (key) => JSON.parse(key) as World,
    faultsOf,
    isOver: (world) =>
      !isUnderWay(world) &&
      world.asks.length === 0 &&
      world.servers.every(({ phase }) => phase === "free") &&
      world.job === NOWHERE,
  };
};
