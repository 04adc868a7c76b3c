import { expect, test, vi } from "vitest";
import { createReadDirectories } from "../../../src/services/host/directories.ts";
import { createEngineSource } from "../../../src/services/http/engine-source.ts";
import { createOpenDirectories } from "../../../src/services/http/status-api.ts";
import { createStage } from "../../fakes/stage.ts";

const sourceOf = (stage: ReturnType<typeof createStage>) => {
  const directories = createOpenDirectories();
  directories.add(stage);
  return createEngineSource(directories, stage.clock, () => "cmd_1", "/worktrees", createReadDirectories(stage.clock));
};

test("a command for a task that this process supervises is executed at once, and not stored for another one", async () => {
  const stage = createStage();
  const id = await stage.launch();
  const submit = vi.spyOn(stage.store, "submitCommand");
  const cancelled = await sourceOf(stage).cancel(id);
  expect(cancelled).toMatchObject({ ok: true, value: { sessionID: id, status: "cancelled" } });
  expect(submit).not.toHaveBeenCalled();
});

test("a command for a task at rest goes through the store, which knows the processes that may claim it", async () => {
  const stage = createStage();
  const id = await stage.complete("12");
  await stage.clock.advance(60_000);
  const submit = vi.spyOn(stage.store, "submitCommand");
  const asked = sourceOf(stage).resume(id, "And now?");
  await stage.clock.advance(1_000);
  expect(await asked).toMatchObject({ ok: true, value: { status: "resumed" } });
  expect(submit).toHaveBeenCalledOnce();
});
