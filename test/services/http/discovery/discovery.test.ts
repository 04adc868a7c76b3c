import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startStatusServer } from "../../../../src/services/http/server/status-server.ts";
import { createFakeSource } from "../../../fakes/status-source.ts";
import { createVirtualClock } from "../../../fakes/virtual-clock.ts";
import { type Child, type ChildOptions, startChild as start } from "../child.ts";
import { occupy } from "../ports.ts";
import { serve, temporaryFolder } from "../served.ts";

/** What server.json says; undefined where it is not there. Another process may remove it at any moment. */
const discovered = (folder: string): { pid: number; url: string } | undefined => {
  try {
    return JSON.parse(readFileSync(join(folder, "server.json"), "utf8"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
};

/** Looks every 200 ms who is there, not every 2 s. */
const startChild = (options: ChildOptions) => start({ pace: 10, ...options });

const instances = (folder: string) => readdirSync(join(folder, "instances")).toSorted();
const filesOf = (...children: Child[]) => children.map(({ pid }) => `${pid}.json`).toSorted();

/** Waits until the condition is true; the test's own time limit ends that. */
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
  expect(new Set([first.token, second.token, third.token]).size).toBe(1);

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
});

test("a signal still ends the process, and another listener still decides how", async () => {
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
});

test("neither the server nor a reader of its events keeps the process alive", async () => {
  const child = await startChild({ folder: temporaryFolder() });
  const events = await fetch(`${child.url}/v1/events`);
  const reader = events.body?.getReader();
  await reader?.read();
  child.tell("rest");
  expect(await child.ended).toEqual({ code: 0, signal: null });
  await reader?.read().catch(() => undefined);
});

test("files of dead processes are replaced, even if their ids are in use again; damaged files too", async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "instances"));
  const startedAt = "2020-01-01T00:00:00.000Z";
  const port = await occupy(0);
  // Our parent process is alive and older, but does not listen on that port: the id was assigned again.
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

test("a reachable server's server.json is left alone, even without its file in instances/", async () => {
  const folder = temporaryFolder();
  const elsewhere = temporaryFolder();
  await startChild({ folder: elsewhere });
  const text = readFileSync(join(elsewhere, "server.json"), "utf8");
  for (const name of ["server.json", "server-key"])
    writeFileSync(join(folder, name), readFileSync(join(elsewhere, name)));
  const child = await startChild({ folder });
  child.tell("stop");
  await child.ended;
  expect(readFileSync(join(folder, "server.json"), "utf8")).toBe(text);
});

