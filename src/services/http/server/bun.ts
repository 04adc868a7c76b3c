import { errorResponse, type Listen, refusalResponse } from "../access/request-handling.ts";
import { LOOPBACK } from "../loopback.ts";

/** The part of `Bun.serve` that is used here. Bun's own types would declare globals that Node does not have. */
interface BunServer {
  port: number;
  pendingRequests: number;
  stop(closeActiveConnections?: boolean): Promise<void>;
  unref(): void;
  /** Seconds after which a request's connection is closed; 0: never. Writing to it does not extend the time. */
  timeout(request: Request, seconds: number): void;
  requestIP(request: Request): { address: string; port: number } | null;
}

interface BunRuntime {
  version: string;
  serve(options: {
    hostname: string;
    port: number;
    development: false;
    reusePort: false;
    /** Seconds for which a connection may be idle, and for which a request may take; at most 255. */
    idleTimeout: number;
    fetch(request: Request, server: BunServer): Response | Promise<Response>;
    error(error: Error): Response;
  }): BunServer;
}

/**
 * Before 1.4, Bun takes everything that a stream has and buffers it, however little the client reads
 * (https://github.com/oven-sh/bun/issues/32469), and does not report how much is buffered. The only bound is on everything that
 * was sent. With ten changes of 3 kB a second, a stream then lasts for about five minutes; after that, an `EventSource`
 * reconnects by itself and gets a new snapshot.
 */
const MAX_STREAM_BYTES = 8 * 1_048_576;

/** True for versions of Bun that ask a stream for more only as the client reads. */
export const hasBackpressure = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 1 || (major === 1 && minor >= 4);
};

const tooManyRequests = (): Response =>
  refusalResponse(503, "There are too many requests at once. Try again.", { Connection: "close", "Retry-After": "1" });

const bun = (): BunRuntime => {
  const runtime = (globalThis as { Bun?: BunRuntime }).Bun;
  if (!runtime) throw new Error("this is not Bun");
  return runtime;
};

/**
 * Listens with `Bun.serve`. The responses with which Bun itself refuses a request have none of our headers: to anything
 * that is not HTTP, to headers that are too long, and to `OPTIONS *`.
 */
export const listenOnBun: Listen = async (port, handle, { timeoutMs, maxConnections }) => {
  const { serve, version } = bun();
  const maxStreamBytes = hasBackpressure(version) ? undefined : MAX_STREAM_BYTES;
  const server = serve({
    hostname: LOOPBACK,
    port,
    development: false,
    // By default, `development: false` makes Bun share the port with others that do so (seen in 1.3.14 and 1.4.5).
    reusePort: false,
    idleTimeout: Math.min(255, Math.ceil(timeoutMs / 1_000)),
    fetch: (request, self) => {
      if (self.pendingRequests > maxConnections) return tooManyRequests();
      const remote = self.requestIP(request);
      return handle(request, {
        maxStreamBytes,
        endpoints: remote ? { remote, local: { address: LOOPBACK, port: self.port } } : undefined,
        unsentBytes: () => 0,
        disableTimeout: () => self.timeout(request, 0),
        abort: () => self.timeout(request, 1),
      });
    },
    error: () => errorResponse(500, "The status API failed to handle the request."),
  });
  server.unref();
  return {
    port: server.port,
    close: async (withinMs) => {
      let timer: NodeJS.Timeout | undefined;
      const timedOut = new Promise((resolve) => {
        timer = setTimeout(resolve, withinMs);
      });
      await Promise.race([server.stop(), timedOut]);
      clearTimeout(timer);
      await server.stop(true);
    },
  };
};
