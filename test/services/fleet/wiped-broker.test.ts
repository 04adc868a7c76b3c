/** @module-tag nightly */
import { describe, expect, test } from "vitest";
import { originTopic } from "../../../src/services/fleet/wire-messages.ts";
import { createFleet, expectOnce, LEASE, runElsewhere, type Server, workOf } from "./servers.ts";

/** What an origin knows of the server that works on a task. */
const remoteOf = (origin: Server, id: string) => origin.store.get(id)?.snapshot.context.remote;

test("a broker that has forgotten a claim which the origin had not read takes the end all the same", async () => {
  const { add, broker, until, clock } = createFleet();
  const [origin, worker] = [add("srv_origin"), add("srv_1", { work: 1 })];
  const id = await origin.launch({ agent: "explore" });
  origin.life.pause();
  await until(() => expect(workOf(worker)).toHaveLength(1));
  broker.wipe();
  origin.life.wake();
  const [there = ""] = workOf(worker);
  worker.host.finish(there, "found in spite of that");
  await until(() => expect(origin.task(id)).toMatchObject({ status: "completed", server: { id: "srv_1" } }));
  await expectOnce({ origin, until, clock }, [worker], "found in spite of that");
});

test("a broker that has forgotten a claim gets it again, and the origin shows the task on that server", async () => {
  const fleet = await runElsewhere(1);
  const { origin, worker, broker, id, there, clock } = fleet;
  const before = remoteOf(origin, id);
  broker.wipe();
  await clock.advance(2 * LEASE);
  expect(origin.task(id)).toMatchObject({ state: "running.fleet.claimed", server: { id: "srv_1" } });
  const after = remoteOf(origin, id);
  expect(after?.claim).not.toEqual(before?.claim);
  expect(after?.attempts).toHaveLength(1);
  worker.host.finish(there, "found");
  await expectOnce(fleet, [worker], "found");
});

test("a server that was unreachable when the broker forgot everything is shown as at work again once it is back", async () => {
  const fleet = await runElsewhere(1);
  const { origin, worker, broker, id, there, clock, until } = fleet;
  worker.life.pause();
  broker.wipe();
  await clock.advance(3 * LEASE);
  expect(origin.task(id).state).toBe("running.fleet.unclaimed.enqueued");
  worker.life.wake();
  await until(() => expect(origin.task(id)).toMatchObject({ state: "running.fleet.claimed", server: { id: "srv_1" } }));
  expect(remoteOf(origin, id)?.attempts).toHaveLength(1);
  expect(workOf(worker)).toEqual([there]);
  worker.host.finish(there, "found late");
  await expectOnce(fleet, [worker], "found late");
});

test.each([
  ["at once", 0],
  ["once the lease has expired", LEASE + 5_000],
])("a process that takes over a run, %s, knows the claim that the one before it has written anew", async (_, later) => {
  const fleet = await runElsewhere(1);
  const { origin, worker, broker, id, there, clock, until } = fleet;
  broker.wipe();
  await clock.advance(LEASE);
  worker.life.die();
  await clock.advance(later);
  await worker.restart();
  await clock.advance(LEASE);
  expect(origin.task(id).state).toBe("running.fleet.claimed");
  expect(workOf(worker)).toEqual([there]);
  worker.host.finish(there, "found by the next process");
  await until(() => expect(origin.task(id).status).toBe("completed"));
  await expectOnce(fleet, [worker], "found by the next process");
});

