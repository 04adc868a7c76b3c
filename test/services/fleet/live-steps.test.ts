/** @module-tag nightly */
import { describe, expect, test } from "vitest";
import { Entry } from "../../../src/services/fleet/wire-messages.ts";
import { createFleet, enqueued, expectOnce, LEASE, runElsewhere, type Server, workOf } from "./servers.ts";

let count = 0;

/** The agent of a task calls a tool, and finishes a step. */
const work = (server: Server, sessionID: string, used: { tool?: string; tokens?: number; cost?: number } = {}) => {
  const { tool = "bash", tokens = 100, cost = 0.25 } = used;
  count += 1;
  server.host.emit({ type: "toolCall", sessionID, callID: `call_${count}`, tool, input: `${count}`, stage: "stored" });
  server.host.emit({ type: "step", sessionID, partID: `prt_${count}`, tokens, cost });
};

describe("what a task does on another server", () => {
  test("is seen at the origin: what tools it called, what it used, and when it did so last", async () => {
    const { origin, worker, id, there, clock } = await runElsewhere(1);
    work(worker, there);
    work(worker, there, { tool: "read" });
    await clock.advance(2_500);
    const lastTools = ["bash", "read"];
    const counted = { toolCalls: 2, toolCallsByName: { bash: 1, read: 1 }, lastTools, tokens: 200, cost: 0.5 };
    expect(origin.task(id).progress).toMatchObject(counted);
    expect(clock.now() - Date.parse(origin.task(id).progress.lastUpdate)).toBeLessThan(3_000);
    expect(await origin.call("output", { task_id: id })).toContain("Tool calls: 2 (bash 1, read 1); last: bash, read");
    await clock.advance(30_000);
    expect(origin.store.get(id)?.task.progress).toMatchObject(counted);
    expect(origin.engine.get(id)?.usage).toEqual({ tokens: 200, cost: 0.5 });
  });

  test("is reported no more than every two seconds, and every half minute where nothing was done", async () => {
    const { worker, there, broker, clock } = await runElsewhere(1);
    await clock.advance(10_000);
    let told = 0;
    broker.connect().onNotified("steps.srv_origin", () => {
      told += 1;
    });
    for (let second = 0; second < 10; second += 1) {
      work(worker, there);
      await clock.advance(1_000);
    }
    expect(told).toBeGreaterThan(3);
    expect(told).toBeLessThan(7);
    const before = told;
    await clock.advance(60_000);
    expect(told - before).toBeGreaterThanOrEqual(2);
    expect(told - before).toBeLessThanOrEqual(3);
  });

  test("counts once, also when its end says it again, and when nobody heard it before", async () => {
    const world = await runElsewhere(1);
    const { origin, worker, id, there, clock } = world;
    work(worker, there);
    await clock.advance(3_000);
    work(worker, there);
    worker.host.finish(there, "found");
    await expectOnce(world, [worker], "found");
    expect(origin.engine.get(id)).toMatchObject({
      progress: { toolCalls: 2, tokens: 200, cost: 0.5 },
      usage: { tokens: 200, cost: 0.5 },
    });
  });

  test("counts with what the tasks below it there do", async () => {
    const { origin, worker, id, there, clock } = await runElsewhere(1);
    const below = await worker.launch({}, { sessionID: there });
    work(worker, there);
    work(worker, below, { tool: "grep" });
    await clock.advance(2_500);
    expect(origin.task(id).progress).toMatchObject({ toolCalls: 2, lastTools: ["bash"], tokens: 200, cost: 0.5 });
    worker.host.finish(below, "grepped");
    await clock.advance(5_000);
    work(worker, there);
    await clock.advance(2_500);
    expect(origin.task(id).progress).toMatchObject({
      toolCalls: 3,
      toolCallsByName: { bash: 2, grep: 1 },
      tokens: 300,
    });
  });

  test("is still known after a restart of the origin, and goes on to count", async () => {
    const { origin, worker, id, there, clock } = await runElsewhere(1);
    work(worker, there);
    await clock.advance(10_000);
    await origin.restart();
    await clock.advance(5_000);
    expect(origin.task(id).progress).toMatchObject({ toolCalls: 1, tokens: 100 });
    work(worker, there);
    await clock.advance(5_000);
    expect(origin.task(id).progress).toMatchObject({ toolCalls: 2, tokens: 200 });
  });

  test("is seen again once the broker is back", async () => {
    const { origin, worker, id, there, clock, broker } = await runElsewhere(1);
    broker.cutOff();
    work(worker, there);
    await clock.advance(10_000);
    expect(origin.task(id).progress.toolCalls).toBe(0);
    broker.bringBack();
    await clock.advance(5_000);
    expect(origin.task(id).progress.toolCalls).toBe(1);
  });

  test("is that of the server that took it last: begun anew, it counts anew, and what the first one says is not heard", async () => {
    const { origin, worker, other, id, there, clock, until } = await runElsewhere();
    for (let calls = 0; calls < 3; calls += 1) work(worker, there);
    await clock.advance(3_000);
    expect(origin.task(id).progress.toolCalls).toBe(3);
    worker.life.pause();
    await until(() => expect(workOf(other)).toHaveLength(1));
    const [again = ""] = workOf(other);
    work(other, again, { tool: "read" });
    await until(() =>
      expect(origin.task(id).progress).toMatchObject({ toolCalls: 1, lastTools: ["read"], tokens: 100 }),
    );
    worker.life.wake();
    for (let calls = 0; calls < 3; calls += 1) work(worker, there);
    await clock.advance(LEASE);
    expect(origin.task(id).progress).toMatchObject({ toolCalls: 1, lastTools: ["read"], tokens: 100 });
  });
});

