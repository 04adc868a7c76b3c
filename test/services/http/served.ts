import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { Reads } from "../../../src/services/http/access/admission.ts";
import type { ConnectionLimits } from "../../../src/services/http/access/request-handling.ts";
import type { Documents, LivePage } from "../../../src/services/http/pages.ts";
import { type StatusServer, startStatusServer } from "../../../src/services/http/server/status-server.ts";
import { createFakeSource, type FakeSource } from "../../fakes/status-source.ts";
import { createVirtualClock, type VirtualClock } from "../../fakes/virtual-clock.ts";
import { PATIENCE_MS } from "../../patience.ts";
import { occupy } from "./ports.ts";
import { type Events, readEvents } from "./sse.ts";

/** Timeout of a test's request, in milliseconds. */

/** The status API over a source in memory, on a real socket. */
export interface Served {
  source: FakeSource;
  clock: VirtualClock;
  server: StatusServer;
  /** Where `server.json` is. */
  folder: string;
  /** Logged errors, newest last. */
  errors: string[];
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Returns the JSON of a response, which must have this status; default: 200. */
  json(path: string, status?: number, init?: RequestInit): Promise<Record<string, unknown>>;
  /** Subscribes to the events of tasks, or of a page. */
  events(path?: string): Promise<Events>;
}

/** Creates a folder for one test. */
export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "taskchart-http-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

/** Starts the server for one test, on a port of its own. */
export const serve = async ({
  env = {},
  allowedOrigins = [],
  pages = [],
  documents,
  reads,
  limits,
  source: given,
  folder = temporaryFolder(),
}: {
  env?: Record<string, string>;
  allowedOrigins?: string[];
  pages?: LivePage[];
  documents?: Documents;
  reads?: Reads;
  limits?: ConnectionLimits;
  /** Default: a new one. */
  source?: (clock: VirtualClock, folder: string) => FakeSource;
  /** Default: a new one. */
  folder?: string;
} = {}): Promise<Served> => {
  const clock = createVirtualClock();
  const source = (given ?? createFakeSource)(clock, folder);
  const errors: string[] = [];
  const log = {
    info: () => undefined,
    error: (message: string, extra?: Record<string, unknown>) =>
      void errors.push(`${message} ${JSON.stringify(extra ?? {})}`),
  };
  // Each test has its own port: clients reuse connections to a known port.
  const port = { ASYNCAGENTS_API_PORT: String(await occupy(0)) };
  const parts = {
    source,
    folder,
    env: { ...port, ...env },
    log,
    clock,
    version: "1.2.3",
    allowedOrigins,
    pages,
    ...(documents ? { documents } : {}),
    ...(reads ? { reads } : {}),
    ...(limits ? { limits } : {}),
  };
  const server = await startStatusServer(parts);
  if (!server) throw new Error(`the server did not start: ${errors.join("; ")}`);
  onTestFinished(() => server.stop());

  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${server.url}${path}`, { ...init, signal: init.signal ?? AbortSignal.timeout(PATIENCE_MS) });
  return {
    source,
    clock,
    server,
    folder,
    errors,
    fetch: ask,
    json: async (path, status = 200, init = {}) => {
      const answer = await ask(path, init);
      expect(answer.headers.get("content-type")).toContain("application/json");
      const body = await answer.json();
      expect({ path, status: answer.status, body }).toMatchObject({ status });
      return body as Record<string, unknown>;
    },
    events: async (path = "/v1/events") => {
      const leaving = new AbortController();
      onTestFinished(() => leaving.abort());
      return readEvents(await ask(path, { signal: leaving.signal }), leaving);
    },
  };
};
