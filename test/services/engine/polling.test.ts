import { expect, test } from "vitest";
import { createStage, stageWithTask } from "../../fakes/stage.ts";

test("running tasks are polled every 5 s, by one call for all of them, and no message is read", async () => {
  const stage = createStage();
  for (let launched = 0; launched < 10; launched += 1) await stage.launch();
  stage.host.calls.length = 0;
  await stage.clock.advance(60_000);
  expect(stage.host.calls).toEqual(Array.from({ length: 12 }, () => "busy"));
});

test("when no event comes any more, a task still completes within the interval, and its result is delivered", async () => {
  const { stage, id } = await stageWithTask();
  stage.host.listen(() => undefined);
  stage.host.finish(id, "12");
  await stage.clock.advance(5_000);
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  expect(stage.notices()).toHaveLength(1);
});
