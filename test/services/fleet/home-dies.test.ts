import { expect, test } from "vitest";
import { createFakeProcess } from "../../fakes/fake-process.ts";
import { createFleet, expectOnce, workOf } from "./servers.ts";

/** A run takes as many steps of its home as this, and a few more. */
const POINTS = Array.from({ length: 24 }, (_, index) => index + 1);

test.each(POINTS)(
  "a home that dies at call %i to the engine or the host has the end delivered once",
  async (points) => {
    const { add, until, clock } = createFleet();
    const life = createFakeProcess();
    const [home, worker] = [add("srv_home", { life }), add("srv_1", { work: 1 })];
    const id = await home.launch({ agent: "explore" });
    life.dieAfter(points);
    await clock.advance(2_000);
    for (const there of workOf(worker)) worker.host.finish(there, "found");
    await clock.advance(2_000);
    await home.restart();
    await until(() => {
      for (const there of workOf(worker)) if (worker.host.at(there).busy) worker.host.finish(there, "found");
      expect(home.task(id).status, `point ${points}`).toBe("completed");
    });
    await expectOnce({ home, until, clock }, [worker], "found");
  },
);
