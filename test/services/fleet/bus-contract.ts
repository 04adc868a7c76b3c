import { afterEach, beforeEach, expect, test } from "vitest";
import {
  ANSWERED_WITHIN,
  type Bus,
  MOST_PRESENT,
  PRESENT_WITHIN,
  type Queue,
} from "../../../src/services/fleet/bus.ts";
import type { Entry, Order, RunName } from "../../../src/services/fleet/messages.ts";
import { type Answer, EVERYBODY, type Question } from "../../../src/services/fleet/questions.ts";

/** An engine of a fleet under test. */
export interface EngineUnderTest {
  connect(): Bus;
  /** Has time pass, at least that long. */
  pass(ms: number): Promise<void>;
  /** Waits until it is as `check` wants it, for a few seconds at most. */
  until(check: () => void | Promise<void>): Promise<void>;
  /** It is gone for a moment, and comes back with what it had. */
  restart(): Promise<void>;
  /** It is set up anew: nothing is left of what it had. */
  wipe(): Promise<void>;
  stop(): Promise<void>;
}

export const RUN: RunName = { home: "home-1", task: "ses_1", run: 0 };
export const QUEUE: Queue = { pool: "pool", priority: 1, key: "" };

export const claimed = (nonce: string): Entry => ({
  ...{ v: 1, at: 1, type: "claimed", nonce },
  server: { id: "worker", label: "worker" },
});

export const orderOf = (name: Partial<Order> = {}): Order => ({
  ...{ v: 1, at: 1, ...RUN, ...QUEUE, commit: "c0ffee", project: "project", attempts: 2 },
  ...{ agent: "explore", description: "Look", prompt: "Look around.", denied: [], depth: 1 },
  ...name,
});

export const PRESENT: Question = { v: 1, type: "present" };

/** What a server answers that is there. */
export const presence = (id: string): Answer => ({
  ...{ v: 1, type: "present", server: { id, label: id }, pool: "pool", project: "project" },
  ...{ slots: 4, atWork: 1, version: "0.1.0" },
});

