import { existsSync, readFileSync, statSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { portsToTry, startStatusServer } from "../../src/services/http/server/status-server.ts";
import { createFakeSource } from "../fakes/status-source.ts";
import { createVirtualClock } from "../fakes/virtual-clock.ts";
import { startChild } from "../services/http/child.ts";
import { occupy } from "../services/http/ports.ts";
import { type Served, serve, temporaryFolder } from "../services/http/served.ts";

/** One scenario of the specification, over a real socket. In the end no answer had another shape than it promises. */
const scenario = (
  requirement: string,
  name: string,
  show: (served: Served) => Promise<void>,
  options: Parameters<typeof serve>[0] = {},
) =>
  test(`asyncagents-task › ${requirement} › ${name}`, async () => {
    const served = await serve(options);
    await show(served);
    expect(served.errors).toEqual([]);
  });

const CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET, OPTIONS",
  "access-control-allow-headers": "Content-Type",
};

const corsOf = (response: Response) =>
  Object.fromEntries(Object.keys(CORS).map((name) => [name, response.headers.get(name)]));

const idsOf = ({ tasks }: Record<string, unknown>) =>
  (tasks as { sessionID: string }[]).map(({ sessionID }) => sessionID);

const discovered = (folder: string) => JSON.parse(readFileSync(join(folder, "server.json"), "utf8"));

const API = "HTTP Status API Server";

/** Whether something listens there. */
const isServed = (address: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, address);
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });

test(`asyncagents-task › ${API} › Server starts on plugin init`, async () => {
  const port = await occupy(0);
  const { server, json } = await serve({ env: { ASYNCAGENTS_API_PORT: String(port) } });
  expect(server).toMatchObject({ port, url: `http://127.0.0.1:${port}` });
  // Another address of loopback stands for all addresses that are not 127.0.0.1.
  expect(await isServed("127.0.0.2", port)).toBe(false);
  expect(await json("/v1/health")).toMatchObject({ status: "ok" });
});

test(`asyncagents-task › ${API} › Server retries next port on collision`, async () => {
  const first = await occupy(2);
  const served = await serve({ env: { ASYNCAGENTS_API_PORT: String(first) } });
  expect(served.server.port).toBeGreaterThanOrEqual(first + 2);
  expect(served.server.port).toBeLessThan(first + 10);
});

test(`asyncagents-task › ${API} › Server retries next port on collision: ten of them, from the configured one on`, () => {
  const log = { info: () => undefined, error: () => undefined };
  const tenFrom = (first: number) => Array.from({ length: 10 }, (_, index) => first + index);
  expect(portsToTry({}, log)).toEqual([...tenFrom(5_165), 0]);
  expect(portsToTry({ ASYNCAGENTS_API_PORT: "6000" }, log)).toEqual([...tenFrom(6_000), 0]);
});

test(`asyncagents-task › ${API} › Server retries next port on collision: with another server of ours`, async () => {
  const port = await occupy(0);
  const theirs = await startChild({ folder: temporaryFolder(), port });
  const child = await startChild({ folder: temporaryFolder(), port });
  expect(new URL(theirs.url).port).toBe(String(port));
  expect(Number(new URL(child.url).port)).toBeGreaterThan(port);
});

test(`asyncagents-task › ${API} › Server retries next port on collision: with ten taken, the system gives one`, async () => {
  const first = await occupy(10);
  const { server, json } = await serve({ env: { ASYNCAGENTS_API_PORT: String(first) } });
  expect(server.port < first || server.port >= first + 10).toBe(true);
  expect(await json("/v1/health")).toMatchObject({ status: "ok" });
});

scenario(API, "Server writes discovery file on start", async ({ folder, server }) => {
  const { startedAt, ...found } = discovered(folder);
  expect(found).toEqual({ port: server.port, pid: process.pid, url: server.url, token: server.token });
  expect(new Date(startedAt).toISOString()).toBe(startedAt);
});

describe.each(["SIGINT", "SIGTERM"] as const)("%s", (signal) => {
  test(`asyncagents-task › ${API} › Server stops gracefully on process exit`, async () => {
    const folder = temporaryFolder();
    const child = await startChild({ folder, slowLogs: true });
    const answer = fetch(`${child.url}/v1/tasks/ses_0001/logs`);
    await child.said("logs are asked for");
    const ended = child.kill(signal);
    await child.stopsAccepting();
    child.tell("answer");
    expect(await (await answer).json()).toEqual([{ text: "slow" }]);
    expect(await ended).toEqual({ code: null, signal });
    expect(existsSync(join(folder, "server.json"))).toBe(false);
  });
});

