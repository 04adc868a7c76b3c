import { isLoopback, isLoopbackOrigin } from "../loopback.ts";
import { quote } from "./responses.ts";

/** Why a request is rejected, with the HTTP status for that. */
export interface HttpRejection {
  status: 401 | 403 | 414;
  error: string;
}

/** The longest URL that is accepted, in characters. Node and Bun themselves accept at most 16 kB of headers. */
const MAX_URL_CHARS = 8_192;

/**
 * Returns why a request is rejected whatever it asks for and whoever sends it; undefined when it may go on.
 *
 * Any page in the user's browser can reach loopback. A page whose name was rebound to 127.0.0.1 still sends that name as
 * `Host`. Any other page sends its `Origin` with a request whose response it could read. With a request whose response it
 * cannot read, such as that for an image or a frame, it may send none; then the browser says in `Sec-Fetch-Site` that the
 * request comes from another site.
 */
export const rejectionOf = (request: Request, allowedOrigins: readonly string[]): HttpRejection | undefined => {
  const host = request.headers.get("host") ?? "";
  if (!isLoopback(host)) {
    return { status: 403, error: `Host ${quote(host)} is not served: use localhost or 127.0.0.1.` };
  }
  const origin = request.headers.get("origin");
  if (origin !== null && !isLoopbackOrigin(origin) && !allowedOrigins.includes(origin)) {
    return { status: 403, error: `Origin ${quote(origin)} is not served: it is not one of the allowed origins.` };
  }
  const site = request.headers.get("sec-fetch-site");
  if (origin === null && (site === "cross-site" || site === "same-site")) {
    return { status: 403, error: "A page of another site has requested this. Open the address directly." };
  }
  if (request.url.length > MAX_URL_CHARS) {
    return { status: 414, error: `The URL is too long: at most ${MAX_URL_CHARS} characters are accepted.` };
  }
  return undefined;
};
