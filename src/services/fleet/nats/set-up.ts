import type { JetStreamManager, StreamConfig, StreamInfo, StreamInfoRequestOptions } from "@nats-io/jetstream";
import { millis, nanos } from "@nats-io/transport-node";
import { HOLDS, LIMITS, LIMITS_SUBJECT, ORDERS, RUNS } from "./names.ts";

/** What whoever sets up a fleet may choose. */
export interface FleetSettings {
  /** Milliseconds after which a server that does not report is taken for dead, and its tasks are begun anew by others. */
  lease: number;
  /** Milliseconds for which orders and ends wait for servers that are away. */
  keep: number;
  /** How many servers of an engine keep a copy of everything: 1, 3 or 5. */
  replicas: number;
}

/** The streams of a fleet. */
const streams = ({ lease, keep, replicas }: FleetSettings): (Partial<StreamConfig> & { name: string })[] => {
  const shared = { storage: "file", num_replicas: replicas, discard: "new" } as const;
  return [
    {
      ...shared,
      name: ORDERS,
      subjects: ["taskchart.order.>"],
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
      name: HOLDS,
      subjects: ["taskchart.hold.>"],
      retention: "limits",
      discard: "old",
      max_age: nanos(lease),
      // The engine wants it to be no longer than what it guards.
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

/** Returns what is known of a stream; undefined where there is none. @throws Error with the engine's reason */
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

/** Returns how the fleet on an engine is set up; undefined where it is not. @throws Error with the engine's reason */
export const readSettings = async (jsm: JetStreamManager): Promise<FleetSettings | undefined> => {
  const [runs, holds] = await Promise.all([streamInfo(jsm, RUNS), streamInfo(jsm, HOLDS)]);
  if (!runs || !holds) return undefined;
  const { num_replicas: replicas, max_age: keep } = runs.config;
  return { lease: millis(holds.config.max_age), keep: millis(keep), replicas };
};

/**
 * Makes on an engine what a fleet needs, or changes it where it is there already; what is in it stays. Returns the names of
 * the streams that it made.
 * @throws Error with the engine's reason
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
