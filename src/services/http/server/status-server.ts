import { randomBytes } from "node:crypto";
import type { Clock } from "../../platform/clock.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import { type Admissions, createAdmissions, type Reads } from "../access/admission.ts";
import { createApp, type RequestHandler } from "../api/app.ts";
import { createLongResponses } from "../api/long-responses.ts";
import type { StatusSource } from "../contract/status-source.ts";
import { announce } from "../discovery/announce.ts";
import { createBytesInFlight } from "../events/bytes-in-flight.ts";
import { MOST_UNDER_WAY } from "../events/sse-stream.ts";
import { createTaskFeed } from "../events/task-feed.ts";
import { createLiveFeed } from "../live/feed.ts";
import type { LivePage } from "../live/pages.ts";
import { listenOnBun } from "./bun.ts";
import { onProcessExit } from "./exit-hook.ts";
import { LIMITS, type Limits, type Listener, LOOPBACK } from "./listener.ts";
import { listenOnNode } from "./node.ts";
import { isEnabled, portsOf } from "./ports.ts";
import { acquireShared } from "./process-singleton.ts";

/** The status API as it is served. */
export interface StatusServer {
  url: string;
  port: number;
  /** What a request must bear to change something. */
  token: string;
  /** Gives it up; when nobody else in this process uses it, it ends within some two seconds. */
  stop(): Promise<void>;
}

export interface StatusServerDeps {
  source: StatusSource;
  /** Of the plugin's data. */
  folder: string;
  env: Readonly<Record<string, string | undefined>>;
  log: Log;
  clock: Clock;
  /** The plugin's. */
  version: string;
  /** Origins of pages that may read, beside those of this machine. Those of all who share the server count. */
  allowedOrigins: readonly string[];
  /** Who may read without a token; default: `user`. The strictest of all who share the server counts. */
  reads?: Reads;
  /** Default: `LIMITS`. */
  limits?: Limits;
  /** Pages to be served beside the API; default: none. */
  pages?: readonly LivePage[];
}

/** Milliseconds that answers which are under way get, when the server ends. Then they are given up, in words. */
const GRACE = 2_000;

/** Milliseconds more for those words to arrive. */
const LAST_WORDS = 500;

const listen = async (ports: number[], answer: RequestHandler, limits: Limits = LIMITS): Promise<Listener> => {
  const listenOn = process.versions.bun ? listenOnBun : listenOnNode;
  let fault: unknown;
  for (const port of ports) {
    try {
      return await listenOn(port, answer, limits);
    } catch (error) {
      fault = error;
    }
  }
  throw fault;
};

/** The server that all directories share. */
interface SharedServer extends StatusServer {
  admissions: Admissions;
}

const begin = async (parts: StatusServerDeps): Promise<SharedServer> => {
  const { source, folder, env, log, clock, pages = [] } = parts;
  const admissions = createAdmissions();
  const own = { pid: process.pid, startedAt: new Date().toISOString() };
  const isPasswordSet = (env.OPENCODE_SERVER_PASSWORD ?? "") !== "";
  const token = randomBytes(32).toString("base64url");
  const underWay = createBytesInFlight(MOST_UNDER_WAY);
  const feed = createTaskFeed(source, clock, log, underWay);
  const live = pages.map((page) => ({ page, feed: createLiveFeed(page.source, clock, underWay) }));
  const appParts = {
    ...parts,
    feed,
    live,
    token,
    admissions,
    isPasswordSet,
    own,
    writeJson: createLongResponses(clock),
  };
  const app = createApp(appParts);
  const server = await listen(portsOf(env, log), app.answer, parts.limits);
  const { port } = server;
  const url = `http://${LOOPBACK}:${port}`;

  let closed: Promise<void> | undefined;
  const end = async () => {
    const late = setTimeout(app.giveUp, GRACE);
    // Begun first: whom the end of the streams tells to connect again must not reach us.
    await Promise.all([server.close(GRACE + LAST_WORDS), feed.stop(), ...live.map((one) => one.feed.stop())]);
    clearTimeout(late);
  };
  const close = () => {
    closed ??= end();
    return closed;
  };
  try {
    const discovery = await announce({ ...own, port, url, token }, { folder, clock, log });
    const callOff = onProcessExit(discovery.end, close);
    return {
      url,
      port,
      token,
      admissions,
      stop: () => {
        callOff();
        discovery.end();
        return close();
      },
    };
  } catch (error) {
    log.error("the status API is served, but not announced", { url, reason: errorMessage(error) });
    return { url, port, token, admissions, stop: close };
  }
};

/**
 * Serves the status API on loopback, once per process: whoever asks again shares the server that is there, with the
 * source of the first. Undefined when it is switched off, or when it cannot be served, which is logged.
 */
export const startStatusServer = async (parts: StatusServerDeps): Promise<StatusServer | undefined> => {
  if (!isEnabled(parts.env)) return undefined;
  try {
    const { admissions, stop, ...server } = await acquireShared(() => begin(parts));
    const leave = admissions.add({ allowedOrigins: parts.allowedOrigins, reads: parts.reads ?? "user" });
    return {
      ...server,
      stop: () => {
        leave();
        return stop();
      },
    };
  } catch (error) {
    parts.log.error("the status API is not served", { reason: errorMessage(error) });
    return undefined;
  }
};
