import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildPage, type PageName } from "../../scripts/pages.ts";
import type { LivePage } from "../../src/services/http/pages.ts";
import { startStatusServer } from "../../src/services/http/server/status-server.ts";
import { systemClock } from "../../src/services/platform/clock.ts";
import { createFakeSource, type FakeSource } from "../fakes/status-source.ts";

/** The board over the real server and the real source, whose tasks a test changes as it likes. */
export interface BoardStage {
  source: FakeSource;
  url: string;
  token: string;
  port: number;
  /** The plugin's data folder. */
  folder: string;
  stop(): Promise<void>;
}

const pages = new Map<PageName, string>();

/** A page as the build makes it, once for all tests of a file. */
export const builtPage = (name: PageName): string => {
  const html = pages.get(name) ?? buildPage(name);
  pages.set(name, html);
  return html;
};

/** Serves the board, by default on the usual port or the next that is free. */
export const boardStage = async ({
  port,
  source: given,
  folder: ofTest,
  live = [],
  env = {},
}: {
  port?: number;
  source?: FakeSource;
  /** Default: a new one, which goes with the stage. */
  folder?: string;
  live?: LivePage[];
  env?: Record<string, string>;
} = {}): Promise<BoardStage> => {
  const folder = ofTest ?? mkdtempSync(join(tmpdir(), "taskchart-board-"));
  const source = given ?? createFakeSource(systemClock, folder);
  const server = await startStatusServer({
    source,
    folder,
    env: { ...(port === undefined ? {} : { ASYNCAGENTS_API_PORT: String(port) }), ...env },
    log: { info: () => undefined, error: (message, extra) => console.error(message, extra) },
    clock: systemClock,
    version: "1.2.3",
    allowedOrigins: [],
    pages: live,
    documents: { board: () => builtPage("board"), reference: () => builtPage("reference") },
  });
  if (!server) throw new Error("the status API is not served");
  return {
    source,
    url: server.url,
    token: server.token,
    port: server.port,
    folder,
    stop: async () => {
      await server.stop();
      if (ofTest === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
};
