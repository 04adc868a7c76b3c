import { expect } from "vitest";
import { TASKS, WITH_LIMITS, WITH_NOTICES } from "../../scripts/requirements/specifications.ts";
import { missing } from "../fakes/fake-host.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { atOnce } from "../fakes/watched.ts";
import { endOtherBatch, newestOf } from "./notice-parts.ts";
import { scenario } from "./scenario.ts";

scenario(TASKS, "Task Status Management", "Track resumed status", async (stage) => {
  const id = await stage.complete("There are 12.");
  await stage.call("task", { resume: id, prompt: "And how many are tests?" });
  expect(stage.task(id).status).toBe("resumed");
  await settled();
  expect(stage.task(id).state).toBe("resumed.active.working.busy");
  await stage.finish(id, "5 of them.");
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "5 of them." });
});

const RESUMPTION = "Task Conversation Resumption";

scenario(TASKS, RESUMPTION, "Resume completed task with follow-up prompt", async (stage) => {
  const id = await stage.complete("There are 12.");
  stage.host.calls.length = 0;
  stage.host.failNext("session", missing);
  await expect(stage.call("task", { resume: id, prompt: "Are you there?" })).rejects.toThrow("does not exist any more");
  expect(stage.host.calls).toEqual(["session"]);
  const answer = await atOnce(stage.call("task", { resume: id, prompt: "And how many are tests?" }));
  expect(answer).toContain(id);
  expect(stage.task(id).status).toBe("resumed");
  await settled();
  expect(stage.host.calls).not.toContain("createSession");
  const child = stage.host.at(id);
  expect(child.prompts.at(-1)).toMatchObject({ sessionID: id, agent: "general", model: { modelID: "m1" } });
  expect(child.messages.map(({ text }) => text)).toEqual(["Find it.", "There are 12.", "And how many are tests?", ""]);
});

scenario(WITH_LIMITS, RESUMPTION, "Resume completion notification", async (stage) => {
  const id = await stage.complete("There are 12.");
  await stage.call("task", { resume: id, prompt: "And how many are tests?" });
  await settled();
  const response = Array.from({ length: 40 }, (_, line) => `Test ${line} is in a.ts.`);
  await stage.finish(id, response.join("\n"));
  expect(newestOf(2, stage).hidden.split("\n")).toEqual(expect.arrayContaining(response.map((line) => `> ${line}`)));
  expect(stage.task(id).status).toBe("completed");
});

scenario(TASKS, RESUMPTION, "Wait for resume response", async (stage) => {
  const id = await stage.complete("There are 12.");
  await stage.call("task", { resume: id, prompt: "And how many are tests?" });
  const answer = stage.call("output", { task_id: id, block: true });
  await stage.clock.advance(30_000);
  stage.host.finish(id, "5 of them.");
  expect(await answer).toContain("5 of them.");
  expect(await answer).not.toContain("There are 12.");
});

scenario(WITH_LIMITS, RESUMPTION, "Reject resume of non-completed task", async (stage) => {
  const running = await stage.launch();
  const failed = await stage.launch();
  stage.host.fail(failed, { name: "APIError", message: "401" });
  await settled();
  const cancelled = await stage.launch();
  await stage.call("cancel", { task_id: cancelled });
  await settled();
  for (const [id, status] of [
    [running, "running"],
    [failed, "error"],
    [cancelled, "cancelled"],
  ] as const) {
    await expect(stage.call("task", { resume: id, prompt: "more" })).rejects.toThrow(
      `only completed tasks can be resumed (this one is ${status})`,
    );
    expect(stage.task(id)).toMatchObject({ status, resumeCount: 0 });
  }
});

scenario(WITH_LIMITS, RESUMPTION, "Reject concurrent resume", async (stage) => {
  const id = await stage.complete("There are 12.");
  await stage.call("task", { resume: id, prompt: "first" });
  await expect(stage.call("task", { resume: id, prompt: "second" })).rejects.toThrow(/is currently being resumed/);
  await settled();
  expect(stage.task(id).resumeCount).toBe(1);
  expect(stage.host.at(id).prompts).toHaveLength(2);
});

scenario(TASKS, RESUMPTION, "Handle expired session on resume", async (stage, prefix) => {
  const id = await stage.complete("There are 12.");
  stage.host.delete(id);
  await settled();
  await expect(stage.call("task", { resume: id, prompt: "more" })).rejects.toThrow(
    `does not exist any more. Start a new task with ${prefix}_task.`,
  );
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "There are 12.", resumeCount: 0 });
});

scenario(TASKS, "Resume Count Tracking", "Increment resume count", async (stage) => {
  const id = await stage.complete("There are 12.");
  for (const count of [1, 2]) {
    await stage.call("task", { resume: id, prompt: "more" });
    expect(stage.task(id).resumeCount).toBe(count);
    await settled();
    await stage.finish(id, `answer ${count}`);
  }
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "answer 2" });
});

scenario(TASKS, "Task List Resume Indicator", "Show resumed indicator", async (stage) => {
  const id = await stage.complete("There are 12.");
  await stage.call("task", { resume: id, prompt: "more" });
  expect(await stage.call("list")).toContain(`${id} (resumed)`);
  await settled();
  await stage.finish(id, "13");
  expect(await stage.call("list")).toContain(`${id} (resumed)`);
});

const FORMAT = "Silent System Hints in Notifications";

scenario(WITH_NOTICES, FORMAT, "Resume completion notification format", async (stage, prefix) => {
  await endOtherBatch(stage);
  const id = await stage.complete("There are 12.");
  await stage.clock.advance(60_000);
  await stage.call("task", { resume: id, prompt: "more" });
  await stage.clock.advance(2_500);
  await stage.finish(id, "13");
  const { visible, hidden } = newestOf(3, stage);
  expect(visible).toBe('✓ **Resume #1 completed in 2.5s.**\nTask Progress: 1/1\nAgent "find it". Result: "13"');
  expect(hidden).toContain(`Use ${prefix}_output tools to see agent responses.`);
});

scenario(WITH_NOTICES, FORMAT, "Resume failure notification format", async (stage) => {
  await endOtherBatch(stage);
  const id = await stage.complete("There are 12.");
  await stage.call("task", { resume: id, prompt: "more" });
  await stage.clock.advance(2_500);
  stage.host.fail(id, { name: "APIError", message: "out of credit" });
  await settled();
  const { visible, hidden } = newestOf(3, stage);
  expect(visible).toBe(
    '✗ **Resume #1 failed in 2.5s.**\nTask Progress: 1/1\nAgent "find it". Error: "APIError: out of credit"',
  );
  expect(hidden).toContain("APIError: out of credit");
});
