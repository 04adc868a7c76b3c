import { randomBytes } from "node:crypto";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { HTTPException } from "hono/http-exception";
import type { LiveSource } from "../inspection/protocol.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import { newChallenge } from "../platform/server-key.ts";
import { type App, type AppEnv, errorResponse } from "./access/request-handling.ts";
import {
  type Broadcast,
  bytes,
  createBroadcast,
  respondWithStream,
  type StreamContext,
  sseFrame,
} from "./events/sse-stream.ts";
import { LOOPBACK } from "./loopback.ts";

/** A page for people: one built document, with its scripts and styles in it. */
interface BuiltDocument {
  /**
   * Returns the document, in which `{{nonce}}` stands for the nonce of its scripts and styles, and `{{proof}}` for a challenge
   * and what this server answers to it. May throw.
   */
  html(): string;
  /** The only origin whose pages it may embed; default: none. */
  frames?: string | undefined;
  /** True where it may ask other servers of this machine who they are. */
  asksOthers?: boolean;
}

/** The pages that every server has. Each is read when somebody opens it, and may throw. */
export interface Documents {
  /** The board. `{{live-view}}` in it stands for the path of the live view, which is empty while that is off. */
  board(): string;
  /** The description of the API. */
  reference(): string;
}

/** What every page is served with. */
interface PageContext {
  log: Log;
  /** Answers a challenge. May throw. */
  prove(challenge: string): string;
}

/** A document runs its own script and style, loads from its own origin, and reaches nothing beyond this machine. */
const contentSecurityPolicy = (
  nonce: string,
  { frames = "'none'", asksOthers = false }: Pick<BuiltDocument, "frames" | "asksOthers">,
): string =>
  [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    `connect-src 'self'${asksOthers ? ` http://${LOOPBACK}:*` : ""}`,
    "img-src data:",
    `frame-src ${frames}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ].join("; ");

/** Responds with a document. Throws a 503, and logs why, when it cannot be read. */
const respondWithDocument = (
  c: Context<AppEnv>,
  { html, ...allowed }: BuiltDocument,
  { log, prove }: PageContext,
): Response => {
  const read = (): string => {
    try {
      return html();
    } catch (error) {
      log.error("a page could not be read", { path: c.req.path, reason: errorMessage(error) });
      throw new HTTPException(503, { message: "The page is missing. In a checkout, npm run build creates it." });
    }
  };
  const nonce = randomBytes(16).toString("base64");
  // A page that finds its server again asks it this, even before it has heard of any other server.
  const proof = () => {
    const challenge = newChallenge();
    return `${challenge} ${prove(challenge)}`;
  };
  return c.html(read().replaceAll("{{nonce}}", nonce).replaceAll("{{proof}}", proof), 200, {
    "Content-Security-Policy": contentSecurityPolicy(nonce, allowed),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
  }) as Response;
};

/** Registers the board at `/`, and the description of the API at `/docs`. `liveView` returns the path of the live view. */
export const registerPages = (
  app: App,
  { board, reference }: Documents,
  liveView: () => string | undefined,
  context: PageContext,
): void => {
  const html = () => board().replaceAll("{{live-view}}", liveView() ?? "");
  app.get("/", (c) => respondWithDocument(c, { html, asksOthers: true }, context));
  app.get("/docs", (c) => respondWithDocument(c, { html: reference }, context));
};

/** A person has a page or two open. Each costs a connection and up to `MAX_UNREAD_BYTES` of memory. */
export const MAX_VIEWERS = 10;

/** Milliseconds for which steps are gathered: one event of the host leads to a dozen, and no eye tells them apart. */
const GATHER_MS = 40;

/**
 * Creates the feed of a live source. A stream begins with `begin`, which has all that is kept; each `more` has what was added.
 * Nothing is read while nobody has subscribed.
 */
export const createLiveFeed = (source: LiveSource, context: StreamContext): Broadcast => {
  let upTo = 0;

  const format = (name: "begin" | "more", message: { upTo: number }): string => {
    upTo = message.upTo;
    return sseFrame(name, JSON.stringify(message), upTo);
  };

  const since = (): string[] | undefined => {
    if (!source.isOn()) return undefined;
    const more = source.since(upTo);
    return more.upTo === upTo ? [] : [format("more", more)];
  };

  const first = () => bytes(format("begin", source.since(0)));
  return createBroadcast(
    { maxSubscribers: MAX_VIEWERS, gatherMs: GATHER_MS, first, since, onChange: source.onChange },
    context,
  );
};

/** A page that shows a live source. It is at `path`, its events are at `<path>/events`. */
export interface LivePage extends BuiltDocument {
  path: "/inspect" | "/inspect/stately";
  source: LiveSource;
  /** What a person does to switch it on, as a phrase that follows "It is off:". */
  howToSwitchOn: string;
}

const methodNotAllowed = (allowed: string): Response =>
  errorResponse(405, `Only ${allowed} are supported here.`, { Allow: allowed });

/** A server of another OpenCode process, or this one. */
interface OtherServer {
  pid: number;
  url: string;
  liveView?: string | undefined;
}

/** Names the processes whose live view is on; empty where there are none. */
const whereItIsOn = (servers: readonly OtherServer[]): string => {
  const places = servers.flatMap(({ pid, url, liveView }) =>
    liveView === undefined ? [] : `${url}${liveView} (process ${pid})`,
  );
  return places.length === 0 ? "" : ` Each OpenCode process has its own; it is on at ${places.join(", ")}.`;
};

/** Registers a page and its events. While it is off, every request for them is a 404 that says how to switch it on. */
export const registerLivePage = (
  app: App,
  { path, source, howToSwitchOn, ...document }: LivePage,
  feed: Broadcast,
  { servers, ...pageContext }: PageContext & { servers(): readonly OtherServer[] },
) => {
  const events = `${path}/events` as const;

  const onlyWhenOn = createMiddleware<AppEnv>(async (_, next) => {
    if (!source.isOn())
      throw new HTTPException(404, {
        message: `There is nothing at "${path}". It is off: ${howToSwitchOn}.${whereItIsOn(servers())}`,
      });
    await next();
  });

  app.get(path, onlyWhenOn, (c) => respondWithDocument(c, document, pageContext));

  app.get(events, onlyWhenOn, (c) => {
    // A HEAD request would open a stream that nobody reads, and that would count as a viewer for ever.
    if (c.req.raw.method === "HEAD") return methodNotAllowed("GET, OPTIONS");
    return respondWithStream(feed, c.env.connection, `${MAX_VIEWERS} viewers`);
  });

  app.all(path, onlyWhenOn, () => methodNotAllowed("GET, HEAD, OPTIONS"));
  app.all(events, onlyWhenOn, () => methodNotAllowed("GET, OPTIONS"));
};
