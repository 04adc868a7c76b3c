import { expect, test } from "vitest";
import { createStage, PARENT } from "../fakes/stage.ts";
import { watched } from "../fakes/watched.ts";

const TASK = { description: "find it", prompt: "Find it.", agent: "general" };

test("a turn that is aborted in the moment when its task is launched leaves none running, and gets nothing", async () => {
  const stage = createStage();
  const turn = new AbortController();
  stage.engine.subscribe(() => turn.abort());
  const call = watched(stage.call("task", TASK, { abort: turn.signal }));
  await stage.clock.advance(60_000);
  expect(String(call.fault)).toMatch(/aborted; nothing was launched/);
  const [task] = stage.engine.list({});
  expect(task?.status).toBe("cancelled");
  expect(stage.host.at(String(task?.sessionID)).busy).toBe(false);
  expect(stage.notices(PARENT)).toEqual([]);
});

test("calls that launch, read, steer and resume a task have its description as their title, and its session", async () => {
  const stage = createStage();
  const launched = await stage.callWhole("task", TASK);
  const [task] = stage.engine.list({});
  const id = String(task?.sessionID);
  const shown = { title: "find it", metadata: { sessionId: id } };
  expect(launched).toMatchObject(shown);
  expect(await stage.callWhole("output", { task_id: id })).toMatchObject(shown);
  expect(await stage.callWhole("task", { steer: id, prompt: "Only the tests." })).toMatchObject(shown);
  const completed = await stage.complete("It is in a.ts.");
  const resumed = await stage.callWhole("task", { resume: completed, prompt: "And the docs?" });
  expect(resumed).toMatchObject({ ...shown, metadata: { sessionId: completed } });
});
