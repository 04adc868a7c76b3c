import { randomBytes } from "node:crypto";
import type { Clock } from "../clock.ts";
import { type Log, reasonOf } from "../log.ts";
import { createApp } from "./app.ts";
import { listenOnBun } from "./bun-server.ts";
import { announce } from "./discovery.ts";
import { createFeed } from "./feed.ts";
import type { LivePage } from "./inspection/pages.ts";
import { createWatchFeed } from "./inspection/watch-feed.ts";
import { type Listening, LOOPBACK } from "./listening.ts";
import { listenOnNode } from "./node-server.ts";
import { onParting } from "./parting.ts";
import { isEnabled, portsOf } from "./ports.ts";
import { shareOne } from "./shared.ts";
import type { StatusSource } from "./source.ts";

/** The status API as it is served. */
export interface StatusServer {
  url: string;
  port: number;
  /** What a request must bear to change something. */
  token: string;
  /** Gives it up; when nobody else in this process uses it, it ends within two seconds. */
  stop(): Promise<void>;
}

export interface StatusServerParts {
  source: StatusSource;
  /** Of the plugin's data. */
  folder: string;
  env: Readonly<Record<string, string | undefined>>;
  log: Log;
  clock: Clock;
  /** The plugin's. */
  version: string;
  /** Origins of pages that may read, beside those of this machine. */
  allowedOrigins: readonly string[];
  /** Pages to be served beside the API; default: none. */
  pages?: readonly LivePage[];
}

/** Milliseconds that answers which are under way get, when the server ends. */
const GRACE = 2_000;

const listen = async (ports: number[], answer: ReturnType<typeof createApp>): Promise<Listening> => {
  const listenOn = process.versions.bun ? listenOnBun : listenOnNode;
  let fault: unknown;
  for (const port of ports) {
    try {
      return await listenOn(port, answer);
    } catch (error) {
      fault = error;
    }
  }
  throw fault;
};

const begin = async (parts: StatusServerParts): Promise<StatusServer> => {
  const { source, folder, env, log, clock, pages = [] } = parts;
  const token = randomBytes(32).toString("base64url");
  const feed = createFeed(source, clock, log);
  const live = pages.map((page) => ({ page, feed: createWatchFeed(page.watched, clock) }));
  const server = await listen(portsOf(env, log), createApp({ ...parts, feed, live, token }));
  const { port } = server;
  const url = `http://${LOOPBACK}:${port}`;

  let closed: Promise<void> | undefined;
  const close = () => {
    // Begun first: whom the end of the streams tells to connect again must not reach us.
    closed ??= Promise.all([server.close(GRACE), feed.stop(), ...live.map((one) => one.feed.stop())]).then(
      () => undefined,
    );
    return closed;
  };
  const own = { port, pid: process.pid, startedAt: new Date().toISOString(), url, token };
  try {
    const discovery = await announce(own, { folder, clock, log });
    const callOff = onParting(discovery.end, close);
    return {
      url,
      port,
      token,
      stop: () => {
        callOff();
        discovery.end();
        return close();
      },
    };
  } catch (error) {
    log.error("the status API is served, but not announced", { url, reason: reasonOf(error) });
    return { url, port, token, stop: close };
  }
};

/**
 * Serves the status API on loopback, once per process: whoever asks again shares the server that is there, with the
 * source of the first. Undefined when it is switched off, or when it cannot be served, which is logged.
 */
export const startStatusServer = async (parts: StatusServerParts): Promise<StatusServer | undefined> => {
  if (!isEnabled(parts.env)) return undefined;
  try {
    return await shareOne(() => begin(parts));
  } catch (error) {
    parts.log.error("the status API is not served", { reason: reasonOf(error) });
    return undefined;
  }
};
