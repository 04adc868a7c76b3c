// What a fleet has in NATS: its streams, the subjects of their messages, by which rights are granted, and how those messages are
// read and written.
import {
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  type StoredMsg,
  type StreamConfig,
  type StreamInfo,
  type StreamInfoRequestOptions,
} from "@nats-io/jetstream";
import { millis, nanos } from "@nats-io/transport-node";
import { z } from "zod";
import type { PlacedEntry, Queue } from "../broker.ts";
import { Entry, Limits, type RunName, readAs, WIRE_VERSION } from "../wire-messages.ts";

/** The jobs that wait for a worker, and those that one has taken and not done. */
export const JOBS = "TASKCHART_JOBS";
/** The logs of runs. */
export const RUNS = "TASKCHART_RUNS";
/** Who holds which lease. */
export const LEASES = "TASKCHART_LEASES";
/** How many tasks of a model may run at once in the whole fleet. */
export const LIMITS = "TASKCHART_LIMITS";

const bytes = new TextEncoder();

/** Returns a text as one part of a subject: letters, digits, `_` and `-` as they are, all else as `=` and its code. */
const token = (text: string): string =>
  text === ""
    ? "="
    : text.replace(/[^A-Za-z0-9_-]/gu, (character) =>
        [...bytes.encode(character)].map((byte) => `=${byte.toString(16).padStart(2, "0")}`).join(""),
      );

/** Returns the text of which `token` made a part of a subject. @throws URIError where it made no such part */
export const textOf = (part: string): string => (part === "=" ? "" : decodeURIComponent(part.replaceAll("=", "%")));

const tokens = (...parts: (string | number)[]): string => parts.map((part) => token(String(part))).join(".");

export const runSubject = ({ origin, task, run }: RunName): string => `taskchart.run.${tokens(origin, task, run)}`;

/** The subjects of all runs of an origin server. */
export const runsOf = (origin: string): string => `taskchart.run.${tokens(origin)}.>`;

const runNamed = ([origin, task, run]: string[]): RunName | undefined => {
  if (origin === undefined || task === undefined || run === undefined || !/^\d+$/.test(run)) return undefined;
  return { origin: textOf(origin), task: textOf(task), run: Number(run) };
};

/** Returns the run whose log has this subject; undefined for another subject. */
export const runOf = (subject: string): RunName | undefined => runNamed(subject.split(".").slice(2));

export const jobSubject = ({ pool, priority, key, ...name }: Queue & RunName): string =>
  `taskchart.job.${tokens(pool, priority, key, name.origin, name.task, name.run)}`;

/** Returns the pool and the run of the job that has this subject; undefined for another subject. */
export const jobIn = (subject: string): (RunName & { pool: string }) | undefined => {
  const [, , pool, , , ...rest] = subject.split(".");
  const name = runNamed(rest);
  return pool === undefined || !name ? undefined : { pool: textOf(pool), ...name };
};

/** The subjects of the jobs of a queue. */
export const jobsOf = ({ pool, priority, key }: Queue): string => `taskchart.job.${tokens(pool, priority, key)}.>`;

/** The name of the consumer by which the servers of a fleet share a queue. */
export const consumerOf = ({ pool, priority, key }: Queue): string =>
  [pool, priority, key].map(String).map(token).join("+");

export const leaseSubject = (name: string): string => `taskchart.lease.${tokens(...name.split("."))}`;

/** Returns the run whose lease has this subject; undefined for another subject. */
export const leasedRun = (subject: string): RunName | undefined => {
  const [, , what, ...rest] = subject.split(".");
  return what === "run" ? runNamed(rest) : undefined;
};

export const topicSubject = (topic: string): string => `taskchart.topic.${tokens(...topic.split("."))}`;

/** The subject of questions to a server. */
export const askSubject = (server: string): string => `taskchart.ask.${tokens(server)}`;

/** The streams that a fleet has. */
export const STREAMS = [JOBS, RUNS, LEASES, LIMITS] as const;

/** The subject of the limits: its newest message has all of them. */
export const LIMITS_SUBJECT = "taskchart.limits";

/** The settings of a fleet, which whoever sets it up chooses. */
export interface FleetSettings {
  /** Milliseconds after which a lease expires that was not renewed: its worker is taken for dead, and others begin its tasks anew. */
  lease: number;
  /** Milliseconds for which jobs and logs are kept for servers that are off. */
  keep: number;
  /** How many servers of a NATS cluster keep a copy of everything: 1, 3 or 5. */
  replicas: number;
}

/** The streams of a fleet. */
const streams = ({ lease, keep, replicas }: FleetSettings): (Partial<StreamConfig> & { name: string })[] => {
  const shared = { storage: "file", num_replicas: replicas, discard: "new" } as const;
  return [
    {
      ...shared,
      name: JOBS,
      subjects: ["taskchart.job.>"],
      retention: "workqueue",
      max_age: nanos(keep),
      max_msg_size: 512 * 1024,
      max_bytes: 1024 ** 3,
    },
    {
      ...shared,
      name: RUNS,
      subjects: ["taskchart.run.>"],
      retention: "limits",
      max_age: nanos(keep),
      max_msg_size: 1024 ** 2,
      max_msgs_per_subject: 1_000,
      discard_new_per_subject: true,
      max_bytes: 10 * 1024 ** 3,
    },
    {
      ...shared,
      name: LEASES,
      subjects: ["taskchart.lease.>"],
      retention: "limits",
      discard: "old",
      max_age: nanos(lease),
      // NATS wants it to be no longer than `max_age`.
      duplicate_window: nanos(lease),
      max_msgs_per_subject: 1,
    },
    {
      ...shared,
      name: LIMITS,
      subjects: [LIMITS_SUBJECT],
      retention: "limits",
      discard: "old",
      max_msgs_per_subject: 1,
    },
  ];
};

