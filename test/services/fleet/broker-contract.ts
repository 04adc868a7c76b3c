import { afterEach, beforeEach, expect, test } from "vitest";
import {
  ANSWERED_WITHIN,
  type Broker,
  MOST_PRESENT,
  PRESENT_WITHIN,
  type Queue,
} from "../../../src/services/fleet/broker.ts";
import { type Answer, EVERYBODY, type Question } from "../../../src/services/fleet/questions.ts";
import type { Entry, Job, RunName } from "../../../src/services/fleet/wire-messages.ts";

/** A broker of a fleet under test. */
export interface BrokerUnderTest {
  connect(): Broker;
  /** Waits at least that long. */
  pass(ms: number): Promise<void>;
  /** Waits until `check` passes, for a few seconds at most. */
  until(check: () => void | Promise<void>): Promise<void>;
  /** Restarts it with what it had. */
  restart(): Promise<void>;
  /** Sets it up anew, with nothing left of what it had. */
  wipe(): Promise<void>;
  stop(): Promise<void>;
}

export const RUN: RunName = { origin: "origin-1", task: "ses_1", run: 0 };
export const QUEUE: Queue = { pool: "pool", priority: 1, key: "" };

export const claimed = (nonce: string): Entry => ({
  ...{ v: 1, at: 1, type: "claimed", nonce },
  server: { id: "worker", label: "worker" },
});

export const jobOf = (name: Partial<Job> = {}): Job => ({
  ...{ v: 1, at: 1, ...RUN, ...QUEUE, commit: "c0ffee", project: "project", attempts: 2 },
  ...{ agent: "explore", description: "Look", prompt: "Look around.", denied: [], depth: 1 },
  ...name,
});

export const PRESENT: Question = { v: 1, type: "present" };

/** The answer of a worker that is present. */
export const presence = (id: string): Answer => ({
  ...{ v: 1, type: "present", server: { id, label: id }, pool: "pool", project: "project" },
  ...{ slots: 4, atWork: 1, version: "0.1.0" },
});

