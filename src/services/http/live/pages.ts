import { randomBytes } from "node:crypto";
import { createMiddleware } from "hono/factory";
import { HTTPException } from "hono/http-exception";
import type { LiveSource } from "../../inspection/protocol.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import { errorAnswer } from "../access/responses.ts";
import type { App, AppEnv } from "../api/app-context.ts";
import { type LiveFeed, MOST_WATCHERS } from "./feed.ts";

/** A page that shows something live, at `path`; its events are at `<path>/events`. */
export interface LivePage {
  path: "/inspect" | "/inspect/stately";
  source: LiveSource;
  /** What a person does to switch it on, in words that follow "is off:". */
  howToSwitchOn: string;
  /** The page: one document, in which `{{nonce}}` stands for what its scripts and styles are known by. May throw. */
  html(): string;
  /** The one origin whose pages it may show within itself. */
  frames?: string;
}

/** The page runs its own script and style, reads from where it came from, and reaches nothing else. */
const policy = (nonce: string, frames = "'none'"): string =>
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
  errorAnswer(405, `This is for ${allowed} only.`, { Allow: allowed });

/** Serves a page and its events. Where it is off there is nothing, whatever is asked. */
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

  const read = (): string => {
    try {
      return html();
    } catch (error) {
      log.error("a page could not be read", { path, reason: errorMessage(error) });
      throw new HTTPException(503, { message: "The page is missing. In a checkout, npm run build makes it." });
    }
  };

  app.get(path, onlyWhenOn, (c) => {
    const nonce = randomBytes(16).toString("base64");
    return c.html(read().replaceAll("{{nonce}}", nonce), 200, {
      "Content-Security-Policy": policy(nonce, frames),
      "Cross-Origin-Resource-Policy": "same-origin",
      "Referrer-Policy": "no-referrer",
    });
  });

  app.get(events, onlyWhenOn, (c) => {
    // A stream that nobody reads would be a subscriber for ever.
    if (c.req.raw.method === "HEAD") return methodNotAllowed("GET, OPTIONS");
    const stream = feed.subscribe(c.env.connection);
    if (stream) return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
    const error = `There are ${MOST_WATCHERS} watchers, or too much is on its way to them: close one of them.`;
    return errorAnswer(503, error, { "Retry-After": "5" });
  });

  app.all(path, onlyWhenOn, () => methodNotAllowed("GET, HEAD, OPTIONS"));
  app.all(events, onlyWhenOn, () => methodNotAllowed("GET, OPTIONS"));
};
