/** @module-tag nightly */
import { expect, test } from "vitest";
import { createFakeProcess } from "../../fakes/fake-process.ts";
import { createFleet, expectOnce, workOf } from "./servers.ts";

/** A run takes as many steps of its origin as this, and a few more. */
const POINTS = Array.from({ length: 24 }, (_, index) => index + 1);

test.each(POINTS)(
  "an origin that dies at call %i to the broker or the host has the end delivered once",
  async (points) => {
    const { add, until, clock } = createFleet();
    const life = createFakeProcess();
    const [origin, worker] = [add("srv_origin", { life }), add("srv_1", { work: 1 })];
    const id = await origin.launch({ agent: "explore" });
    life.dieAfter(points);
    await clock.advance(2_000);
    for (const there of workOf(worker)) worker.host.finish(there, "found");
    await clock.advance(2_000);
    await origin.restart();
    await until(() => {
      for (const there of workOf(worker)) if (worker.host.at(there).busy) worker.host.finish(there, "found");
      expect(origin.task(id).status, `point ${points}`).toBe("completed");
    });
    await expectOnce({ origin, until, clock }, [worker], "found");
  },
);
