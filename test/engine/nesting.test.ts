import { expect, test } from "vitest";
import { createStage } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";

test("a task that waits for tasks of its own has not ended; it is told of them, and its last word is its result", async () => {
  const stage = createStage();
  const id = await stage.launch({ description: "lead" });
  const own = await stage.launch({ description: "help" }, { sessionID: id });
  stage.host.finish(id, "waiting");
  await stage.clock.advance(60_000);
  expect(stage.task(id)).toMatchObject({ status: "running", childTaskIds: [own] });
  expect(stage.task(own).parentTaskId).toBe(id);
  stage.host.finish(own, "12 files");
  await settled();
  expect(
    stage
      .notices(id)
      .flat()
      .map(({ text }) => text)
      .join("\n"),
  ).toContain("12 files");
  expect(stage.notices()).toEqual([]);
  stage.host.finish(id, "There are 12 files.");
  await stage.clock.advance(10_000);
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "There are 12 files." });
  expect(stage.notices()).toHaveLength(1);
});

test("an end is told to the session that launched the task, not to those above it", async () => {
  const stage = createStage();
  const id = await stage.launch();
  const own = await stage.launch({}, { sessionID: id });
  stage.host.finish(own, "12 files");
  await settled();
  expect(stage.notices(id)).toHaveLength(2);
  expect(stage.notices()).toEqual([]);
});