test(`asyncagents-task › ${API} › Server is disabled via environment variable`, async () => {
  const clock = createVirtualClock();
  const folder = join(temporaryFolder(), "data");
  const log = { info: () => undefined, error: () => undefined };
  const port = await occupy(0);
  const env = { ASYNCAGENTS_API_ENABLED: "false", ASYNCAGENTS_API_PORT: String(port) };
  const parts = { source: createFakeSource(clock), folder, env, log, clock, version: "1.2.3", allowedOrigins: [] };
  expect(await startStatusServer(parts)).toBeUndefined();
  expect(existsSync(folder)).toBe(false);
  const taken = createServer().listen(port, "127.0.0.1");
  onTestFinished(() => void taken.close());
  await new Promise<void>((resolve, reject) => taken.once("listening", resolve).once("error", reject));
});

const LIST = "Task List API";

scenario(LIST, "Returns all tasks when no filters applied", async ({ source, json }) => {
  for (let launched = 0; launched < 60; launched += 1) source.launch();
  const page = await json("/v1/tasks");
  expect(page).toMatchObject({ total: 60, limit: 50, offset: 0 });
  expect(idsOf(page)).toEqual(Array.from({ length: 50 }, (_, index) => `ses_${String(60 - index).padStart(4, "0")}`));
});

scenario(LIST, "Filters by status parameter", async ({ source, json }) => {
  const [running, ended] = [source.launch(), source.launch()];
  source.end(ended.sessionID);
  const page = await json("/v1/tasks?status=running");
  expect({ ids: idsOf(page), total: page.total }).toEqual({ ids: [running.sessionID], total: 1 });
});

scenario(LIST, "Filters by agent parameter", async ({ source, json }) => {
  source.launch();
  const explorer = source.launch({ agent: "explore" });
  const page = await json("/v1/tasks?agent=explore");
  expect({ ids: idsOf(page), total: page.total }).toEqual({ ids: [explorer.sessionID], total: 1 });
});

scenario(LIST, "Searches description by keyword", async ({ source, json }) => {
  source.launch();
  const found = source.launch({ description: "Find the KEYword, 100% of it" });
  for (const search of ["keyword", "100%25 of"]) {
    const page = await json(`/v1/tasks?search=${search}`);
    expect({ ids: idsOf(page), total: page.total }).toEqual({ ids: [found.sessionID], total: 1 });
  }
});

scenario(LIST, "Paginates with limit and offset", async ({ source, json }) => {
  for (let launched = 0; launched < 35; launched += 1) source.launch();
  const page = await json("/v1/tasks?limit=10&offset=20");
  expect(page).toMatchObject({ total: 35, limit: 10, offset: 20 });
  expect(idsOf(page)).toEqual(Array.from({ length: 10 }, (_, index) => `ses_${String(15 - index).padStart(4, "0")}`));
  expect(idsOf(await json("/v1/tasks?limit=10&offset=30"))).toHaveLength(5);
  source.launchAll(Array.from({ length: 170 }, () => ({})));
  const most = await json("/v1/tasks?limit=1000");
  expect(most).toMatchObject({ total: 205, limit: 200 });
  expect(idsOf(most)).toHaveLength(200);
});

scenario(LIST, "Returns total count alongside results", async ({ source, json }) => {
  for (let launched = 0; launched < 5; launched += 1) source.launch();
  expect(await json("/v1/tasks?limit=2")).toMatchObject({ total: 5 });
  expect(await json("/v1/tasks?limit=0")).toEqual({ tasks: [], total: 5, limit: 0, offset: 0 });
  expect(await json("/v1/tasks?status=error")).toMatchObject({ total: 0 });
});

const DETAIL = "Task Detail API";

scenario(DETAIL, "Returns full task object for valid ID", async ({ source, json }) => {
  const prompt = "Count. ".repeat(1_000);
  const { sessionID } = source.launch({ parentTaskId: "ses_above", prompt });
  const ended = source.end(sessionID, "error");
  const task = await json(`/v1/tasks/${sessionID}`);
  expect(task).toMatchObject({ prompt, parentTaskId: "ses_above", status: "error", error: { message: "overloaded" } });
  expect(task).toEqual(ended);
});

scenario(DETAIL, "Returns 404 for unknown ID", async ({ source, json }) => {
  source.launch();
  const body = await json("/v1/tasks/ses_9999", 404);
  expect(body).toEqual({ error: 'There is no task "ses_9999".', status: 404 });
});

const LOGS = "Task Logs API";
const SECRET = [{ role: "user", text: "my key is sk-0123456789abcdef" }];

scenario(LOGS, "Returns message history for a running task", async ({ source, json }) => {
  const { sessionID } = source.launch();
  source.messages.set(sessionID, SECRET);
  expect(await json(`/v1/tasks/${sessionID}/logs`)).toEqual(SECRET);
});

