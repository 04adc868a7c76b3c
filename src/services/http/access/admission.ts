// Whoever runs programs as the user may read, and nobody else: docs/decisions/074-reads-are-for-the-same-user.md
import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import { createMiddleware } from "hono/factory";
import { isLoopback, isLoopbackOrigin } from "../loopback.ts";
import { type AppEnv, errorResponse, quote } from "./request-handling.ts";
import { type Endpoints, isOwnConnection } from "./socket-owner.ts";

/**
 * Who may read without a token:
 * - `user`: programs of the user that OpenCode runs as, where the system reports whose a connection is
 * - `token`: nobody
 * - `open`: every user of this machine
 */
export type Reads = "user" | "token" | "open";

export interface Admission {
  /** Origins of web pages, in addition to those of this machine. */
  allowedOrigins: readonly string[];
  reads: Reads;
}

const STRICTEST_FIRST = ["token", "user", "open"] as const;

/**
 * Creates the rules of the open directories of this process, which share one server that shows the tasks of all of them.
 * Without any rule, only the user may read.
 */
export const createAdmissions = () => {
  const admissions = new Set<Admission>();
  return {
    /** Adds the rules of a directory; returns a function that removes them. */
    add: (admission: Admission) => {
      const own = { ...admission };
      admissions.add(own);
      return () => void admissions.delete(own);
    },
    /** The origins that any directory allows: an allowed page is to work, whichever directory was opened first. */
    origins: () => [...admissions].flatMap(({ allowedOrigins }) => allowedOrigins),
    /** The strictest rule of all directories, so that none exposes what another one restricts to the token. */
    reads: (): Reads => STRICTEST_FIRST.find((rule) => [...admissions].some(({ reads }) => reads === rule)) ?? "user",
  };
};
export type Admissions = ReturnType<typeof createAdmissions>;

/** The longest URL that is accepted, in characters. Node and Bun themselves accept at most 16 kB of headers. */
const MAX_URL_CHARS = 8_192;

/**
 * Returns why a request is rejected, whatever it asks for and from whomever it comes; undefined when it may go on.
 *
 * Any page in the user's browser can reach loopback. A page whose name was rebound to 127.0.0.1 still sends that name as
 * `Host`. Any other page sends its `Origin` with a request whose response it could read. With a request whose response it
 * cannot read, such as that for an image or a frame, it may send none; then the browser says in `Sec-Fetch-Site` that the
 * request comes from another site.
 */
export const rejectionOf = (
  request: Request,
  allowedOrigins: readonly string[],
): { status: 403 | 414; error: string } | undefined => {
  const host = request.headers.get("host") ?? "";
  if (!isLoopback(host)) {
    return { status: 403, error: `Host ${quote(host)} is not served: use localhost or 127.0.0.1.` };
  }
  const origin = request.headers.get("origin");
  if (origin !== null && !isLoopbackOrigin(origin) && !allowedOrigins.includes(origin)) {
    return { status: 403, error: `Origin ${quote(origin)} is not served: it is not one of the allowed origins.` };
  }
  const site = request.headers.get("sec-fetch-site");
  // A page that this machine serves may lead its reader to another one, which it cannot read: a link, not a frame or an image.
  const isLink =
    request.headers.get("sec-fetch-mode") === "navigate" && request.headers.get("sec-fetch-dest") === "document";
  if (origin === null && (site === "cross-site" || (site === "same-site" && !isLink))) {
    return { status: 403, error: "A page of another site has requested this. Open the address directly." };
  }
  if (request.url.length > MAX_URL_CHARS) {
    return { status: 414, error: `The URL is too long: at most ${MAX_URL_CHARS} characters are accepted.` };
  }
  return undefined;
};

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Digests have the same length, so the time of the comparison tells nothing about the token. */
const isToken = (given: string, token: string): boolean => timingSafeEqual(digest(given), digest(token));

const bearerIn = (authorization: string): string | undefined => /^Bearer +(\S+) *$/i.exec(authorization)?.[1];

/** Reads the password of HTTP Basic: the only way in which a browser can send the token when it opens a page. */
const passwordIn = (authorization: string): string | undefined => {
  const encoded = /^Basic +(\S+) *$/i.exec(authorization)?.[1];
  const decoded = encoded === undefined ? "" : Buffer.from(encoded, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  return colon < 0 ? undefined : decoded.slice(colon + 1);
};

const HOW_TO_AUTHORIZE = 'Send "Authorization: Bearer" and the token in server.json';

/** Creates a middleware that lets a request pass only with the token, as everything needs that changes a task. */
export const createTokenGuard = (token: string) =>
  createMiddleware<AppEnv>(async (c, next) => {
    const given = bearerIn(c.req.header("authorization") ?? "");
    if (given !== undefined && isToken(given, token)) return next();
    const problem = given === undefined ? "no token was given" : "the token is wrong";
    const error = `Not allowed: ${problem}. ${HOW_TO_AUTHORIZE}.`;
    return errorResponse(401, error, { "WWW-Authenticate": "Bearer" });
  });

export interface ReadRules {
  token: string;
  reads(): Reads;
  /** True when OpenCode's own server requires a password: then reading requires the token, whatever `reads` says. */
  isPasswordSet: boolean;
  /** Default: asks the operating system. Only tests replace it. */
  isOwn?: (endpoints: Endpoints) => Promise<boolean>;
}

/**
 * What everybody may request: `/v1/health`, by which other processes find the server, and the pages that know nothing of a
 * task by themselves. The board could not take its token from the address if it were not served without.
 */
const FOR_EVERYBODY: ReadonlySet<string> = new Set(["/v1/health", "/", "/docs"]);

/**
 * Creates a middleware that lets a request to read pass only for those who may. The owner of a connection is looked up once.
 */
export const createReadGuard = ({ token, reads, isPasswordSet, isOwn = isOwnConnection }: ReadRules) => {
  const lookups = new WeakMap<Endpoints, Promise<boolean>>();

  const isOwnOnce = (endpoints: Endpoints): Promise<boolean> => {
    const lookup = lookups.get(endpoints) ?? isOwn(endpoints);
    lookups.set(endpoints, lookup);
    return lookup;
  };

  /** Returns why the request is rejected; undefined when its sender may read. */
  const reasonAgainst = async (
    authorization: string,
    endpoints: Endpoints | undefined,
  ): Promise<string | undefined> => {
    const given = bearerIn(authorization) ?? passwordIn(authorization);
    if (given !== undefined && isToken(given, token)) return undefined;
    if (isPasswordSet) return "OPENCODE_SERVER_PASSWORD is set, so reading requires the token";
    const rule = reads();
    if (rule === "open") return undefined;
    if (rule === "token") return 'the option api.reads is "token"';
    if (endpoints && (await isOwnOnce(endpoints))) return undefined;
    return "the system does not confirm that this comes from the user who runs OpenCode";
  };

  return createMiddleware<AppEnv>(async (c, next) => {
    const { method, path } = c.req;
    if ((method !== "GET" && method !== "HEAD") || FOR_EVERYBODY.has(path)) return next();
    const reason = await reasonAgainst(c.req.header("authorization") ?? "", c.env.connection.endpoints);
    if (reason === undefined) return next();
    const error = `Not allowed: ${reason}. ${HOW_TO_AUTHORIZE}; in a browser, enter the token as the password.`;
    const scheme = path.startsWith("/v1/") ? "Bearer" : 'Basic realm="opencode-taskchart"';
    return errorResponse(401, error, { "WWW-Authenticate": scheme });
  });
};
