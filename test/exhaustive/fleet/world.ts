import { isInFleet } from "../../../src/machines/task/slot.ts";
import type { PlacedEntry } from "../../../src/services/fleet/broker.ts";
import { type RunLog, readLog } from "../../../src/services/fleet/run-log.ts";
import type { EntryOf } from "../../../src/services/fleet/wire-messages.ts";
import type { Claim, FleetServer } from "../../../src/task.ts";
import { AT, type ChartSteps, createCharts, type Machines } from "../charts.ts";
import type { Move } from "../explore.ts";

/** What can happen besides that a server takes the run, works on it, and says how it ended. */
export interface FleetFamily {
  /** The servers that work for others. */
  servers: 1 | 2;
  /** How often the run may be begun. */
  attempts: number;
  /** Servers, and the origin, die, and start again with what they have stored. */
  dies?: boolean;
  /** Servers stand still for longer than a lease, and go on. */
  standsStill?: boolean;
  /** How often the broker forgets the newest entries of the log, who holds the run, or its job. */
  forgets?: number;
  /** What the broker is asked is lost, or has happened though nothing is heard of it. */
  isUnreliable?: boolean;
  /** A person cancels the task. */
  cancels?: boolean;
  /** No server begins for so long that the origin takes the job back. */
  isImpatient?: boolean;
  machines?: Machines;
  mistake?: FleetMistake;
}

/** Mistakes in what is done around the chart. */
export type FleetMistake =
  | "a claim is written whatever stands in the log"
  | "an end counts whoever has claimed the run since"
  | "an origin closes a run without a look"
  | "a run is lost while a server holds it"
  | "an origin takes places of a log that was set back for those of before"
  | "a server waits for an origin that has closed the run";

export interface Server {
  /** It is free; has the job; holds the run; works on it; has an end to write; has written that. */
  phase: "free" | "taken" | "holding" | "working" | "ended" | "written";
  /** How it was claimed last. */
  claim: Claim | null;
  /** The claim by which it has begun the run. */
  begunBy: Claim | null;
  /** How often this server has begun the run: what it writes of each is told apart. */
  begun: number;
  /** It has the job, which it removes in the end. */
  hasDelivery: boolean;
  outcome: "completed" | "cancelled";
}

export type Entry = EntryOf<"claimed" | "ended" | "stopRequested" | "received">;

export interface World {
  /** The number of the snapshot of the task's chart. */
  origin: number;
  /** What the origin asks of the broker. */
  asks: ("enqueueJob" | "readRun" | "requestRemoteStop" | "closeRun")[];
  servers: Server[];
  epoch: number;
  log: Entry[];
  /** Who holds the run: the number of the server, or -1. */
  holder: number;
  /** Where the job is: nowhere (-2), queued (-1), or with a server. */
  job: number;
  forgotten: number;
  /** The origin has ended the run in another way, though its end stood in the log. */
  hasMissedEnd: boolean;
}

export const NOWHERE = -2;
export const QUEUED = -1;
export const NOBODY = -1;

export const ID = "ses_0";

export const plain = { v: 1, at: AT } as const;

export const serverOf = (s: number): FleetServer => ({ id: `server_${s}`, label: "AB"[s] ?? "" });

export type Parts = ReturnType<typeof createParts>;

/** Creates what all moves of a space are made with. */
export const createParts = (family: FleetFamily) => {
  const charts: ChartSteps = createCharts([ID], family.machines);

  const chartOf = ({ origin }: World) => charts.tasks.at(origin);
  const isUnderWay = (world: World): boolean => chartOf(world).context.completedAt === undefined;
  const isAway = (world: World): boolean => isUnderWay(world) && isInFleet(chartOf(world));

  const placed = ({ log, epoch }: World): PlacedEntry[] =>
    log.map((entry, index) => ({ at: { epoch, seq: index + 1 }, entry }));
  const read = (world: World): RunLog => readLog(placed(world));

  /** A copy that may be changed. */
  const copy = (world: World): World => ({
    ...world,
    asks: [...world.asks],
    servers: world.servers.map((server) => ({ ...server })),
    log: [...world.log],
  });

  const move = (before: World, name: string, work: (world: World) => void, isExpected = true): Move<World> => {
    const after = copy(before);
    work(after);
    return { name, after, isExpected };
  };

  return { family, charts, chartOf, isUnderWay, isAway, read, move };
};
