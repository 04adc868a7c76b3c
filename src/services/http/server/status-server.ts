import { randomBytes, randomUUID } from "node:crypto";
import type { ReadDirectories } from "../../host/directories.ts";
import type { Clock } from "../../platform/clock.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import { ensureServerKey, newChallenge, proofOf } from "../../platform/server-key.ts";
import { worktreesFolder } from "../../worktrees/folders.ts";
import { type Admissions, createAdmissions, type Reads } from "../access/admission.ts";
import type { ConnectionLimits, Listener, RequestHandler } from "../access/request-handling.ts";
import { createApp } from "../api/app.ts";
import { createLongResponses } from "../api/long-responses.ts";
import { createAnnouncement, createDiscoveryFiles, sharedToken } from "../discovery/announce.ts";
import { createEngineSource, type StatusSource } from "../engine-source.ts";
import { createBytesInFlight, MAX_BYTES_IN_FLIGHT } from "../events/sse-stream.ts";
import { createTaskFeed } from "../events/task-feed.ts";
import { DEFAULT_PORT, isEnabled, LOOPBACK } from "../loopback.ts";
import { createLiveFeed, type Documents, type LivePage } from "../pages.ts";
import type { OpenDirectories } from "../status-api.ts";
import { listenOnBun } from "./bun.ts";
import { listenOnNode } from "./node.ts";

// Servers, and the hook on the end of the process, are our own: docs/decisions/283-what-the-http-server-is-made-of.md

/** The running server of the status API. */
export interface StatusServer {
  url: string;
  port: number;
  /** Required of requests that change something. */
  token: string;
  /** Gives up this user's share. The server stops when nobody else in this process uses it, within about 2.5 s. */
  stop(): Promise<void>;
}

export interface StatusServerOptions {
  source: StatusSource;
  /** The plugin's data folder. */
  folder: string;
  env: Readonly<Record<string, string | undefined>>;
  log: Log;
  clock: Clock;
  /** The plugin's version. */
  version: string;
  /** Origins of pages that may read, in addition to those of this machine. Those of all users of the server count. */
  allowedOrigins: readonly string[];
  /** Who may read without a token; default: `user`. The strictest rule of all users of the server counts. */
  reads?: Reads;
  /** Default: `LIMITS`. */
  limits?: ConnectionLimits;
  /** The pages of the live view; default: none. */
  pages?: readonly LivePage[];
  /** The board, and the description of the API; default: neither is served. */
  documents?: Documents;
}

/** Milliseconds that pending requests get when the server stops. Then they are answered with an error. */
const GRACE_MS = 2_000;

/** Milliseconds for those errors to arrive. */
const LAST_RESPONSES_MS = 500;

/**
 * The default limits. The time is longer than any response takes: OpenCode, or another process, is waited for 15 s at
 * most. The connections are twice those that all streams take; often a process may not open more than 1,024 files.
 */
const CONNECTION_LIMITS: ConnectionLimits = { timeoutMs: 30_000, maxConnections: 256 };

const MAX_PORT = 65_535;
const PORTS_TO_TRY = 10;

/** Returns the ports to try in turn: ten from the configured one on, then 0, for which the system chooses a free one. */
export const portsToTry = (env: StatusServerOptions["env"], log: Log): number[] => {
  const configured = env.ASYNCAGENTS_API_PORT?.trim() ?? "";
  const isPort = /^\d{1,5}$/.test(configured) && Number(configured) >= 1 && Number(configured) <= MAX_PORT;
  if (configured !== "" && !isPort) {
    const problem = `ASYNCAGENTS_API_PORT is ${JSON.stringify(configured)}, which is not a port from 1 to ${MAX_PORT}`;
    log.error(`${problem}; the status API uses ${DEFAULT_PORT}`);
  }
  const first = isPort ? Number(configured) : DEFAULT_PORT;
  const ports = Array.from({ length: PORTS_TO_TRY }, (_, index) => first + index);
  return [...ports.filter((port) => port <= MAX_PORT), 0];
};

const listen = async (
  ports: number[],
  handle: RequestHandler,
  limits: ConnectionLimits = CONNECTION_LIMITS,
): Promise<Listener> => {
  const listenOn = process.versions.bun ? listenOnBun : listenOnNode;
  let fault: unknown;
  for (const port of ports) {
    try {
      return await listenOn(port, handle, limits);
    } catch (error) {
      fault = error;
    }
  }
  throw fault;
};

