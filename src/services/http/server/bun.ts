import { errorAnswer } from "../access/responses.ts";
import { type Listen, LOOPBACK } from "./listener.ts";

/** As much of `Bun.serve` as is used here. Bun's whole types would bring globals that Node does not have. */
interface BunServer {
  port: number;
  pendingRequests: number;
  stop(closeActiveConnections?: boolean): Promise<void>;
  unref(): void;
  /** Seconds until a request's connection is closed; 0: never. Writing to it gives it no more time. */
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
    /** Seconds for which a connection may rest, and for which a request may take; at most 255. */
    idleTimeout: number;
    fetch(request: Request, server: BunServer): Response | Promise<Response>;
    error(error: Error): Response;
  }): BunServer;
}

/**
 * Before 1.4, Bun takes whatever a stream has and buffers it, however little the other side reads
 * (https://github.com/oven-sh/bun/issues/32469). Nobody can tell how much it holds: it can only be bounded by all that
 * was sent. At ten changes a second of 3 kB a stream then lasts for some five minutes; after that, an `EventSource`
 * connects again by itself, and gets a snapshot.
 */
const MOST_BYTES_UNTOLD = 8 * 1_048_576;

/** True for those versions of Bun that ask a stream for more only as the other side reads. */
export const tellsBackpressure = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 1 || (major === 1 && minor >= 4);
};

const tooMany = (): Response =>
  errorAnswer(503, "Too much is asked at once. Try again.", { Connection: "close", "Retry-After": "1" });

const bun = (): BunRuntime => {
  const runtime = (globalThis as { Bun?: BunRuntime }).Bun;
  if (!runtime) throw new Error("this is not Bun");
  return runtime;
};

/**
 * By `Bun.serve`. What Bun refuses by itself has none of our headers: whatever is no HTTP, headers that are too long, and
 * `OPTIONS *`.
 */
export const listenOnBun: Listen = async (port, answer, { patience, connections }) => {
  const { serve, version } = bun();
  const mostBytes = tellsBackpressure(version) ? undefined : MOST_BYTES_UNTOLD;
  const server = serve({
    hostname: LOOPBACK,
    port,
    development: false,
    // Without it, `development: false` has Bun share the port with whoever else does so (seen in 1.3.14 and 1.4.5).
    reusePort: false,
    idleTimeout: Math.min(255, Math.ceil(patience / 1_000)),
    fetch: (request, self) => {
      if (self.pendingRequests > connections) return tooMany();
      const remote = self.requestIP(request);
      return answer(request, {
        mostBytes,
        ends: remote ? { remote, local: { address: LOOPBACK, port: self.port } } : undefined,
        unsent: () => 0,
        keepOpen: () => self.timeout(request, 0),
        drop: () => self.timeout(request, 1),
      });
    },
    error: () => errorAnswer(500, "The status API could not answer."),
  });
  server.unref();
  return {
    port: server.port,
    close: async (within) => {
      let late: NodeJS.Timeout | undefined;
      await Promise.race([
        server.stop(),
        new Promise((resolve) => {
          late = setTimeout(resolve, within);
        }),
      ]);
      clearTimeout(late);
      await server.stop(true);
    },
  };
};
