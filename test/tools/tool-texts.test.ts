import { expect, test } from "vitest";
import { tasksToolset } from "../../src/tools/tasks/toolset.ts";
import { createStage } from "../fakes/stage.ts";

test("what the tools' texts say of defaults and required arguments is what the code does", async () => {
  const stage = createStage();
  const { asyncagents_task: task, asyncagents_output: output } = tasksToolset({
    engine: stage.engine,
    clock: stage.clock,
    prefix: "asyncagents",
    isHeadless: false,
  });
  const required = (args: Record<string, unknown> = {}) =>
    Object.entries(args).flatMap(([name, schema]) => ((schema as { isOptional(): boolean }).isOptional() ? [] : name));
  // A resume needs its id and a prompt only, so nothing that it ignores may be required.
  expect(required(task?.args)).toEqual(["prompt"]);
  expect(required(output?.args)).toEqual([]);
  const described = (args: Record<string, unknown> = {}, name: string) =>
    (args[name] as { description?: string }).description;
  expect(described(output?.args, "block")).toContain("default false");
  expect(described(output?.args, "timeout")).toMatch(/default 60000, max 600000/);
  expect(described(output?.args, "message_limit")).toContain("default 50");
  const id = await stage.launch();
  expect(await stage.call("output", { task_id: id })).toContain("Status: running");
});
