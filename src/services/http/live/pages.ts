import { randomBytes } from "node:crypto";
import { createMiddleware } from "hono/factory";
import { HTTPException } from "hono/http-exception";
import type { LiveSource } from "../../inspection/protocol.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import type { App, AppEnv } from "../access/app-env.ts";
import { errorResponse } from "../access/responses.ts";
import { type LiveFeed, MAX_VIEWERS } from "./feed.ts";

/** A page that shows a live source. It is at `path`, its events are at `<path>/events`. */
export interface LivePage {
  path: "/inspect" | "/inspect/stately";
  source: LiveSource;
  /** What a person does to switch it on, as a phrase that follows "It is off:". */
  howToSwitchOn: string;
  /** Returns the page: one document, in which `{{nonce}}` stands for the nonce of its scripts and styles. May throw. */
  html(): string;
  /** The only origin whose pages it may embed; default: none. */
  frames?: string;
}

/** The page runs its own script and style, loads from its own origin, and reaches nothing else. */
const contentSecurityPolicy = (nonce: string, frames = "'none'"): string =>
  [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src data:",
    `frame-src ${frames}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ].join("; ");

const methodNotAllowed = (allowed: string): Response =>
  errorResponse(405, `Only ${allowed} are supported here.`, { Allow: allowed });

/** Registers a page and its events. While it is off, every request for them is a 404 that says how to switch it on. */
export const registerLivePage = (
  app: App,
  { path, source, howToSwitchOn, html, frames }: LivePage,
  feed: LiveFeed,
  log: Log,
) => {
  const events = `${path}/events` as const;

  const onlyWhenOn = createMiddleware<AppEnv>(async (_, next) => {
    if (!source.isOn())
      throw new HTTPException(404, { message: `There is nothing at "${path}". It is off: ${howToSwitchOn}.` });
    await next();
  });

  const readPage = (): string => {
    try {
      return html();
    } catch (error) {
      log.error("a page of the live view could not be read", { path, reason: errorMessage(error) });
      throw new HTTPException(503, { message: "The page is missing. In a checkout, npm run build creates it." });
    }
  };

  app.get(path, onlyWhenOn, (c) => {
    const nonce = randomBytes(16).toString("base64");
    return c.html(readPage().replaceAll("{{nonce}}", nonce), 200, {
      "Content-Security-Policy": contentSecurityPolicy(nonce, frames),
      "Cross-Origin-Resource-Policy": "same-origin",
      "Referrer-Policy": "no-referrer",
    });
  });

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
