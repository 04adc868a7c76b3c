import { statePath } from "../../../src/machines/chart.ts";
import { isAtRest, isStopping } from "../../../src/machines/task/machine.ts";
import type { TaskRecord } from "../../../src/services/store/store.ts";
import { type FleetWorld, jobOf, nameOf, type Server } from "./fleet-world.ts";
import { readPlaces } from "./log-reading.ts";
import type { Phase } from "./situation-names.ts";

/** A run that a server has in hand. */
export interface InHand {
  server: Server;
  run: string;
  phase: Phase;
  /** Undefined until the run is begun. */
  record?: TaskRecord;
}

const phaseOf = (world: FleetWorld, { id }: Server, run: string, { task, snapshot }: TaskRecord): Phase => {
  const { context, value } = snapshot;
  if (context.completedAt !== undefined) {
    const { ended } = readPlaces(world.broker.placesIn(run));
    return ended?.nonce === `${id} ${task.sessionID}` ? "unreceived" : "unwritten";
  }
  if (isStopping(snapshot)) return "stopping";
  if (context.userRequests.length > 0) return "asking";
  return statePath(value.run) === "active.working.busy" ? "working" : "begun";
};

/** The runs that a server has begun, and has not settled. */
const begunBy = (world: FleetWorld, server: Server): InHand[] =>
  server.records.all().flatMap((record) => {
    const job = jobOf(record);
    if (!job || isAtRest(record.snapshot)) return [];
    const run = nameOf(job);
    return [{ server, run, phase: phaseOf(world, server, run, record), record }];
  });

/** The runs that servers have in hand, also those that are dead. */
export const inHand = (world: FleetWorld): InHand[] => {
  const { broker, servers, clock } = world;
  const begun = servers.flatMap((server) => begunBy(world, server));
  const isBegun = (server: Server, run: string) => begun.some((one) => one.server === server && one.run === run);
  const byId = (id: string | undefined) => servers.find((server) => server.id === id);
  const taken = broker.queue().flatMap(({ job, from }): InHand[] => {
    const run = nameOf(job);
    const { claims, ended } = readPlaces(broker.placesIn(run));
    const server = byId(world.takerOf(run));
    if (!server || from <= clock.now() || ended || isBegun(server, run)) return [];
    if (claims.at(-1)?.entry.server.id === server.id) return [{ server, run, phase: "claimed" }];
    return [{ server, run, phase: broker.holderOf(`run.${run}`) === server.id ? "held" : "taken" }];
  });
  return [...taken, ...begun];
};
