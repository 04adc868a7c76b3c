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
