import { randomBytes } from "node:crypto";
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { errorMessage, type Log } from "../platform/log.ts";
import { newChallenge } from "../platform/server-key.ts";
import type { App, AppEnv } from "./access/request-handling.ts";
import { LOOPBACK } from "./loopback.ts";

/** A page for people: one built document, with its scripts and styles in it. */
export interface BuiltDocument {
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
export interface PageContext {
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
export const respondWithDocument = (
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
