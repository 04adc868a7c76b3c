import { Buffer } from "node:buffer";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../api/app-context.ts";
import { bearsToken, type HttpRejection } from "./request-check.ts";
import { errorAnswer } from "./responses.ts";
import { type Ends, isOwnConnection } from "./socket-owner.ts";

/**
 * Who may read without a token:
 * - `user`: whoever runs as the same user of this machine as OpenCode does, where the system tells
 * - `token`: nobody
 * - `open`: every user of this machine
 */
export type Reads = "user" | "token" | "open";

/** Whom one directory lets read. */
export interface Admission {
  /** Origins of web pages, beside those of this machine. */
  allowedOrigins: readonly string[];
  reads: Reads;
}

/** Whom the directories let read that are open in this process. They share one server, which shows the tasks of all. */
export interface Admissions {
  /** Counts from now on, until the returned function is called. */
  add(admission: Admission): () => void;
  /** The origins of all: who lists one means that page to work, whichever directory was opened first. */
  origins(): string[];
  /** The strictest of all: no directory can show what another keeps to those with the token. */
  reads(): Reads;
}

const STRICTEST_FIRST = ["token", "user", "open"] as const;

/** No directory is open yet: the user alone may read. */
export const createAdmissions = (): Admissions => {
  const given = new Set<Admission>();
  return {
    add: (admission) => {
      const own = { ...admission };
      given.add(own);
      return () => void given.delete(own);
    },
    origins: () => [...given].flatMap(({ allowedOrigins }) => allowedOrigins),
    reads: () => STRICTEST_FIRST.find((rule) => [...given].some(({ reads }) => reads === rule)) ?? "user",
  };
};

/** What decides who may read. */
export interface ReadRules {
  token: string;
  reads(): Reads;
  /** OpenCode's own server asks for a password: then nobody reads this one without the token either. */
  isPasswordSet: boolean;
  /** Only tests need another than the system's. */
  isOwn?: (ends: Ends) => Promise<boolean>;
}

/** The token as the password of HTTP Basic: the one way in which a browser can send it when it opens a page. */
const passwordIn = (authorization: string | undefined): string | undefined => {
  const encoded = /^Basic +(\S+) *$/i.exec(authorization ?? "")?.[1];
  const decoded = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  return colon < 0 ? undefined : decoded.slice(colon + 1);
};

const HOW = 'Send "Authorization: Bearer" and the token in server.json';
const HOW_IN_BROWSERS = "in a browser, give the token as the password";

/**
 * Lets those read who may. Whether the server is there may be asked by everybody: that is how it is found.
 * A connection is looked up once.
 */
export const createReadGuard = ({ token, reads, isPasswordSet, isOwn = isOwnConnection }: ReadRules) => {
  const known = new WeakMap<Ends, Promise<boolean>>();

  const belongsToUs = (ends: Ends): Promise<boolean> => {
    const looked = known.get(ends) ?? isOwn(ends);
    known.set(ends, looked);
    return looked;
  };

  const refusalOf = async (
    authorization: string | undefined,
    ends: Ends | undefined,
  ): Promise<HttpRejection | undefined> => {
    if (bearsToken(authorization, token)) return undefined;
    const password = passwordIn(authorization);
    if (password !== undefined && bearsToken(`Bearer ${password}`, token)) return undefined;
    const refused = (why: string): HttpRejection => ({
      status: 401,
      error: `Not allowed: ${why}. ${HOW}; ${HOW_IN_BROWSERS}.`,
    });
    if (isPasswordSet) return refused("OPENCODE_SERVER_PASSWORD is set, so reading takes the token");
    const rule = reads();
    if (rule === "open") return undefined;
    if (rule === "token") return refused('the option api.reads is "token"');
    if (ends && (await belongsToUs(ends))) return undefined;
    return refused("the system does not say that the user who runs OpenCode sent this");
  };

  return createMiddleware<AppEnv>(async (c, next) => {
    const { method, path } = c.req;
    if ((method !== "GET" && method !== "HEAD") || path === "/v1/health") return next();
    const refusal = await refusalOf(c.req.header("authorization"), c.env.connection.ends);
    if (!refusal) return next();
    const scheme = path.startsWith("/v1/") ? "Bearer" : 'Basic realm="opencode-taskchart"';
    return errorAnswer(refusal.status, refusal.error, { "WWW-Authenticate": scheme });
  });
};