scenario(LOGS, "Returns message history for a completed task", async ({ source, json }) => {
  const { sessionID } = source.launch();
  source.end(sessionID);
  const messages = Array.from({ length: 300 }, (_, index) => ({ index }));
  source.messages.set(sessionID, messages);
  expect(await json(`/v1/tasks/${sessionID}/logs`)).toEqual(messages);
});

scenario(LOGS, "Returns 404 for unknown task ID", async ({ json }) => {
  expect(await json("/v1/tasks/ses_9999/logs", 404)).toMatchObject({ status: 404 });
});

const GROUPS = "Task Groups API";

scenario(GROUPS, "Returns group with all member tasks and aggregate stats", async ({ source, json, clock }) => {
  const member = (calls: number) => {
    const { sessionID, progress } = source.launch({ batchId: "release 1/2" });
    source.change(sessionID, { progress: { ...progress, toolCalls: calls } });
    return sessionID;
  };
  source.launch();
  const members = [member(1), member(2)];
  await clock.advance(1_000);
  for (let calls = 3; calls <= 10; calls += 1) members.push(member(calls));
  const [resumed = "", cancelled = "", failed = "", alsoFailed = "", ...completed] = members;
  await clock.advance(60_000);
  for (const id of completed.slice(0, 3)) source.end(id);
  for (const id of [failed, alsoFailed]) source.end(id, "error");
  source.end(cancelled, "cancelled");
  source.change(resumed, { status: "resumed", completedAt: undefined });
  await clock.advance(30_000);
  const { tasks, ...figures } = await json(`/v1/task-groups/${encodeURIComponent("release 1/2")}`);
  expect(idsOf({ tasks })).toEqual(members);
  expect(figures).toEqual({
    batchId: "release 1/2",
    completed: 3,
    running: 3,
    resumed: 1,
    error: 2,
    cancelled: 1,
    total: 10,
    completionRate: 0.3,
    totalToolCalls: 55,
    usage: { tokens: 0, cost: 0 },
    duration: 91_000,
  });
});

scenario(GROUPS, "Returns 404 for unknown group ID", async ({ source, json }) => {
  source.launch();
  expect(await json("/v1/task-groups/nobody", 404)).toEqual({ error: 'There is no task group "nobody".', status: 404 });
});

const SSE = "Server-Sent Events Stream";

scenario(SSE, "Sends snapshot on initial connection", async ({ source, events, json }) => {
  const [running, ended] = [source.launch(), source.launch()];
  const completed = source.end(ended.sessionID);
  const stream = await events();
  expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
  const stats = await json("/v1/stats");
  expect(await stream.next()).toEqual({
    id: "3",
    event: "snapshot",
    data: { tasks: [running, completed], stats, at: 3 },
  });
});

scenario(SSE, "Sends task.created when new task launches", async ({ source, events, clock }) => {
  const stream = await events();
  await stream.next();
  const launched = source.launch();
  await clock.advance(50);
  expect(await stream.task("task.created")).toEqual(launched);
});

scenario(SSE, "Sends task.updated when task progress changes", async ({ source, events, clock }) => {
  const { sessionID, progress } = source.launch();
  const stream = await events();
  await stream.next();
  const changed = source.change(sessionID, { progress: { ...progress, toolCalls: 7 } });
  await clock.advance(50);
  expect(await stream.task("task.updated")).toEqual(changed);
});

for (const [name, status] of [
  ["Sends task.completed when task finishes successfully", "completed"],
  ["Sends task.error when task fails", "error"],
  ["Sends task.cancelled when task is cancelled", "cancelled"],
] as const) {
  scenario(SSE, name, async ({ source, events, clock }) => {
    const { sessionID } = source.launch();
    const stream = await events();
    await stream.next();
    const ended = source.end(sessionID, status);
    await clock.advance(50);
    expect(await stream.task(`task.${status}`)).toEqual(ended);
    expect(ended.error === undefined).toBe(status !== "error");
  });
}

scenario(SSE, "Sends heartbeat every 30 seconds", async ({ source, events, clock }) => {
  const stream = await events();
  await stream.next();
  await clock.advance(20_000);
  source.launch();
  await clock.advance(29_900);
  expect((await stream.next()).event).toBe("task.created");
  await clock.advance(200);
  const ts = (at: number) => ({ id: undefined, event: "heartbeat", data: { ts: new Date(at).toISOString() } });
  const first = clock.now();
  const heartbeat = await stream.next();
  expect(heartbeat.event).toBe("heartbeat");
  const beatAt = Date.parse((heartbeat.data as { ts: string }).ts);
  expect(first - beatAt).toBeLessThan(200);
  await clock.advance(30_000);
  expect(await stream.next()).toEqual(ts(beatAt + 30_000));
});

scenario(SSE, "Sends fresh snapshot on reconnection", async ({ source, events, clock }) => {
  const { sessionID } = source.launch();
  const before = await events();
  await before.next();
  before.close();
  const ended = source.end(sessionID);
  const after = await events();
  expect((await after.next()).data).toMatchObject({ tasks: [ended], at: 2 });
  const launched = source.launch();
  await clock.advance(50);
  expect(await after.next()).toEqual({ id: "3", event: "task.created", data: launched });
});

