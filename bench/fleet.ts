import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Broker } from "../src/services/fleet/broker.ts";
import { createNatsBroker } from "../src/services/fleet/nats/nats-broker.ts";
import { readLog } from "../src/services/fleet/run-log.ts";
import { addUpSteps } from "../src/services/fleet/steps.ts";
import { aboutQueue, type Job, poolTopic, type RunName, WIRE_VERSION } from "../src/services/fleet/wire-messages.ts";
import { createWorker } from "../src/services/fleet/worker.ts";
import { systemClock } from "../src/services/platform/clock.ts";
import { noProgress } from "../src/task.ts";
import { type NatsServer, startNats } from "../test/fakes/nats-process.ts";
import { type Figure, report } from "./figures.ts";
import { percentile } from "./measuring.ts";

/**
 * What a fleet adds to a task: the real broker, NATS, on loopback, the real workers and the origin's part of the messages, and
 * agents that answer at once. There is no OpenCode in it, and no git. Exits 1 when a goal is missed.
 *
 * The goals are what a prototype with fake workers took on a machine of the same kind, rounded up: 99 of 100 tasks begin
 * within 25 ms of their launch (6 ms at the median), and the broker computes 2 ms for each.
 */
const TASKS = 300;
const SLOTS = 20;
const LEASE = 3_000;
const POOL = "bench";
const ORIGIN = "srv_origin";
/** Milliseconds for the ends of all tasks that are launched together. */
const PATIENCE = 60_000;

const log = { info: () => undefined, error: () => undefined };
const connect = async (server: NatsServer, name: string): Promise<Broker> => {
  const broker = createNatsBroker({ url: server.url, credentials: undefined }, name, systemClock, log);
  await new Promise<void>((resolve) => void broker.onReached(resolve));
  return broker;
};

const TICKS = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
/** Milliseconds that the broker has computed. */
const computed = (server: NatsServer): number => {
  const [user, system] = readFileSync(`/proc/${server.pid()}/stat`, "utf8").split(" ").slice(13, 15);
  return ((Number(user) + Number(system)) / TICKS) * 1_000;
};

/** Starts a server that works for others. Its agents answer at once, or once `release` resolves. */
const startWorker = async (
  server: NatsServer,
  id: string,
  onBegun: (task: string) => void,
  release?: Promise<void>,
) => {
  const broker = await connect(server, id);
  const worker = createWorker(
    {
      ...{ broker, server: { id, label: id }, pool: POOL, work: SLOTS, clock: systemClock, log },
      newId: () => crypto.randomUUID(),
    },
    {
      obstacleTo: async () => undefined,
      obstacleToResume: async () => undefined,
      begin: async (_, { task }) => {
        onBegun(task);
        return { ok: true, value: `${id} ${task}` };
      },
      open: () => new Map(),
      untilEnded: async () => {
        await release;
        return { outcome: "completed", completedAt: Date.now(), result: "done" };
      },
      countSteps: () => () => addUpSteps(noProgress(new Date().toISOString()), []),
      isStale: () => false,
      requestsOf: () => [],
      reply: async () => true,
      onChange: () => () => undefined,
      cancel: () => undefined,
      finish: () => undefined,
    },
  );
  worker.takeOver();
  return async () => {
    worker.stop();
    await broker.close();
  };
};

const jobOf = (task: string): Job => ({
  ...{ v: WIRE_VERSION, at: Date.now(), origin: ORIGIN, task, run: 0, pool: POOL, priority: 1, key: "" },
  ...{ commit: "c0ffee", project: "bench", attempts: 3, agent: "explore", description: "Look", depth: 1, denied: [] },
  prompt: "Look around, and say what you find. ".repeat(20),
});

