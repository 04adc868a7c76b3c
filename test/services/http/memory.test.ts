import { expect, test } from "vitest";
import type { ClientConnection } from "../../../src/services/http/access/request-handling.ts";
import { createLongResponses, MAX_BYTES_IN_RESPONSES } from "../../../src/services/http/api/long-responses.ts";
import type { ApiTask } from "../../../src/services/http/contract/api-task.ts";
import {
  bytes,
  createBytesInFlight,
  createSseStream,
  MAX_BYTES_IN_FLIGHT,
  MAX_UNREAD_BYTES,
  sseFrame,
} from "../../../src/services/http/events/sse-stream.ts";
import { createTaskFeed } from "../../../src/services/http/events/task-feed.ts";
import { hasBackpressure } from "../../../src/services/http/server/bun.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createFakeSource } from "../../fakes/status-source.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";
import { PATIENCE_MS } from "../../patience.ts";
import { open, request } from "./raw.ts";
import { serve } from "./served.ts";

const MEGABYTE = 1_048_576;
const LONG = "x".repeat(5 * MEGABYTE);
const log = { info: () => undefined, error: (message: string) => console.error(message) };

const connection = (given: Partial<ClientConnection> = {}): ClientConnection => ({
  abort: () => undefined,
  disableTimeout: () => undefined,
  unsentBytes: () => 0,
  maxStreamBytes: undefined,
  endpoints: undefined,
  ...given,
});

test.each([
  ["where the runtime tells what they read", undefined],
  ["where it does not", 8 * MEGABYTE],
])(
  "ten clients that never read, and 21 results of 1 MB, are a few megabytes in flight: %s",
  async (_, maxStreamBytes) => {
    const clock = createVirtualClock();
    const source = createFakeSource(clock, "/nowhere", createMemory().boot(clock));
    const ids = Array.from({ length: 21 }, () => source.launch().sessionID);
    for (const id of ids)
      source.change(id, { status: "completed", completedAt: "2026-01-01T00:00:00.000Z", result: "x".repeat(MEGABYTE) });
    const bytesInFlight = createBytesInFlight(MAX_BYTES_IN_FLIGHT);
    const feed = createTaskFeed(source, { clock, log, bytesInFlight });
    const streams = Array.from({ length: 10 }, () => feed.subscribe(connection({ maxStreamBytes })));
    expect(streams.every(Boolean)).toBe(true);
    let most = bytesInFlight.total();
    expect(most).toBeLessThan(2 * MEGABYTE);
    for (let round = 1; round <= 3; round += 1) {
      for (const id of ids) source.change(id, { resumeCount: round });
      await clock.advance(20);
      most = Math.max(most, bytesInFlight.total());
    }
    expect(most).toBeLessThan(10 * MEGABYTE);
    feed.stop();
  },
);

test("a task in a list is shortened and names its cut fields; its own route returns it complete", async () => {
  const { source, json } = await serve();
  const long = "x".repeat(100_000);
  const { sessionID } = source.launch({ prompt: long, batchId: "release" });
  source.end(sessionID);
  const paragraph = `${long}\n\nMore.`;
  const brief = { result: expect.stringMatching(/^x{2000}…$/), prompt: expect.stringMatching(/^x{2000}…$/) };
  source.change(sessionID, { result: paragraph });
  const cut = ["prompt", "result", "summary"];
  const isBrief = (task: unknown) => {
    expect(task).toMatchObject({ sessionID, status: "completed", ...brief });
    expect([...(task as { cut: string[] }).cut].sort()).toEqual(cut);
  };
  isBrief(((await json("/v1/tasks")).tasks as unknown[])[0]);
  isBrief(((await json("/v1/task-groups/release")).tasks as unknown[])[0]);
  const whole = await json(`/v1/tasks/${sessionID}`);
  expect(whole).not.toHaveProperty("cut");
  expect({ result: whole.result === paragraph, prompt: whole.prompt === long }).toEqual({ result: true, prompt: true });
});

