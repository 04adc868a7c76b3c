import { expect, test } from "vitest";
import { away, LEASE, workOf } from "./servers.ts";

test("a server whose end comes when its home has given the run up is told that it was received", async () => {
  const { home, worker, engine, id, there, clock, until } = await away(1);
  engine.cutOff();
  void home.call("cancel", { task_id: id });
  worker.host.finish(there, "found too late");
  await until(() => expect(home.task(id).status).toBe("cancelled"));
  engine.bringBack();
  await clock.advance(2 * LEASE);
  await until(() => expect(workOf(worker)).toEqual([]));
});