/** What every engine of a fleet must do. */
export const testBus = (create: () => Promise<EngineUnderTest>): void => {
  let engine: EngineUnderTest;
  let bus: Bus;
  let other: Bus;

  /** Connects, and waits until the engine is reached. */
  const reach = async (): Promise<Bus> => {
    const connected = engine.connect();
    await engine.until(async () => expect((await connected.read(RUN)).is).toBe("read"));
    return connected;
  };
  beforeEach(async () => {
    engine = await create();
    bus = await reach();
    other = await reach();
  });
  afterEach(async () => {
    await bus.close();
    await other.close();
    await engine.stop();
  });

  test("a log keeps its entries in their order, and each log its own", async () => {
    await bus.append(RUN, claimed("first"), undefined);
    await bus.append({ ...RUN, run: 1 }, claimed("of another run"), undefined);
    await other.append(RUN, claimed("second"), undefined);
    const read = await bus.read(RUN);
    expect(read).toMatchObject({ entries: [{ entry: { nonce: "first" } }, { entry: { nonce: "second" } }] });
    expect(await bus.read({ ...RUN, task: "ses_2" })).toEqual({ is: "read", entries: [] });
  });

  test("of two who write behind the same entry, one is outrun", async () => {
    const first = await bus.append(RUN, claimed("first"), 0);
    expect(first.is).toBe("stored");
    expect(await other.append(RUN, claimed("late"), 0)).toEqual({ is: "outrun" });
    const place = first.is === "stored" ? first.at.seq : 0;
    const both = await Promise.all([bus.append(RUN, claimed("a"), place), other.append(RUN, claimed("b"), place)]);
    expect(both.map(({ is }) => is).sort()).toEqual(["outrun", "stored"]);
  });

  test("the place of an entry is the one that it is read with", async () => {
    const stored = await bus.append(RUN, claimed("first"), 0);
    expect(await bus.read(RUN)).toMatchObject({ entries: [{ at: stored.is === "stored" ? stored.at : undefined }] });
  });

  test("a home hears of entries in its own logs", async () => {
    const heard: RunName[] = [];
    const stop = bus.onEntryAt(RUN.home, (log) => heard.push(log));
    // The subscription reaches the engine before what is asked after it.
    await bus.read(RUN);
    await other.append({ ...RUN, home: "home-2" }, claimed("of another home"), undefined);
    await other.append(RUN, claimed("first"), undefined);
    await engine.until(() => expect(heard).toEqual([RUN]));
    stop();
  });

  test("whoever works on a run hears of entries in its log alone", async () => {
    let heard = 0;
    const stop = bus.onEntryIn(RUN, () => {
      heard += 1;
    });
    await bus.read(RUN);
    await other.append({ ...RUN, run: 1 }, claimed("of another run"), undefined);
    await other.append(RUN, claimed("first"), undefined);
    await engine.until(() => expect(heard).toBe(1));
    stop();
  });

  test("an order is there once, however often it is offered, until it is done", async () => {
    await bus.offer(orderOf());
    await bus.offer(orderOf({ prompt: "Another prompt." }));
    expect(await bus.isOffered(orderOf())).toEqual({ is: "read", isOffered: true });
    const taken = await other.take(QUEUE);
    expect(taken).toMatchObject({ delivery: { order: orderOf() } });
    expect(await other.take(QUEUE)).toEqual({ is: "taken", delivery: undefined });
    await bus.offer(orderOf());
    expect(await other.take(QUEUE)).toEqual({ is: "taken", delivery: undefined });
    expect(await bus.isOffered(orderOf())).toEqual({ is: "read", isOffered: true });
    if (taken.is === "taken") await taken.delivery?.done();
    expect(await bus.isOffered(orderOf())).toEqual({ is: "read", isOffered: false });
  });

  test("an order of the same run in another queue is another one", async () => {
    await bus.offer(orderOf());
    expect(await bus.isOffered(orderOf({ key: "provider/model.1" }))).toEqual({ is: "read", isOffered: false });
    expect(await bus.isOffered(orderOf({ priority: 0 }))).toEqual({ is: "read", isOffered: false });
  });

  test("orders are taken from the queue that they are in, the oldest first", async () => {
    await bus.offer(orderOf({ task: "ses_1" }));
    await bus.offer(orderOf({ task: "ses_2" }));
    await bus.offer(orderOf({ task: "urgent", priority: 0 }));
    await bus.offer(orderOf({ task: "limited", key: "provider/model.1" }));
    await bus.offer(orderOf({ task: "elsewhere", pool: "another project" }));
    const take = async (queue: Partial<Queue>) => {
      const taken = await other.take({ ...QUEUE, ...queue });
      return taken.is === "taken" ? taken.delivery?.order.task : taken;
    };
    expect(await take({ priority: 0 })).toBe("urgent");
    expect(await take({ key: "provider/model.1" })).toBe("limited");
    expect(await take({ pool: "another project" })).toBe("elsewhere");
    expect([await take({}), await take({}), await take({})]).toEqual(["ses_1", "ses_2", undefined]);
  });

  test("an order that is given back is taken again after that time", async () => {
    await bus.offer(orderOf());
    const taken = await bus.take(QUEUE);
    if (taken.is === "taken") await taken.delivery?.putBack(400);
    expect(await other.take(QUEUE)).toEqual({ is: "taken", delivery: undefined });
    await engine.pass(500);
    expect(await other.take(QUEUE)).toMatchObject({ delivery: { order: { task: RUN.task } } });
  });

  test("an order that is not renewed is taken again after the lease, and one that is, is not", async () => {
    await bus.offer(orderOf({ task: "renewed" }));
    await bus.offer(orderOf({ task: "left" }));
    const renewed = await bus.take(QUEUE);
    await bus.take(QUEUE);
    for (let passed = 0; passed < 1.5 * bus.lease; passed += bus.lease / 3) {
      await engine.pass(bus.lease / 3);
      if (renewed.is === "taken") await renewed.delivery?.renew();
    }
    expect(await other.take(QUEUE)).toMatchObject({ delivery: { order: { task: "left" } } });
    expect(await other.take(QUEUE)).toEqual({ is: "taken", delivery: undefined });
  });

  test("a hold is one server's until it gives it up", async () => {
    const held = await bus.hold("t.home.task-0", "bus", 0);
    expect(held.is).toBe("held");
    expect(await other.hold("t.home.task-0", "other", 0)).toEqual({ is: "outrun" });
    const seq = held.is === "held" ? held.seq : 0;
    expect(await other.holder("t.home.task-0")).toEqual({ is: "read", hold: { holder: "bus", seq } });
    await bus.drop("t.home.task-0", seq);
    expect(await other.holder("t.home.task-0")).toEqual({ is: "read", hold: undefined });
    expect((await other.hold("t.home.task-0", "other", 0)).is).toBe("held");
  });

  test("a hold that is renewed stays, and one that is not lapses after the lease", async () => {
    let renewed = await bus.hold("renewed", "bus", 0);
    const left = await bus.hold("left", "bus", 0);
    for (let passed = 0; passed < 1.5 * bus.lease; passed += bus.lease / 3) {
      await engine.pass(bus.lease / 3);
      renewed = await bus.hold("renewed", "bus", renewed.is === "held" ? renewed.seq : 0);
      expect(renewed.is).toBe("held");
    }
    expect(await other.holder("left")).toEqual({ is: "read", hold: undefined });
    expect(await bus.hold("left", "bus", left.is === "held" ? left.seq : 0)).toEqual({ is: "outrun" });
    expect((await other.hold("left", "other", 0)).is).toBe("held");
    expect(await other.hold("renewed", "other", 0)).toEqual({ is: "outrun" });
  });

  test("whoever listens hears a bell", async () => {
    let rung = 0;
    const stop = other.onBell("pool.project", () => {
      rung += 1;
    });
    await other.read(RUN);
    bus.ring("pool.another");
    bus.ring("pool.project");
    await engine.until(() => expect(rung).toBe(1));
    stop();
  });

  test("whoever answers for a server is asked, and nobody else", async () => {
    const asked: string[] = [];
    const answering = (server: string) => async () => {
      asked.push(server);
      return presence(server);
    };
    const stops = [other.onAsked("srv_1", answering("srv_1")), other.onAsked("srv_2", answering("srv_2"))];
    stops.push(other.onAsked(EVERYBODY, answering("srv_3")));
    await other.read(RUN);
    expect(await bus.ask("srv_1", PRESENT)).toEqual({ is: "answered", answer: presence("srv_1") });
    expect(await bus.ask(EVERYBODY, PRESENT)).toEqual({ is: "answered", answer: presence("srv_3") });
    expect(asked).toEqual(["srv_1", "srv_3"]);
    for (const stop of stops) stop();
    await other.read(RUN);
    expect(await bus.ask("srv_1", PRESENT)).toEqual({ is: "silent" });
  });

  test("of two processes of a server, the one that has an answer gives it", async () => {
    bus.onAsked("srv_1", async () => undefined);
    other.onAsked("srv_1", async () => presence("srv_1"));
    await Promise.all([bus.read(RUN), other.read(RUN)]);
    expect(await bus.ask("srv_1", PRESENT)).toEqual({ is: "answered", answer: presence("srv_1") });
  });

  /** Asks, and has the time pass in which an answer is waited for. */
  const askInVain = async (question: Question) => {
    const [answered] = await Promise.all([bus.ask("srv_1", question), engine.pass(ANSWERED_WITHIN)]);
    return answered;
  };

  test("a server that has no answer is silent, and so is one whose answer cannot be read", async () => {
    const stop = other.onAsked("srv_1", async () => undefined);
    await other.read(RUN);
    expect(await askInVain(PRESENT)).toEqual({ is: "silent" });
    stop();
    other.onAsked("srv_1", async () => ({ ...presence("srv_1"), slots: -1 }));
    await other.read(RUN);
    expect(await askInVain(PRESENT)).toEqual({ is: "silent" });
  });

  /** Asks who is there, and has the time pass in which servers may say so. */
  const askWhoIsThere = async () => {
    const [said] = await Promise.all([bus.presences(), engine.pass(PRESENT_WITHIN)]);
    return said.is === "read" ? said.presences.map(({ server }) => server.id).sort() : said;
  };

  test("all who work for others say that they are there, one of them for each of its projects", async () => {
    expect(await askWhoIsThere()).toEqual([]);
    const stops = [
      bus.onAsked(EVERYBODY, async () => presence("srv_1")),
      other.onAsked(EVERYBODY, async () => presence("srv_2")),
      other.onAsked(EVERYBODY, async () => ({ ...presence("srv_2"), pool: "another project" })),
      other.onAsked(EVERYBODY, async () => ({ ...presence("srv_unreadable"), slots: -1 })),
      other.onAsked("srv_3", async () => presence("srv_3")),
    ];
    await Promise.all([bus.read(RUN), other.read(RUN)]);
    expect(await askWhoIsThere()).toEqual(["srv_1", "srv_2", "srv_2"]);
    for (const stop of stops) stop();
    await Promise.all([bus.read(RUN), other.read(RUN)]);
    expect(await askWhoIsThere()).toEqual([]);
  });

  test("of more servers than are taken, the rest is left out", async () => {
    for (let server = 0; server < MOST_PRESENT + 20; server += 1)
      other.onAsked(EVERYBODY, async () => presence(`srv_${server}`));
    await other.read(RUN);
    expect(await askWhoIsThere()).toHaveLength(MOST_PRESENT);
  });

  test("what is no question is answered by nobody", async () => {
    const asked: Question[] = [];
    other.onAsked("srv_1", async (question) => {
      asked.push(question);
      return presence("srv_1");
    });
    await other.read(RUN);
    expect(await askInVain({ ...PRESENT, v: 2 } as unknown as Question)).toEqual({ is: "silent" });
    expect(asked).toEqual([]);
  });

  test("a server answers after a restart of the engine as before", async () => {
    other.onAsked("srv_1", async () => presence("srv_1"));
    await engine.restart();
    await engine.until(async () => expect((await bus.ask("srv_1", PRESENT)).is).toBe("answered"));
  });

  test("after a restart everything is there, and whoever listens is told that the engine is reached", async () => {
    let reached = 0;
    bus.onReached(() => {
      reached += 1;
    });
    await engine.until(() => expect(reached).toBe(1));
    const stored = await bus.append(RUN, claimed("first"), 0);
    await bus.offer(orderOf());
    await engine.restart();
    await engine.until(() => expect(reached).toBe(2));
    expect(await bus.read(RUN)).toMatchObject({ entries: [{ at: stored.is === "stored" ? stored.at : undefined }] });
    expect(await bus.take(QUEUE)).toMatchObject({ delivery: { order: orderOf() } });
  });

  test("while it is away, whoever asks is told so, and nothing is thrown", async () => {
    await engine.stop();
    await engine.until(async () => expect((await bus.read(RUN)).is).toBe("unavailable"));
    expect((await bus.append(RUN, claimed("first"), 0)).is).toBe("unavailable");
    expect((await bus.offer(orderOf())).is).toBe("unavailable");
    expect((await bus.take(QUEUE)).is).toBe("unavailable");
    expect((await bus.hold("a", "bus", 0)).is).toBe("unavailable");
    expect((await bus.ask("srv_1", PRESENT)).is).toBe("unavailable");
    expect((await bus.presences()).is).toBe("unavailable");
    bus.ring("pool.project");
    await bus.drop("a", 1);
  });

  test("a claim on an engine that was set up anew is newer than all before", async () => {
    await bus.append(RUN, claimed("before"), 0);
    const before = await bus.append(RUN, claimed("newest before"), undefined);
    await engine.wipe();
    await engine.until(async () => expect(await bus.read(RUN)).toEqual({ is: "read", entries: [] }));
    const after = await bus.append(RUN, claimed("after"), 0);
    const epoch = (stored: typeof after) => (stored.is === "stored" ? stored.at.epoch : Number.NaN);
    expect(epoch(after)).toBeGreaterThan(epoch(before));
    expect(await bus.isOffered(orderOf())).toEqual({ is: "read", isOffered: false });
  });
};
