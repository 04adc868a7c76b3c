import { expect, test } from "vitest";
import { createStage } from "../../fakes/stage.ts";

const HOUR = 3_600_000;

test("ended tasks that are not to be kept go at the start and each hour, those that run stay", async () => {
  const stage = createStage({ retention: { count: 1 } });
  const first = await stage.complete("1");
  const running = await stage.launch();
  const second = await stage.complete("2");
  const ids = () => stage.engine.list({}).map(({ sessionID }) => sessionID);
  await stage.clock.advance(4_000);
  expect(ids()).toEqual([running, second]);
  const third = await stage.complete("3");
  await stage.clock.advance(HOUR / 2);
  expect(ids()).toEqual([running, second, third]);
  await stage.clock.advance(HOUR / 2);
  expect(ids()).toEqual([running, third]);
  expect(stage.engine.get(first)).toBeUndefined();
  await stage.finish(running, "4");
  expect(stage.task(running).status).toBe("completed");
});

test("many go in portions, between which others can work", async () => {
  const stage = createStage({ retention: { count: 0 } });
  const whole = stage.store.sweep;
  const portions: number[] = [];
  let left = 500;
  stage.store.sweep = (retention, now) => {
    const some = Math.min(200, left);
    left -= some;
    portions.push(some);
    return whole(retention, now) + some;
  };
  await stage.clock.advance(HOUR);
  expect(portions).toEqual([200, 200, 100, 0]);
  await stage.clock.advance(HOUR);
  expect(portions).toEqual([200, 200, 100, 0, 0]);
});