/** How a task is shown: by the length of its result, and whether that is all of it. */
const shown = ({ result, cut }: ApiTask) => ({ chars: result?.length, isCut: cut?.includes("result") ?? false });

const FULL = "asyncagents-task › Server-Sent Events Stream";

test(`${FULL} › Sends task.completed when task finishes successfully: with a task that is whole, as in the snapshot`, async () => {
  const { source, events, clock } = await serve();
  const long = { prompt: "p".repeat(90_000), result: "r".repeat(128_000) };
  const { sessionID } = source.launch({ prompt: long.prompt });
  const stream = await events();
  expect((await stream.next()).data).toMatchObject({ tasks: [{ sessionID, prompt: long.prompt }] });
  source.change(sessionID, { status: "completed", completedAt: "2026-01-01T00:00:00.000Z", result: long.result });
  await clock.advance(50);
  const ended = await stream.task("task.completed");
  expect(ended).toMatchObject({ sessionID, ...long });
  expect(ended).not.toHaveProperty("cut");
  const later = await events();
  const [inSnapshot] = ((await later.next()).data as { tasks: ApiTask[] }).tasks;
  expect(inSnapshot).toMatchObject({ sessionID, ...long });
  expect(inSnapshot).not.toHaveProperty("cut");
});

test("tasks in the stream are whole up to a million characters together, in a snapshot and in what is sent at once", async () => {
  const { source, events, clock } = await serve();
  const ids = Array.from({ length: 5 }, () => source.launch().sessionID);
  // Its first paragraph is the summary, too.
  for (const id of ids) source.change(id, { result: `Yes.\n\n${"r".repeat(299_994)}` });
  const three = [300_000, 300_000, 300_000, 2_001, 2_001].map((chars) => ({ chars, isCut: chars < 300_000 }));
  const stream = await events();
  const snapshot = (await stream.next()).data as { tasks: ApiTask[] };
  expect(snapshot.tasks.map(shown)).toEqual(three);
  for (const id of ids) source.change(id, { resumeCount: 1 });
  await clock.advance(50);
  const updated: ApiTask[] = [];
  while (updated.length < ids.length) updated.push(await stream.task("task.updated"));
  expect(updated.map(shown)).toEqual(three);
  source.change(ids[4] ?? "", { resumeCount: 2 });
  await clock.advance(50);
  expect(shown(await stream.task("task.updated"))).toEqual({ chars: 300_000, isCut: false });
});

test("a task's requests are bounded where it is one of many", async () => {
  const { source, json } = await serve();
  const since = "2026-01-01T00:00:00.000Z";
  const question = { question: "y".repeat(1_999), options: ["a".repeat(1_999)], multiple: false, custom: false };
  const requests = Array.from({ length: 50 }, (_, index) => ({
    id: `que_${index}`,
    kind: "question" as const,
    what: "w".repeat(10_000),
    since,
    questions: [question, question],
  }));
  source.launch({ attention: { kind: "question", what: "w", since, requests } });
  const page = await json("/v1/tasks");
  expect(JSON.stringify(page).length).toBeLessThan(10_000);
  expect(page).toMatchObject({ tasks: [{ attention: { kind: "question" }, cut: ["attention"] }] });
  expect(await json("/v1/tasks/ses_0001")).toMatchObject({ attention: { requests } });
});

test("a page of 200 tasks with long results is short and complete; the store does not read all of them at once", async () => {
  const { source, json } = await serve();
  for (let launched = 0; launched < 200; launched += 1) source.launch({ prompt: "p".repeat(100_000) });
  const { page } = source.store;
  const limits: number[] = [];
  source.store.page = (filter) => {
    limits.push(filter.limit);
    return page(filter);
  };
  const found = await json("/v1/tasks?limit=200");
  expect({ total: found.total, shown: (found.tasks as unknown[]).length }).toEqual({ total: 200, shown: 200 });
  expect(new Set((found.tasks as { sessionID: string }[]).map(({ sessionID }) => sessionID)).size).toBe(200);
  expect(JSON.stringify(found).length).toBeLessThan(MEGABYTE);
  expect(Math.max(...limits)).toBeLessThanOrEqual(20);
});

