import { expect, test, vi } from "vitest";
import { createReadDirectories } from "../../../src/services/host/directories.ts";
import { createEngineSource } from "../../../src/services/http/engine-source.ts";
import { createOpenDirectories } from "../../../src/services/http/status-api.ts";
import { readFiles } from "../../../src/services/worktrees/fingerprints.ts";
import type { Task } from "../../../src/task.ts";
import { newRepository } from "../../fakes/repository.ts";
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

test("a task that is read says whether files have changed since its gate ended; a task among others does not", async () => {
  const home = newRepository({ "a.txt": "1" });
  const saw = await readFiles("/worktrees", home.top);
  const stage = createStage({
    directory: home.top,
    gate: { agents: { general: "npm test" }, tries: 0, timeout: 60_000 },
    worktrees: { readFiles: async () => saw },
  });
  const id = await stage.complete("12");
  const source = sourceOf(stage);
  const filesOf = (task?: Pick<Task, "receipt">) => task?.receipt?.gate?.files;
  expect(filesOf(await source.comparedTask(id))).toEqual({ ...saw, changedMeanwhile: false, haveChanged: false });
  home.write({ "a.txt": "2" });
  await stage.clock.advance(2_000);
  expect(filesOf(await source.comparedTask(id))).toMatchObject({ haveChanged: true });
  expect(filesOf(source.task(id))).toEqual({ ...saw, changedMeanwhile: false });
});
