import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startStatusServer } from "../../../../src/services/http/server/status-server.ts";
import { occupy } from "../ports.ts";
import { type Served, serve } from "../served.ts";

/** Everything that can be read, except for the health of the server. */
const PATHS = [
  "/v1/tasks",
  "/v1/tasks/ses_0001",
  "/v1/tasks/ses_0001/logs",
  "/v1/tasks/ses_0001/events",
  "/v1/task-groups/msg_turn",
  "/v1/events",
  "/v1/stats",
  "/v1/machines",
  "/v1/openapi.json",
];

const NOBODY = 65_534;

/** A script for another process: prints the statuses of the responses. */
const ASKING = `
  const [url, authorization, ...paths] = JSON.parse(process.argv.at(-1));
  const headers = authorization ? { authorization } : {};
  const statuses = [];
  for (const path of paths) {
    const leaving = new AbortController();
    const answer = await fetch(url + path, { headers, signal: leaving.signal });
    statuses.push(answer.status);
    leaving.abort();
  }
  console.log(JSON.stringify(statuses));
`;

/** Returns the statuses that a process of that user gets. */
const statusesFor = async (uid: number, { server }: Served, paths: string[], token = ""): Promise<number[]> => {
  const authorization = token === "" ? "" : `Bearer ${token}`;
  const argument = JSON.stringify([server.url, authorization, ...paths]);
  const child = spawn(process.execPath, ["-e", ASKING, argument], {
    uid,
    cwd: "/",
    env: { HOME: "/nonexistent", PATH: "/usr/bin:/bin" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (part) => {
    said += part;
  });
  await once(child, "close");
  return JSON.parse(said);
};

const all = (status: number) => PATHS.map(() => status);

const isRoot = process.getuid?.() === 0 && process.platform === "linux";
if (!isRoot) console.warn("these tests are not root on Linux: nothing is asked in the name of another user");

test.runIf(isRoot)("another user of the machine reads nothing but the server's health without the token", async () => {
  const served = await serve();
  served.source.launch();
  expect(await statusesFor(NOBODY, served, PATHS)).toEqual(all(401));
  expect(await statusesFor(NOBODY, served, ["/v1/health"])).toEqual([200]);
  expect(await statusesFor(NOBODY, served, PATHS, served.server.token)).toEqual(all(200));
  expect(await statusesFor(process.getuid?.() ?? 0, served, PATHS)).toEqual(all(200));
});

test.runIf(isRoot)("with api.reads open every user reads; with api.reads token nobody reads without it", async () => {
  const open = await serve({ reads: "open" });
  open.source.launch();
  expect(await statusesFor(NOBODY, open, ["/v1/tasks"])).toEqual([200]);
  await open.server.stop();
  const closed = await serve({ reads: "token" });
  closed.source.launch();
  expect(await statusesFor(0, closed, PATHS)).toEqual(all(401));
  expect(await statusesFor(0, closed, PATHS, closed.server.token)).toEqual(all(200));
});

const unreadable: [string, Parameters<typeof serve>[0]][] = [
  ["api.reads is token", { reads: "token" }],
  ["OPENCODE_SERVER_PASSWORD is set", { env: { OPENCODE_SERVER_PASSWORD: "secret" } }],
  ["OPENCODE_SERVER_PASSWORD is set, and api.reads is open", { env: { OPENCODE_SERVER_PASSWORD: "s" }, reads: "open" }],
];

test.each(unreadable)("where %s the token is required, and its absence is reported", async (_, options) => {
  const served = await serve(options);
  served.source.launch();
  for (const path of PATHS) {
    const { status, error } = await served.json(path, 401);
    expect({ status, error }).toEqual({ status: 401, error: expect.stringContaining("the token in server.json") });
  }
  const { token } = served.server;
  const found = JSON.parse(readFileSync(join(served.folder, "server.json"), "utf8")).token;
  expect(found).toBe(token);
  const read = async (authorization: string) =>
    (await served.fetch("/v1/tasks", { headers: { authorization } })).status;
  const basic = (password: string) => `Basic ${Buffer.from(`me:${password}`).toString("base64")}`;
  expect(await Promise.all([`Bearer ${token}`, basic(token)].map(read))).toEqual([200, 200]);
  const wrong = [
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${token[0]}`,
    basic(""),
    basic(token.slice(1)),
    "Basic x",
    token,
  ];
  expect(await Promise.all(wrong.map(read))).toEqual(wrong.map(() => 401));
  expect((await served.fetch("/v1/health")).status).toBe(200);
  expect((await served.fetch("/v1/tasks", { method: "HEAD" })).status).toBe(401);
  expect((await served.fetch("/v1/tasks", { method: "OPTIONS" })).status).toBe(204);
});

test("the rules of a second directory count too, for as long as it is open", async () => {
  const served = await serve({ allowedOrigins: ["https://one.example"] });
  const { source, folder, clock } = served;
  const from = async (origin: string) => (await served.fetch("/v1/tasks", { headers: { origin } })).status;
  const origins = ["https://one.example", "https://two.example"];
  expect(await Promise.all(origins.map(from))).toEqual([200, 403]);
  const log = { info: () => undefined, error: () => undefined };
  const env = { ASYNCAGENTS_API_PORT: String(await occupy(0)) };
  const parts = { source, folder, env, log, clock, version: "1", reads: "token" as const };
  const second = await startStatusServer({ ...parts, allowedOrigins: ["https://two.example"] });
  expect(await Promise.all(origins.map(from))).toEqual([401, 401]);
  await second?.stop();
  expect(await Promise.all(origins.map(from))).toEqual([200, 403]);
});
