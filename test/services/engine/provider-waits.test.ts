import { describe, expect, test } from "vitest";
import { createDurableStage } from "../../fakes/durable-stage.ts";
import { createStage, PARENT, type Stage } from "../../fakes/stage.ts";

const HOUR = 3_600_000;

/** Longer than it takes to see that a provider refuses for long, to stop a session, and to ask OpenCode what became of a run. */
const MOMENT = 10_000;

/** The provider refuses the task's newest request, and says when it serves again. OpenCode waits for that. */
const refuse = async (stage: Stage, id: string, ms: number) => {
  stage.host.refuseForNow(id, ms);
  await stage.clock.advance(MOMENT);
};

const stateOf = (stage: Stage, id: string) => stage.task(id).state;

describe("a task whose provider says that it serves again in hours", () => {
  test("leaves its slot to others, and is shown as waiting until then", async () => {
    const stage = createStage({ concurrency: { default: 1 } });
    const id = await stage.launch();
    const until = new Date(stage.clock.now() + 2 * HOUR).toISOString();
    await refuse(stage, id, 2 * HOUR);
    expect(stage.task(id)).toMatchObject({
      state: "running.pausing.paused",
      waiting: { for: "quota", until, refusal: { message: "slow down" } },
    });
    expect(stage.host.at(id).busy).toBe(false);
    expect(await stage.call("list", {})).toMatch(
      /waits for .* to serve again: "slow down".* continues by itself in 1h 59m/,
    );
  });

  test("continues by itself at that time, after its last finished step", async () => {
    const stage = createStage();
    const id = await stage.launch();
    stage.host.step(id);
    await refuse(stage, id, 2 * HOUR);
    await stage.clock.advance(2 * HOUR - 2 * MOMENT);
    expect(stage.host.at(id).prompts).toHaveLength(1);
    await stage.clock.advance(3 * MOMENT);
    expect(stateOf(stage, id)).toBe("running.active.working.busy");
    expect(new Set(stage.host.at(id).prompts.map(({ messageID }) => messageID)).size).toBe(1);
    expect(stage.host.at(id).messages.filter(({ finish }) => finish === "tool-calls")).toHaveLength(1);
    await stage.finish(id, "12");
    await stage.clock.advance(MOMENT);
    expect(stage.noticeText()).toContain("12");
  });

  test("may be refused again then, and waits once more", async () => {
    const stage = createStage();
    const id = await stage.launch();
    for (let time = 0; time < 3; time += 1) {
      await refuse(stage, id, HOUR);
      expect(stage.task(id).waiting?.for).toBe("quota");
      await stage.clock.advance(HOUR);
      expect(stateOf(stage, id)).toBe("running.active.working.busy");
    }
  });

  test("waits in the next process, too", async () => {
    const stage = createDurableStage();
    const id = await stage.launch();
    await refuse(stage, id, 2 * HOUR);
    await stage.restart();
    await stage.clock.advance(HOUR);
    expect(stage.task(id).waiting?.for).toBe("quota");
    expect(stage.host.at(id).prompts).toHaveLength(1);
    await stage.clock.advance(HOUR);
    expect(stateOf(stage, id)).toBe("running.active.working.busy");
  });

  test("keeps others of its provider from starting until then, in the next process, too", async () => {
    const stage = createDurableStage();
    const id = await stage.launch();
    await refuse(stage, id, 2 * HOUR);
    const other = await stage.launch();
    expect(stage.task(other).queue).toMatchObject({ heldUpBy: { kind: "rateLimit", name: "fake" } });
    await stage.restart();
    await stage.clock.advance(HOUR);
    expect(stateOf(stage, other)).toBe("running.queued");
    const args = { description: "find it", prompt: "Find it.", agent: "general", model: "router/anthropic/claude" };
    await stage.call("task", args);
    const [elsewhere = ""] = stage.engine
      .list({ parentSessionID: PARENT })
      .flatMap(({ sessionID }) => ([id, other].includes(sessionID) ? [] : sessionID));
    expect(stateOf(stage, elsewhere)).toBe("running.active.working.busy");
    await stage.clock.advance(HOUR);
    expect([stateOf(stage, id), stateOf(stage, other)]).toEqual(Array(2).fill("running.active.working.busy"));
  });

  test("continues sooner when a person has it continue", async () => {
    const stage = createStage();
    const id = await stage.launch();
    await refuse(stage, id, 2 * HOUR);
    const continued = stage.engine.continue([id]);
    await stage.clock.advance(MOMENT);
    expect((await continued).map(({ refused }) => refused)).toEqual([undefined]);
    expect(stateOf(stage, id)).toBe("running.active.working.busy");
  });

  test("stays paused where a person pauses it meanwhile", async () => {
    const stage = createStage();
    const id = await stage.launch();
    await refuse(stage, id, HOUR);
    const paused = stage.engine.pause([id], "person");
    await stage.clock.advance(MOMENT);
    expect((await paused).map(({ refused }) => refused)).toEqual([undefined]);
    await stage.clock.advance(2 * HOUR);
    expect(stage.task(id)).toMatchObject({ state: "running.pausing.paused", waiting: { for: "continue" } });
  });

  test("is cancelled at once", async () => {
    const stage = createStage();
    const id = await stage.launch();
    await refuse(stage, id, 2 * HOUR);
    await stage.call("cancel", { task_id: id });
    expect(stage.task(id).status).toBe("cancelled");
  });

  test("is ended where that is later than it may wait, with what helps", async () => {
    const stage = createStage({ timeouts: { provider: HOUR } });
    const id = await stage.launch();
    await refuse(stage, id, 2 * HOUR);
    expect(stage.task(id)).toMatchObject({ status: "error", error: { name: "ProviderRefuses", kind: "provider" } });
    expect(stage.task(id).error?.message).toMatch(
      /^Its provider refuses it, and serves again in 1h 59m .*: "slow down"/,
    );
    expect(stage.task(id).error?.message).toContain("timeouts.provider");
    const other = await stage.launch();
    expect(stateOf(stage, other)).toBe("running.active.working.busy");
  });

  test("goes on with another model where it has one", async () => {
    const models = [{ providerID: "router", modelID: "m2" }];
    const stage = createStage({ fallback: { agents: { general: models }, after: 60_000 } });
    const id = await stage.launch();
    await refuse(stage, id, 2 * HOUR);
    expect(stage.task(id).model).toMatchObject({ providerID: "router" });
    expect(stage.task(id).waiting?.for).not.toBe("quota");
  });

  test("keeps its slot while a task of its own works, which would be stopped with it", async () => {
    const stage = createStage();
    const lead = await stage.launch();
    const below = await stage.launch({}, { sessionID: lead });
    await refuse(stage, lead, 2 * HOUR);
    expect(stateOf(stage, lead)).toBe("running.active.working.retrying");
    await stage.finish(below, "12");
    await stage.clock.advance(MOMENT);
    expect(stage.task(lead).waiting?.for).toBe("quota");
  });

  test("gets the results that have waited for it once it continues", async () => {
    const stage = createStage();
    const lead = await stage.launch();
    const below = await stage.launch({}, { sessionID: lead });
    const paused = stage.engine.pause([below], "person");
    await stage.clock.advance(MOMENT);
    await paused;
    await refuse(stage, lead, HOUR);
    const continued = stage.engine.continue([below]);
    await stage.clock.advance(MOMENT);
    await continued;
    await stage.finish(below, "the answer below");
    await stage.clock.advance(MOMENT);
    expect(stage.host.at(lead).prompts).toHaveLength(1);
    await stage.clock.advance(HOUR);
    expect(
      stage.host
        .at(lead)
        .prompts.flatMap(({ parts }) => parts.map(({ text }) => text))
        .join("\n"),
    ).toContain("the answer below");
  });
});

test("a task whose provider says that it serves again in minutes keeps its slot, as OpenCode asks again by itself", async () => {
  const stage = createStage();
  const id = await stage.launch();
  await refuse(stage, id, 4 * 60_000);
  expect(stateOf(stage, id)).toBe("running.active.working.retrying");
  expect(stage.engine.list({ parentSessionID: PARENT })).toHaveLength(1);
});
