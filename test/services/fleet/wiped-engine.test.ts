import { expect, test } from "vitest";
import { createFleet, expectOnce, workOf } from "./servers.ts";

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
