import { expect, test } from "vitest";
import { sharesOf } from "../../../src/services/engine/delivery/wake-costs.ts";
import { addUpWakes } from "../../../src/task.ts";
import { createDurableStage } from "../../fakes/durable-stage.ts";
import { createStage, PARENT, type Stage } from "../../fakes/stage.ts";

const COST = { tokens: 1_001, cachedTokens: 900, cost: 0.01 };

/** Longer than it takes to deliver a notice. */
const MOMENT = 5_000;

const createCountingStage = (create = createStage): Stage => {
  const stage = create();
  stage.host.requestCost = COST;
  stage.host.habits(PARENT, "work");
  return stage;
};

const costsOf = (stage: Stage, id: string) => stage.task(id).progress.wakeCosts;

test("a task has what it cost to wake the agent that launched it: the first request of the turn that its end began", async () => {
  const stage = createCountingStage();
  const id = await stage.launch();
  await stage.finish(id, "done");
  await stage.clock.advance(MOMENT);
  expect(costsOf(stage, id)).toBeUndefined();
  // The agent goes on for three more requests, and answers.
  stage.host.step(PARENT);
  expect(costsOf(stage, id)).toEqual({ wakes: 1, ...COST });
  stage.host.step(PARENT);
  stage.host.step(PARENT);
  stage.host.finish(PARENT, "I see.");
  expect(costsOf(stage, id)).toEqual({ wakes: 1, ...COST });
  expect(stage.store.stats().wakeCosts).toEqual({ wakes: 1, ...COST });
  // No part of what the task used.
  expect(stage.store.stats().usage).toEqual({ tokens: 0, cost: 0 });
});

test("an end that a turn under way takes in wakes nobody", async () => {
  const stage = createCountingStage();
  const id = await stage.launch();
  stage.host.beginTurn(PARENT);
  await stage.finish(id, "done");
  await stage.clock.advance(MOMENT);
  expect(stage.notices()).toHaveLength(1);
  // This message was begun before the notice; the next one takes it in.
  stage.host.step(PARENT);
  stage.host.finish(PARENT, "I see.");
  expect(costsOf(stage, id)).toBeUndefined();
});

test("an end that comes while a turn ends makes a request of its own, which is a wake", async () => {
  const stage = createCountingStage();
  const id = await stage.launch();
  stage.host.beginTurn(PARENT);
  await stage.finish(id, "done");
  await stage.clock.advance(MOMENT);
  stage.host.step(PARENT, { finish: "stop", text: "I am done." });
  stage.host.finish(PARENT, "I see.");
  expect(costsOf(stage, id)).toEqual({ wakes: 1, ...COST });
});

test("ends that are delivered together share the wake, and the sum is what it cost", async () => {
  const stage = createCountingStage();
  const ids = [
    await stage.launch({ wake: "all" }),
    await stage.launch({ wake: "all" }),
    await stage.launch({ wake: "all" }),
  ];
  for (const id of ids) await stage.finish(id, "done");
  await stage.clock.advance(MOMENT);
  stage.host.finish(PARENT, "I see.");
  const costs = ids.map((id) => costsOf(stage, id));
  expect(costs.map((each) => each?.wakes)).toEqual([1, 0, 0]);
  expect(costs.map((each) => each?.tokens)).toEqual([334, 334, 333]);
  const sum = addUpWakes(costs);
  expect({ ...sum, cost: undefined }).toEqual({ wakes: 1, ...COST, cost: undefined });
  expect(sum.cost).toBeCloseTo(COST.cost, 8);
});

test("wakes of later runs are added, also where the first request ends once the next run is under way", async () => {
  const stage = createCountingStage();
  const id = await stage.launch();
  await stage.finish(id, "done");
  await stage.clock.advance(MOMENT);
  await stage.call("task", { prompt: "go on", resume: id });
  stage.host.step(PARENT);
  expect(costsOf(stage, id)).toEqual({ wakes: 1, ...COST });
  stage.host.finish(PARENT, "I see.");
  await stage.finish(id, "done again");
  await stage.clock.advance(MOMENT);
  stage.host.finish(PARENT, "I see that, too.");
  expect(costsOf(stage, id)).toEqual({ wakes: 2, tokens: 2_002, cachedTokens: 1_800, cost: 0.02 });
  expect(stage.task(id).status).toBe("completed");
});

test("a request that failed before its provider counted anything cost nothing", async () => {
  const stage = createCountingStage();
  const id = await stage.launch();
  await stage.finish(id, "done");
  await stage.clock.advance(MOMENT);
  stage.host.requestCost = undefined;
  stage.host.fail(PARENT, { name: "APIError", message: "overloaded" });
  await stage.clock.advance(MOMENT);
  expect(costsOf(stage, id)).toBeUndefined();
});

test("what wakes cost stays where OpenCode starts anew", async () => {
  const stage = createCountingStage(createDurableStage);
  const id = await stage.launch();
  await stage.finish(id, "done");
  await stage.clock.advance(MOMENT);
  stage.host.finish(PARENT, "I see.");
  await stage.clock.advance(MOMENT);
  await stage.restart();
  expect(costsOf(stage, id)).toEqual({ wakes: 1, ...COST });
});

test("a task that is gone by then has no share, and the others have theirs", async () => {
  const stage = createCountingStage();
  const ids = [await stage.launch({ wake: "all" }), await stage.launch({ wake: "all" })] as const;
  for (const id of ids) await stage.finish(id, "done");
  await stage.clock.advance(MOMENT);
  await stage.call("clear", { task_id: ids[0] });
  stage.host.finish(PARENT, "I see.");
  expect(costsOf(stage, ids[1])).toEqual({ wakes: 0, tokens: 500, cachedTokens: 450, cost: 0.005 });
});

test("shares of any number of tasks add up to the whole", () => {
  for (let tasks = 1; tasks < 12; tasks += 1) {
    const { wakes, tokens, cachedTokens } = addUpWakes(sharesOf(COST, tasks));
    expect([wakes, tokens, cachedTokens]).toEqual([1, COST.tokens, COST.cachedTokens]);
  }
});
