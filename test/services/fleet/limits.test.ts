/** @module-tag nightly */
import { describe, expect, test } from "vitest";
import { createFleet, enqueued, LEASE, type Server, workOf } from "./servers.ts";

describe("the limit of a model in the whole fleet", () => {
  const MODEL = "fake/small";

  const limited = async (limit: number | null) => {
    const fleet = createFleet();
    fleet.broker.limit({ [MODEL]: limit });
    const origin = fleet.add("srv_origin");
    const workers = ["srv_1", "srv_2", "srv_3"].map((id) => fleet.add(id, { work: 2 }));
    const launch = (prompt: string) => origin.launch({ agent: "explore", prompt });
    const isAtWork = (worker: Server, id: string) => worker.store.get(id)?.task.completedAt === undefined;
    const atWork = () =>
      workers.flatMap((worker) => workOf(worker).flatMap((id) => (isAtWork(worker, id) ? { worker, id } : [])));
    return { ...fleet, origin, workers, launch, atWork };
  };

  test("holds for all servers together, and each task has its turn", async () => {
    const { launch, atWork, until, clock, origin } = await limited(2);
    for (const prompt of ["1", "2", "3", "4", "5"]) await launch(prompt);
    await until(() => expect(atWork()).toHaveLength(2));
    for (let ended = 0; ended < 5; ended += 1) {
      await clock.advance(LEASE);
      expect(atWork().length).toBeLessThanOrEqual(2);
      await until(() => expect(atWork().length).toBeGreaterThan(0));
      const [{ worker, id } = atWork()[0] as never] = atWork();
      worker.host.finish(id, "done");
      await until(() => expect(worker.store.get(id)?.task.status).toBe("completed"));
    }
    await until(() => expect(origin.store.list({}).map(({ status }) => status)).toEqual(Array(5).fill("completed")));
  });

  test("is not passed either when a server that works is restarted, and what it had is free again when it is gone", async () => {
    const { launch, atWork, until, clock } = await limited(1);
    await launch("1");
    await launch("2");
    await until(() => expect(atWork()).toHaveLength(1));
    const [{ worker, id } = atWork()[0] as never] = atWork();
    await worker.restart();
    await clock.advance(2 * LEASE);
    expect(atWork()).toEqual([{ worker, id }]);
    worker.life.die();
    await until(() => expect(atWork().filter((one) => one.worker !== worker)).toHaveLength(1));
  });

  test("counts jobs as well that were queued before the model had a limit", async () => {
    const { add, broker, clock, until } = createFleet();
    const origin = add("srv_origin");
    for (const prompt of ["1", "2", "3"]) await origin.launch({ agent: "explore", prompt });
    await until(() => expect(broker.jobs()).toBe(3));
    broker.limit({ [MODEL]: 1 });
    const worker = add("srv_1", { work: 2 });
    const open = () => workOf(worker).filter((id) => worker.store.get(id)?.task.completedAt === undefined);
    for (let ended = 0; ended < 3; ended += 1) {
      await until(() => expect(open()).toHaveLength(1));
      await clock.advance(LEASE);
      expect(open()).toHaveLength(1);
      const [id = ""] = open();
      worker.host.finish(id, "done");
      await until(() => expect(worker.store.get(id)?.task.status).toBe("completed"));
    }
    await until(() => expect(origin.store.list({}).map(({ status }) => status)).toEqual(Array(3).fill("completed")));
  });

  test("leaves a job where it is that waits already: it is not queued a second time", async () => {
    const { broker, clock, origin, id } = await enqueued();
    await clock.advance(2 * LEASE);
    const { waiting } = origin.task(id);
    broker.limit({ [MODEL]: 1 });
    await clock.advance(4 * LEASE);
    expect(broker.jobs()).toBe(1);
    expect(origin.task(id)).toMatchObject({ state: "running.fleet.unclaimed.enqueued", waiting });
  });

  test("that was lifted holds nobody up, and jobs that were queued under it are taken", async () => {
    const { launch, atWork, until, broker } = await limited(1);
    for (const prompt of ["1", "2", "3"]) await launch(prompt);
    await until(() => expect(atWork()).toHaveLength(1));
    broker.limit({ [MODEL]: null });
    await until(() => expect(atWork()).toHaveLength(3));
  });
});

test("a server that is drained ends what it works on and takes no more, until it is told to take some again", async () => {
  const { add, until, clock, broker } = createFleet();
  const [origin, worker] = [add("srv_origin"), add("srv_1", { work: 2 })];
  const id = await origin.launch({ agent: "explore" });
  await until(() => expect(workOf(worker)).toHaveLength(1));
  broker.drain(["srv_1"]);
  await clock.advance(LEASE);
  const second = await origin.launch({ agent: "explore" });
  await clock.advance(2 * LEASE);
  expect(workOf(worker)).toHaveLength(1);
  expect(origin.task(second).state).toBe("running.fleet.unclaimed.enqueued");
  worker.host.finish(workOf(worker)[0] ?? "", "found");
  await until(() => expect(origin.task(id)).toMatchObject({ status: "completed", result: "found" }));
  broker.drain([]);
  await until(() => expect(workOf(worker)).toHaveLength(1));
});

test("a server with one slot takes the most urgent task first, whatever was launched first", async () => {
  const { add, until, broker } = createFleet();
  const origin = add("srv_origin", { toolsets: ["tasks", "subtasks"] });
  const results = ["low", "normal", "high"].map((priority) =>
    origin.call("create_subtask_explore", { title: priority, priority }),
  );
  await until(() => expect(broker.jobs()).toBe(3));
  const worker = add("srv_1", { work: 1 });
  const sequence: string[] = [];
  for (const turn of [1, 2, 3]) {
    await until(() => expect(worker.store.list({})).toHaveLength(turn));
    const task = worker.store.list({}).find(({ status }) => status === "running");
    sequence.push(task?.description ?? "");
    worker.host.finish(task?.sessionID ?? "", "done");
  }
  await until(() => expect(origin.store.list({}).every(({ status }) => status === "completed")).toBe(true));
  await Promise.all(results);
  expect(sequence).toEqual(["high", "normal", "low"]);
});
