import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startStatusServer } from "../../src/services/http/status-server.ts";
import { createFakeSource } from "../fakes/status-source.ts";
import { createVirtualClock } from "../fakes/virtual-clock.ts";
import { type Child, startChild } from "./child.ts";
import { occupy } from "./ports.ts";
import { serve, temporaryFolder } from "./served.ts";

const discovered = (folder: string): { pid: number; url: string } | undefined => {
  const path = join(folder, "server.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
};

const instances = (folder: string) => readdirSync(join(folder, "instances")).toSorted();
const filesOf = (...children: Child[]) => children.map(({ pid }) => `${pid}.json`).toSorted();

/** Waits until it is so; the test's own time limit ends that. */
const until = async (isSo: () => boolean) => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20));
};

test("server.json is not overwritten or deleted by another instance; the oldest takes it over", async () => {
  const folder = temporaryFolder();
  const first = await startChild({ folder });
  const second = await startChild({ folder });
  const third = await startChild({ folder });
  expect(discovered(folder)?.pid).toBe(first.pid);
  expect(instances(folder)).toEqual(filesOf(first, second, third));

  expect(await third.kill("SIGTERM")).toEqual({ code: null, signal: "SIGTERM" });
  expect(discovered(folder)).toMatchObject({ pid: first.pid, url: first.url });
  expect(instances(folder)).toEqual(filesOf(first, second));

  const fourth = await startChild({ folder });
  await first.kill("SIGKILL");
  await until(() => discovered(folder)?.pid === second.pid);
  expect(discovered(folder)).toMatchObject({ pid: second.pid, url: second.url, token: second.token });
  await until(() => instances(folder).length === 2);
  expect(instances(folder)).toEqual(filesOf(second, fourth));

  second.tell("stop");
  await until(() => discovered(folder)?.pid === fourth.pid);
  fourth.tell("exit");
  expect(await fourth.ended).toEqual({ code: 3, signal: null });
  expect(discovered(folder)).toBeUndefined();
  expect(instances(folder)).toEqual([]);
}, 30_000);

test("signals keep their default exit, and somebody else's listener keeps its say", async () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const folder = temporaryFolder();
    const plain = await startChild({ folder });
    expect(await plain.kill(signal)).toEqual({ code: null, signal });
    expect(discovered(folder)).toBeUndefined();
    const host = await startChild({ folder, listens: true });
    expect(await host.kill(signal)).toEqual({ code: 7, signal: null });
    expect(discovered(folder)).toBeUndefined();
    expect(instances(folder)).toEqual([]);
  }
}, 30_000);

test("not every origin may read", async () => {
  const { fetch } = await serve();
  const answer = await fetch("/v1/tasks", { headers: { origin: "https://evil.example" } });
  expect({ status: answer.status, body: await answer.json() }).toEqual({
    status: 403,
    body: { status: 403, error: expect.stringContaining("evil.example") },
  });
});

test("the server does not keep its process alive, nor does one who reads its events", async () => {
  const child = await startChild({ folder: temporaryFolder() });
  const events = await fetch(`${child.url}/v1/events`);
  const reader = events.body?.getReader();
  await reader?.read();
  child.tell("rest");
  expect(await child.ended).toEqual({ code: 0, signal: null });
  await reader?.read().catch(() => undefined);
});

test("what dead processes left is replaced, whoever has their ids now, and what is damaged too", async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "instances"));
  const startedAt = "2020-01-01T00:00:00.000Z";
  const port = await occupy(0);
  // Our parent process lives, and is older, but listens on no such port: its id was given again.
  const stale = { port, pid: process.ppid, startedAt, url: `http://127.0.0.1:${port}` };
  writeFileSync(join(folder, "server.json"), JSON.stringify({ ...stale, token: "theirs" }));
  writeFileSync(join(folder, "instances", `${process.ppid}.json`), JSON.stringify(stale));
  const child = await startChild({ folder });
  expect(discovered(folder)?.pid).toBe(child.pid);
  expect(instances(folder)).toEqual(filesOf(child));
  await child.kill("SIGKILL");
  writeFileSync(join(folder, "server.json"), '{"port": 51');
  const next = await startChild({ folder });
  expect(discovered(folder)?.pid).toBe(next.pid);
});

test("a living server's server.json is left alone, even if nothing else tells of it", async () => {
  const folder = temporaryFolder();
  const theirs = await startChild({ folder: temporaryFolder() });
  const text = JSON.stringify({
    port: Number(new URL(theirs.url).port),
    pid: theirs.pid,
    startedAt: new Date().toISOString(),
    url: theirs.url,
  });
  writeFileSync(join(folder, "server.json"), text);
  const child = await startChild({ folder });
  child.tell("stop");
  await child.ended;
  expect(readFileSync(join(folder, "server.json"), "utf8")).toBe(text);
});

test("a process has one server, however often it is asked for; it ends with the last user", async () => {
  const { server, source, folder, clock } = await serve();
  const log = { info: () => undefined, error: () => undefined };
  const env = { ASYNCAGENTS_API_PORT: String(await occupy(0)) };
  const parts = { source: createFakeSource(clock), folder, env, log, clock, version: "9", allowedOrigins: [] };
  const [again, more] = await Promise.all([startStatusServer(parts), startStatusServer(parts)]);
  expect(again).toMatchObject({ url: server.url, token: server.token });
  expect(more).toMatchObject({ url: server.url, token: server.token });
  source.launch();
  await server.stop();
  await server.stop();
  await again?.stop();
  expect(await (await fetch(`${server.url}/v1/health`)).json()).toMatchObject({ taskCount: 1, version: "1.2.3" });
  const ending = more?.stop();
  const anew = await startStatusServer(parts);
  await ending;
  expect(anew?.port).toBe(Number(env.ASYNCAGENTS_API_PORT));
  expect(anew?.token).not.toBe(server.token);
  expect(discovered(folder)?.url).toBe(anew?.url);
  await anew?.stop();
  await expect(fetch(`${anew?.url}/v1/health`)).rejects.toThrow();
  expect(discovered(folder)).toBeUndefined();
});

test("a wrong port is said, and the default is used", async () => {
  for (const port of ["http", "-1", "0", "70000", "51.5"]) {
    const { server, errors } = await serve({ env: { ASYNCAGENTS_API_PORT: port } });
    expect({ port, errors }).toEqual({ port, errors: [expect.stringContaining(`ASYNCAGENTS_API_PORT is "${port}"`)] });
    expect(server.port).toBeGreaterThanOrEqual(5_165);
    await server.stop();
  }
});

test("a data folder that cannot be written is said, and the server serves all the same", async () => {
  const folder = join(temporaryFolder(), "file");
  writeFileSync(folder, "");
  const errors: string[] = [];
  const log = { info: () => undefined, error: (message: string) => void errors.push(message) };
  const clock = createVirtualClock();
  const env = { ASYNCAGENTS_API_PORT: String(await occupy(0)) };
  const parts = { source: createFakeSource(clock), folder, env, log, clock, version: "1", allowedOrigins: [] };
  const server = await startStatusServer(parts);
  expect((await fetch(`${server?.url}/v1/health`)).status).toBe(200);
  expect(errors).toEqual(["the status API is served, but not announced"]);
  await server?.stop();
});
