import { hostname } from "node:os";
import { basename } from "node:path";
import manifest from "../package.json" with { type: "json" };
import type { Options } from "./options.ts";
import { commitObstacle, publishedCommit } from "./services/fleet/commits.ts";
import { createFleet, type Fleet } from "./services/fleet/fleet.ts";
import { readCredentials } from "./services/fleet/nats/credentials.ts";
import { createNatsBus } from "./services/fleet/nats/nats-bus.ts";
import { newServerId, serverIdentity } from "./services/fleet/server-identity.ts";
import type { Clock } from "./services/platform/clock.ts";
import type { Log } from "./services/platform/log.ts";

/** What a server enters its fleet with. */
export interface EnterFleetDeps {
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
 * Enters the fleet that the options name. Returns at once, whether or not its engine can be reached.
 * @throws Error that says what is missing, as a person reads it
 */
export const enterFleet = (deps: EnterFleetDeps): Fleet => {
  const { options, projectId, directory, folder, isStored, isHeadless, clock, log } = deps;
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
    bus: createNatsBus(address, `opencode-taskchart ${id}`, clock, log),
    server: { id, label: name },
    ...{ pool, project: basename(directory), work: isHeadless ? 0 : work, offer, attempts: retries + 1, patience },
    version: manifest.version,
    commits: { published: publishedCommit, obstacle: commitObstacle },
    ...{ clock, log },
  });
};
