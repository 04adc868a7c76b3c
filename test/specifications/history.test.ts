import { expect } from "vitest";
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
    expect(stage.engine.list({})).toEqual(before);
    await settled();
    expect(await stage.call("list")).toContain(completed);
  },
  { onDisk: true },
);
