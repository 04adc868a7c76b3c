import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import type { FeedEvent } from "../../src/client/follow-tasks.ts";
import { createStatusApiClient } from "../../src/client/status-api-client.ts";
import { ensureServerKey, proofOf } from "../../src/services/platform/server-key.ts";
import { type Served, serve, temporaryFolder } from "../services/http/served.ts";

const clientOf = ({ folder }: Pick<Served, "folder">) => createStatusApiClient(folder);

const STARTED = "2026-11-23T10:00:00.000Z";
const HEALTH = {
  status: "ok",
  uptime: 1,
  version: manifest.version,
  taskCount: 0,
  pid: process.pid,
  startedAt: STARTED,
};

/** A task with all that readers rely on, and a status that this version does not know. */
const TASK = {
  ...{ sessionID: "ses_1", parentSessionID: "ses_0", status: "asleep", agent: "general", description: "new" },
  ...{ startedAt: STARTED, runStartedAt: STARTED, allowed: [], usage: { tokens: 0, cost: 0 } },
  progress: { tokens: 0, cost: 0, lastTools: [] },
};

/** What answers the challenge of a request, by its response. */
const proofs = new WeakMap<ServerResponse, string>();

/**
 * A program that listens where `server.json` says, and the requests that it got, without their challenges. It has the key of the
 * data folder, as OpenCode has.
 */
