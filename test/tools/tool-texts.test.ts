import { expect, test } from "vitest";
import { tasksToolset } from "../../src/tools/tasks/tasks-toolset.ts";
import { unavailable } from "../fakes/fake-host.ts";
import { createStage } from "../fakes/stage.ts";

test("what the tools' texts say of defaults and required arguments is what the code does", async () => {
  const stage = createStage();
  const { asyncagents_task: task, asyncagents_output: output } = tasksToolset({
    engine: stage.engine,
    clock: stage.clock,
    prefix: "asyncagents",
    permission: "task",
    isHeadless: false,
  });
  const required = (args: Record<string, unknown> = {}) =>
    Object.entries(args).flatMap(([name, schema]) => ((schema as { isOptional(): boolean }).isOptional() ? [] : name));
  // A retry needs its id only, so nothing that it ignores may be required.
  expect(required(task?.args)).toEqual([]);
  expect(required(output?.args)).toEqual([]);
  const described = (args: Record<string, unknown> = {}, name: string) =>
    (args[name] as { description?: string }).description;
  expect(described(output?.args, "block")).toContain("default false");
  expect(described(output?.args, "timeout")).toMatch(/default 60000, max 600000/);
  expect(described(output?.args, "message_limit")).toContain("default 50");
  const id = await stage.launch();
  expect(await stage.call("output", { task_id: id })).toContain("Status: running");
});

test("a live task says what it waits for and what ends that; a list leaves out the agents that are at work", async () => {
  const stage = createStage();
  const working = await stage.launch({ description: "at work" });
  expect(await stage.call("output", { task_id: working })).toMatch(
    /\nWaits for: its agent, which is at work \(for .+\)/,
  );
  expect(await stage.call("list")).not.toContain("waits for");
  stage.host.failNext("prompt", unavailable, 3);
  const refused = await stage.launch({ description: "not taken" });
  const reason = /OpenCode, which did not take its prompt; the prompt is sent again in \w+ \(for .+\)/;
  expect(await stage.call("output", { task_id: refused })).toMatch(new RegExp(`\nWaits for: ${reason.source}`));
  expect(await stage.call("list")).toMatch(new RegExp(`"not taken" · .* · waits for ${reason.source}$`, "m"));
});