describe("a budget at the origin", () => {
  test("ends a task on another server that is beyond it", async () => {
    const { origin, worker, id, there, until } = await runElsewhere(1, 1, { budget: { cost: 1 } });
    work(worker, there, { cost: 0.9 });
    await until(() => expect(origin.task(id).progress.cost).toBe(0.9));
    expect(origin.task(id).state).toBe("running.fleet.claimed");
    work(worker, there, { cost: 0.2 });
    await until(() => expect(origin.task(id)).toMatchObject({ status: "error", error: { kind: "budget" } }));
    expect(worker.host.at(there).busy).toBe(false);
  });

  test("counts what tasks on other servers use for the task that launched them, ended ones too", async () => {
    const { add, until } = createFleet();
    const [origin, worker] = [add("srv_origin", { budget: { toolCalls: 3 } }), add("srv_1", { work: 1 })];
    const above = await origin.launch();
    const id = await origin.launch({ agent: "explore" }, { sessionID: above });
    await until(() => expect(workOf(worker)).toHaveLength(1));
    const [there = ""] = workOf(worker);
    work(worker, there);
    work(worker, there);
    worker.host.finish(there, "found");
    await until(() => expect(origin.task(id).status).toBe("completed"));
    work(origin, above);
    expect(origin.task(above).status).toBe("running");
    work(origin, above);
    await until(() => expect(origin.task(above)).toMatchObject({ status: "error", error: { kind: "budget" } }));
  });
});

describe("what is no count", () => {
  const bad = [
    ["less than nothing", { cost: -1 }],
    ["a number without end", { cost: "1e999" }],
    ["half a token", { tokens: 0.5 }],
    ["no number", { toolCalls: "many" }],
    ["a tool with a name that is too long", { lastTools: ["x".repeat(1_000)] }],
    ["more last tools than there may be", { lastTools: Array.from({ length: 6 }, () => "read") }],
    ["calls of a tool that are less than one", { toolCallsByName: { read: 0 } }],
    ["a time that is none", { lastUpdate: "yesterday" }],
  ] as const;

  test.each(bad)("is refused at the origin: %s", async (_, wrong) => {
    const { origin, id, broker, clock } = await runElsewhere(1);
    const claim = origin.store.get(id)?.snapshot.context.remote?.claim;
    const steps = {
      ...{ toolCalls: 1, toolCallsByName: { read: 1 }, lastTools: ["read"], tokens: 1, cost: 1 },
      lastUpdate: new Date(clock.now()).toISOString(),
    };
    const told = (given: object) => {
      const about = {
        v: 1,
        origin: "srv_origin",
        task: id,
        run: 0,
        claim,
        isStale: false,
        steps: { ...steps, ...given },
      };
      broker.connect().notify("steps.srv_origin", JSON.stringify(about).replace('"1e999"', "1e999"));
    };
    told(wrong);
    await clock.advance(10);
    expect(origin.task(id).progress.toolCalls).toBe(0);
    told({});
    await clock.advance(10);
    expect(origin.task(id).progress.toolCalls).toBe(1);
  });

  test("does not cost the end that it comes with", () => {
    const ended = { v: 1, at: 1, type: "ended", nonce: "n", outcome: "completed", completedAt: 1, result: "found" };
    const read = Entry.parse({ ...ended, steps: { toolCalls: -1 } });
    expect(read).toEqual({ ...ended, steps: undefined });
  });
});

test("a task on another server that hears nothing of its agent is stale at the origin too, until it does", async () => {
  const { origin, worker, id, there, clock } = await runElsewhere(1);
  await clock.advance(5 * LEASE);
  expect(origin.task(id).attention).toBeUndefined();
  await clock.advance(15 * LEASE);
  expect(origin.task(id)).toMatchObject({ state: "running.fleet.claimed", attention: { kind: "stale" } });
  worker.host.emit({ type: "text", sessionID: there, messageID: "msg_1", partID: "prt_1", text: "Go" } as never);
  await clock.advance(5 * LEASE);
  expect(origin.task(id).attention).toBeUndefined();
});

test("a task that waits for another server is not stale", async () => {
  const { origin, id, clock } = await enqueued();
  await clock.advance(13 * LEASE);
  expect(origin.task(id).state).toBe("running.fleet.unclaimed.enqueued");
  expect(origin.task(id).attention).toBeUndefined();
});
