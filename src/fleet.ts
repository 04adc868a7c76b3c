import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import manifest from "../package.json" with { type: "json" };
import type { Options } from "./options.ts";
import { createFleet, type Fleet } from "./services/fleet/create-fleet.ts";
import { commitObstacle, publishedCommit } from "./services/fleet/jobs.ts";
import { createNatsBroker } from "./services/fleet/nats/nats-broker.ts";
import { readCredentials } from "./services/fleet/nats/nats-connection.ts";
import type { Clock } from "./services/platform/clock.ts";
import type { Log } from "./services/platform/log.ts";

/** The name of the file, in the folder of the plugin's data. */
const FILE = "fleet-server";

const ID = /^srv_[0-9a-f]{12}$/;

/** Returns an id that no server has. */
const newServerId = (): string => `srv_${randomUUID().replaceAll("-", "").slice(0, 12)}`;

/**
 * Returns the id of this server in its fleet, which it keeps in a file from its first start on: tasks that it launched are
 * known by it. Two servers with the same id would take each other's results, so whoever copies the folder leaves it out.
 * @throws Error where the file cannot be read or written, or says something else
 */
const serverIdentity = (folder: string): string => {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, FILE);
  const fresh = newServerId();
  try {
    writeFileSync(file, `${fresh}\n`, { flag: "wx", mode: 0o600 });
    return fresh;
  } catch (error) {
    const isThere = error instanceof Error && "code" in error && error.code === "EEXIST";
    if (!isThere) throw error;
  }
  const id = readFileSync(file, "utf8").trim();
  if (!ID.test(id)) throw new Error(`${file} has no server's id: remove it, and a new one is made.`);
  return id;
};

/** Where a server enters its fleet: its options, project and process. */
interface FleetPlace {
  options: NonNullable<Options["fleet"]>;
  /** OpenCode's own id of the project: the same in every clone, and `global` where there is no git. */
  projectId: string;
  directory: string;
  /** The folder of the plugin's data. */
  folder: string;
  /**
   * True where the tasks of this process are stored where all processes of this server see them. Otherwise it is a server of its
   * own: it would take the runs of the others for lost.
   */
  isStored: boolean;
  /** True in `opencode run`, which ends soon: it works for nobody else. */
  isHeadless: boolean;
  clock: Clock;
  log: Log;
}

/**
 * Enters the fleet that the options name. Returns at once, whether or not its broker can be reached.
 * @throws Error that says what is missing, as a person reads it
 */
export const enterFleet = (place: FleetPlace): Fleet => {
  const { options, projectId, directory, folder, isStored, isHeadless, clock, log } = place;
  const { url, credentials, name = hostname(), pool = projectId, work, offer, retries, patience } = options;
  if (url === undefined) throw new Error("fleet.url: the address of the NATS server is needed.");
  if (pool === "global") {
    throw new Error(
      "fleet: this folder is in no git repository, by which servers know that they have the same project.",
    );
  }
  const id = isStored ? serverIdentity(folder) : newServerId();
  const address = { url, credentials: credentials === undefined ? undefined : readCredentials(credentials) };
  return createFleet({
    broker: createNatsBroker(address, `opencode-taskchart ${id}`, clock, log),
    server: { id, label: name },
    ...{ pool, project: basename(directory), work: isHeadless ? 0 : work, offer, attempts: retries + 1, patience },
    version: manifest.version,
    commits: { published: publishedCommit, obstacle: commitObstacle },
    ...{ clock, log },
  });
};
