import { createMiddleware } from "hono/factory";
import { HTTPException } from "hono/http-exception";
import type { LiveSource } from "../inspection/protocol.ts";
import { type App, type AppEnv, errorResponse } from "./access/request-handling.ts";
import { type Broadcast, createBroadcast, type StreamContext } from "./events/broadcast.ts";
import { bytes, sseFrame } from "./events/sse-stream.ts";
import { type BuiltDocument, type PageContext, respondWithDocument } from "./html-pages.ts";

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
    const stream = feed.subscribe(c.env.connection);
    if (stream) return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
    const error = `There are ${MAX_VIEWERS} viewers, or too much data is on its way to them: close one of them.`;
    return errorResponse(503, error, { "Retry-After": "5" });
  });

  app.all(path, onlyWhenOn, () => methodNotAllowed("GET, HEAD, OPTIONS"));
  app.all(events, onlyWhenOn, () => methodNotAllowed("GET, OPTIONS"));
};
