import { expect, test } from "vitest";
import { createStage, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

test("an error without any idle ends the task too", async () => {
  const stage = createStage();
  stage.host.childHabits("reject");
  const id = await stage.launch();
  await stage.clock.advance(1_000);
  expect(stage.task(id)).toMatchObject({ status: "error", error: { message: "agent not found" } });
});

test("idle with some text, but without a finished answer, is no completion", async () => {
  const { stage, id } = await stageWithTask();
  const child = stage.host.at(id);
  const started = child.messages.at(-1);
  if (started) child.messages[child.messages.length - 1] = { ...started, text: "Let me look" };
  child.busy = false;
  stage.host.emit({ type: "idle", sessionID: id });
  await settled();
  expect(stage.task(id).status).toBe("running");
  child.busy = true;
  await stage.finish(id, "Found it.");
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "Found it." });
});
