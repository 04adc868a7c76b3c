import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Endpoints } from "./socket-owner.ts";

/** The connection that a request came in on, as far as the runtime knows it. */
export interface ClientConnection {
  /** Closes it at once, whatever has been written and not been read yet. */
  abort(): void;
  /**
   * Bytes after which a stream must end, because the runtime does not tell how many of them were read. Undefined where
   * it asks for more only as the other side reads.
   */
  maxStreamBytes: number | undefined;
  /** Lifts the connection's time limit: the response is a stream, which the server or the client ends. */
  disableTimeout(): void;
  /** Bytes that the runtime holds and has not sent yet; 0 where it does not tell. */
  unsentBytes(): number;
  /** Undefined where the runtime does not know them. */
  endpoints: Endpoints | undefined;
}

/** Responds to a request, on either runtime. */
export type RequestHandler = (request: Request, connection: ClientConnection) => Response | Promise<Response>;

/** What handlers get in addition to the request. */
export interface AppEnv {
  Bindings: { connection: ClientConnection };
}

/** The application that routes are registered on. */
export type App = OpenAPIHono<AppEnv>;
