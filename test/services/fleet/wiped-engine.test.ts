import { describe, expect, test } from "vitest";
import { homeBell } from "../../../src/services/fleet/home.ts";
import { away, createFleet, expectOnce, LEASE, type Server, workOf } from "./servers.ts";

/** What a home knows of the server that works on a task. */
const remoteOf = (home: Server, id: string) => home.store.get(id)?.snapshot.context.remote;

test("an engine that has forgotten a claim which the home had not read takes the end all the same", async () => {
  const { add, engine, until, clock } = createFleet();
  const [home, worker] = [add("srv_home"), add("srv_1", { work: 1 })];
  const id = await home.launch({ agent: "explore" });
  home.life.pause();
  await until(() => expect(workOf(worker)).toHaveLength(1));
  engine.wipe();
  home.life.wake();
  const [there = ""] = workOf(worker);
  worker.host.finish(there, "found in spite of that");
  await until(() => expect(home.task(id)).toMatchObject({ status: "completed", server: { id: "srv_1" } }));
  await expectOnce({ home, until, clock }, [worker], "found in spite of that");
});

test("an engine that has forgotten a claim is told of it again, and home shows the task at work on that server", async () => {
  const fleet = await away(1);
  const { home, worker, engine, id, there, clock } = fleet;
  const before = remoteOf(home, id);
  engine.wipe();
  await clock.advance(2 * LEASE);
  expect(home.task(id)).toMatchObject({ state: "running.fleet.away", server: { id: "srv_1" } });
  const after = remoteOf(home, id);
  expect(after?.claim).not.toEqual(before?.claim);
  expect(after?.attempts).toBe(1);
  worker.host.finish(there, "found");
  await expectOnce(fleet, [worker], "found");
});

test("a server that was away when the engine forgot everything is shown as at work again once it is back", async () => {
  const fleet = await away(1);
  const { home, worker, engine, id, there, clock, until } = fleet;
  worker.life.pause();
  engine.wipe();
  await clock.advance(3 * LEASE);
  expect(home.task(id).state).toBe("running.fleet.ordered");
  worker.life.wake();
  await until(() => expect(home.task(id)).toMatchObject({ state: "running.fleet.away", server: { id: "srv_1" } }));
  expect(remoteOf(home, id)?.attempts).toBe(1);
  expect(workOf(worker)).toEqual([there]);
  worker.host.finish(there, "found late");
  await expectOnce(fleet, [worker], "found late");
});

test("a process that takes over a run knows the claim that the one before it has written anew", async () => {
  const fleet = await away(1);
  const { home, worker, engine, id, there, clock, until } = fleet;
  engine.wipe();
  await clock.advance(LEASE);
  await worker.restart();
  await clock.advance(LEASE);
  expect(home.task(id).state).toBe("running.fleet.away");
  expect(workOf(worker)).toEqual([there]);
  worker.host.finish(there, "found by the next process");
  await until(() => expect(home.task(id).status).toBe("completed"));
  await expectOnce(fleet, [worker], "found by the next process");
});

describe("an engine that was set back to a copy of before", () => {
  /** A run at work on a server, and how the engine comes to have forgotten all of it. */
  const atWork = async () => {
    const fleet = createFleet();
    const [home, worker] = [fleet.add("srv_home"), fleet.add("srv_1", { work: 1 })];
    const setBack = fleet.engine.copy();
    const id = await home.launch({ agent: "explore" });
    await fleet.until(() => expect(workOf(worker)).toHaveLength(1));
    await fleet.until(() => expect(home.task(id).state).toBe("running.fleet.away"));
    const [there = ""] = workOf(worker);
    return { ...fleet, home, worker, setBack, id, there, claim: remoteOf(home, id)?.claim };
  };

  test("is told of the claim again, and its end is taken, though both stand where others stood before", async () => {
    const { home, worker, setBack, id, there, claim, until, clock } = await atWork();
    setBack();
    await clock.advance(2 * LEASE);
    expect(home.task(id)).toMatchObject({ state: "running.fleet.away", server: { id: "srv_1" } });
    expect(remoteOf(home, id)).toMatchObject({ attempts: 1, claim: { epoch: claim?.epoch } });
    worker.host.finish(there, "found all the same");
    await until(() => expect(home.task(id)).toMatchObject({ status: "completed", server: { id: "srv_1" } }));
    await expectOnce({ home, until, clock }, [worker], "found all the same");
  });

  test("lets another server begin the run, whose claim and end count", async () => {
    const { add, home, worker, setBack, id, claim, until, clock } = await atWork();
    worker.life.die();
    setBack();
    const second = add("srv_2", { work: 1 });
    await until(() => expect(workOf(second)).toHaveLength(1));
    await until(() => expect(home.task(id)).toMatchObject({ server: { id: "srv_2" } }));
    expect(remoteOf(home, id)?.claim.seq).toBeLessThanOrEqual(claim?.seq ?? 0);
    second.host.finish(workOf(second)[0] ?? "", "found by the second");
    await until(() => expect(home.task(id)).toMatchObject({ status: "completed", server: { id: "srv_2" } }));
    await expectOnce({ home, until, clock }, [second], "found by the second");
  });

  test("leaves no server waiting for a home that has the end, and has closed the run since", async () => {
    const { engine, home, worker, id, there, until, clock } = await atWork();
    const setBack = engine.copy();
    engine.lose("received", 100);
    worker.host.finish(there, "found before");
    await until(() => expect(home.task(id)).toMatchObject({ status: "completed" }));
    setBack();
    // Somebody has it look at the run before its server does.
    engine.connect().ring(homeBell("srv_home"), JSON.stringify({ home: "srv_home", task: id, run: 0 }));
    await expectOnce({ home, until, clock }, [worker], "found before");
  });
});
