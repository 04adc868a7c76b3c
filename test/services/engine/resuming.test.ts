import { describe, expect, test } from "vitest";
import { unavailable } from "../../fakes/fake-host.ts";
import { createStage, stageWithResult, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

describe("a resume that is not possible changes nothing, and says why", () => {
  test.each([
    ["another agent", { agent: "explore" }, /never changes its agent: task ses_0001 works with "general"/],
    ["an empty prompt", { prompt: " " }, /prompt is empty/],
    ["an aborted turn", {}, /turn was aborted/],
  ])("%s", async (what, args, message) => {
    const { stage, id } = await stageWithResult("12");
    const abort = what === "an aborted turn" ? AbortSignal.abort() : new AbortController().signal;
    await expect(stage.call("task", { resume: id, prompt: "more", ...args }, { abort })).rejects.toThrow(message);
    expect(stage.task(id)).toMatchObject({ status: "completed", resumeCount: 0 });
    expect(stage.host.at(id).prompts).toHaveLength(1);
  });

  test("another parent's task", async () => {
    const stage = createStage();
    stage.host.addSession("ses_other");
    const id = await stage.complete("12");
    const call = stage.call("task", { resume: id, prompt: "more" }, { sessionID: "ses_other" });
    await expect(call).rejects.toThrow(/has no task/);
    expect(stage.task(id).resumeCount).toBe(0);
  });

  test("a host that does not answer", async () => {
    const { stage, id } = await stageWithResult("12");
    stage.host.failNext("session", unavailable);
    await expect(stage.call("task", { resume: id, prompt: "more" })).rejects.toThrow(/Try again/);
    expect(await stage.call("task", { resume: id, prompt: "more" })).toContain("resume #1");
  });
});

test("of two resumes in the same assistant message one is taken, and the other refused", async () => {
  const { stage, id } = await stageWithResult("12");
  const results = await Promise.allSettled([
    stage.call("task", { resume: id, prompt: "first" }),
    stage.call("task", { resume: id, prompt: "second" }),
  ]);
  expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  await settled();
  expect(stage.task(id).resumeCount).toBe(1);
  expect(stage.host.at(id).prompts.map(({ parts }) => parts[0]?.text)).toEqual(["Find it.", "first"]);
});

test("a resume that is answered with yes is done; one that cannot be is refused, not put off", async () => {
  const { stage, id } = await stageWithResult("There are 12.");
  expect(await stage.call("task", { resume: id, prompt: "first" })).toContain("was resumed");
  await settled();
  expect(stage.host.at(id).prompts.at(-1)?.parts[0]?.text).toBe("first");
  await expect(stage.call("task", { resume: id, prompt: "second" })).rejects.toThrow(/currently being resumed/);
  stage.host.finish(id, "done");
  await stage.clock.advance(60_000);
  expect(stage.host.at(id).prompts.map(({ parts }) => parts[0]?.text)).toEqual(["Find it.", "first"]);
});

test("a failed resume ends in error, and its earlier result can still be read", async () => {
  const { stage, id } = await stageWithResult("There are 12.");
  await stage.call("task", { resume: id, prompt: "more" });
  await settled();
  stage.host.fail(id, { name: "APIError", message: "out of credit" });
  await settled();
  expect(stage.task(id)).toMatchObject({ status: "error", result: "There are 12." });
  const answer = await stage.call("output", { task_id: id });
  expect(answer).toContain("APIError: out of credit");
  expect(answer).toContain("Result of the previous run:\n<task_result");
  expect(answer).toContain("There are 12.");
});

test("a cancelled resume ends in cancelled, with the cancellation notice", async () => {
  const { stage, id } = await stageWithResult("There are 12.");
  await stage.call("task", { resume: id, prompt: "more" });
  await stage.clock.advance(2_000);
  expect(await stage.call("cancel", { task_id: id })).toContain("is cancelled");
  await settled();
  expect(stage.task(id)).toMatchObject({ status: "cancelled", result: "There are 12." });
  expect(stage.notices().at(-1)?.[0]?.text).toContain('⊘ **Agent "find it" cancelled after 2s.**');
});

test("what a task did before counts on when it is resumed", async () => {
  const { stage, id } = await stageWithTask();
  stage.host.emit({ type: "toolCall", sessionID: id, callID: "c1", tool: "read", stage: "stored" });
  await stage.finish(id, "12");
  await stage.call("task", { resume: id, prompt: "more" });
  stage.host.emit({ type: "toolCall", sessionID: id, callID: "c2", tool: "grep", stage: "stored" });
  expect(stage.task(id).progress).toMatchObject({ toolCalls: 2, toolCallsByName: { read: 1, grep: 1 } });
});

test("an answer that belongs to the run before is not taken for the new one", async () => {
  const { stage, id } = await stageWithResult("There are 12.");
  stage.host.habits(id, "lose", "work");
  await stage.call("task", { resume: id, prompt: "more" });
  stage.host.emit({ type: "idle", sessionID: id });
  await stage.clock.advance(10_000);
  expect(stage.task(id)).toMatchObject({ status: "resumed", state: "resumed.active.working.busy" });
});
