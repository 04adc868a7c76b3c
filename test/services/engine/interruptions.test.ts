import { describe, expect, test } from "vitest";
import { durableStageWithTask } from "../../fakes/durable-stage.ts";
import type { Stage } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

describe("a task that OpenCode ends under", () => {
  const restarted = async (stage: Stage) => {
    await stage.restart();
    await stage.clock.advance(60);
  };

  test.each([
    ["killed", false],
    ["quit, which aborts the task", true],
  ])("goes on however often OpenCode is %s, while it finishes a step in between", async (_, aborts) => {
    const { stage, id } = await durableStageWithTask();
    for (let end = 0; end < 6; end += 1) {
      await stage.clock.advance(1_000);
      stage.host.step(id);
      await settled();
      stage.life.die();
      if (aborts) stage.host.abortByPerson(id);
      await restarted(stage);
      expect(stage.task(id).status).toBe("running");
    }
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
    expect(stage.notices()).toHaveLength(1);
  });

  test.each([0, 1, 3])("ends at the third time in a row without a step, after %d steps", async (steps) => {
    const { stage, id } = await durableStageWithTask();
    for (let step = 0; step < steps; step += 1) {
      await stage.clock.advance(1_000);
      stage.host.step(id);
      await restarted(stage);
    }
    // The last restart of those above came after a step: it was the first of the three.
    for (let end = steps > 0 ? 1 : 0; end < 2; end += 1) {
      await restarted(stage);
      expect(stage.task(id).status).toBe("running");
    }
    await restarted(stage);
    expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "interrupted" } });
    expect(stage.notices()).toHaveLength(1);
  });

  test("shows its steps though more messages than are read at first stand behind them", async () => {
    const { stage, id } = await durableStageWithTask();
    for (let end = 0; end < 4; end += 1) {
      await stage.clock.advance(1_000);
      stage.host.step(id);
      for (const note of ["a", "b", "c", "d"]) {
        const messageID = `msg_${end}${note}`;
        const parts = [{ id: `prt_${end}${note}`, text: "by the way" }];
        await stage.host.prompt({ sessionID: id, messageID, parts, agent: undefined, model: undefined, noReply: true });
      }
      stage.life.die();
      stage.host.abortByPerson(id);
      await restarted(stage);
      expect(stage.task(id).status).toBe("running");
    }
  });
});
