import { describe, expect, test } from "vitest";
import type { ModelRef } from "../../../src/task.ts";
import { createStage, PARENT, type Stage } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

const SMALL: ModelRef = { providerID: "fake", modelID: "small", variant: "low" };
const CLAUDE: ModelRef = { providerID: "router", modelID: "anthropic/claude" };
const AFTER = 30_000;

const NO_CREDIT = { name: "APIError", message: "Your credit balance is too low", refusal: "quota" } as const;

const stageWith = (more: Parameters<typeof createStage>[0] = {}) =>
  createStage({ fallback: { agents: { general: [SMALL, CLAUDE] }, after: AFTER }, ...more });

/** The models that the child was asked to work with, in order. */
const modelsAsked = (stage: Stage, id: string) => stage.host.at(id).prompts.map(({ model }) => model?.modelID);

/** The host reports the end of the refused turn, and after a moment the next model is asked. */
const moment = (stage: Stage) => stage.clock.advance(2_000);

const refuse = async (stage: Stage, id: string, error: { name: string; message: string } = NO_CREDIT) => {
  stage.host.fail(id, error);
  await settled();
  await moment(stage);
};

const noticesOf = (stage: Stage) =>
  stage.host
    .at(PARENT)
    .prompts.filter(({ noReply }) => !noReply)
    .map(({ parts }) => parts.map(({ text }) => text).join("\n"));

describe("a task whose model is refused", () => {
  test("goes on with the next one in the same session, and its parent is notified once, with the reason", async () => {
    const stage = stageWith();
    const id = await stage.launch();
    await refuse(stage, id);
    expect(modelsAsked(stage, id)).toEqual(["m1", "small"]);
    expect(new Set(stage.host.at(id).prompts.map(({ messageID }) => messageID)).size).toBe(1);
    const went = 'went on with fake/small#low after fake/m1: "Your credit balance is too low"';
    expect(await stage.call("list")).toContain(` · ${went}`);
    stage.host.finish(id, "12");
    await stage.clock.advance(60_000);
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12", model: SMALL });
    expect(stage.task(id).refusedModels).toEqual([
      { model: { providerID: "fake", modelID: "m1" }, reason: "Your credit balance is too low" },
    ]);
    expect(await stage.call("output", { task_id: id })).toContain(`Model: ${went}`);
    const notices = noticesOf(stage);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toContain(`It ${went}.`);
  });

  test("tries each once, and fails when none is left, with all reasons", async () => {
    const stage = stageWith();
    const id = await stage.launch();
    await refuse(stage, id);
    await refuse(stage, id, { ...NO_CREDIT, message: "no such model" });
    await refuse(stage, id, { ...NO_CREDIT, message: "wrong key" });
    await stage.clock.advance(60_000);
    expect(modelsAsked(stage, id)).toEqual(["m1", "small", "anthropic/claude"]);
    expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "provider", message: "wrong key" } });
    expect(noticesOf(stage)[0]).toContain(
      'It was refused by every model: fake/m1: "Your credit balance is too low", fake/small#low: "no such model", router/anthropic/claude: "wrong key".',
    );
  });

  test("is not taken for refused again by what the host still shows of the model that it left", async () => {
    const stage = stageWith();
    const id = await stage.launch();
    stage.host.habits(id, "mute", "work");
    await refuse(stage, id);
    // Nobody works on it: the newest answer is still the refusal of the first model.
    stage.host.emit({ type: "idle", sessionID: id });
    await stage.clock.advance(5_000);
    expect(stage.task(id)).toMatchObject({ state: "running.active.working.busy", model: SMALL });
    expect(modelsAsked(stage, id)).toEqual(["m1", "small", "small"]);
  });

  test("leaves its own tasks at work", async () => {
    const stage = stageWith();
    const id = await stage.launch();
    const own = await stage.launch({}, { sessionID: id });
    await refuse(stage, id);
    expect([stage.task(id).state, stage.task(own).state]).toEqual([
      "running.active.working.busy",
      "running.active.working.busy",
    ]);
  });

  test("goes on in the process that takes it over", async () => {
    const stage = stageWith();
    const id = await stage.launch();
    stage.host.fail(id, NO_CREDIT);
    await settled();
    expect(stage.task(id).state).toBe("running.active.changingModel.settling");
    await stage.restart();
    await stage.clock.advance(5_000);
    expect(stage.task(id)).toMatchObject({ state: "running.active.working.busy", model: SMALL });
    stage.host.finish(id, "12");
    await stage.clock.advance(60_000);
    expect(noticesOf(stage)).toHaveLength(1);
  });

  test("begins its next run with its own model, which a resume may name", async () => {
    const stage = stageWith();
    const id = await stage.launch();
    await refuse(stage, id);
    stage.host.finish(id, "12");
    await stage.clock.advance(60_000);
    const resume = (model: string) => stage.call("task", { resume: id, prompt: "more", model });
    await expect(resume("fake/small#low")).rejects.toThrow('works with "fake/m1"');
    await resume("fake/m1");
    await settled();
    expect(modelsAsked(stage, id).at(-1)).toBe("m1");
    expect(stage.task(id).model?.modelID).toBe("m1");
    expect(stage.task(id).refusedModels).toBeUndefined();
  });
});

