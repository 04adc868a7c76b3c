import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Endpoints } from "./socket-owner.ts";

/** The connection that a request came in on, as far as the runtime knows it. */
export interface ClientConnection {
  /** Closes it at once, whatever has been written and not been read yet. */
  abort(): void;
  /**
   * Bytes after which a stream must end, because the runtime does not report how many of them were read. Undefined where
   * it asks for more only as the other side reads.
   */
  maxStreamBytes: number | undefined;
  /** Lifts the connection's time limit: the response is a stream, which the server or the client ends. */
  disableTimeout(): void;
  /** Bytes that the runtime has buffered and not sent yet; 0 where it does not report them. */
  unsentBytes(): number;
  /** Undefined where the runtime does not know them. */
  endpoints: Endpoints | undefined;
}

/** Responds to a request, on either runtime. */
export type RequestHandler = (request: Request, connection: ClientConnection) => Response | Promise<Response>;

/** A server that accepts connections. */
export interface Listener {
  port: number;
  /** Accepts no more connections, and resolves when all pending responses are out, after `withinMs` at the latest. */
  close(withinMs: number): Promise<void>;
}

/** What connections may cost. */
export interface ConnectionLimits {
  /**
   * Milliseconds for which a connection may be idle, a request may take to arrive, and its response to be read; then the
   * connection is closed. Streams are not limited. Bun counts in steps of four seconds.
   */
  timeoutMs: number;
  /** Simultaneous connections. On Bun, which does not count those: pending requests. */
  maxConnections: number;
}

/** Listens on a port of loopback, without keeping the process alive. Rejects when the port cannot be used. */
export type Listen = (port: number, handle: RequestHandler, limits: ConnectionLimits) => Promise<Listener>;

export interface AppEnv {
  Bindings: { connection: ClientConnection };
}

export type App = OpenAPIHono<AppEnv>;

/**
 * The CORS headers that the specification asks for. They let a page read a response that it is given; `rejectionOf` and the
 * read guard decide whether it is given one. A page that is refused cannot learn from them that there is a server.
 */
export const CORS_HEADERS: Readonly<Record<string, string>> = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": "GET, OPTIONS",
  "Access-Control-Allow-Headers": "Content-Type",
};

/** Tasks are private and change all the time, so nothing is cached; and no response is to be taken for a page. */
const PRIVACY_HEADERS: Readonly<Record<string, string>> = {
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
};

const withHeaders = (response: Response, headers: Readonly<Record<string, string>>): Response => {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
};

/** Sets the headers that every response has which somebody is given, and returns the response. */
export const withCommonHeaders = (response: Response): Response =>
  withHeaders(response, { ...PRIVACY_HEADERS, ...CORS_HEADERS });

/** Returns the response to any OPTIONS request. */
export const preflightResponse = (isServed: boolean): Response => {
  const response = new Response(null, { status: 204 });
  return isServed ? withCommonHeaders(response) : withHeaders(response, PRIVACY_HEADERS);
};

/** Returns an error in the form that every route uses: `{ error, status }`. */
export const errorResponse = (status: number, error: string, headers: Record<string, string> = {}): Response =>
  withCommonHeaders(Response.json({ error, status }, { status, headers }));

/** Returns the error for somebody who is given nothing: a page cannot even read that it was refused. */
export const refusalResponse = (status: number, error: string, headers: Record<string, string> = {}): Response =>
  withHeaders(Response.json({ error, status }, { status, headers }), PRIVACY_HEADERS);

/** Characters of a request's value that an error message repeats at most. */
const QUOTE_CHARS = 80;

/** Quotes a value of a request for an error message, shortened. */
export const quote = (value: string): string =>
  JSON.stringify(value.length > QUOTE_CHARS ? `${value.slice(0, QUOTE_CHARS)}…` : value);
