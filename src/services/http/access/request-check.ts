import { createHash, timingSafeEqual } from "node:crypto";

/** Why a request is not served: what is wrong, and the HTTP status that says so. */
export interface HttpRejection {
  status: 401 | 403 | 414;
  error: string;
}

const LOOPBACK = "(?:localhost|127\\.0\\.0\\.1|\\[::1\\])(?::\\d{1,5})?";
const LOOPBACK_HOST = new RegExp(`^${LOOPBACK}$`, "i");
const LOOPBACK_ORIGIN = new RegExp(`^https?://${LOOPBACK}$`, "i");

/** True for a host of this machine, with a port or without. */
export const isLoopback = (host: string): boolean => LOOPBACK_HOST.test(host);

/** Characters of the longest URL that is served. Node and Bun themselves take at most 16 kB of headers. */
const LONGEST_URL = 8_192;

/** At most so much of what somebody sent is repeated to them. */
const SHOWN = 80;

/** A value of a request, quoted for an error message. */
export const quoted = (value: string): string =>
  JSON.stringify(value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value);

/**
 * Why nobody who sends such a request is served, whatever it asks for.
 *
 * Any page in the user's browser can reach loopback. One whose name was rebound to 127.0.0.1 still sends that name as
 * `Host`; any other page sends its `Origin` with what it could read. What it cannot read, such as an image or a frame, it
 * may ask for without one: then the browser says in `Sec-Fetch-Site` that another site asked.
 */
export const rejectionOf = (request: Request, allowedOrigins: readonly string[]): HttpRejection | undefined => {
  const host = request.headers.get("host") ?? "";
  if (!isLoopback(host)) {
    return { status: 403, error: `Host ${quoted(host)} is not served: use localhost or 127.0.0.1.` };
  }
  const origin = request.headers.get("origin");
  if (origin !== null && !LOOPBACK_ORIGIN.test(origin) && !allowedOrigins.includes(origin)) {
    return { status: 403, error: `Origin ${quoted(origin)} is not served: it is not listed in the allowed origins.` };
  }
  const site = request.headers.get("sec-fetch-site");
  if (origin === null && (site === "cross-site" || site === "same-site")) {
    return { status: 403, error: "A page of another site has asked for this. Open the address by itself." };
  }
  if (request.url.length > LONGEST_URL) {
    return { status: 414, error: `The URL is too long: at most ${LONGEST_URL} characters are served.` };
  }
  return undefined;
};

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

const bearerIn = (authorization: string | undefined): string | undefined =>
  /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];

/** True when the header `Authorization` has the token. */
export const bearsToken = (authorization: string | undefined, token: string): boolean => {
  const given = bearerIn(authorization);
  // Digests have one length: how long the comparison takes says nothing about the token.
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
};

/** Why a request may not change anything: it has no token, or a wrong one. */
export const tokenRejectionOf = (authorization: string | undefined, token: string): HttpRejection | undefined => {
  if (bearsToken(authorization, token)) return undefined;
  const given = bearerIn(authorization);
  const problem = given === undefined ? "no token was given" : "the token is wrong";
  return { status: 401, error: `Not allowed: ${problem}. Send "Authorization: Bearer" and the token in server.json.` };
};
