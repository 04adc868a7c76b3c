import { describe, expect, test } from "vitest";
import { toTask } from "../../../src/machines/task/view.ts";
import { TaskWithUsageSchema } from "../../../src/task-schema.ts";
import { createStage, PARENT } from "../../fakes/stage.ts";
import { START } from "../../fakes/task-input.ts";
import { settled } from "../../fakes/virtual-clock.ts";
import { completeAndTell, type DrivenTask, workingTask } from "./driven-task.ts";

test("a task object is what its schema says, at every stage of its life", async () => {
  const stage = createStage();
  const id = await stage.launch();
  expect(TaskWithUsageSchema.parse(stage.task(id))).toEqual(stage.task(id));
  const request = { id: "p", kind: "permission", what: "bash: ls", since: stage.clock.now() } as const;
  stage.host.emit({ type: "asked", sessionID: id, request });
  expect(TaskWithUsageSchema.parse(stage.task(id)).attention?.kind).toBe("permission");
  stage.host.emit({ type: "replied", sessionID: id, requestID: "p" });
  stage.host.finish(id, "First.\n\nSecond.");
  await settled();
  await stage.call("output", { task_id: id });
  expect(TaskWithUsageSchema.parse(stage.task(id))).toMatchObject({
    status: "completed",
    summary: "First.",
    author: "build",
    directory: "/project",
    parentSessionID: PARENT,
  });
  const failed = await stage.launch();
  stage.host.fail(failed, { name: "APIError", message: "401" });
  await settled();
  expect(TaskWithUsageSchema.parse(stage.task(failed)).failureReason).toBe("401");
});

test("progress counts each call and each step once, and keeps the last five tools", async () => {
  const stage = createStage();
  const id = await stage.launch();
  for (const [index, tool] of ["read", "glob", "grep", "read", "bash", "edit"].entries()) {
    for (const phase of ["begun", "begun", "stored"] as const) {
      stage.host.emit({ type: "toolCall", sessionID: id, callID: `c${index}`, tool, stage: phase });
    }
  }
  const step = { type: "step", sessionID: id, partID: "s1", tokens: 120, cost: 0.25 } as const;
  stage.host.emit(step);
  stage.host.emit(step);
  expect(stage.task(id).progress).toMatchObject({
    toolCalls: 6,
    toolCallsByName: { read: 2, glob: 1, grep: 1, bash: 1, edit: 1 },
    lastTools: ["glob", "grep", "read", "bash", "edit"],
    tokens: 120,
    cost: 0.25,
  });
  stage.host.finish(id, "done");
  await stage.clock.advance(60_000);
  expect(stage.task(id).progress.toolCalls).toBe(6);
});

describe("the task object", () => {
  const progress = { toolCalls: 0, toolCallsByName: {}, lastTools: [], tokens: 0, cost: 0, lastUpdate: "" };
  const show = ({ snapshot }: DrivenTask) => toTask(snapshot, progress);
  const iso = (ms: number) => new Date(ms).toISOString();

  test("has no child yet, and none of the fields that say nothing", () => {
    const task = show(workingTask());
    expect(task.childTaskIds).toEqual([]);
    expect(Object.values(task)).not.toContain(undefined);
    expect(task).not.toHaveProperty("completedAt");
    expect(task).not.toHaveProperty("attention");
  });

  test("says when the run ended and when its result was read", () => {
    const task = completeAndTell(workingTask());
    task.take("RESULT_READ", { at: START + 9 });
    expect(show(task)).toMatchObject({ completedAt: iso(START), resultRetrievedAt: iso(START + 9) });
  });

  test("sums a result up by its first paragraph, whatever is around it", () => {
    const summary = (result: string) => show(completeAndTell(workingTask(), result)).summary;
    expect(summary("\n\n  First line.\nSecond line.\n \t\nMore.")).toBe("First line.\nSecond line.");
    expect(summary("All of it. ")).toBe("All of it.");
    expect(summary("")).toBe("");
  });

  test("says since when the task is silent", () => {
    const task = workingTask();
    task.take("BECAME_STALE", { at: START + 600_000 });
    expect(show(task).attention).toEqual({ kind: "stale", what: "", since: iso(START + 600_000) });
  });
});