/** A reader whose stream began with so many bytes. */
const reader = (
  bytesInFlight = createBytesInFlight(Number.POSITIVE_INFINITY),
  snapshot = 10,
  given: Partial<ClientConnection> = {},
) => {
  const told: string[] = [];
  const clock = createVirtualClock();
  const subscriber = createSseStream(new Uint8Array(snapshot), {
    clock,
    bytesInFlight,
    connection: connection({ abort: () => told.push("dropped"), ...given }),
    onGone: () => told.push("gone"),
  });
  return { subscriber, told, clock };
};

test("beyond the total bound, a new reader has no room, and the one furthest behind is dropped first", async () => {
  const bytesInFlight = createBytesInFlight(1_000);
  const [slow, slower] = [reader(bytesInFlight, 400), reader(bytesInFlight, 500)];
  expect(reader(bytesInFlight, 200).subscriber).toBeUndefined();
  slow.subscriber?.send(new Uint8Array(200));
  expect(bytesInFlight.total()).toBe(1_100);
  bytesInFlight.dropSlowest();
  expect({ slow: slow.told, slower: slower.told }).toEqual({ slow: ["gone", "dropped"], slower: [] });
  expect(bytesInFlight.total()).toBe(500);
  expect(reader(bytesInFlight, 200).subscriber).toBeDefined();
});

test("a client that reads makes room, and a single one is always served", async () => {
  const bytesInFlight = createBytesInFlight(1_000);
  const alone = reader(bytesInFlight, 5_000);
  expect(alone.subscriber).toBeDefined();
  expect(reader(bytesInFlight, 1).subscriber).toBeUndefined();
  const taking = alone.subscriber?.stream.getReader();
  await taking?.read();
  expect(bytesInFlight.total()).toBe(0);
  expect(reader(bytesInFlight, 900).subscriber).toBeDefined();
});

test("a client that reads nothing between two heartbeats is dropped even if nothing else happens; one that reads is not", async () => {
  const [mute, reading] = [reader(), reader()];
  const stream = reading.subscriber?.stream.getReader();
  await stream?.read();
  for (let beats = 0; beats < 5; beats += 1) {
    await Promise.all([mute.clock.advance(30_000), reading.clock.advance(30_000)]);
    const next = await Promise.race([stream?.read(), Promise.resolve(undefined)]);
    expect(next?.value && new TextDecoder().decode(next.value)).toContain("event: heartbeat");
  }
  expect({ mute: mute.told, reading: reading.told }).toEqual({ mute: ["gone", "dropped"], reading: [] });
  expect(mute.clock.pending()).toBe(0);
});

test("unread long responses are bounded in total; beyond that a request is a 503, until a client leaves", async () => {
  const { server, source, json, fetch } = await serve();
  // Longer than what the system buffers for a connection whose other end does not read.
  const long = "x".repeat(14 * MEGABYTE);
  const { sessionID } = source.launch({ prompt: long });
  const path = `/v1/tasks/${sessionID}`;
  const ask = async () => {
    const socket = await open(server.port);
    socket.write(request("GET", path));
    await new Promise((resolve) => socket.once("readable", resolve));
    const first = String(socket.read(20));
    return { socket, status: Number(first.split(" ")[1]) };
  };
  const asked = [];
  for (let count = 0; count < 5; count += 1) asked.push(await ask());
  const served = asked.filter(({ status }) => status === 200);
  const refused = asked.filter(({ status }) => status === 503);
  expect(served.length + refused.length).toBe(5);
  expect(refused.length).toBeGreaterThan(0);
  expect(served.length * long.length).toBeLessThanOrEqual(MAX_BYTES_IN_RESPONSES);
  expect(await json(path, 503)).toMatchObject({ error: expect.stringContaining("Try again") });
  // Short responses are served meanwhile.
  expect(await json("/v1/tasks")).toMatchObject({ total: 1 });
  for (const { socket } of asked) socket.destroy();
  await expect.poll(async () => (await fetch(path)).status, { timeout: PATIENCE_MS }).toBe(200);
  const { prompt } = (await json(path)) as { prompt: string };
  expect(prompt.length).toBe(long.length);
});

