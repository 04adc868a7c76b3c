import { describe, expect, test } from "vitest";
import { refused } from "../../fakes/fake-host.ts";
import { createStage, PARENT, type Stage, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

const HOUR = 3_600_000;

const sentTo = (stage: Stage, sessionID: string) =>
  stage.host.attempts.filter((prompt) => prompt.sessionID === sessionID);

const errorToasts = (stage: Stage) => stage.host.toasts.filter(({ variant }) => variant === "error");

/** The parent's agent is taken out of the configuration. */
const loseAgent = (stage: Stage) => {
  stage.host.at(PARENT).agent = "mine";
};

describe("a notice that the host refuses for good", () => {
  test("is given up after three times: the task comes to rest with its result, and the person is notified once", async () => {
    const stage = createStage();
    const [id, other] = [await stage.launch({ description: "count files" }), await stage.launch()];
    stage.host.finish(id, "12");
    stage.host.failNext("prompt", { ...refused, message: "the request is bad" }, 3);
    // Less than after which the other one would be told of as stale.
    await stage.clock.advance(HOUR / 10);
    expect(sentTo(stage, PARENT)).toHaveLength(3);
    expect(stage.host.toasts).toEqual([
      {
        message:
          'The agent could not be notified that task "count files" ended; its result is kept. OpenCode said: the request is bad',
        variant: "error",
      },
    ]);
    expect(stage.logged.filter((line) => line.includes("given up"))).toHaveLength(1);
    expect(await stage.call("output", { task_id: id })).toContain("12");
    // At rest: it can be resumed, and what ends after it is told.
    await stage.call("task", { resume: id, prompt: "And now?" });
    await stage.finish(other, "13");
    expect(stage.notices()).toHaveLength(1);
  });

  test("for an agent that is no more, goes out once more without it, and its default agent is notified", async () => {
    const { stage, id } = await stageWithTask();
    loseAgent(stage);
    stage.host.finish(id, "12");
    await stage.clock.advance(10_000);
    expect(stage.notices()).toHaveLength(1);
    expect(sentTo(stage, PARENT).map(({ agent }) => agent)).toEqual(["mine", undefined]);
    expect(new Set(sentTo(stage, PARENT).map(({ messageID }) => messageID)).size).toBe(1);
    expect(errorToasts(stage)).toEqual([]);
  });

  test("is given up where the host takes it each time, and meets an error instead of storing it", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.habits(PARENT, "reject");
    stage.host.finish(id, "12");
    await stage.clock.advance(HOUR);
    expect(sentTo(stage, PARENT)).toHaveLength(3);
    expect(errorToasts(stage).map(({ message }) => message)).toEqual([expect.stringContaining("agent not found")]);
    expect(stage.task(id).result).toBe("12");
    stage.host.habits(PARENT, "reply");
    await stage.call("task", { resume: id, prompt: "And now?" });
  });

  test("does not keep a task waiting that launched the one it is about: that one ends", async () => {
    const stage = createStage();
    const lead = await stage.launch();
    const own = await stage.launch({}, { sessionID: lead });
    await stage.finish(lead, "waiting");
    stage.host.habits(lead, "reject");
    stage.host.finish(own, "12");
    await stage.clock.advance(60_000);
    expect(stage.task(lead)).toMatchObject({ status: "completed", result: "waiting" });
    expect(stage.task(own)).toMatchObject({ status: "completed", result: "12" });
  });
});

test("errors of the parent's own turns, with a notice among them that is answered later, give nothing up", async () => {
  const { stage, id } = await stageWithTask();
  stage.host.habits(PARENT, "mute", "mute", "reply");
  stage.host.finish(id, "12");
  for (let time = 0; time < 2; time += 1) {
    await settled();
    stage.host.emit({ type: "error", sessionID: PARENT, error: { name: "APIError", message: "401" } });
    await stage.clock.advance(6_000);
  }
  await stage.clock.advance(60_000);
  expect(errorToasts(stage)).toEqual([]);
  expect(stage.notices()).toHaveLength(1);
  expect(stage.host.at(PARENT).messages.at(-1)).toMatchObject({ role: "assistant", text: "ok" });
});
