import { expect, test } from "vitest";
import { away, LEASE } from "./servers.ts";

test("a task that is on another server for long is not shown as stale at home, where its steps are not seen", async () => {
  const { home, id, clock } = await away(1);
  await clock.advance(20 * LEASE);
  expect(home.task(id)).toMatchObject({ status: "running", state: "running.fleet.away" });
  expect(home.task(id).attention).toBeUndefined();
});