describe("a task whose next model has no slot left", () => {
  const full = async () => {
    const stage = stageWith({
      concurrency: { providers: { router: 1 } },
      fallback: { agents: { general: [CLAUDE] }, after: AFTER },
    });
    const [id, other] = [await stage.launch(), await stage.launch()];
    const args = { description: "find it", prompt: "Find it.", agent: "general", model: "router/anthropic/claude" };
    await stage.call("task", args);
    const [on = ""] = stage.engine
      .list({ parentSessionID: PARENT })
      .flatMap(({ sessionID }) => (sessionID === id || sessionID === other ? [] : sessionID));
    await refuse(stage, id);
    expect(stage.task(id)).toMatchObject({
      state: "running.queued",
      model: CLAUDE,
      queue: { place: 1, heldUpBy: { kind: "provider", name: "router", used: 1, limit: 1 } },
    });
    expect(modelsAsked(stage, id)).toEqual(["m1"]);
    return { stage, id, on };
  };

  test("waits for one, before those that were launched later, and goes on then", async () => {
    const { stage, id, on } = await full();
    const args = { description: "find it", prompt: "Find it.", agent: "general", model: "router/anthropic/claude" };
    expect(await stage.call("task", args)).toContain("queued: 2nd, waits for a slot of router (1 of 1 in use)");
    stage.host.finish(on, "12");
    await stage.clock.advance(2_000);
    expect(stage.task(id).state).toBe("running.active.working.busy");
    expect(modelsAsked(stage, id)).toEqual(["m1", "anthropic/claude"]);
  });
});

describe("a task whose provider refuses for now", () => {
  const tellToWait = (stage: Stage, sessionID: string, attempt: number, ms: number) =>
    stage.host.emit({ type: "retrying", sessionID, attempt, message: "slow down", until: stage.clock.now() + ms });

  test("goes on with the next model when it would wait too long, and its provider holds up nobody any more", async () => {
    const stage = stageWith();
    const id = await stage.launch();
    tellToWait(stage, id, 1, AFTER);
    const args = { description: "find it", prompt: "Find it.", agent: "general" };
    expect(await stage.call("task", args)).toContain("waits for fake, which refused another task");
    await stage.clock.advance(AFTER - 1_000);
    expect(modelsAsked(stage, id)).toEqual(["m1"]);
    stage.host.emit({ type: "busy", sessionID: id });
    tellToWait(stage, id, 2, 2_000);
    await stage.clock.advance(5_000);
    expect(modelsAsked(stage, id)).toEqual(["m1", "small"]);
    expect(stage.task(id)).toMatchObject({
      state: "running.active.working.busy",
      refusedModels: [{ reason: "slow down" }],
    });
    expect(stage.engine.list({ parentSessionID: PARENT }).every(({ queue }) => queue === undefined)).toBe(true);
  });
});
