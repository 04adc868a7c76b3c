import { expect } from "vitest";
import { entryOf } from "../../src/task.ts";
import { serve } from "../fakes/served.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { scenario } from "./scenario.ts";

const HISTORY = "Task History Persistence";

scenario(
  ["asyncagents-task"],
  HISTORY,
  "Tasks persist across plugin restarts",
  async (stage) => {
    const completed = await stage.complete("There are 12.");
    const failed = await stage.launch({ batch_id: "release", prompt: "Fail." });
    stage.host.fail(failed, { name: "APIError", message: "overloaded" });
    await stage.clock.advance(5_000);
    const before = [completed, failed].map(stage.task);
    expect(before.map(({ status }) => status)).toEqual(["completed", "error"]);
    await stage.restart();
    expect([completed, failed].map(stage.task)).toEqual(before);
    expect(stage.engine.list({})).toEqual(before.map(entryOf));
    await settled();
    expect(await stage.call("list")).toContain(completed);
  },
  { onDisk: true },
);

scenario(
  ["asyncagents-task"],
  HISTORY,
  "Historical tasks appear in task list responses",
  async (stage) => {
    const before = await stage.complete("There are 12.");
    await stage.clock.advance(1_000);
    await stage.restart();
    const after = await stage.launch();
    const api = await serve(stage);
    const { body } = await api.get("/v1/tasks");
    expect(body).toMatchObject({ total: 2, tasks: [{ sessionID: after }, { sessionID: before }] });
    await api.stop();
  },
  { onDisk: true },
);

scenario(
  ["asyncagents-task"],
  HISTORY,
  "Task detail accessible for completed tasks after restart",
  async (stage) => {
    const id = await stage.complete("There are 12.");
    await stage.clock.advance(1_000);
    const before = stage.task(id);
    await stage.restart();
    const api = await serve(stage);
    const { status, body } = await api.get(`/v1/tasks/${id}`);
    expect(status).toBe(200);
    const states = ["lifecycle.completed", "run.idle", "notice.none", "attention.none", "steering.none"];
    expect(body).toEqual({ ...before, states, allowed: ["RESUME", "RESULT_READ"] });
    await api.stop();
  },
  { onDisk: true },
);
