import { describe, expect, test } from "vitest";
import { unavailable } from "../../fakes/fake-host.ts";
import { createStage, PARENT, type Stage } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

const TASK = { description: "find it", prompt: "Find it.", agent: "general" };

const modelsOf = (stage: Stage, id: string) => ({
  session: stage.host.at(id).model,
  prompt: stage.host.at(id).prompts[0]?.model,
  task: stage.task(id).model,
});

const launchOn = async (stage: Stage, model: string, more: Record<string, unknown> = {}, sessionID = PARENT) => {
  const { metadata } = await stage.callWhole("task", { ...TASK, model, ...more }, { sessionID });
  await settled();
  return String(metadata?.sessionId);
};

describe("a task that is launched with a model runs on it", () => {
  test.each([
    ["router/anthropic/claude", { providerID: "router", modelID: "anthropic/claude" }, {}],
    ["fake/small#high", { providerID: "fake", modelID: "small", variant: "high" }, {}],
    ["fake/m1, instead of the agent's own", { providerID: "fake", modelID: "m1" }, { agent: "explore" }],
  ])("%s", async (name, model, more) => {
    const stage = createStage();
    const id = await launchOn(stage, name.split(",")[0] ?? "", more);
    expect(modelsOf(stage, id)).toEqual({ session: model, prompt: model, task: model });
  });

  test("as a fork, too", async () => {
    const stage = createStage();
    const id = await launchOn(stage, "fake/small", { fork: true });
    expect(modelsOf(stage, id)).toMatchObject({ prompt: { modelID: "small" }, task: { modelID: "small" } });
  });

  test("and what it launches runs on it, unless that has a model of its own", async () => {
    const stage = createStage();
    const lead = await launchOn(stage, "router/anthropic/claude");
    const heir = await stage.launch({}, { sessionID: lead });
    expect(stage.task(heir).model?.modelID).toBe("anthropic/claude");
    const own = await launchOn(stage, "fake/small#low", {}, lead);
    expect(stage.task(own).model).toEqual({ providerID: "fake", modelID: "small", variant: "low" });
  });

  test("and goes on with it when it is resumed, and after a restart", async () => {
    const stage = createStage();
    const id = await launchOn(stage, "fake/small#high");
    await stage.restart();
    stage.host.finish(id, "12");
    await stage.clock.advance(60_000);
    await stage.call("task", { resume: id, prompt: "more", model: "fake/small#high" });
    await settled();
    expect(stage.host.at(id).prompts.at(-1)?.model).toEqual({ providerID: "fake", modelID: "small", variant: "high" });
  });

  test("and says so", async () => {
    const stage = createStage();
    expect(await stage.call("task", { ...TASK, model: "fake/small#high" })).toContain(
      "(agent general, model fake/small#high, batch batch_turn)",
    );
    const [task] = stage.engine.list({});
    expect(await stage.call("output", { task_id: task?.sessionID })).toContain(
      "(agent general, model fake/small#high)",
    );
  });
});

describe("a model that cannot be used is refused, and nothing is launched", () => {
  test.each([
    ["fake/smal", /Provider "fake" has no model "smal"\. Its models: fake\/small, fake\/m1\.$/],
    ["fakes/small", /has no provider "fakes"\. The nearest models: fake\/small, /],
    ["fake/small#hi", /has no variant "hi"\. Its variants: high, low\.$/],
    ["claude", /names no model: give "provider\/model".*: router\/anthropic\/claude, /],
  ])("%s", async (model, reason) => {
    const stage = createStage();
    let asked = 0;
    const ask = async () => {
      asked += 1;
    };
    await expect(stage.call("task", { ...TASK, model }, { ask })).rejects.toThrow(reason);
    expect(stage.engine.list({})).toEqual([]);
    expect(stage.host.calls).toEqual(["agents", "models"]);
    expect(asked).toBe(0);
  });

  test("a host that does not say which there are", async () => {
    const stage = createStage();
    // As often as it is asked within a minute.
    stage.host.failNext("models", unavailable, 6);
    const refused = expect(launchOn(stage, "fake/m1")).rejects.toThrow(/did not say which models there are.*Try again/);
    await stage.clock.advance(60_000);
    await refused;
    expect(stage.task(await launchOn(stage, "fake/m1")).model?.modelID).toBe("m1");
  });
});

test("the models are read once, and only when one is named", async () => {
  const stage = createStage();
  await stage.launch();
  expect(stage.host.calls).not.toContain("models");
  await Promise.all([launchOn(stage, "fake/m1"), launchOn(stage, "fake/small")]);
  await launchOn(stage, "fake/m1");
  expect(stage.host.calls.filter((call) => call === "models")).toHaveLength(1);
});

test("a task keeps its model: a resume that names another one is refused", async () => {
  const stage = createStage();
  const id = await launchOn(stage, "fake/small#high");
  await stage.finish(id, "12");
  for (const model of ["fake/m1", "fake/small", "nonsense"]) {
    await expect(stage.call("task", { resume: id, prompt: "more", model })).rejects.toThrow(
      /A resumed task keeps its model: task ses_0001 works with "fake\/small#high"\. Leave model out, or launch a new task/,
    );
  }
  expect(stage.task(id)).toMatchObject({ status: "completed", resumeCount: 0 });
});

test("a task without a model of its own cannot be resumed with one", async () => {
  const stage = createStage();
  stage.host.at(PARENT).model = undefined;
  const id = await stage.complete("12");
  const resume = stage.call("task", { resume: id, prompt: "more", model: "fake/m1" });
  await expect(resume).rejects.toThrow("A resumed task keeps its model. Leave model out");
});
