import { expect, test } from "vitest";
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
