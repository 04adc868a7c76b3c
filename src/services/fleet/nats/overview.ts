import type { JetStreamManager } from "@nats-io/jetstream";
import { readLog } from "../run-log.ts";
import { Job, type RunName, readAs, runLease } from "../wire-messages.ts";
import * as names from "./streams.ts";
import {
  type FleetSettings,
  holderIn,
  type ModelLimits,
  readEntries,
  readLimits,
  readSettings,
  streamInfo,
} from "./streams.ts";

/** The jobs of a pool. */
interface PoolOverview {
  pool: string;
  /** The project as the origin server of the newest job knows it; absent where that job cannot be read. */
  project?: string;
  /** Jobs that no server works on. */
  waiting: number;
  /** Jobs that a server works on. */
  taken: number;
}

/** A run that a worker has. Labels are absent where no log has them. */
interface RunOverview extends RunName {
  /** Absent where its job is gone already. */
  pool?: string;
  originLabel?: string;
  /** The id of the worker that holds its lease. */
  server: string;
  serverLabel?: string;
  /** When that worker claimed it, epoch milliseconds by its own clock; absent where it has not yet. */
  since?: number;
}

/** A worker. */
interface ServerOverview {
  id: string;
  label?: string;
  runs: number;
}

/** What a broker has of a fleet. */
export interface FleetOverview {
  /** The streams that it lacks. */
  missing: string[];
  /** Absent where it is not set up. */
  settings?: FleetSettings;
  /** Absent where there are none to read: they are not set up, or another version has written them. */
  limits?: ModelLimits;
  /** The names or ids of servers that take no more jobs; absent where limits are. */
  drained?: readonly string[];
  pools: PoolOverview[];
  runs: RunOverview[];
  servers: ServerOverview[];
}

/** Returns the subjects with that beginning of which a stream has messages. */
const subjectsOf = async (jsm: JetStreamManager, stream: string, beginning: string): Promise<string[]> => {
  const info = await streamInfo(jsm, stream, { subjects_filter: `${beginning}.>` });
  return Object.keys(info?.state.subjects ?? {}).sort();
};

/** Reads the runs whose lease is held. `poolOf` has the pools of their jobs. */
const readRuns = async (jsm: JetStreamManager, poolOf: ReadonlyMap<string, string>): Promise<RunOverview[]> => {
  const subjects = await subjectsOf(jsm, names.LEASES, "taskchart.lease");
  const read = subjects.map(async (subject): Promise<RunOverview[]> => {
    const name = names.leasedRun(subject);
    const lease = await jsm.streams.getMessage(names.LEASES, { last_by_subj: subject });
    // It was released a moment ago, or is of another version.
    if (!name || !lease) return [];
    const server = holderIn(lease);
    // The log may have gone meanwhile.
    const newest = readLog(await readEntries(jsm, 0, name)).claims.at(-1)?.entry;
    const pool = poolOf.get(runLease(name));
    return [
      {
        ...name,
        ...(pool === undefined ? {} : { pool }),
        server,
        // One that has just acquired the lease has yet to write its claim: the newest is another's.
        ...(newest?.server.id === server ? { serverLabel: newest.server.label, since: newest.at } : {}),
      },
    ];
  });
  return (await Promise.all(read)).flat();
};

const withLabels = (runs: readonly RunOverview[]): { runs: RunOverview[]; servers: ServerOverview[] } => {
  const labels = new Map<string, string>();
  for (const { server, serverLabel } of runs) if (serverLabel !== undefined) labels.set(server, serverLabel);
  const labelled = (id: string, as: "label" | "originLabel" | "serverLabel") => {
    const label = labels.get(id);
    return label === undefined ? {} : { [as]: label };
  };
  const servers = [...new Set(runs.map(({ server }) => server))].map((id) => ({
    id,
    ...labelled(id, "label"),
    runs: runs.filter(({ server }) => server === id).length,
  }));
  return {
    runs: runs.map((run) => ({
      ...run,
      ...labelled(run.server, "serverLabel"),
      ...labelled(run.origin, "originLabel"),
    })),
    servers,
  };
};

const projectIn = async (jsm: JetStreamManager, subject: string): Promise<string | undefined> => {
  const found = await jsm.streams.getMessage(names.JOBS, { last_by_subj: subject });
  return found ? readAs(Job, found.string())?.project : undefined;
};

/** Reads what a broker has of a fleet, while that changes. @throws Error with the broker's reason */
export const readOverview = async (jsm: JetStreamManager): Promise<FleetOverview> => {
  const infos = await Promise.all(names.STREAMS.map((name) => streamInfo(jsm, name)));
  const missing = names.STREAMS.filter((_, index) => infos[index] === undefined);
  const settings = await readSettings(jsm);
  const limits = missing.includes(names.LIMITS) ? undefined : await readLimits(jsm);
  const subjects = await subjectsOf(jsm, names.JOBS, "taskchart.job");
  const jobs = subjects.flatMap((subject) => {
    const job = names.jobIn(subject);
    return job ? { ...job, subject } : [];
  });
  const runs = await readRuns(jsm, new Map(jobs.map((job) => [runLease(job), job.pool])));
  const held = new Set(runs.map(runLease));
  const pools = [...new Set(jobs.map(({ pool }) => pool))].map(async (pool): Promise<PoolOverview> => {
    const own = jobs.filter((job) => job.pool === pool);
    const taken = own.filter((job) => held.has(runLease(job))).length;
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