/** Launches tasks, `together` at a time. Resolves when all ends are at the origin, to when each was launched. */
const launch = async (origin: Broker, tasks: string[], together: number): Promise<Map<string, number>> => {
  const launchedAt = new Map<string, number>();
  const waiting = new Map<string, () => void>();
  const take = async (name: RunName) => {
    const read = await origin.read(name);
    const onEnd = waiting.get(name.task);
    if (read.is !== "read" || !readLog(read.entries).ended || !waiting.delete(name.task)) return;
    await origin.append(name, { v: WIRE_VERSION, type: "received", at: Date.now() }, undefined);
    onEnd?.();
  };
  const stop = origin.onEntryAt(ORIGIN, (name) => void take(name));
  const queue = [...tasks];
  const launchInTurn = async () => {
    for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.set(task, resolve);
      launchedAt.set(task, performance.now());
      const job = jobOf(task);
      await origin.enqueue(job);
      origin.notify(poolTopic(POOL), aboutQueue(job));
      await promise;
    }
  };
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(late.reject, PATIENCE, new Error(`${waiting.size} tasks have not ended in ${PATIENCE} ms`));
  await Promise.race([Promise.all(Array.from({ length: together }, launchInTurn)), late.promise]);
  clearTimeout(timer);
  stop();
  return launchedAt;
};

const named = (what: string, count = TASKS): string[] =>
  Array.from({ length: count }, (_, index) => `${what}_${index}`);

const server = await startNats({ lease: LEASE });
try {
  const origin = await connect(server, ORIGIN);
  const begunAt = new Map<string, number>();
  const onBegun = (task: string) => void begunAt.set(task, performance.now());
  const begun = (task: string): number => begunAt.get(task) ?? Number.NaN;
  const stops = [await startWorker(server, "srv_1", onBegun)];

  await launch(origin, named("warm", 50), 1);
  const alone = await launch(origin, named("alone"), 1);
  const dispatch = [...alone].map(([task, at]) => begun(task) - at);
  const figures: Figure[] = [
    { what: "from launch to begin, one at a time, median", value: percentile(dispatch, 0.5), unit: "ms" },
    { what: "from launch to begin, one at a time, 99 of 100", value: percentile(dispatch, 0.99), unit: "ms", goal: 25 },
  ];

  for (const count of [1, 2, 4, 8]) {
    while (stops.length < count) stops.push(await startWorker(server, `srv_${stops.length + 1}`, onBegun));
    const [cpu, before, since] = [computed(server), await server.counted(), performance.now()];
    await launch(origin, named(`with${count}`), 100);
    const seconds = (performance.now() - since) / 1_000;
    const after = await server.counted();
    figures.push({ what: `tasks a second, ${count} workers`, value: TASKS / seconds, unit: "/s" });
    if (count !== 4) continue;
    figures.push(
      { what: "the broker's computing for a task", value: (computed(server) - cpu) / TASKS, unit: "ms", goal: 2 },
      { what: "messages for a task, in and out", value: (after.messages - before.messages) / TASKS, unit: "" },
      { what: "bytes for a task, in and out", value: (after.bytes - before.bytes) / TASKS / 1_000, unit: "kB" },
    );
  }
  for (const stop of stops) await stop();

  // A server dies with tasks in hand, and another one has free slots.
  const killed = await startWorker(server, "srv_killed", onBegun, new Promise(() => undefined));
  const left = named("left", SLOTS);
  const ends = launch(origin, left, SLOTS);
  while (!left.every((task) => begunAt.has(task))) await new Promise((resolve) => setTimeout(resolve, 5));
  await killed();
  const diedAt = performance.now();
  const stopHeir = await startWorker(server, "srv_heir", onBegun);
  await ends;
  figures.push({
    what: `begun anew after the death of a server, lease ${LEASE} ms, the last of ${SLOTS}`,
    value: Math.max(...left.map(begun)) - diedAt,
    unit: "ms",
    // A lease, a third of it until somebody looks, and a second.
    goal: (LEASE * 4) / 3 + 1_000,
  });
  await stopHeir();
  await origin.close();
  report(figures);
} finally {
  await server.stop();
}