/** Returns what is known of a stream; undefined where there is none. @throws Error with the broker's reason */
export const streamInfo = async (
  jsm: JetStreamManager,
  name: string,
  wanted?: Partial<StreamInfoRequestOptions>,
): Promise<StreamInfo | undefined> => {
  try {
    return await jsm.streams.info(name, wanted);
  } catch (error) {
    if (error instanceof Error && error.name === "StreamNotFoundError") return undefined;
    throw error;
  }
};

/** Returns how the fleet on a broker is set up; undefined where it is not. @throws Error with the broker's reason */
export const readSettings = async (jsm: JetStreamManager): Promise<FleetSettings | undefined> => {
  const [runs, holds] = await Promise.all([streamInfo(jsm, RUNS), streamInfo(jsm, LEASES)]);
  if (!runs || !holds) return undefined;
  const { num_replicas: replicas, max_age: keep } = runs.config;
  return { lease: millis(holds.config.max_age), keep: millis(keep), replicas };
};

/**
 * Creates the streams that a fleet needs, or changes those that exist; their messages stay. Returns the names of those that it
 * created.
 * @throws Error with the broker's reason
 */
export const setUpFleet = async (jsm: JetStreamManager, settings: FleetSettings): Promise<string[]> => {
  const made: string[] = [];
  for (const stream of streams(settings)) {
    if (await streamInfo(jsm, stream.name)) {
      await jsm.streams.update(stream.name, stream);
    } else {
      await jsm.streams.add(stream);
      made.push(stream.name);
    }
  }
  return made;
};

/** The code of the answer to a message that another one came before. */
const WRONG_LAST_SEQUENCE = 10_071;

/**
 * Publishes a message, if the last one of its subject stands at `after` (0: if there is none; undefined: in any case). Returns
 * its own place; undefined where the last one stands elsewhere. @throws Error with the broker's reason
 */
export const publishAfter = async (
  js: JetStreamClient,
  subject: string,
  body: object,
  after: number | undefined,
): Promise<number | undefined> => {
  try {
    const expect = after === undefined ? {} : { expect: { lastSubjectSequence: after } };
    const { seq } = await js.publish(subject, JSON.stringify(body), expect);
    return seq;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === WRONG_LAST_SEQUENCE) return undefined;
    throw error;
  }
};

/** What a lease says. */
const LeaseMessage = z.object({ holder: z.string() });

/** Returns the id of the server that has a lease; empty where the message does not say it. */
export const holderIn = (lease: StoredMsg): string => readAs(LeaseMessage, lease.string())?.holder ?? "";

/** Reads the log of a run, oldest entry first. `epoch` is when the logs were set up. @throws Error with the broker's reason */
export const readEntries = async (jsm: JetStreamManager, epoch: number, log: RunName): Promise<PlacedEntry[]> => {
  const subject = runSubject(log);
  const entries: PlacedEntry[] = [];
  for (let seq = 1; ; ) {
    const found: StoredMsg | null = await jsm.streams.getMessage(RUNS, { seq, next_by_subj: subject } as never);
    if (!found) return entries;
    entries.push({ at: { epoch, seq: found.seq }, entry: readAs(Entry, found.string()) });
    seq = found.seq + 1;
  }
};

/** How many tasks of a model may run at once in the whole fleet, by the model as `provider/model`; null for any number. */
export type ModelLimits = Limits["models"];

/** How often a change is tried where others change the limits as well. */
const ATTEMPTS = 20;

/** The limits, and the place of their message: 0 where there is none. */
export interface StoredLimits {
  models: ModelLimits;
  /** The names or ids of servers that take no more jobs. */
  drained: readonly string[];
  seq: number;
}

/** Reads the limits; undefined where this version cannot read them. @throws Error with the broker's reason */
export const readLimits = async (jsm: JetStreamManager): Promise<StoredLimits | undefined> => {
  const found = await jsm.streams.getMessage(LIMITS, { last_by_subj: LIMITS_SUBJECT });
  if (!found) return { models: {}, drained: [], seq: 0 };
  const data = readAs(Limits, found.string());
  return data && { models: data.models, drained: data.drained ?? [], seq: found.seq };
};

/** Writes the limits, if nobody has written any since `seq`. False where somebody has. */
const writeLimits = async (jsm: JetStreamManager, { models, drained, seq }: StoredLimits): Promise<boolean> => {
  const message: Limits = { v: WIRE_VERSION, models, ...(drained.length > 0 ? { drained: [...drained] } : {}) };
  return (await publishAfter(jsm.jetstream(), LIMITS_SUBJECT, message, seq)) !== undefined;
};

/** The outcome of a change of limits. */
type LimitsChange =
  | { is: "changed"; before: StoredLimits; after: StoredLimits }
  /** Another version has written them. */
  | { is: "unreadable" }
  /** Others have changed them at each attempt. */
  | { is: "conflict" };

/**
 * Replaces the limits by what `change` returns for the present ones, unless that is the same object. `change` is called again where
 * somebody else was faster, so that no change is lost.
 * @throws Error with the broker's reason
 */
export const changeLimits = async (
  jsm: JetStreamManager,
  change: (limits: StoredLimits) => StoredLimits,
): Promise<LimitsChange> => {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = await readLimits(jsm);
    if (!before) return { is: "unreadable" };
    const after = change(before);
    if (after === before || (await writeLimits(jsm, after))) return { is: "changed", before, after };
  }
  return { is: "conflict" };
};