test("a process has one server, however often it is started; it stops with its last user", async () => {
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

test("an invalid port is logged, and the default is used", async () => {
  for (const port of ["http", "-1", "0", "70000", "51.5"]) {
    const { server, errors } = await serve({ env: { ASYNCAGENTS_API_PORT: port } });
    expect({ port, errors }).toEqual({ port, errors: [expect.stringContaining(`ASYNCAGENTS_API_PORT is "${port}"`)] });
    expect(server.port).toBeGreaterThanOrEqual(5_165);
    await server.stop();
  }
});

test("a data folder that cannot be written is logged, and the server serves all the same", async () => {
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

/** Writes the files that a process with this id, port and start would have left. */
const leave = (folder: string, stale: { port: number; pid: number; startedAt: string }) => {
  const instance = { ...stale, url: `http://127.0.0.1:${stale.port}` };
  mkdirSync(join(folder, "instances"), { recursive: true });
  writeFileSync(join(folder, "server.json"), JSON.stringify({ ...instance, token: "theirs" }));
  writeFileSync(join(folder, "instances", `${stale.pid}.json`), JSON.stringify(instance));
};

test("a server.json whose process id and port are both in use again is replaced, whatever listens there now", async () => {
  const startedAt = "2020-01-01T00:00:00.000Z";
  const another = await startChild({ folder: temporaryFolder() });
  const stranger = createServer((_, response) => response.end('{"status":"ok"}')).listen(0, "127.0.0.1");
  onTestFinished(() => void stranger.close());
  await once(stranger, "listening");
  const ports = [Number(new URL(another.url).port), (stranger.address() as AddressInfo).port];
  for (const port of ports) {
    const folder = temporaryFolder();
    leave(folder, { port, pid: another.pid, startedAt });
    const child = await startChild({ folder });
    expect(discovered(folder)?.pid).toBe(child.pid);
    expect(instances(folder)).toEqual(filesOf(child));
  }
});

test("a server that does not respond keeps server.json while it may be busy, and loses it after a while", async () => {
  const folder = temporaryFolder();
  const first = await startChild({ folder });
  process.kill(first.pid, "SIGSTOP");
  const second = await startChild({ folder });
  expect(discovered(folder)?.pid).toBe(first.pid);
  await until(() => discovered(folder)?.pid === second.pid);
  process.kill(first.pid, "SIGCONT");
  // It announces itself again, and leaves server.json to its new owner.
  await until(() => instances(folder).length === 2);
  expect(discovered(folder)?.pid).toBe(second.pid);
});

test("a removed data folder is soon restored, with its files; nothing is logged", async () => {
  const { folder, server, clock, errors } = await serve();
  rmSync(folder, { recursive: true });
  while (!discovered(folder)) await clock.advance(2_000);
  expect(discovered(folder)).toMatchObject({ pid: process.pid, url: server.url, token: server.token });
  expect(instances(folder)).toEqual([`${process.pid}.json`]);
  rmSync(join(folder, "instances"), { recursive: true });
  while (!existsSync(join(folder, "instances", `${process.pid}.json`))) await clock.advance(2_000);
  expect(modeOf(folder)).toBe(0o700);
  expect(errors).toEqual([]);
  await server.stop();
  expect(readdirSync(folder)).toEqual(["instances"]);
  expect(instances(folder)).toEqual([]);
});

test("a folder that becomes unwritable is logged once, and again when it happens anew", async () => {
  const { folder, clock, errors } = await serve();
  const block = () => {
    rmSync(folder, { recursive: true, force: true });
    writeFileSync(folder, "");
  };
  block();
  for (let looks = 0; looks < 10; looks += 1) await clock.advance(2_000);
  expect(errors).toEqual([expect.stringContaining("could not check or write server.json")]);
  rmSync(folder);
  while (!discovered(folder)) await clock.advance(2_000);
  block();
  for (let looks = 0; looks < 10; looks += 1) await clock.advance(2_000);
  expect(errors).toHaveLength(2);
});

const modeOf = (path: string): number => statSync(path).mode & 0o777;

test.runIf(process.platform !== "win32")("folders and files that other users could read become private", async () => {
  const folder = temporaryFolder();
  leave(folder, { port: 1, pid: 1, startedAt: "2020-01-01T00:00:00.000Z" });
  const file = join(folder, "instances", `${process.pid}.json`);
  writeFileSync(file, "{}");
  for (const path of [folder, join(folder, "instances")]) chmodSync(path, 0o755);
  for (const path of [join(folder, "server.json"), file]) chmodSync(path, 0o644);
  const infos: string[] = [];
  const log = { info: (message: string) => void infos.push(message), error: () => undefined };
  const clock = createVirtualClock();
  const env = { ASYNCAGENTS_API_PORT: String(await occupy(0)) };
  const server = await startStatusServer({
    source: createFakeSource(clock),
    folder,
    env,
    log,
    clock,
    version: "1",
    allowedOrigins: [],
  });
  expect([folder, join(folder, "instances")].map(modeOf)).toEqual([0o700, 0o700]);
  expect([join(folder, "server.json"), file].map(modeOf)).toEqual([0o600, 0o600]);
  expect(infos).toEqual(["took folders of the plugin away from other users"]);
  await server?.stop();
});
