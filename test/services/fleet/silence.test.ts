import { expect, test } from "vitest";
import { away, createFleet, LEASE } from "./servers.ts";

test("a task on another server that hears nothing of its agent is stale at home too, until it does", async () => {
  const { home, worker, id, there, clock } = await away(1);
  await clock.advance(5 * LEASE);
  expect(home.task(id).attention).toBeUndefined();
  await clock.advance(15 * LEASE);
  expect(home.task(id)).toMatchObject({ state: "running.fleet.away", attention: { kind: "stale" } });
  worker.host.emit({ type: "text", sessionID: there, messageID: "msg_1", partID: "prt_1", text: "Go" } as never);
  await clock.advance(5 * LEASE);
  expect(home.task(id).attention).toBeUndefined();
});

test("a task that waits for another server is not stale", async () => {
  const { add, clock } = createFleet();
  const home = add("srv_home");
  const id = await home.launch({ agent: "explore" });
  await clock.advance(13 * LEASE);
  expect(home.task(id).state).toBe("running.fleet.ordered");
  expect(home.task(id).attention).toBeUndefined();
});
