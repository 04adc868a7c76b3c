import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from "@nats-io/jetstream";
import {
  type Authenticator,
  connect,
  credsAuthenticator,
  type Msg,
  millis,
  type NatsConnection,
  nkeyAuthenticator,
  type Subscription,
  type TlsOptions,
  wsconnect,
} from "@nats-io/transport-node";
import { type Clock, repeat, sleep } from "../../platform/clock.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import { LEASES, RUNS } from "./streams.ts";

/** The permission bits of all who are not the file's owner. */
const OTHERS = 0o077;

/**
 * Reads a NATS credentials file. `~/` is the user's home.
 * @throws Error where it cannot be read, or others may read it as well: whoever has it can run commands on the fleet's servers
 */
export const readCredentials = (path: string): Uint8Array => {
  const file = path.startsWith("~/") ? join(homedir(), path.slice(2)) : path;
  // Windows has no such bits, and reports that all are set.
  if (process.platform !== "win32" && (statSync(file).mode & OTHERS) !== 0)
    throw new Error(`others than its owner may read ${path}: chmod 600 ${path}`);
  return readFileSync(file);
};

/** The seed of a user's NKey, alone. */
const SEED = /^\s*(SU[A-Z2-7]{56})\s*$/;

/**
 * Returns the authenticator of a credentials file of NATS, or of a file that has the seed of an NKey alone.
 * @throws Error where the file has neither
 */
export const authenticatorOf = (credentials: Uint8Array): Authenticator => {
  const [, seed] = SEED.exec(new TextDecoder().decode(credentials)) ?? [];
  const authenticator = seed ? nkeyAuthenticator(new TextEncoder().encode(seed)) : credsAuthenticator(credentials);
  // Throws where the file has none: a NATS server that wants none would not ask for them.
  authenticator("");
  return authenticator;
};

/** Milliseconds between two attempts to connect. */
const AGAIN_AFTER = 5_000;

/** Milliseconds between two looks whether the broker is still the same. */
const LOOK_EVERY = 20_000;

/**
 * Milliseconds between two pings. Where the broker does not answer three in a row, the connection is made anew: a router that forgets
 * a connection tells nobody, and by the client's own default a worker would notice after six minutes, in which it loses all its runs.
 */
const PING_EVERY = 5_000;

/** Milliseconds after which a call to the broker counts as unanswered. */
export const ANSWER_WITHIN = 5_000;

/** The address of a broker, and the credentials of this server. */
export interface BrokerAddress {
  /** `nats://`, `tls://`, `ws://` or `wss://`. */
  url: string;
  /** The content of a credentials file. Undefined: the broker lets anybody in. */
  credentials: Uint8Array | undefined;
}

/** A broker that is reached now. */
export interface Reached {
  nc: NatsConnection;
  js: JetStreamClient;
  jsm: JetStreamManager;
  /** When its logs were set up, epoch milliseconds. */
  epoch: number;
  /** Milliseconds after which a lease expires. */
  leaseMs: number;
}

/** Takes a message. `respond` answers whoever asked; undefined where nobody waits for an answer. */
type Listener = (subject: string, text: string, respond: ((text: string) => void) | undefined) => void;

/** A subject that is listened to on every connection. */
interface Wanted {
  subject: string;
  listener: Listener;
  /** On the newest connection. */
  current?: Subscription;
}

/** Opens one connection. @throws Error with the reason */
export const dial = ({ url, credentials }: BrokerAddress, name: string): Promise<NatsConnection> => {
  const options = {
    servers: url,
    name,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    timeout: ANSWER_WITHIN,
    pingInterval: PING_EVERY,
    ...(credentials ? { authenticator: authenticatorOf(credentials) } : {}),
  };
  if (/^wss?:/.test(url)) return wsconnect(options);
  return connect({ ...options, ...(url.startsWith("tls:") ? { tls: tlsOf(url) } : {}) });
};

/**
 * Returns the options that refuse a server without TLS. They name the host also where it is an IP address: the client leaves those
 * out, and the runtime would check the certificate for "localhost".
 */
const tlsOf = (url: string): TlsOptions & { host: string } => ({
  host: new URL(url).hostname.replace(/^\[(.*)\]$/, "$1"),
});

