import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createReadDirectories } from "../../src/services/host/directories.ts";
import { createEngineSource } from "../../src/services/http/engine-source.ts";
import type { Documents, LivePage } from "../../src/services/http/pages.ts";
import { startStatusServer } from "../../src/services/http/server/status-server.ts";
import { createOpenDirectories } from "../../src/services/http/status-api.ts";
import { systemClock } from "../../src/services/platform/clock.ts";
import { worktreesFolder } from "../../src/services/worktrees/folders.ts";
import type { Stage } from "./stage.ts";

/** The status API of a stage, served over a real socket. */
export interface Served {
  url: string;
  /** Requests a path. Resolves to the status and the parsed body. */
  get(path: string): Promise<{ status: number; body: unknown }>;
  post(path: string, body: unknown): Promise<{ status: number; body: unknown }>;
  stop(): Promise<void>;
}

/** Serves a stage's engine as the plugin does, together with these pages, starting with that port if one is given. */
export const serve = async (
  { engine, store, host }: Stage,
  {
    pages = [],
    documents,
    port,
    folder: ofTest,
  }: { pages?: readonly LivePage[]; documents?: Documents; port?: number; folder?: string } = {},
): Promise<Served> => {
  const folder = ofTest ?? mkdtempSync(join(tmpdir(), "taskchart-served-"));
  const sites = createOpenDirectories();
  sites.add({ engine, store, host });
  const server = await startStatusServer({
    source: createEngineSource(
      sites,
      systemClock,
      randomUUID,
      worktreesFolder(folder),
      createReadDirectories(systemClock),
    ),
    folder,
    env: port === undefined ? {} : { ASYNCAGENTS_API_PORT: String(port) },
    log: { info: () => undefined, error: (message) => console.error(message) },
    clock: systemClock,
    version: "0.0.0",
    allowedOrigins: [],
    pages,
    ...(documents ? { documents } : {}),
  });
  if (!server) throw new Error("the status API is not served");
  const { url, token } = server;
  const read = async (answer: Response) => ({ status: answer.status, body: (await answer.json()) as unknown });
  return {
    url,
    get: async (path) => read(await fetch(url + path)),
    post: async (path, body) =>
      read(
        await fetch(url + path, {
          method: "POST",
          headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
          body: JSON.stringify(body),
        }),
      ),
    stop: async () => {
      await server.stop();
      if (ofTest === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
};