test("where the runtime does not tell whether a response was read, it counts for as long as its connection lives", async () => {
  const clock = createVirtualClock();
  const write = createLongResponses(clock);
  const untold = connection({ maxStreamBytes: 1 });
  const fitting = Math.floor(MAX_BYTES_IN_RESPONSES / LONG.length);
  for (let count = 0; count < fitting; count += 1) write(untold, LONG);
  expect(() => write(untold, LONG)).toThrow("Too much");
  await clock.advance(30_000);
  expect(await write(untold, LONG).json()).toBe(LONG);
});

test("a snapshot goes out in chunks: a runtime takes the next when the previous one is out", async () => {
  const text = sseFrame("snapshot", JSON.stringify("z".repeat(200_000)));
  const bytesInFlight = createBytesInFlight(Number.POSITIVE_INFINITY);
  const subscriber = createSseStream(bytes(text), {
    clock: createVirtualClock(),
    bytesInFlight,
    connection: connection(),
    onGone: () => undefined,
  });
  const stream = subscriber?.stream.getReader();
  const decoder = new TextDecoder();
  let got = "";
  while (got.length < text.length) {
    const value = (await stream?.read())?.value ?? new Uint8Array();
    expect(value.length).toBeLessThanOrEqual(65_536);
    got += decoder.decode(value, { stream: true });
  }
  expect(got).toBe(text);
});

const PART = 64 * 1024;

test("a client that reads nothing is dropped beyond the bound, and its heartbeat stops", () => {
  const { subscriber, told, clock } = reader();
  let sent = 0;
  for (; told.length === 0; sent += PART) subscriber?.send(new Uint8Array(PART));
  expect(told).toEqual(["gone", "dropped"]);
  expect(sent).toBe(MAX_UNREAD_BYTES + PART);
  expect(clock.pending()).toBe(0);
  subscriber?.send(new Uint8Array(PART));
  subscriber?.end();
  expect(told).toEqual(["gone", "dropped"]);
});

test("a client that reads is not dropped, however much is sent, nor for one event longer than the bound", async () => {
  const { subscriber, told } = reader();
  const stream = subscriber?.stream.getReader();
  expect((await stream?.read())?.value?.length).toBe(10);
  for (let sent = 0; sent < 40; sent += 1) {
    subscriber?.send(new Uint8Array(MAX_UNREAD_BYTES * 2));
    expect((await stream?.read())?.value?.length).toBe(MAX_UNREAD_BYTES * 2);
  }
  expect(told).toEqual([]);
  await stream?.cancel();
  expect(told).toEqual(["gone"]);
});

test("where the runtime does not tell how much was read, everything that was sent counts", async () => {
  const { subscriber, told } = reader(undefined, undefined, { maxStreamBytes: 3 * PART });
  const stream = subscriber?.stream.getReader();
  await stream?.read();
  for (let sent = 0; sent < 4; sent += 1) {
    subscriber?.send(new Uint8Array(PART));
    await stream?.read();
  }
  expect(told).toEqual([]);
  subscriber?.send(new Uint8Array(PART));
  expect(told).toEqual(["gone", "dropped"]);
});

test("the versions of Bun with backpressure are known", () => {
  expect(["1.3.14", "1.4.0", "1.4.5", "1.10.0", "2.0.1", "0.9.0"].map(hasBackpressure)).toEqual([
    false,
    true,
    true,
    true,
    true,
    false,
  ]);
});