/** Keeps a connection to the broker open, and makes it again whenever it is lost. Returns at once; nothing of it throws. */
export const keepConnection = (address: BrokerAddress, name: string, clock: Clock, log: Log) => {
  let state: Reached | string = "The fleet has not been reached yet.";
  let nc: NatsConnection | undefined;
  let isClosed = false;
  const reachedListeners = new Set<() => void>();
  const wanted = new Set<Wanted>();

  const fail = (reason: string) => {
    if (isClosed) return;
    if (state !== reason) log.error("the fleet cannot be reached", { reason });
    state = reason;
  };

  const apply = (one: Wanted) => {
    if (!nc || nc.isClosed()) return;
    const callback = (error: Error | null, message: Pick<Msg, "subject" | "string" | "reply" | "respond">) => {
      if (error) return log.error("the fleet cannot be listened to", { reason: error.message });
      const respond = message.reply ? (text: string) => void message.respond(text) : undefined;
      one.listener(message.subject, message.string(), respond);
    };
    one.current = nc.subscribe(one.subject, { callback });
  };

  /** Looks whether the broker has what a fleet needs, and whether it is still the one that it was. */
  const examine = async (connection: NatsConnection) => {
    try {
      const jsm = await jetstreamManager(connection, { checkAPI: false, timeout: ANSWER_WITHIN });
      const [runs, holds] = await Promise.all([jsm.streams.info(RUNS), jsm.streams.info(LEASES)]);
      if (isClosed || connection.isClosed()) return;
      const epoch = Date.parse(runs.created);
      const isNew = typeof state === "string" || state.epoch !== epoch;
      const js = jetstream(connection, { timeout: ANSWER_WITHIN });
      state = { nc: connection, js, jsm, epoch, leaseMs: millis(holds.config.max_age) };
      if (isNew) for (const listener of [...reachedListeners]) listener();
    } catch (error) {
      fail(reasonOf(error));
    }
  };

  const watch = async (connection: NatsConnection) => {
    const look = () => examine(connection);
    const stopLooking = repeat(clock, log, {
      first: 0,
      every: LOOK_EVERY,
      work: async () => {
        await look();
        return typeof state === "string" ? AGAIN_AFTER : LOOK_EVERY;
      },
      fault: "the fleet cannot be looked at",
    });
    for await (const status of connection.status()) {
      if (status.type === "disconnect") fail("The connection to the fleet is lost.");
      if (status.type === "error") log.error("the fleet has refused something", { reason: status.error.message });
      if (status.type === "reconnect") await look();
    }
    stopLooking();
  };

  const keep = async () => {
    while (!isClosed) {
      try {
        nc = await dial(address, name);
        if (isClosed) return void (await nc.close());
        for (const one of wanted) apply(one);
        await watch(nc);
      } catch (error) {
        fail(`The broker of the fleet does not answer: ${errorMessage(error)}`);
      }
      await sleep(clock, AGAIN_AFTER);
    }
  };
  keep().catch((error) => log.error("the fleet was given up", { reason: errorMessage(error) }));

  return {
    /** Returns the broker, while it is reached and has what a fleet needs; otherwise why not. */
    now: (): Reached | string => state,
    /** Calls `listener` for each message of a subject, on every connection. */
    subscribe: (subject: string, listener: Listener): (() => void) => {
      const one: Wanted = { subject, listener };
      wanted.add(one);
      apply(one);
      return () => {
        wanted.delete(one);
        one.current?.unsubscribe();
      };
    },
    /** Calls `listener` whenever the broker is reached, the first time and each time after; at once where it is reached now. */
    onReached: (listener: () => void): (() => void) => {
      reachedListeners.add(listener);
      if (typeof state !== "string") listener();
      return () => void reachedListeners.delete(listener);
    },
    close: async (): Promise<void> => {
      isClosed = true;
      state = "The fleet has been left.";
      await nc?.close();
    },
  };
};

/** Returns why the broker did not do what was asked, as a sentence. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error && error.name === "StreamNotFoundError"
    ? "The fleet has not been set up on this broker: run opencode-taskchart fleet init."
    : `The broker of the fleet says: ${errorMessage(error)}`;

/** Returns the cause of a failed request: the client of NATS wraps some errors, such as a missing permission. */
export const causeOf = (error: unknown): unknown =>
  error instanceof Error && error.name === "RequestError" && error.cause !== undefined ? error.cause : error;
