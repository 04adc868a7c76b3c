import type { Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import type { ApiTask } from "../../../../src/services/http/contract/api-task.ts";
import { MAX_UNREAD_BYTES } from "../../../../src/services/http/events/sse-stream.ts";
import { MAX_SUBSCRIBERS } from "../../../../src/services/http/events/task-feed.ts";
import { open, request } from "../raw.ts";
import { serve } from "../served.ts";

/** Slightly longer than changes are gathered. */
const MOMENT = 50;

test("a task that is launched and ended between two readings is created, and then ends", async () => {
  const { events, source, clock } = await serve();
  const stream = await events();
  await stream.next();
  const ended = source.end(source.launch().sessionID);
  await clock.advance(MOMENT);
  expect(await stream.next()).toEqual({ id: "2", event: "task.created", data: ended });
  expect(await stream.next()).toEqual({ id: "2", event: "task.completed", data: ended });
});

test("a change of an ended task is an update; if it is resumed and ends again, it is an end", async () => {
  const { events, source, clock } = await serve();
  const { sessionID } = source.launch();
  source.end(sessionID);
  const stream = await events();
  await stream.next();
  await clock.advance(MOMENT);
  source.change(sessionID, { resultRetrievedAt: new Date(clock.now()).toISOString() });
  await clock.advance(MOMENT);
  expect(await stream.task("task.updated")).toMatchObject({ status: "completed" });

  await clock.advance(5_000);
  source.change(sessionID, { status: "resumed", resumeCount: 1, runStartedAt: new Date(clock.now()).toISOString() });
  source.end(sessionID);
  await clock.advance(MOMENT);
  expect(await stream.task("task.completed")).toMatchObject({ resumeCount: 1 });
  source.change(sessionID, { resultRetrievedAt: new Date(clock.now()).toISOString() });
  await clock.advance(MOMENT);
  expect((await stream.next()).event).toBe("task.updated");

  source.change(sessionID, { status: "resumed", resumeCount: 2 });
  await clock.advance(MOMENT);
  expect(await stream.task("task.updated")).toMatchObject({ status: "resumed" });
  source.end(sessionID, "error");
  await clock.advance(MOMENT);
  expect((await stream.next()).event).toBe("task.error");
});

test("a task that waits for a person is updated with its request, and again when that is answered", async () => {
  const { events, source, clock } = await serve();
  const { sessionID } = source.launch();
  const stream = await events();
  await stream.next();
  const since = new Date(clock.now()).toISOString();
  const request = { id: "per_1", kind: "permission" as const, what: "bash: ls", since };
  source.change(sessionID, { attention: { kind: "permission", what: "bash: ls", since, requests: [request] } });
  await clock.advance(MOMENT);
  expect(await stream.task("task.updated")).toMatchObject({ attention: { requests: [request] } });
  expect(await stream.next()).toMatchObject({ event: "UserInteractionRequested", data: { sessionID, request } });
  source.change(sessionID, { attention: undefined });
  await clock.advance(MOMENT);
  expect(await stream.task("task.updated")).not.toHaveProperty("attention");
  expect((await stream.next()).event).toBe("UserInteractionResponded");
});

test("a task that moves up in the queue is updated within a second or two, though nothing of its own has changed", async () => {
  const { events, source, clock } = await serve();
  const first = source.launch({ state: "running.queued" }).sessionID;
  const second = source.launch({ state: "running.queued" }).sessionID;
  const queue = vi.spyOn(source.store, "places");
  onTestFinished(() => queue.mockRestore());
  const placed = (...ids: string[]) =>
    queue.mockReturnValue(new Map(ids.map((id, index) => [id, { place: index + 1 }])));
  placed(first, second);
  const stream = await events();
  const placeIn = ({ data }: { data: unknown }) =>
    (data as { tasks: ApiTask[] }).tasks.find(({ sessionID }) => sessionID === second)?.queue?.place;
  expect(placeIn(await stream.next())).toBe(2);

  placed(second);
  source.change(first, { state: "running.active.working.busy" });
  await clock.advance(2_000);
  expect(await stream.task("task.updated")).toMatchObject({ sessionID: first });
  expect(await stream.task("task.updated")).toMatchObject({ sessionID: second, queue: { place: 1 } });

  // What has not moved is not sent again, and a subscriber who comes later has the newest places.
  const later = await events();
  expect(placeIn(await later.next())).toBe(1);
  await clock.advance(5_000);
  source.end(first);
  await clock.advance(MOMENT);
  expect((await stream.next()).event).toBe("task.completed");
});

test("of many tasks that all move up, those at the front of the queue are sent at once, and the others in turn", async () => {
  const { events, source, clock } = await serve();
  const ids = Array.from({ length: 200 }, () => source.launch({ state: "running.queued" }).sessionID);
  let moved = 0;
  const placeOf = (id: string) => ids.indexOf(id) + 1 - moved;
  const places = vi
    .spyOn(source.store, "places")
    .mockImplementation(
      (wanted, ofEachLane = 0) =>
        new Map([...ids.slice(moved, moved + ofEachLane), ...wanted].map((id) => [id, { place: placeOf(id) }])),
    );
  onTestFinished(() => places.mockRestore());
  const stream = await events();
  await stream.next();
  const seen = new Map<string, number>();
  const startFirst = () => {
    source.change(ids[moved] ?? "", { state: "running.active.working.busy" });
    moved += 1;
  };
  /** Returns how many tasks are sent in a second. */
  const second = async () => {
    await clock.advance(1_000);
    const last = source.launch().sessionID;
    await clock.advance(MOMENT);
    for (let sent = 0; ; sent += 1) {
      const { sessionID, queue } = (await stream.next()).data as ApiTask;
      if (sessionID === last) return sent;
      if (queue) seen.set(sessionID, queue.place);
    }
  };
  for (let passed = 0; passed < 19; passed += 1) {
    startFirst();
    // The one that starts is sent, too.
    expect(await second()).toBeLessThanOrEqual(21);
  }
  await second();
  expect(ids.slice(moved, moved + 10).map((id) => seen.get(id))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  // In so many seconds all others have had their turn.
  expect(ids.slice(moved).every((id) => seen.has(id))).toBe(true);
});

test("changes of another process show within two seconds", async () => {
  const { events, source, clock } = await serve();
  const { sessionID } = source.launch();
  const stream = await events();
  await stream.next();
  source.end(sessionID, "cancelled", { elsewhere: true });
  await clock.advance(2_000);
  expect(await stream.next()).toMatchObject({ id: "2", event: "task.cancelled" });
});

test("a change while a snapshot is made is in it or follows it: nothing is missed", async () => {
  const { events, source, clock } = await serve();
  const { sessionID } = source.launch();
  const early = await events();
  await early.next();
  source.change(sessionID, { resumeCount: 1 }, { elsewhere: true });
  source.beforeLive = () => {
    source.beforeLive = undefined;
    source.end(sessionID, "completed", { elsewhere: true });
    source.launch();
  };
  const late = await events();
  const { at, tasks } = (await late.next()).data as { at: number; tasks: { sessionID: string }[] };
  expect(at).toBe(2);
  expect(await early.next()).toMatchObject({ id: "2", event: "task.updated" });
  expect(new Set(tasks.map((task) => task.sessionID)).size).toBe(tasks.length);
  await clock.advance(MOMENT);
  for (const stream of [early, late]) {
    expect(await stream.next()).toMatchObject({ id: "3", event: "task.completed" });
    expect(await stream.next()).toMatchObject({ id: "4", event: "task.created" });
  }
});

test("a snapshot has all live tasks and the newest 200 ended ones, with true totals", async () => {
  const { events, source, clock } = await serve();
  for (let launched = 0; launched < 250; launched += 1) source.launch();
  for (let ended = 1; ended <= 230; ended += 1) {
    await clock.advance(1);
    source.end(`ses_${String(ended).padStart(4, "0")}`);
  }
  const stream = await events();
  const { tasks, stats } = (await stream.next()).data as { tasks: { sessionID: string }[]; stats: unknown };
  expect(tasks).toHaveLength(220);
  expect(tasks.some(({ sessionID }) => sessionID === "ses_0030")).toBe(false);
  expect(tasks.some(({ sessionID }) => sessionID === "ses_0031")).toBe(true);
  expect(stats).toMatchObject({ totalTasks: 250, activeTasks: 20, byStatus: { completed: 230 } });
});

test("a change is read and written once for all readers; without readers nothing is read", async () => {
  const { events, source, clock } = await serve();
  const { sessionID } = source.launch();
  expect(source.listeners()).toBe(0);
  const streams = [await events(), await events(), await events()];
  for (const stream of streams) await stream.next();
  let reads = 0;
  let written = 0;
  const { changedSince } = source;
  const toJSON = () => {
    written += 1;
    return `written ${written} times`;
  };
  const description = { toJSON } as unknown as string;
  source.changedSince = (...given) => {
    reads += 1;
    return changedSince(...given).map((change) => ({ ...change, task: { ...change.task, description } }));
  };
  source.change(sessionID, { resumeCount: 1 });
  source.change(sessionID, { resumeCount: 2 });
  await clock.advance(20);
  for (const stream of streams)
    expect(await stream.task("task.updated")).toMatchObject({ description: "written 1 times" });
  expect(reads).toBe(1);
  for (const stream of streams) stream.close();
  while (source.listeners() > 0) await new Promise(setImmediate);
  await clock.advance(5_000);
  expect(reads).toBe(1);
});

test("a failing source is logged, and missed changes follow afterwards", async () => {
  const { events, source, clock, errors } = await serve();
  const { sessionID } = source.launch();
  const stream = await events();
  await stream.next();
  const { changedSince } = source;
  source.changedSince = () => {
    throw new Error("the disk is full");
  };
  source.end(sessionID);
  await clock.advance(MOMENT);
  expect(errors.join()).toContain("the disk is full");
  source.changedSince = changedSince;
  await clock.advance(1_000);
  expect(await stream.task("task.completed")).toMatchObject({ sessionID });
});

test("stopping the server ends the streams", async () => {
  const { events, server } = await serve();
  const stream = await events();
  await stream.next();
  const rest = stream.rest();
  await server.stop();
  expect(await rest).toEqual([]);
});

test(`there are at most ${MAX_SUBSCRIBERS} subscribers; the next one is refused, and one that leaves makes room`, async () => {
  const { events, json } = await serve();
  const streams = [];
  for (let count = 0; count < MAX_SUBSCRIBERS; count += 1) streams.push(await events());
  expect(await json("/v1/events", 503)).toEqual({ status: 503, error: expect.stringContaining("100 subscribers") });
  streams[0]?.close();
  for (;;) {
    const answer = await events();
    if (answer.response.status === 200) break;
  }
  expect(await json("/v1/events", 503)).toMatchObject({ status: 503 });
});

test("200 idle connections do not delay other requests", async () => {
  const { server, json, source } = await serve();
  source.launch();
  const idle: Socket[] = [];
  for (let count = 0; count < 200; count += 1) idle.push(await open(server.port));
  expect(await json("/v1/tasks")).toMatchObject({ total: 1 });
  expect(idle.filter((socket) => socket.destroyed)).toEqual([]);
});

test("a client that never reads is dropped at a bound; others miss nothing", async () => {
  const { server, events, source, clock } = await serve();
  // The longest that events may be: 8 kB each.
  const text = "x".repeat(2_000);
  const ids = Array.from({ length: 200 }, () => source.launch({ prompt: text, result: text }).sessionID);
  const stream = await events();
  await stream.next();
  const mute = await open(server.port);
  mute.pause();
  const closed = new Promise((resolve) => mute.once("close", resolve));
  mute.on("error", () => undefined);
  const { latestChange, changedSince } = source;
  const joined = new Promise<void>((resolve) => {
    source.changedSince = (...given) => {
      resolve();
      return changedSince(...given);
    };
  });
  mute.write(request("GET", "/v1/events", { Connection: "keep-alive" }));
  await joined;
  source.changedSince = changedSince;

  // Loopback and the kernel hold some megabytes in addition to what the server buffers.
  const rounds = 20;
  for (let round = 1; round <= rounds; round += 1) {
    for (const id of ids) source.change(id, { resumeCount: round });
    await clock.advance(20);
    for (const _ of ids) expect(await stream.task("task.updated")).toMatchObject({ resumeCount: round });
  }
  const all = (latestChange() - ids.length) * 3 * text.length;
  let got = 0;
  mute.on("data", (part) => {
    got += part.length;
  });
  mute.resume();
  await closed;
  expect(all).toBeGreaterThan(16 * MAX_UNREAD_BYTES);
  expect(got).toBeLessThan(all / 2);
  console.log(`a client that never reads was dropped with ${(got / 1_048_576).toFixed(1)} MB on their way to it`);
  source.change(ids[0] ?? "", { result: "still there" });
  await clock.advance(20);
  expect(await stream.task("task.updated")).toMatchObject({ result: "still there" });
});

test("a burst of changes is sent at once, however large it is", async () => {
  const { events, source, clock } = await serve();
  const stream = await events();
  await stream.next();
  for (let launched = 0; launched < 450; launched += 1) source.launch();
  await clock.advance(16);
  for (let launched = 1; launched <= 450; launched += 1) {
    expect(await stream.next()).toMatchObject({ id: String(launched), event: "task.created" });
  }
});

test("a cleared task is announced as removed once, whether this or another process cleared it; others are not", async () => {
  const { events, source, clock } = await serve();
  const [first, second, third] = [source.launch(), source.launch(), source.launch()];
  const stream = await events();
  await stream.next();
  source.clear(first.sessionID);
  await clock.advance(MOMENT);
  expect(await stream.next()).toEqual({ id: "3", event: "task.removed", data: { sessionID: first.sessionID } });
  source.clear(second.sessionID, { elsewhere: true });
  const fresh = source.launch();
  await clock.advance(2_000);
  const told = [await stream.next(), await stream.next()];
  expect(told).toEqual(
    expect.arrayContaining([
      { id: "4", event: "task.created", data: fresh },
      { id: "4", event: "task.removed", data: { sessionID: second.sessionID } },
    ]),
  );
  source.change(third.sessionID, { resumeCount: 1 });
  await clock.advance(MOMENT);
  expect(await stream.task("task.updated")).toMatchObject({ sessionID: third.sessionID });
  // A new subscriber never learns of the removed ones.
  const late = await events();
  const { tasks, stats } = (await late.next()).data as { tasks: { sessionID: string }[]; stats: unknown };
  expect(tasks.map(({ sessionID }) => sessionID)).toEqual([third.sessionID, fresh.sessionID]);
  expect(stats).toMatchObject({ totalTasks: 2 });
});

test("numbers are integers, even while changes wait for the database file and have numbers between two of its own", async () => {
  const { events, source, clock, errors } = await serve();
  source.launch();
  const { latestChange, changedSince } = source;
  source.latestChange = () => latestChange() + 0.25;
  source.changedSince = (since, limit, show) =>
    changedSince(Math.floor(since), limit, show).map((change) => ({ ...change, change: change.change + 0.5 }));
  const stream = await events();
  const snapshot = await stream.next();
  expect(snapshot).toMatchObject({ id: "1", data: { at: 1 } });
  source.launch();
  await clock.advance(MOMENT);
  expect(await stream.next()).toMatchObject({ id: "2", event: "task.created" });
  expect(errors).toEqual([]);
});
