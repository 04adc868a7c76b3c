import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { brokerProblem } from "../../options.ts";
import {
  ANSWER_WITHIN,
  authenticatorOf,
  type BrokerAddress,
  causeOf,
  dial,
  readCredentials,
} from "../../services/fleet/nats/nats-connection.ts";
import { errorMessage } from "../../services/platform/log.ts";
import { CommandError, EXIT, PROGRAM } from "../command.ts";

export interface GivenBroker {
  url?: string | undefined;
  credentials?: string | undefined;
}

/** A broker that a command has reached. */
export interface ReachedBroker {
  url: string;
  /** The version of its nats-server. */
  version: string;
  /** False for one that stands alone. */
  isCluster: boolean;
  nc: NatsConnection;
  jsm: JetStreamManager;
}

const NO_URL =
  "Give the address of the NATS server, the same as in the option fleet.url: --url nats://10.0.0.5:4222, for example.";

const addressOf = ({ url, credentials }: GivenBroker): BrokerAddress => {
  if (url === undefined) throw new CommandError(NO_URL);
  const problem = brokerProblem(url, "--credentials");
  if (problem !== undefined) throw new CommandError(`--url ${problem}.`);
  if (credentials === undefined) return { url, credentials: undefined };
  try {
    const read = readCredentials(credentials);
    authenticatorOf(read);
    return { url, credentials: read };
  } catch (error) {
    throw new CommandError(`The credentials of ${credentials} cannot be read: ${errorMessage(error)}`);
  }
};

const ADMISSION = ["AuthorizationError", "UserAuthenticationExpiredError"];

const notReached = ({ url, credentials }: BrokerAddress, error: unknown): CommandError => {
  const reason = errorMessage(error);
  if (error instanceof Error && ADMISSION.includes(error.name)) {
    const advice = credentials
      ? "Look whether the file that --credentials names is for this server, and has not expired."
      : "Name the credentials file with --credentials.";
    return new CommandError(`The NATS server at ${url} does not let you in: ${reason}. ${advice}`);
  }
  return new CommandError(`No NATS server can be reached at ${url}: ${reason}.`, EXIT.unreachable);
};

const NO_JETSTREAM = ["JetStreamNotEnabled", "NoResponders"];

/** Puts the broker's answer into words; an error that is not its answer stays as it is. */
const refusal = (url: string, thrown: unknown): unknown => {
  const error = causeOf(thrown);
  if (!(error instanceof Error) || error instanceof CommandError) return error;
  if (NO_JETSTREAM.includes(error.name)) {
    return new CommandError(
      `The NATS server at ${url} has no JetStream, which keeps the jobs of a fleet: start nats-server with -js, or with jetstream { } in its configuration.`,
    );
  }
  if (error.name === "PermissionViolationError") {
    return new CommandError(
      `The NATS server at ${url} does not permit that: ${error.message}. Use credentials that may manage its streams.`,
    );
  }
  if (error.name === "TimeoutError") {
    return new CommandError(
      `The NATS server at ${url} did not answer within ${ANSWER_WITHIN / 1_000} s. In a cluster, a majority of its servers must be up.`,
      EXIT.unreachable,
    );
  }
  if (error.name === "JetStreamApiError") return new CommandError(`The NATS server at ${url} says: ${error.message}.`);
  return error;
};

const connectTo = async (address: BrokerAddress): Promise<NatsConnection> => {
  try {
    return await dial(address, PROGRAM);
  } catch (error) {
    throw notReached(address, error);
  }
};

/** Calls `work` with the broker that a command line names. @throws CommandError that says what is wrong, and what to do */
export const withBroker = async <T>(given: GivenBroker, work: (broker: ReachedBroker) => Promise<T>): Promise<T> => {
  const address = addressOf(given);
  const { url } = address;
  const nc = await connectTo(address);
  try {
    const jsm = await jetstreamManager(nc, { timeout: ANSWER_WITHIN });
    return await work({ url, version: nc.info?.version ?? "", isCluster: nc.info?.cluster !== undefined, nc, jsm });
  } catch (error) {
    throw refusal(url, error);
  } finally {
    await nc.close();
  }
};
