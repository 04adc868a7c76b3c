import type { FleetServer } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Outcome } from "../platform/result.ts";
import type { Broker } from "./broker.ts";

/** This server's place in a fleet, as the options define it. */
export interface Membership {
  broker: Broker;
  server: FleetServer;
  /** The project whose servers take each other's jobs. */
  pool: string;
  /** The project as people know it. */
  project: string;
  /** How many runs of other servers this one works on at once. */
  work: number;
  /** The agents whose tasks are for other servers. */
  offer: readonly string[];
  /** Of the plugin. */
  version: string;
  /** How often a run may be begun. */
  attempts: number;
  /** Milliseconds for which a job waits for a worker. */
  patience: number;
  /** What is known of commits. */
  commits: {
    /** Returns the commit that is checked out in a directory, where others can fetch it; a failure says why they cannot. */
    published(directory: string): Promise<Outcome<string>>;
    /** Returns why a commit cannot be had in a directory, where it is fetched if need be; undefined where it can. */
    obstacle(directory: string, commit: string): Promise<string | undefined>;
  };
  clock: Clock;
  log: Log;
  /** Returns an id that nothing else has. */
  newId(): string;
}
