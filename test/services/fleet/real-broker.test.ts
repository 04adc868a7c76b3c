/** @module-tag nightly */
import { expect, onTestFinished, test, vi } from "vitest";
import type { Broker } from "../../../src/services/fleet/broker.ts";
import { findLog } from "../../../src/services/fleet/run-log.ts";
import { openBroker } from "../../fakes/connect-broker.ts";
import { describeWithNats, type NatsServer, startNats } from "../../fakes/nats-server.ts";
import { isNightly } from "../../nightly.ts";
import { PATIENCE_MS } from "../../patience.ts";
import { createFleet, LEASE, type Server, texts, workOf } from "./servers.ts";

/** Milliseconds. A machine that is busy stands still for a second at times. */
const SHORT_LEASE = 4_000;

/** How often a run may be begun, see `servers.ts`. */
const ATTEMPTS = 2;

/** Until when a run has come: it is not launched; enqueued; claimed, and at work; ended in the log; received. */
const MOMENTS = ["before", "enqueued", "claimed", "ended", "received"] as const;
type Moment = (typeof MOMENTS)[number];

/** The calls to a broker that change or read what it has. */
const CALLS = new Set(["append", "read", "enqueue", "isQueued", "take", "acquire", "holder", "limits", "release"]);

/** Calls `before` before each of those calls. */
const interrupted = (broker: Broker, before: () => Promise<void>): Broker =>
  new Proxy(broker, {
    get: (target, name) => {
      const member = Reflect.get(target, name);
      if (typeof member !== "function" || !CALLS.has(String(name))) return member;
      return async (...given: unknown[]) => {
        await before();
        return member(...given);
      };
    },
  });

/** Whole plugins in simulated time, which share a real broker in real time: theirs is the faster one. */
const begin = async (beforeCall: (server: NatsServer) => Promise<void> = async () => undefined) => {
  const server = await startNats({ lease: SHORT_LEASE });
  onTestFinished(server.stop);
  const brokers: Broker[] = [];
  const newBroker = (name: string) => {
    const broker = openBroker(server.url, name);
    brokers.push(broker);
    onTestFinished(() => broker.close());
    return broker;
  };
  /** Everybody has found the broker again. */
  const reached = () =>
    vi.waitFor(
      async () => {
        for (const broker of brokers)
          expect((await broker.read({ origin: "srv_origin", task: "none", run: 0 })).is).toBe("read");
      },
      { timeout: PATIENCE_MS, interval: 20 },
    );
  const { add, clock } = createFleet();
  const until = (check: () => unknown) =>
    vi.waitFor(
      async () => {
        await clock.advance(500);
        await check();
      },
      { timeout: PATIENCE_MS, interval: 20 },
    );
  const connect = (name: string) => interrupted(newBroker(name), () => beforeCall(server));
  const origin = add("srv_origin", { connect: () => connect("srv_origin") });
  const workers: Server[] = [];
  const addWorker = (id: string) => {
    const worker = add(id, { work: 1, connect: () => connect(id) });
    workers.push(worker);
    return worker;
  };
  const observer = newBroker("observer");
  const logOf = (task: string) => findLog(observer, { origin: "srv_origin", task, run: 0 });
  /** All who have the run in hand come to its end. */
  const finishAll = () => {
    for (const { host, store } of workers) {
      for (const { sessionID } of store.list({})) if (host.at(sessionID).busy) host.finish(sessionID, "found");
    }
  };
  return { broker: server, reached, origin, workers, addWorker, until, logOf, finishAll, clock };
};
type World = Awaited<ReturnType<typeof begin>>;

/** The result is delivered once; nobody works on it any more; it was begun as often as it may; and all agree on its end. */
const expectOnce = async ({ origin, workers, until, finishAll, clock }: World, id: string) => {
  await until(() => {
    finishAll();
    expect(texts(origin)).toHaveLength(1);
  });
  await until(() => {
    finishAll();
    expect(workers.flatMap(workOf)).toEqual([]);
  });
  await clock.advance(10 * LEASE);
  expect(texts(origin)).toHaveLength(1);
  expect(texts(origin)[0]).toContain("found");
  expect(origin.task(id)).toMatchObject({ status: "completed", result: "found" });
  const begun = workers.flatMap(({ store }) => store.list({}).map(({ sessionID }) => store.get(sessionID)?.task));
  expect(begun.length).toBeGreaterThan(0);
  expect(begun.length).toBeLessThanOrEqual(ATTEMPTS);
  expect(begun.filter((task) => task?.status === "completed").length).toBeGreaterThan(0);
};

/** Plays a run, and does something at each moment of it. */
const play = async (world: World, doAt: (moment: Moment) => Promise<void>): Promise<string> => {
  const { origin, addWorker, until, logOf, finishAll, reached } = world;
  const at = async (moment: Moment) => {
    await doAt(moment);
    await reached();
  };
  await at("before");
  let id = "";
  void origin.launch({ agent: "explore", prompt: "Find it." }).then((launched) => {
    id = launched;
  });
  await until(() => expect(origin.task(id).state).toBe("running.fleet.unclaimed.enqueued"));
  await at("enqueued");
  const worker = addWorker("srv_1");
  await until(() => expect(workOf(worker)).toHaveLength(1));
  await until(() => expect(origin.task(id).state).toBe("running.fleet.claimed"));
  await at("claimed");
  origin.life.pause();
  await until(async () => {
    finishAll();
    expect((await logOf(id))?.ended).toBeDefined();
  });
  await at("ended");
  origin.life.wake();
  // Where the broker has forgotten an end that its origin had not read, the run is begun anew.
  await until(() => {
    finishAll();
    expect(texts(origin)).toHaveLength(1);
    expect(workOf(worker)).toEqual([]);
  });
  await at("received");
  return id;
};

/** From which moment the copy is, and at which the broker is set back to it. */
const PAIRS = MOMENTS.flatMap((copied, index) => MOMENTS.slice(index + 1).map((setBack) => [copied, setBack] as const));
const SOME: readonly (typeof PAIRS)[number][] = [
  ["before", "claimed"],
  ["enqueued", "ended"],
];

describeWithNats("NATS with JetStream, as it fails", () => {
  test.each(isNightly ? PAIRS : SOME)(
    "set back to a copy from when the run was %s, once it is %s",
    async (copied, setBack) => {
      const world = await begin();
      let back: (() => Promise<void>) | undefined;
      const id = await play(world, async (moment) => {
        if (moment === copied) back = await world.broker.copy();
        if (moment === setBack) await back?.();
      });
      await expectOnce(world, id);
    },
  );

  // A run makes 34 calls at least: more where it takes longer, so that a lease is renewed once more.
  test.each(isNightly ? Array.from({ length: 34 }, (_, index) => index + 1) : [8])(
    "killed before call %i of its servers, and started again",
    async (at) => {
      let calls = 0;
      const world = await begin(async (broker) => {
        calls += 1;
        if (calls !== at) return;
        await broker.kill();
        await broker.start();
      });
      const id = await play(world, async () => undefined);
      expect(calls).toBeGreaterThanOrEqual(at);
      await expectOnce(world, id);
    },
  );
});
