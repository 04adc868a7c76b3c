import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from "@nats-io/jetstream";
import {
  connect,
  type Msg,
  millis,
  type NatsConnection,
  type Subscription,
  type TlsOptions,
  wsconnect,
} from "@nats-io/transport-node";
import { type Clock, repeat, sleep } from "../../platform/clock.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import { authenticatorOf } from "./credentials.ts";
import { HOLDS, RUNS } from "./names.ts";

/** Milliseconds until an engine that could not be reached is tried again. */
const AGAIN_AFTER = 5_000;

/** Milliseconds between two looks whether the engine is still the same. */
const LOOK_EVERY = 20_000;

/**
 * Milliseconds between two signs of life that the engine is asked for. Where it gives none to three in a row, the connection is
 * made anew: a router that forgets a connection tells nobody, and by the client's own default a server would take six minutes
 * to notice, in which it loses all that it works on.
 */
const PING_EVERY = 5_000;

/** Milliseconds for which an answer of the engine is waited for. */
export const ANSWER_WITHIN = 5_000;

/** Where an engine is, and how a server shows that it belongs to the fleet. */
export interface EngineAddress {
  /** `nats://`, `tls://`, `ws://` or `wss://`. */
  url: string;
  /** What stands in a credentials file. Undefined: the engine lets anybody in. */
  credentials: Uint8Array | undefined;
}

/** An engine that is reached now. */
export interface Reached {
  nc: NatsConnection;
  js: JetStreamClient;
  jsm: JetStreamManager;
  /** When its logs were set up, epoch milliseconds. */
  epoch: number;
  /** Milliseconds for which a hold stays. */
  lease: number;
}

/** Takes a message. `respond` answers whoever asked; undefined where nobody waits for an answer. */
type Listener = (subject: string, text: string, respond: ((text: string) => void) | undefined) => void;

/** A connection that is made again whenever it is lost. */
export interface Connection {
  /** The engine, while it is reached and has what a fleet needs; otherwise why not. */
  now(): Reached | string;
  /** Has `listener` called for each message of a subject, on every connection. */
  subscribe(subject: string, listener: Listener): () => void;
  /** Calls `listener` whenever the engine is reached, the first time and each time after; at once where it is reached now. */
  onReached(listener: () => void): () => void;
  close(): Promise<void>;
}

/** A subject that is listened to on every connection. */
interface Wanted {
  subject: string;
  listener: Listener;
  /** On the newest connection. */
  current?: Subscription;
}

/** Opens one connection. @throws Error with the reason */
export const dial = ({ url, credentials }: EngineAddress, name: string): Promise<NatsConnection> => {
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
 * Returns the options by which a server without TLS is refused. A certificate is checked for the address as well where that
 * is no name: for those the client says none, and the runtime would check it for "localhost".
 */
const tlsOf = (url: string): TlsOptions & { host: string } => ({
  host: new URL(url).hostname.replace(/^\[(.*)\]$/, "$1"),
});

/** Keeps a connection to the engine. It returns at once, and nothing of it throws. */
export const keepConnection = (address: EngineAddress, name: string, clock: Clock, log: Log): Connection => {
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

  /** Looks whether the engine has what a fleet needs, and whether it is still the one that it was. */
  const examine = async (connection: NatsConnection) => {
    try {
      const jsm = await jetstreamManager(connection, { checkAPI: false, timeout: ANSWER_WITHIN });
      const [runs, holds] = await Promise.all([jsm.streams.info(RUNS), jsm.streams.info(HOLDS)]);
      if (isClosed || connection.isClosed()) return;
      const epoch = Date.parse(runs.created);
      const isNew = typeof state === "string" || state.epoch !== epoch;
      const js = jetstream(connection, { timeout: ANSWER_WITHIN });
      state = { nc: connection, js, jsm, epoch, lease: millis(holds.config.max_age) };
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
        fail(`The engine of the fleet does not answer: ${errorMessage(error)}`);
      }
      await sleep(clock, AGAIN_AFTER);
    }
  };
  keep().catch((error) => log.error("the fleet was given up", { reason: errorMessage(error) }));

  return {
    now: () => state,
    subscribe: (subject, listener) => {
      const one: Wanted = { subject, listener };
      wanted.add(one);
      apply(one);
      return () => {
        wanted.delete(one);
        one.current?.unsubscribe();
      };
    },
    onReached: (listener) => {
      reachedListeners.add(listener);
      if (typeof state !== "string") listener();
      return () => void reachedListeners.delete(listener);
    },
    close: async () => {
      isClosed = true;
      state = "The fleet has been left.";
      await nc?.close();
    },
  };
};

/** Says why the engine did not do what was asked. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error && error.name === "StreamNotFoundError"
    ? "The fleet has not been set up on this engine: run opencode-taskchart fleet init."
    : `The engine of the fleet says: ${errorMessage(error)}`;