/** What every broker of a fleet must do. */
export const testBroker = (create: () => Promise<BrokerUnderTest>): void => {
  let broker: BrokerUnderTest;
  let connection: Broker;
  let other: Broker;

  /** Connects, and waits until the broker is reached. */
  const reach = async (): Promise<Broker> => {
    const connected = broker.connect();
    await broker.until(async () => expect((await connected.read(RUN)).is).toBe("read"));
    return connected;
  };
  beforeEach(async () => {
    broker = await create();
    connection = await reach();
    other = await reach();
  });
  afterEach(async () => {
    await connection.close();
    await other.close();
    await broker.stop();
  });

  test("a log keeps its entries in their order, and each log its own", async () => {
    await connection.append(RUN, claimed("first"), undefined);
    await connection.append({ ...RUN, run: 1 }, claimed("of another run"), undefined);
    await other.append(RUN, claimed("second"), undefined);
    const read = await connection.read(RUN);
    expect(read).toMatchObject({ entries: [{ entry: { nonce: "first" } }, { entry: { nonce: "second" } }] });
    expect(await connection.read({ ...RUN, task: "ses_2" })).toEqual({ is: "read", entries: [] });
  });

  test("of two who write behind the same entry, one meets a conflict", async () => {
    const first = await connection.append(RUN, claimed("first"), 0);
    expect(first.is).toBe("stored");
    expect(await other.append(RUN, claimed("late"), 0)).toEqual({ is: "conflict" });
    const place = first.is === "stored" ? first.at.seq : 0;
    const both = await Promise.all([
      connection.append(RUN, claimed("a"), place),
      other.append(RUN, claimed("b"), place),
    ]);
    expect(both.map(({ is }) => is).sort()).toEqual(["conflict", "stored"]);
  });

  test("an origin hears of entries in its own logs", async () => {
    const heard: RunName[] = [];
    const stop = connection.onEntryAt(RUN.origin, (log) => heard.push(log));
    // The subscription reaches the broker before what is asked after it.
    await connection.read(RUN);
    await other.append({ ...RUN, origin: "origin-2" }, claimed("of another origin"), undefined);
    await other.append(RUN, claimed("first"), undefined);
    await broker.until(() => expect(heard).toEqual([RUN]));
    stop();
  });

  test("whoever works on a run hears of entries in its log alone", async () => {
    let heard = 0;
    const stop = connection.onEntryIn(RUN, () => {
      heard += 1;
    });
    await connection.read(RUN);
    await other.append({ ...RUN, run: 1 }, claimed("of another run"), undefined);
    await other.append(RUN, claimed("first"), undefined);
    await broker.until(() => expect(heard).toBe(1));
    stop();
  });

  test("a job is there once, however often it is offered, until it is done", async () => {
    await connection.enqueue(jobOf());
    await connection.enqueue(jobOf({ prompt: "Another prompt." }));
    expect(await connection.isQueued(jobOf())).toEqual({ is: "read", isQueued: true });
    const taken = await other.take(QUEUE);
    expect(taken).toMatchObject({ delivery: { job: jobOf() } });
    expect(await other.take(QUEUE)).toEqual({ is: "taken", delivery: undefined });
    await connection.enqueue(jobOf());
    expect(await other.take(QUEUE)).toEqual({ is: "taken", delivery: undefined });
    expect(await connection.isQueued(jobOf())).toEqual({ is: "read", isQueued: true });
    if (taken.is === "taken") await taken.delivery?.done();
    expect(await connection.isQueued(jobOf())).toEqual({ is: "read", isQueued: false });
  });

  test("a job of the same run in another queue is another one", async () => {
    await connection.enqueue(jobOf());
    expect(await connection.isQueued(jobOf({ key: "provider/model.1" }))).toEqual({ is: "read", isQueued: false });
    expect(await connection.isQueued(jobOf({ priority: 0 }))).toEqual({ is: "read", isQueued: false });
  });

  test("jobs are taken from the queue that they are in, the oldest first", async () => {
    await connection.enqueue(jobOf({ task: "ses_1" }));
    await connection.enqueue(jobOf({ task: "ses_2" }));
    await connection.enqueue(jobOf({ task: "urgent", priority: 0 }));
    await connection.enqueue(jobOf({ task: "limited", key: "provider/model.1" }));
    await connection.enqueue(jobOf({ task: "elsewhere", pool: "another project" }));
    const take = async (queue: Partial<Queue>) => {
      const taken = await other.take({ ...QUEUE, ...queue });
      return taken.is === "taken" ? taken.delivery?.job.task : taken;
    };
    expect(await take({ priority: 0 })).toBe("urgent");
    expect(await take({ key: "provider/model.1" })).toBe("limited");
    expect(await take({ pool: "another project" })).toBe("elsewhere");
    expect([await take({}), await take({}), await take({})]).toEqual(["ses_1", "ses_2", undefined]);
  });

  test("a job that is given back is taken again after that time", async () => {
    await connection.enqueue(jobOf());
    const taken = await connection.take(QUEUE);
    if (taken.is === "taken") await taken.delivery?.requeue(400);
    expect(await other.take(QUEUE)).toEqual({ is: "taken", delivery: undefined });
    await broker.pass(500);
    expect(await other.take(QUEUE)).toMatchObject({ delivery: { job: { task: RUN.task } } });
  });

  test("a job that is not renewed is taken again after the lease, and one that is, is not", async () => {
    await connection.enqueue(jobOf({ task: "renewed" }));
    await connection.enqueue(jobOf({ task: "left" }));
    const renewed = await connection.take(QUEUE);
    await connection.take(QUEUE);
    for (let passed = 0; passed < 1.5 * connection.leaseMs; passed += connection.leaseMs / 3) {
      await broker.pass(connection.leaseMs / 3);
      if (renewed.is === "taken") await renewed.delivery?.renew();
    }
    expect(await other.take(QUEUE)).toMatchObject({ delivery: { job: { task: "left" } } });
    expect(await other.take(QUEUE)).toEqual({ is: "taken", delivery: undefined });
  });

  test("a lease is one server's until it gives it up", async () => {
    const held = await connection.acquire("t.origin.task-0", "broker", 0);
    expect(held.is).toBe("held");
    expect(await other.acquire("t.origin.task-0", "other", 0)).toEqual({ is: "conflict" });
    const seq = held.is === "held" ? held.seq : 0;
    expect(await other.holder("t.origin.task-0")).toEqual({ is: "read", lease: { holder: "broker", seq } });
    await connection.release("t.origin.task-0", seq);
    expect(await other.holder("t.origin.task-0")).toEqual({ is: "read", lease: undefined });
    expect((await other.acquire("t.origin.task-0", "other", 0)).is).toBe("held");
  });

  test("a lease that is renewed stays, and one that is not lapses after the lease", async () => {
    let renewed = await connection.acquire("renewed", "broker", 0);
    const left = await connection.acquire("left", "broker", 0);
    for (let passed = 0; passed < 1.5 * connection.leaseMs; passed += connection.leaseMs / 3) {
      await broker.pass(connection.leaseMs / 3);
      renewed = await connection.acquire("renewed", "broker", renewed.is === "held" ? renewed.seq : 0);
      expect(renewed.is).toBe("held");
    }
    expect(await other.holder("left")).toEqual({ is: "read", lease: undefined });
    expect(await connection.acquire("left", "broker", left.is === "held" ? left.seq : 0)).toEqual({ is: "conflict" });
    expect((await other.acquire("left", "other", 0)).is).toBe("held");
    expect(await other.acquire("renewed", "other", 0)).toEqual({ is: "conflict" });
  });

  test("whoever listens to a topic is notified", async () => {
    let notified = 0;
    const stop = other.onNotified("pool.project", () => {
      notified += 1;
    });
    await other.read(RUN);
    connection.notify("pool.another");
    connection.notify("pool.project");
    await broker.until(() => expect(notified).toBe(1));
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
    expect(await connection.ask("srv_1", PRESENT)).toEqual({ is: "answered", answer: presence("srv_1") });
    expect(await connection.ask(EVERYBODY, PRESENT)).toEqual({ is: "answered", answer: presence("srv_3") });
    expect(asked).toEqual(["srv_1", "srv_3"]);
    for (const stop of stops) stop();
    await other.read(RUN);
    expect(await connection.ask("srv_1", PRESENT)).toEqual({ is: "silent" });
  });

  test("of two processes of a server, the one that has an answer gives it", async () => {
    connection.onAsked("srv_1", async () => undefined);
    other.onAsked("srv_1", async () => presence("srv_1"));
    await Promise.all([connection.read(RUN), other.read(RUN)]);
    expect(await connection.ask("srv_1", PRESENT)).toEqual({ is: "answered", answer: presence("srv_1") });
  });

  /** Asks, and waits as long as for an answer. */
  const askInVain = async (question: Question) => {
    const [answered] = await Promise.all([connection.ask("srv_1", question), broker.pass(ANSWERED_WITHIN)]);
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

  /** Asks which workers are present, and waits as long as for their answers. */
  const askWhoIsThere = async () => {
    const [said] = await Promise.all([connection.presences(), broker.pass(PRESENT_WITHIN)]);
    return said.is === "read" ? said.presences.map(({ server }) => server.id).sort() : said;
  };

  test("all who work for others say that they are there, one of them for each of its projects", async () => {
    expect(await askWhoIsThere()).toEqual([]);
    const stops = [
      connection.onAsked(EVERYBODY, async () => presence("srv_1")),
      other.onAsked(EVERYBODY, async () => presence("srv_2")),
      other.onAsked(EVERYBODY, async () => ({ ...presence("srv_2"), pool: "another project" })),
      other.onAsked(EVERYBODY, async () => ({ ...presence("srv_unreadable"), slots: -1 })),
      other.onAsked("srv_3", async () => presence("srv_3")),
    ];
    await Promise.all([connection.read(RUN), other.read(RUN)]);
    expect(await askWhoIsThere()).toEqual(["srv_1", "srv_2", "srv_2"]);
    for (const stop of stops) stop();
    await Promise.all([connection.read(RUN), other.read(RUN)]);
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

  test("after a restart everything is there, servers answer as before, and whoever listens is told that the broker is reached", async () => {
    let reached = 0;
    connection.onReached(() => {
      reached += 1;
    });
    await broker.until(() => expect(reached).toBe(1));
    const stored = await connection.append(RUN, claimed("first"), 0);
    await connection.enqueue(jobOf());
    other.onAsked("srv_1", async () => presence("srv_1"));
    await broker.restart();
    await broker.until(() => expect(reached).toBe(2));
    await broker.until(async () => expect((await connection.ask("srv_1", PRESENT)).is).toBe("answered"));
    expect(await connection.read(RUN)).toMatchObject({
      entries: [{ at: stored.is === "stored" ? stored.at : undefined }],
    });
    expect(await connection.take(QUEUE)).toMatchObject({ delivery: { job: jobOf() } });
  });

  test("while it is unreachable, calls say so, and none throws", async () => {
    await broker.stop();
    await broker.until(async () => expect((await connection.read(RUN)).is).toBe("unavailable"));
    expect((await connection.append(RUN, claimed("first"), 0)).is).toBe("unavailable");
    expect((await connection.enqueue(jobOf())).is).toBe("unavailable");
    expect((await connection.take(QUEUE)).is).toBe("unavailable");
    expect((await connection.acquire("a", "broker", 0)).is).toBe("unavailable");
    expect((await connection.ask("srv_1", PRESENT)).is).toBe("unavailable");
    expect((await connection.presences()).is).toBe("unavailable");
    connection.notify("pool.project");
    await connection.release("a", 1);
  });

  test("a claim on a broker that was set up anew is newer than all before", async () => {
    await connection.append(RUN, claimed("before"), 0);
    const before = await connection.append(RUN, claimed("newest before"), undefined);
    await broker.wipe();
    await broker.until(async () => expect(await connection.read(RUN)).toEqual({ is: "read", entries: [] }));
    const after = await connection.append(RUN, claimed("after"), 0);
    const epoch = (stored: typeof after) => (stored.is === "stored" ? stored.at.epoch : Number.NaN);
    expect(epoch(after)).toBeGreaterThan(epoch(before));
    expect(await connection.isQueued(jobOf())).toEqual({ is: "read", isQueued: false });
  });
};