/** Starts the server that all directories share. */
const start = async (options: StatusServerOptions): Promise<StatusServer & { admissions: Admissions }> => {
  const { source, folder, env, log, clock, pages = [] } = options;
  const admissions = createAdmissions();
  const own = { pid: process.pid, startedAt: new Date().toISOString() };
  const isPasswordSet = (env.OPENCODE_SERVER_PASSWORD ?? "") !== "";
  const token = (await sharedToken(folder, log)) ?? randomBytes(32).toString("base64url");
  const streamContext = { clock, log, bytesInFlight: createBytesInFlight(MAX_BYTES_IN_FLIGHT) };
  const feed = createTaskFeed(source, streamContext);
  const live = pages.map((page) => ({ page, feed: createLiveFeed(page.source, streamContext) }));
  const writeJson = createLongResponses(clock);
  let port = 0;
  const liveView = () => pages.find((page) => page.source.isOn())?.path;
  const discoveryFiles = createDiscoveryFiles(folder);
  const app = createApp({
    ...{ ...options, feed, live, token, admissions, isPasswordSet, own, writeJson },
    prove: (challenge) => proofOf(ensureServerKey(folder), { port, challenge }),
    servers: () => {
      const key = ensureServerKey(folder);
      return discoveryFiles.readInstances().map((instance) => {
        const challenge = newChallenge();
        return { ...instance, challenge, proof: proofOf(key, { port: instance.port, challenge }) };
      });
    },
  });
  const server = await listen(portsToTry(env, log), app.handle, options.limits);
  port = server.port;
  const url = `http://${LOOPBACK}:${port}`;

  let closed: Promise<void> | undefined;
  const stopServing = async () => {
    const timer = setTimeout(app.abortPending, GRACE_MS);
    // The server closes first: clients whose streams end reconnect, and must not reach it any more.
    await Promise.all([server.close(GRACE_MS + LAST_RESPONSES_MS), feed.stop(), ...live.map((one) => one.feed.stop())]);
    clearTimeout(timer);
  };
  const close = () => {
    closed ??= stopServing();
    return closed;
  };
  const discovery = createAnnouncement({ ...own, port, url, token }, { folder, clock, log, liveView });
  // Before anything is written: a process that ends meanwhile must not leave it behind.
  const removeExitHook = onProcessExit(discovery.withdraw, close);
  try {
    await discovery.publish();
    return {
      url,
      port,
      token,
      admissions,
      stop: () => {
        removeExitHook();
        discovery.withdraw();
        return close();
      },
    };
  } catch (error) {
    removeExitHook();
    log.error("the status API is served, but not announced", { url, reason: errorMessage(error) });
    return { url, port, token, admissions, stop: close };
  }
};

/**
 * Serves the status API on loopback, once per process: later callers share the first one's server and source. Returns
 * undefined when it is switched off, or when it cannot be served, which is logged.
 */
export const startStatusServer = async (options: StatusServerOptions): Promise<StatusServer | undefined> => {
  if (!isEnabled(options.env)) return undefined;
  try {
    const { admissions, stop, ...server } = await acquireShared(() => start(options));
    const removeAdmission = admissions.add({ allowedOrigins: options.allowedOrigins, reads: options.reads ?? "user" });
    return {
      ...server,
      stop: () => {
        removeAdmission();
        return stop();
      },
    };
  } catch (error) {
    options.log.error("the status API cannot be served", { reason: errorMessage(error) });
    return undefined;
  }
};

/** What the status API of all open directories is served from. */
interface StatusApiOptions extends Omit<StatusServerOptions, "source"> {
  directories: OpenDirectories;
  readDirectories: ReadDirectories;
}

/**
 * Serves the status API of all open directories, see `startStatusServer`. This file is the only way to the server and to
 * its libraries, half of all the code: it is imported when the server is started, which is after OpenCode has.
 */
export const serveStatusApi = ({
  directories,
  readDirectories,
  ...options
}: StatusApiOptions): Promise<StatusServer | undefined> =>
  startStatusServer({
    ...options,
    source: createEngineSource(
      directories,
      options.clock,
      randomUUID,
      worktreesFolder(options.folder),
      readDirectories,
    ),
  });

/** This process's server, and how many users it has. */
interface Slot<T> {
  current: { users: number; instance: Promise<T> } | undefined;
  /** Settles when the previous server has stopped: its port is free then. */
  stopped: Promise<unknown>;
}

/** All copies of this module in the process find the slot by it: the host may load the plugin once for each directory. */
const KEY = Symbol.for("opencode-taskchart.status-server");

const processSlot = <T>(): Slot<T> => {
  const globals = globalThis as { [KEY]?: Slot<T> };
  globals[KEY] ??= { current: undefined, stopped: Promise.resolve() };
  return globals[KEY];
};

/**
 * Returns this process's shared instance, and starts it for its first user. The last user's `stop` stops it, so that it
 * does not outlive the plugin: the host disposes of that and loads it again when its configuration changes, and the new
 * one must not be served from the old one's source.
 */
const acquireShared = async <T extends { stop(): Promise<void> }>(start: () => Promise<T>): Promise<T> => {
  const slot = processSlot<T>();
  slot.current ??= { users: 0, instance: slot.stopped.then(start) };
  const shared = slot.current;
  shared.users += 1;
  let isReleased = false;

  /** Gives up this user's share. Returns true for the last user. */
  const release = (): boolean => {
    if (isReleased) return false;
    isReleased = true;
    shared.users -= 1;
    if (shared.users > 0) return false;
    if (slot.current === shared) slot.current = undefined;
    return true;
  };

  try {
    const instance = await shared.instance;
    const stop = async () => {
      if (!release()) return;
      const stopping = instance.stop();
      slot.stopped = stopping.catch(() => undefined);
      await stopping;
    };
    return { ...instance, stop };
  } catch (error) {
    release();
    throw error;
  }
};

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Calls `cleanUp` when the process exits or gets SIGINT or SIGTERM, and after a signal also `finish`. The process then
 * exits just as it would have without this. Returns a function that removes the hook.
 *
 * A listener for a signal replaces its default action, which is to end the process. So if nothing else listens, the
 * signal is sent once more after `finish`, without our listener; if something else does, it decides whether to exit.
 */
const onProcessExit = (cleanUp: () => void, finish: () => Promise<void>): (() => void) => {
  const onSignal = (signal: NodeJS.Signals) => {
    remove();
    // Checked before other listeners have run: one that was added by `once` is gone afterwards.
    const hasOtherListeners = process.listenerCount(signal) > 0;
    cleanUp();
    const exit = () => {
      if (!hasOtherListeners) process.kill(process.pid, signal);
    };
    void finish().then(exit, exit);
  };
  const remove = () => {
    process.off("exit", cleanUp);
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  process.on("exit", cleanUp);
  for (const signal of SIGNALS) process.prependListener(signal, onSignal);
  return remove;
};
