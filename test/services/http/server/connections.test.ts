import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { open, request, send } from "../raw.ts";
import { type Served, serve } from "../served.ts";

const MANY = 200;

/** One second: Node checks for late requests six times in it; Bun closes after four seconds, its smallest step. */
const LIMITS = { timeoutMs: 1_000, maxConnections: 2 * MANY + 50 };

const isClosed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.on("error", () => undefined).resume();
    if (socket.closed) return resolve();
    socket.once("close", () => resolve());
  });

const answered = (socket: Socket): Promise<string> =>
  new Promise((resolve) => socket.once("data", (part) => resolve(part.toString())));

/** Opens `MANY` connections, and sends the same text on each. */
const say = async ({ server }: Served, text: string): Promise<Socket[]> => {
  const sockets = await Promise.all(Array.from({ length: MANY }, () => open(server.port)));
  for (const socket of sockets) socket.write(text);
  return sockets;
};

const halfBody = (token: string, length = 100): string =>
  `${request("POST", "/v1/tasks/ses_0001/resume", {
    Connection: "keep-alive",
    Authorization: `Bearer ${token}`,
    "Content-Type": "application/json",
    "Content-Length": String(length),
  })}{"prompt":`;

test(`${MANY} idle connections, and ${MANY} with half a body, are closed in time; others are served meanwhile`, async () => {
  const served = await serve({ limits: LIMITS });
  served.source.launch();
  const resting = await say(served, request("GET", "/v1/health", { Connection: "keep-alive" }));
  const closings = resting.map(isClosed);
  expect(await answered(resting[0] as Socket)).toContain("200 OK");
  const halves = await say(served, halfBody(served.server.token));
  closings.push(...halves.map(isClosed));
  expect(await served.json("/v1/tasks")).toMatchObject({ total: 1 });
  await Promise.all(closings);
  expect(await served.json("/v1/tasks")).toMatchObject({ total: 1 });
  expect(served.source.asked).toEqual([]);
  expect(served.errors).toEqual([]);
});

test("a request that arrives byte by byte is closed too, though its connection is never idle", async () => {
  const served = await serve({ limits: LIMITS });
  served.source.launch();
  const socket = await open(served.server.port);
  const closing = isClosed(socket);
  // At this rate it would take hours.
  socket.write(halfBody(served.server.token, 1_000_000));
  const dripping = setInterval(() => socket.write("x"), 100);
  await closing;
  clearInterval(dripping);
  expect(await served.json("/v1/health")).toMatchObject({ status: "ok" });
  expect(served.errors).toEqual([]);
});

test("a stream outlives the time limit of other connections", async () => {
  const served = await serve({ limits: LIMITS });
  const { source, clock } = served;
  const stream = await served.events();
  await stream.next();
  // When this one is closed, the stream's time would be over too.
  const resting = await open(served.server.port);
  resting.write(request("GET", "/v1/health", { Connection: "keep-alive" }));
  await isClosed(resting);
  const { sessionID } = source.launch();
  await clock.advance(50);
  expect(await stream.task("task.created")).toMatchObject({ sessionID });
});

test.runIf(process.versions.bun === undefined)(
  "the number of connections is limited; when one closes, another is served (Bun does not count them)",
  async () => {
    const served = await serve({ limits: { timeoutMs: 30_000, maxConnections: 3 } });
    const { port } = served.server;
    const held = await Promise.all([open(port), open(port), open(port)]);
    const refused = await open(port);
    await isClosed(refused);
    const leaving = held[0] as Socket;
    const left = isClosed(leaving);
    leaving.destroy();
    await left;
    const health = async () => (await send(port, request("GET", "/v1/health"))).status;
    // The server notices the end a moment later.
    while ((await health()) !== 200) await new Promise(setImmediate);
  },
);