const HEALTH = "Health and Stats Endpoints";

scenario(HEALTH, "Health endpoint returns ok status with uptime", async ({ source, json, clock, folder }) => {
  source.launch();
  source.end(source.launch().sessionID);
  await clock.advance(12_500);
  expect(await json("/v1/health")).toEqual({
    status: "ok",
    uptime: 12.5,
    version: "1.2.3",
    taskCount: 2,
    pid: process.pid,
    startedAt: discovered(folder).startedAt,
  });
});

scenario(HEALTH, "Stats endpoint returns counts by status and agent", async ({ source, json }) => {
  source.launch();
  source.launch();
  source.end(source.launch({ agent: "explore" }).sessionID);
  source.end(source.launch().sessionID, "error");
  expect(await json("/v1/stats")).toMatchObject({
    byStatus: { running: 2, completed: 1, error: 1, cancelled: 0, resumed: 0 },
    byAgent: { general: 3, explore: 1 },
  });
});

scenario(HEALTH, "Stats endpoint returns duration statistics", async ({ source, json, clock }) => {
  const [quick, slow] = [source.launch(), source.launch()];
  source.launch({ status: "resumed" });
  await clock.advance(1_000);
  source.end(quick.sessionID);
  await clock.advance(2_000);
  source.end(slow.sessionID);
  expect(await json("/v1/stats")).toMatchObject({
    duration: { avg: 2_000, max: 3_000, min: 1_000 },
    totalTasks: 3,
    activeTasks: 1,
  });
});

scenario("CORS Support", "Responses include CORS headers", async ({ server, fetch, source }) => {
  const { sessionID } = source.launch();
  const leaving = new AbortController();
  const answers = {
    "200": await fetch("/v1/health"),
    "200 events": await fetch("/v1/events", { signal: leaving.signal }),
    "400": await fetch("/v1/tasks?limit=x"),
    "401": await fetch(`/v1/tasks/${sessionID}/cancel`, { method: "POST" }),
    "404": await fetch("/nothing"),
    "405": await fetch("/v1/health", { method: "DELETE" }),
    "414": await fetch(`/v1/tasks?search=${"a".repeat(9_000)}`),
    "415": await fetch(`/v1/tasks/${sessionID}/resume`, {
      method: "POST",
      body: "hi",
      headers: { authorization: `Bearer ${server.token}` },
    }),
  };
  for (const [name, answer] of Object.entries(answers)) {
    expect({ name, status: answer.status, ...corsOf(answer) }).toEqual({
      name,
      status: Number.parseInt(name, 10),
      ...CORS,
    });
  }
  leaving.abort();
});

scenario("CORS Support", "OPTIONS preflight returns 204 with CORS headers", async ({ fetch }) => {
  const paths = ["/v1/tasks", "/v1/events", "/v1/tasks/ses_1/cancel", "/nothing", "/"];
  for (const path of paths) {
    const answer = await fetch(path, { method: "OPTIONS", headers: { origin: "http://localhost:3000" } });
    expect({ path, status: answer.status, body: await answer.text(), ...corsOf(answer) }).toEqual({
      path,
      status: 204,
      body: "",
      ...CORS,
    });
  }
});

const DISCOVERY = "Port Discovery";

scenario(DISCOVERY, "server.json created on server start", async ({ folder }) => {
  expect(discovered(folder)).toEqual({
    port: expect.any(Number),
    pid: process.pid,
    startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    url: expect.any(String),
    token: expect.any(String),
  });
  expect(statSync(join(folder, "server.json")).mode & 0o777).toBe(0o600);
});

test(`asyncagents-task › ${DISCOVERY} › server.json deleted on graceful shutdown`, async () => {
  for (const end of ["SIGINT", "SIGTERM", "exit", "stop"] as const) {
    const folder = temporaryFolder();
    const child = await startChild({ folder });
    expect(discovered(folder)).toMatchObject({ pid: child.pid });
    if (end === "SIGINT" || end === "SIGTERM") expect(await child.kill(end)).toEqual({ code: null, signal: end });
    else {
      child.tell(end);
      expect(await child.ended).toEqual({ code: end === "exit" ? 3 : 0, signal: null });
    }
    expect({ end, left: existsSync(join(folder, "server.json")) }).toEqual({ end, left: false });
  }
});

scenario(DISCOVERY, "server.json enables external tool discovery", async ({ folder }) => {
  const { url, port } = discovered(folder);
  expect(await (await fetch(`${url}/v1/health`)).json()).toMatchObject({ status: "ok" });
  expect(await isServed("127.0.0.1", port)).toBe(true);
});
