import { expect } from "vitest";
import { entryOf } from "../../src/task.ts";
import { serve } from "../fakes/served.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { scenario } from "./scenario.ts";

const HISTORY = "Task History Persistence";

/** Where the chart of a task stands that has ended so, and whose parent is owed nothing. */
const AT_REST = (status: string) => [
  `lifecycle.${status}`,
  "run.idle",
  "notice.none",
  "attention.none",
  "steering.none",
  "nextRun.none",
];

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
    const api = await serve(stage);
    expect((await api.get("/v1/tasks")).body).toMatchObject({
      total: 2,
      tasks: [{ sessionID: failed }, { sessionID: completed }],
    });
    await api.stop();
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
    const result = "There are 12. ".repeat(500);
    const launchedAt = stage.clock.now();
    const completed = await stage.launch();
    stage.host.emit({ type: "toolCall", sessionID: completed, callID: "c1", tool: "read", stage: "stored" });
    await stage.clock.advance(1_000);
    stage.host.finish(completed, result);
    await stage.clock.advance(1_000);
    await stage.call("output", { task_id: completed });
    const failed = await stage.launch();
    stage.host.fail(failed, { name: "APIError", message: "overloaded" });
    await stage.clock.advance(5_000);
    const at = (ms: number) => new Date(launchedAt + ms).toISOString();
    const times = { startedAt: at(0), completedAt: at(1_000), resultRetrievedAt: at(2_000) };
    const known = [
      { status: "completed", result, progress: { toolCalls: 1, lastTools: ["read"] }, ...times },
      { status: "error", error: { name: "APIError", message: "overloaded" }, startedAt: at(2_000) },
    ];
    const before = [completed, failed].map(stage.task);
    await stage.restart();
    const api = await serve(stage);
    const after = await Promise.all([completed, failed].map((id) => api.get(`/v1/tasks/${id}`)));
    expect(after.map(({ status }) => status)).toEqual([200, 200]);
    for (const [index, { body }] of after.entries()) {
      const { states, allowed, ...task } = body as Record<string, unknown>;
      expect({ states, allowed }).toEqual(
        index === 0
          ? { states: AT_REST("completed"), allowed: ["RESUME", "RESULT_READ"] }
          : { states: AT_REST("error"), allowed: ["RETRY", "RESULT_READ"] },
      );
      expect(task).toMatchObject(known[index] ?? {});
      expect(task).toEqual(before[index]);
    }
    await api.stop();
  },
  { onDisk: true },
);