describe("a broker that was set back to a copy of before", () => {
  /** A run at work on a server, and how the broker comes to have forgotten all of it. */
  const atWork = async () => {
    const fleet = createFleet();
    const [origin, worker] = [fleet.add("srv_origin"), fleet.add("srv_1", { work: 1 })];
    const setBack = fleet.broker.copy();
    const id = await origin.launch({ agent: "explore" });
    await fleet.until(() => expect(workOf(worker)).toHaveLength(1));
    await fleet.until(() => expect(origin.task(id).state).toBe("running.fleet.claimed"));
    const [there = ""] = workOf(worker);
    return { ...fleet, origin, worker, setBack, id, there, claim: remoteOf(origin, id)?.claim };
  };

  test("is told of the claim again, and its end is taken, though both stand where others stood before", async () => {
    const { origin, worker, setBack, id, there, claim, until, clock } = await atWork();
    setBack();
    await clock.advance(2 * LEASE);
    expect(origin.task(id)).toMatchObject({ state: "running.fleet.claimed", server: { id: "srv_1" } });
    expect(remoteOf(origin, id)).toMatchObject({ attempts: [{}], claim: { epoch: claim?.epoch } });
    worker.host.finish(there, "found all the same");
    await until(() => expect(origin.task(id)).toMatchObject({ status: "completed", server: { id: "srv_1" } }));
    await expectOnce({ origin, until, clock }, [worker], "found all the same");
  });

  test("lets another server begin the run, whose claim and end count", async () => {
    const { add, origin, worker, setBack, id, claim, until, clock } = await atWork();
    worker.life.die();
    setBack();
    const second = add("srv_2", { work: 1 });
    await until(() => expect(workOf(second)).toHaveLength(1));
    await until(() => expect(origin.task(id)).toMatchObject({ server: { id: "srv_2" } }));
    expect(remoteOf(origin, id)?.claim.seq).toBeLessThanOrEqual(claim?.seq ?? 0);
    second.host.finish(workOf(second)[0] ?? "", "found by the second");
    await until(() => expect(origin.task(id)).toMatchObject({ status: "completed", server: { id: "srv_2" } }));
    await expectOnce({ origin, until, clock }, [second], "found by the second");
  });

  /** A run that a second server has begun anew, and how the broker comes to have forgotten that: its log has the claim of the first. */
  const begunAnew = async () => {
    const fleet = await runElsewhere();
    const { origin, worker, other, broker, id, until } = fleet;
    const setBack = broker.copy();
    worker.life.die();
    await until(() => expect(workOf(other)).toHaveLength(1));
    await until(() => expect(remoteOf(origin, id)?.attempts).toHaveLength(2));
    const [again = ""] = workOf(other);
    return { ...fleet, setBack, again };
  };

  test("counts no claim twice: neither the one that is seen again, nor the one that is written anew", async () => {
    const { origin, other, setBack, id, again, until, clock } = await begunAnew();
    const [first, second] = remoteOf(origin, id)?.attempts.map(({ server }) => server) ?? [];
    other.life.pause();
    setBack();
    await until(() => expect(remoteOf(origin, id)?.server).toEqual(first));
    expect(remoteOf(origin, id)?.attempts).toHaveLength(2);
    other.life.wake();
    await until(() => expect(remoteOf(origin, id)?.server).toEqual(second));
    expect(remoteOf(origin, id)?.attempts).toHaveLength(2);
    await clock.advance(2 * LEASE);
    expect(workOf(other)).toEqual([again]);
  });

  test("takes the end of a run that was begun anew since, though its log has the claim before", async () => {
    const world = await begunAnew();
    world.setBack();
    world.other.host.finish(world.again, "found by the second");
    await expectOnce(world, [world.other], "found by the second");
  });

  test("leaves no server waiting for an origin that has the end, and has closed the run since", async () => {
    const { broker, origin, worker, id, there, until, clock } = await atWork();
    const setBack = broker.copy();
    broker.lose("received", 100);
    worker.host.finish(there, "found before");
    await until(() => expect(origin.task(id)).toMatchObject({ status: "completed" }));
    setBack();
    // Somebody has it look at the run before its server does.
    broker.connect().notify(originTopic("srv_origin"), JSON.stringify({ origin: "srv_origin", task: id, run: 0 }));
    await expectOnce({ origin, until, clock }, [worker], "found before");
  });
});
