import { randomBytes } from "node:crypto";
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { errorMessage, type Log } from "../platform/log.ts";
import { newChallenge } from "../platform/server-key.ts";
import type { AppEnv } from "./access/request-handling.ts";
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
  /** The description of the API. `{{reference}}` in it stands for what is written from the OpenAPI document. */
  reference(): string;
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

/** What every document is served with. */
export interface DocumentDeps {
  log: Log;
  /** Answers a challenge. May throw. */
  prove(challenge: string): string;
}

/** Responds with a document. Throws a 503, and logs why, when it cannot be read. */
export const respondWithDocument = (
  c: Context<AppEnv>,
  { html, ...allowed }: BuiltDocument,
  { log, prove }: DocumentDeps,
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
  // A page that finds its server again asks it this, before it has been told of any server, too.
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