const listenAs = async (answer: (request: IncomingMessage, response: ServerResponse) => void, file = {}) => {
  const requests: IncomingMessage[] = [];
  const folder = temporaryFolder();
  const key = ensureServerKey(folder);
  const server = createServer((request, response) => {
    const [path, challenge] = (request.url ?? "").split("?challenge=");
    request.url = path;
    if (challenge !== undefined) proofs.set(response, proofOf(key, { port, challenge }));
    requests.push(request);
    answer(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const described = { url: "http://taskchart.example", port, pid: process.pid, startedAt: STARTED, token: "secret" };
  /** Writes `server.json` with other values. */
  const describe = (changed: object) =>
    writeFileSync(join(folder, "server.json"), JSON.stringify({ ...described, ...changed }));
  describe(file);
  return { folder, port, requests, describe };
};

const json = (response: ServerResponse, body: object, status = 200) => {
  const proof = proofs.get(response);
  const text = JSON.stringify(proof === undefined ? body : { ...body, proof });
  return response.writeHead(status, { "content-type": "application/json" }).end(text);
};

test("each route is called, and its answer returned", async () => {
  const served = await serve({ reads: "token" });
  const client = clientOf(served);
  const { sessionID: id } = served.source.launch();
  served.source.messages.set(id, [{ info: { role: "user" } }]);
  expect(await client.server()).toMatchObject({ ok: true, value: { pid: process.pid } });
  expect(await client.stats()).toMatchObject({ ok: true, value: { activeTasks: 1 } });
  expect(await client.fleet()).toMatchObject({ ok: true, value: { isUsed: false, servers: [] } });
  expect(await client.allTasks({ status: "running", search: "task number" })).toMatchObject({
    ok: true,
    value: [{ sessionID: id }],
  });
  expect(await client.allTasks({ status: "error" })).toEqual({ ok: true, value: [] });
  expect(await client.task(id.slice(0, 6))).toMatchObject({
    ok: true,
    value: { sessionID: id, allowed: expect.anything() },
  });
  expect(await client.logs(id)).toEqual({ ok: true, value: [{ info: { role: "user" } }] });
  for (const change of [
    client.cancel(id),
    client.resume(id, "on"),
    client.steer(id, "faster"),
    client.answer(id, { requestId: "per_1", reply: "once" }),
  ]) {
    expect(await change).toMatchObject({ ok: true, value: { sessionID: id } });
  }
  expect(served.source.asked).toEqual([
    `cancel ${id}`,
    `resume with "on" ${id}`,
    `steer with "faster" ${id}`,
    `answer {"requestId":"per_1","reply":"once"} ${id}`,
  ]);
});

test("all tasks are read page by page, each once, up to as many as are asked for", async () => {
  const served = await serve();
  for (let count = 0; count < 205; count += 1) served.source.launch();
  const all = await clientOf(served).allTasks({});
  expect(all.ok && new Set(all.value.map(({ sessionID }) => sessionID)).size).toBe(205);
  const some = await clientOf(served).allTasks({}, 3);
  expect(some.ok && some.value.map(({ sessionID }) => sessionID)).toEqual(["ses_0205", "ses_0204", "ses_0203"]);
});

test("an error of the API is returned with its words and its status", async () => {
  const served = await serve();
  expect(await clientOf(served).task("ses_none")).toEqual({
    ok: false,
    kind: "refused",
    reason: 'There is no task "ses_none".',
    status: 404,
  });
});

test("where nothing is written, OpenCode is to be opened", async () => {
  const folder = temporaryFolder();
  expect(await clientOf({ folder }).stats()).toEqual({
    ok: false,
    kind: "notRunning",
    reason: `OpenCode is not running: open it in your project. There is no server.json in ${folder}.`,
  });
});

test("a file that is left over is reported, and what listens there now does not get the token", async () => {
  const other = await listenAs((_, response) => json(response, { ...HEALTH, startedAt: "2026-11-23T10:00:01.000Z" }));
  const result = await clientOf(other).cancel("ses_1");
  expect(result).toMatchObject({
    ok: false,
    kind: "notRunning",
    reason: expect.stringContaining("is left over: what"),
  });
  const stranger = await listenAs((_, response) => response.end("hello"));
  expect(await clientOf(stranger).stats()).toMatchObject({ ok: false, kind: "notRunning" });
  for (const { requests } of [other, stranger]) {
    expect(requests.map(({ url, headers }) => [url, headers.authorization])).toEqual([["/v1/health", undefined]]);
  }
});

test("a program that says what everybody can read of OpenCode gets nothing, and is not believed", async () => {
  const secret = await listenAs(() => undefined);
  const genuine = await serve({ folder: secret.folder });
  type Answer = (response: ServerResponse, challenge: string) => unknown;
  const pretenders: [string, Answer][] = [
    ["without a proof", (response) => response.end(JSON.stringify(HEALTH))],
    ["with a wrong proof", (response) => response.end(JSON.stringify({ ...HEALTH, proof: "x".repeat(43) }))],
    [
      "with the proof of the server that it passes the challenge on to",
      async (response, challenge) => {
        const { proof } = await genuine.json(`/v1/health?challenge=${challenge}`);
        response.end(JSON.stringify({ ...HEALTH, proof }));
      },
    ],
  ];
  for (const [name, answer] of pretenders) {
    const requests: IncomingMessage[] = [];
    const pretender = createServer((request, response) => {
      requests.push(request);
      const challenge = new URL(request.url ?? "", "http://localhost").searchParams.get("challenge");
      if (challenge === null) json(response, { tasks: [TASK], total: 1, limit: 50, offset: 0 });
      else void answer(response, challenge);
    }).listen(0, "127.0.0.1");
    await once(pretender, "listening");
    onTestFinished(() => void pretender.close());
    secret.describe({ port: (pretender.address() as AddressInfo).port });
    const client = clientOf(secret);
    for (const result of [await client.allTasks({}), await client.steer("ses_1", "the plan"), await client.server()])
      expect({ name, result }).toMatchObject({ name, result: { ok: false, kind: "notRunning" } });
    const feed = following(secret);
    expect(await feed.next()).toMatchObject({ type: "lost", failure: { kind: "notRunning" } });
    feed.end();
    expect(requests.map(({ method }) => method)).toEqual(["GET", "GET", "GET", "GET"]);
    expect(requests.every(({ url }) => url?.startsWith("/v1/health?challenge="))).toBe(true);
    expect(requests.filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
  }
});

test("a server that starts anew at its port is asked who it is, and gets its new token, not the one before", async () => {
  const server = await listenAs((request, response) =>
    request.url === "/v1/health" ? json(response, HEALTH) : json(response, { error: "no" }, 404),
  );
  const client = clientOf(server);
  const seen = () => server.requests.splice(0).map(({ url, headers }) => [url, headers.authorization]);
  await client.task("ses_1");
  await client.task("ses_1");
  expect(seen()).toEqual([
    ["/v1/health", undefined],
    ["/v1/tasks/ses_1", "Bearer secret"],
    ["/v1/health", undefined],
    ["/v1/tasks/ses_1", "Bearer secret"],
  ]);
  server.describe({ token: "another" });
  await client.task("ses_1");
  expect(seen()).toEqual([
    ["/v1/health", undefined],
    ["/v1/tasks/ses_1", "Bearer another"],
  ]);
  server.describe({ token: "another", startedAt: "2026-11-23T11:00:00.000Z" });
  expect(await client.task("ses_1")).toMatchObject({ kind: "notRunning" });
  expect(seen()).toEqual([["/v1/health", undefined]]);
});

test("after a call that came to nothing the server is asked who it is before it gets the token again", async () => {
  let answers = true;
  const server = await listenAs((request, response) => {
    if (!answers) return response.destroy();
    return request.url === "/v1/health" ? json(response, HEALTH) : json(response, { error: "no" }, 404);
  });
  const client = clientOf(server);
  await client.task("ses_1");
  answers = false;
  expect(await client.task("ses_1")).toMatchObject({ kind: "notRunning" });
  server.requests.length = 0;
  expect(await client.task("ses_1")).toMatchObject({
    kind: "notRunning",
    reason: expect.stringContaining("is left over"),
  });
  expect(server.requests.map(({ url, headers }) => [url, headers.authorization])).toEqual([["/v1/health", undefined]]);
});

test("whatever an id has in it, it names a task and nothing else of the server", async () => {
  const server = await listenAs((request, response) =>
    request.url === "/v1/health" ? json(response, HEALTH) : json(response, { error: "no" }, 404),
  );
  await clientOf(server).cancel("../stats?a=1#b");
  expect(server.requests.at(-1)?.url).toBe("/v1/tasks/..%2Fstats%3Fa%3D1%23b/cancel");
});

test("pages may be shorter than asked for: all tasks are read all the same", async () => {
  const tasks = ["ses_1", "ses_2", "ses_3"].map((sessionID) => ({ ...TASK, sessionID }));
  const server = await listenAs((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    const offset = Number(searchParams.get("offset"));
    const page = { tasks: tasks.slice(offset, offset + 2), total: tasks.length, limit: 2, offset };
    json(response, pathname === "/v1/health" ? HEALTH : page);
  });
  expect(await clientOf(server).allTasks({})).toEqual({ ok: true, value: tasks });
});

test("a file of a process that has ended is reported with its process", async () => {
  // No process has a number beyond the largest that Linux gives out.
  const { folder } = await listenAs((_, response) => response.destroy(), { pid: 2 ** 22 + 1 });
  expect(await clientOf({ folder }).stats()).toMatchObject({
    kind: "notRunning",
    reason: expect.stringContaining(`is left over: process ${2 ** 22 + 1}, which wrote it, has ended.`),
  });
});

test.each([
  ["{"],
  ["[]"],
  ['{"port":"5165"}'],
  ['{"port":0,"pid":1,"startedAt":"x"}'],
  ['{"port":65536,"pid":1,"startedAt":"x"}'],
  ['{"port":5165,"pid":0,"startedAt":"x"}'],
  ['{"port":5165,"pid":1,"startedAt":"x","token":7}'],
])("a file with %s is named as what is wrong", async (text) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "server.json"), text);
  expect(await clientOf({ folder }).stats()).toMatchObject({
    kind: "unreadable",
    reason: `${join(folder, "server.json")} does not describe a server. Remove it: OpenCode writes it again within 2 seconds.`,
  });
});

test("another version is said in a sentence, and named where an answer cannot be read", async () => {
  const version = "99.0.0";
  const other = await listenAs((request, response) =>
    json(response, request.url === "/v1/health" ? { ...HEALTH, version } : { tasks: "many" }),
  );
  const found = await clientOf(other).server();
  const sentence = `OpenCode runs opencode-taskchart 99.0.0, and this is ${manifest.version}.`;
  expect(found).toMatchObject({ ok: true, value: { version, versionDifference: expect.stringContaining(sentence) } });
  expect(await clientOf(other).allTasks({})).toMatchObject({
    kind: "unreadable",
    reason: expect.stringContaining(sentence),
  });
  const same = await listenAs((_, response) => json(response, HEALTH));
  const { value } = { value: undefined, ...(await clientOf(same).server()) };
  expect(value).not.toHaveProperty("versionDifference");
});

test("a task of another version that cannot be shown is left out, and the others are not", async () => {
  const { allowed: _, ...without } = TASK;
  const other = await listenAs((request, response) =>
    json(
      response,
      request.url === "/v1/health" ? HEALTH : { tasks: [{ id: 1 }, without, TASK], total: 3, limit: 50, offset: 0 },
    ),
  );
  expect(await clientOf(other).allTasks({})).toMatchObject({ ok: true, value: [TASK] });
});

test.each([
  ["that does not come", (_: ServerResponse) => undefined, "silent", /has not answered in time.*look at it before/],
  ["that breaks off", (response: ServerResponse) => void response.destroy(), "notRunning", /ended before.*look at it/],
])("an answer %s is waited for, and the change is not sent again", async (_, answer, kind, reason) => {
  const server = await listenAs((request, response) =>
    request.url === "/v1/health" ? json(response, HEALTH) : answer(response),
  );
  const client = createStatusApiClient(server.folder, { changeMs: 50 });
  expect(await client.cancel("ses_1")).toMatchObject({ ok: false, kind, reason: expect.stringMatching(reason) });
  expect(server.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
});

test("a proxy that the environment names is not asked", async () => {
  for (const name of ["HTTP_PROXY", "http_proxy"]) vi.stubEnv(name, "http://127.0.0.1:9");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await clientOf(await serve()).stats()).toMatchObject({ ok: true });
});

/** Reads a feed event by event. */
const following = ({ folder }: Pick<Served, "folder">, times = {}) => {
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const events = clientOf({ folder })
    .follow(ending.signal, { retryMs: 1, maxRetryMs: 4, ...times })
    [Symbol.asyncIterator]();
  const next = async (): Promise<FeedEvent | undefined> => (await events.next()).value;
  /** Returns the next event of another type than `lost`. */
  const nextTold = async () => {
    for (;;) {
      const event = await next();
      if (event?.type !== "lost") return event;
    }
  };
  return { next, nextTold, end: () => ending.abort() };
};

test("the feed begins with a snapshot, reports each change, and goes on after a restart at another port", async () => {
  const served = await serve();
  const { source, clock, folder } = served;
  const { sessionID: id } = source.launch();
  const feed = following(served);
  expect(await feed.next()).toMatchObject({
    type: "snapshot",
    tasks: [{ sessionID: id }],
    server: { version: "1.2.3" },
  });
  const launched = source.launch().sessionID;
  await clock.advance(20);
  expect(await feed.next()).toMatchObject({ type: "task", change: "created", task: { sessionID: launched } });
  source.end(id, "error");
  await clock.advance(20);
  expect(await feed.next()).toMatchObject({ type: "task", change: "error", task: { sessionID: id } });
  source.clear(id);
  await clock.advance(20);
  expect(await feed.next()).toEqual({ type: "removed", sessionID: id });
  await served.server.stop();
  expect(await feed.next()).toMatchObject({ type: "lost", failure: { kind: "notRunning" }, retryMs: 1 });
  const again = await serve({ folder });
  again.source.launch({ sessionID: "ses_after" });
  expect(await feed.nextTold()).toMatchObject({ type: "snapshot", tasks: [{ sessionID: "ses_after" }] });
  feed.end();
  expect(await feed.next()).toBeUndefined();
});

test("while nothing runs the feed says so, waits longer each time, and ends while it waits", async () => {
  const feed = following({ folder: temporaryFolder() }, { retryMs: 1, maxRetryMs: 60_000 });
  const waits = [await feed.next(), await feed.next(), await feed.next()];
  expect(waits).toMatchObject([1, 2, 4].map((retryMs) => ({ type: "lost", failure: { kind: "notRunning" }, retryMs })));
  const ending = feed.next();
  feed.end();
  await ending;
  expect(await feed.next()).toBeUndefined();
});

test("a stream that falls silent counts as lost, and an error is reported in its words", async () => {
  const silent = await listenAs((request, response) => {
    if (request.url === "/v1/health") return json(response, HEALTH);
    return response.writeHead(200).write('event: snapshot\ndata: {"tasks":[]}\n\nevent: unheard.of\ndata: {}\n\n');
  });
  const feed = following(silent, { silenceMs: 50 });
  expect(await feed.next()).toMatchObject({ type: "snapshot", tasks: [] });
  expect(await feed.next()).toMatchObject({ type: "lost", failure: { kind: "notRunning" } });
  const full = await listenAs((request, response) =>
    request.url === "/v1/health" ? json(response, HEALTH) : json(response, { error: "Too many.", status: 503 }, 503),
  );
  expect(await following(full).next()).toMatchObject({
    type: "lost",
    failure: { kind: "refused", reason: "Too many." },
  });
});
