import type { JetStreamManager } from "@nats-io/jetstream";
import { readLog } from "../log-of-run.ts";
import { Order, type RunName, runHold } from "../messages.ts";
import { type ModelLimits, readLimits } from "./limits.ts";
import * as names from "./names.ts";
import { type FleetSettings, readSettings, streamInfo } from "./set-up.ts";
import { holderIn, json, readEntries } from "./stored.ts";

/** The orders of a pool. */
export interface PoolOverview {
  pool: string;
  /** The project as the server that ordered last knows it; absent where its order cannot be read. */
  project?: string;
  /** Orders that no server works on. */
  waiting: number;
  /** Orders that a server works on. */
  taken: number;
}

/** A run that a server works on. Labels are absent where no log says them. */
export interface RunOverview extends RunName {
  /** Absent where its order is gone already. */
  pool?: string;
  homeLabel?: string;
  /** The id of the server that holds it. */
  server: string;
  serverLabel?: string;
  /** When that server took it, epoch milliseconds by its own clock; absent where it has not said so yet. */
  since?: number;
}

/** A server that works on runs of others. */
export interface ServerOverview {
  id: string;
  label?: string;
  runs: number;
}

/** What an engine has of a fleet. */
export interface FleetOverview {
  /** The streams that it lacks. */
  missing: string[];
  /** Absent where it is not set up. */
  settings?: FleetSettings;
  /** Absent where there are none to read: they are not set up, or another version has written them. */
  limits?: ModelLimits;
  /** The names or ids of servers that are to take no more orders; absent where limits are. */
  drained?: readonly string[];
  pools: PoolOverview[];
  runs: RunOverview[];
  servers: ServerOverview[];
}

/** The subjects of a stream that begin so, of which there are messages. */
const subjectsOf = async (jsm: JetStreamManager, stream: string, beginning: string): Promise<string[]> => {
  const info = await streamInfo(jsm, stream, { subjects_filter: `${beginning}.>` });
  return Object.keys(info?.state.subjects ?? {}).sort();
};

/** Reads who took a run last. The log may have gone meanwhile. */
const readRun = async (jsm: JetStreamManager, name: RunName) => {
  const newest = readLog(await readEntries(jsm, 0, name)).claims.at(-1)?.entry;
  return newest && { server: newest.server, since: newest.at };
};

/** Reads the runs that are held. `poolOf` has the pools of their orders. */
const readRuns = async (jsm: JetStreamManager, poolOf: ReadonlyMap<string, string>): Promise<RunOverview[]> => {
  const subjects = await subjectsOf(jsm, names.HOLDS, "taskchart.hold");
  const read = subjects.map(async (subject): Promise<RunOverview[]> => {
    const name = names.heldRun(subject);
    const hold = await jsm.streams.getMessage(names.HOLDS, { last_by_subj: subject });
    // It was given up a moment ago, or is of another version.
    if (!name || !hold) return [];
    const server = holderIn(hold);
    const claimed = await readRun(jsm, name);
    const pool = poolOf.get(runHold(name));
    return [
      {
        ...name,
        ...(pool === undefined ? {} : { pool }),
        server,
        // One that has just taken the hold has yet to write its claim: the newest is another's.
        ...(claimed?.server.id === server ? { serverLabel: claimed.server.label, since: claimed.since } : {}),
      },
    ];
  });
  return (await Promise.all(read)).flat();
};

const withLabels = (runs: readonly RunOverview[]): { runs: RunOverview[]; servers: ServerOverview[] } => {
  const labels = new Map<string, string>();
  for (const { server, serverLabel } of runs) if (serverLabel !== undefined) labels.set(server, serverLabel);
  const labelled = (id: string, as: "label" | "homeLabel" | "serverLabel") => {
    const label = labels.get(id);
    return label === undefined ? {} : { [as]: label };
  };
  const servers = [...new Set(runs.map(({ server }) => server))].map((id) => ({
    id,
    ...labelled(id, "label"),
    runs: runs.filter(({ server }) => server === id).length,
  }));
  return {
    runs: runs.map((run) => ({ ...run, ...labelled(run.server, "serverLabel"), ...labelled(run.home, "homeLabel") })),
    servers,
  };
};

const projectIn = async (jsm: JetStreamManager, subject: string): Promise<string | undefined> => {
  const found = await jsm.streams.getMessage(names.ORDERS, { last_by_subj: subject });
  return found ? Order.safeParse(json(found.data)).data?.project : undefined;
};

/** Reads what an engine has of a fleet: what was there while it was read. @throws Error with the engine's reason */
export const readOverview = async (jsm: JetStreamManager): Promise<FleetOverview> => {
  const infos = await Promise.all(names.STREAMS.map((name) => streamInfo(jsm, name)));
  const missing = names.STREAMS.filter((_, index) => infos[index] === undefined);
  const settings = await readSettings(jsm);
  const limits = missing.includes(names.LIMITS) ? undefined : await readLimits(jsm);
  const subjects = await subjectsOf(jsm, names.ORDERS, "taskchart.order");
  const orders = subjects.flatMap((subject) => {
    const order = names.orderIn(subject);
    return order ? { ...order, subject } : [];
  });
  const runs = await readRuns(jsm, new Map(orders.map((order) => [runHold(order), order.pool])));
  const held = new Set(runs.map(runHold));
  const pools = [...new Set(orders.map(({ pool }) => pool))].map(async (pool): Promise<PoolOverview> => {
    const own = orders.filter((order) => order.pool === pool);
    const taken = own.filter((order) => held.has(runHold(order))).length;
    const project = await projectIn(jsm, own[0]?.subject ?? "");
    return { pool, ...(project === undefined ? {} : { project }), waiting: own.length - taken, taken };
  });
  return {
    missing,
    ...(settings ? { settings } : {}),
    ...(limits ? { limits: limits.models, drained: limits.drained } : {}),
    pools: await Promise.all(pools),
    ...withLabels(runs),
  };
};
