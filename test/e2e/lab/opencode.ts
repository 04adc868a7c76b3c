import { once } from "node:events";
import { createServer } from "node:net";
import { createOpencodeClient, type OpencodeClient } from "@opencode-ai/sdk/v2/client";
import { checkJournals } from "../../fakes/checked-journals.ts";
import { PATIENCE_MS } from "../../patience.ts";
import { type OpenCodeOptions, prepareHome, taskDatabase } from "./home.ts";
import { type OpenCodeProcess, spawnOpenCode } from "./opencode-process.ts";

/** A running `opencode serve`. */
export type OpenCode = {
  url: string;
  /** The SDK's v2 client, set to the project folder. */
  client: OpencodeClient;
  pid: number;
  home: string;
  project: string;
  /** What the server printed, and what its log files say. */
  log(): string;
  /** SIGTERM, after 3 s SIGKILL; then removes a home that was made for it. */
  stop(): Promise<void>;
  /** SIGKILL, as in a crash; then checks all journals of the home, which stays. */
  kill(): Promise<void>;
};

/** Milliseconds until a server that has not said where it listens is given up; 1.5 to 2 s is usual, all of it computing. */
const startTimeoutMs = PATIENCE_MS;

/** Starts `opencode serve` on a port of 127.0.0.1, by default a free one. An error that it throws ends with the tail of the log. */
export async function startOpenCode(options: OpenCodeOptions & { port?: number }): Promise<OpenCode> {
  const home = await prepareHome(options);
  const port = options.port ?? (await freePort());
  const server = spawnOpenCode(["serve", "--port", String(port), "--hostname", "127.0.0.1"], home);
  try {
    const url = await listening(server);
    return {
      url,
      client: createOpencodeClient({ baseUrl: url, directory: home.project }),
      pid: server.pid,
      home: home.home,
      project: home.project,
      log: server.log,
      async stop() {
        await server.stop();
        await home.remove();
      },
      async kill() {
        await server.kill();
        checkJournals(taskDatabase(home.home));
      },
    };
  } catch (error) {
    await server.kill();
    const tail = server.log().slice(-4000);
    await home.remove();
    throw new Error(`${error instanceof Error ? error.message : String(error)}. The end of its log:\n${tail}`);
  }
}

/**
 * A port that nobody listens on. OpenCode's own `--port 0` takes 4096 when it can: then a connection that a client still
 * keeps for the server before this one reaches the new server too early, and its requests are never answered.
 */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  return address !== null && typeof address === "object" ? address.port : 0;
}

/** No connection is tried before the line is there: one that comes too early makes the first real request hang. */
async function listening(server: OpenCodeProcess): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<string>((resolve, reject) => {
      timer = setTimeout(
        () => reject(new Error(`opencode serve did not listen within ${startTimeoutMs} ms`)),
        startTimeoutMs,
      );
      server.child.stdout?.on("data", () => {
        const url = /opencode server listening on (http:\S+)/.exec(server.stdout())?.[1];
        if (url !== undefined) resolve(url);
      });
      server.exited.then((code) => reject(new Error(`opencode serve exited with code ${code}`)), reject);
    });
  } finally {
    clearTimeout(timer);
  }
}
