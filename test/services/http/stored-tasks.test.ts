import { expect, test } from "vitest";
import { createDisk } from "../../fakes/disk.ts";
import { serve } from "../../fakes/served.ts";
import { createStage } from "../../fakes/stage.ts";

test("the API lists all stored tasks, including those from before a restart", async () => {
  const disk = createDisk();
  const stage = createStage({ openStore: disk.boot });
  const id = await stage.complete("12");
  await stage.clock.advance(1_000);
  await stage.restart();
  const api = await serve(stage);
  expect((await api.get("/v1/tasks")).body).toMatchObject({ total: 1, tasks: [{ sessionID: id, result: "12" }] });
  expect((await api.get("/v1/stats")).body).toMatchObject({ totalTasks: 1, activeTasks: 0 });
  await api.stop();
  disk.remove();
});
