import { describe, expect, test } from "vitest";
import type { HostError } from "../../../src/machines/task/events.ts";
import { STEPS_WITHOUT_END } from "../../../src/services/runtime/run-outcome.ts";
import { createStage, type Stage, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

const hidden = (stage: Stage) =>
  stage
    .notices()
    .flat()
    .filter(({ synthetic }) => synthetic)
    .map(({ text }) => text)
    .join("\n");

describe("a turn that would never end", () => {
  /** The model takes steps without a tool call, of which the host does not know why they ended. */
  const takeSteps = async (stage: Stage, id: string, count: number, text: string) => {
    for (let step = 0; step < count; step += 1) {
      stage.host.step(id, { finish: "unknown", text });
      await settled();
    }
  };

  test("is aborted at the third step, and what was said is the result", async () => {
    const { stage, id } = await stageWithTask();
    await takeSteps(stage, id, STEPS_WITHOUT_END - 1, "12");
    expect(stage.host.calls).not.toContain("abort");
    expect(stage.task(id).status).toBe("running");
    await takeSteps(stage, id, 1, "12");
    expect(stage.host.at(id).busy).toBe(false);
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12", incomplete: "noStopReason" });
    await stage.clock.advance(60_000);
    expect(stage.notices()).toHaveLength(1);
    expect(hidden(stage)).toContain("Its result may be cut: the provider never said that the model had finished");
  });

  test("is aborted again with each further step where the host did not take the abort", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.failNext("abort", { kind: "unavailable", name: "Unreachable", message: "no" });
    await takeSteps(stage, id, STEPS_WITHOUT_END, "12");
    expect(stage.task(id).status).toBe("running");
    await takeSteps(stage, id, 1, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  });

  test("and in which nothing was said is a loop", async () => {
    const { stage, id } = await stageWithTask();
    await takeSteps(stage, id, STEPS_WITHOUT_END, "");
    expect(stage.task(id)).toMatchObject({ status: "error", error: { name: "NoStopReason", kind: "loop" } });
    expect(stage.task(id)).not.toHaveProperty("result");
  });

  test("does not hide the tasks that its agent waits for", async () => {
    const { stage, id } = await stageWithTask();
    const own = await stage.launch({}, { sessionID: id });
    await takeSteps(stage, id, STEPS_WITHOUT_END, "I wait.");
    expect(stage.task(id).state).toBe("running.active.working.awaitingTasks");
    stage.host.finish(own, "12");
    await stage.clock.advance(5_000);
    expect(stage.task(id).status).not.toBe("completed");
  });

  test("in a session below the task is aborted, and the task goes on", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.addSession("ses_below", { parentID: id, habit: "work" });
    stage.host.emitSession("ses_below", true);
    await stage.host.prompt({
      ...{ sessionID: "ses_below", messageID: "msg_below", parts: [], agent: undefined, model: undefined },
    });
    await takeSteps(stage, "ses_below", STEPS_WITHOUT_END, "more");
    expect(stage.host.at("ses_below").busy).toBe(false);
    expect(stage.task(id).state).toBe("running.active.working.busy");
  });
});

describe("a fault of the host", () => {
  const LOCKED = { name: "UnknownError", message: "Failed to execute statement", fault: "host" } as const;
  const PAUSE = 20_000;

  const interrupt = async (stage: Stage, id: string) => {
    stage.host.fail(id, LOCKED);
    await settled();
  };

  test("interrupts a run, which goes on with the same prompt", async () => {
    const { stage, id } = await stageWithTask();
    await interrupt(stage, id);
    expect(stage.task(id).state).toBe("running.active.prompting.backingOff");
    await stage.clock.advance(PAUSE);
    expect(stage.task(id).state).toBe("running.active.working.busy");
    expect(new Set(stage.host.at(id).prompts.map(({ messageID }) => messageID)).size).toBe(1);
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  });

  test("ends it at the third time in a row, as what it is; a step in between begins the count anew", async () => {
    const { stage, id } = await stageWithTask();
    for (let time = 0; time < 2; time += 1) {
      await interrupt(stage, id);
      await stage.clock.advance(PAUSE);
    }
    stage.host.step(id);
    for (let time = 0; time < 2; time += 1) {
      await interrupt(stage, id);
      await stage.clock.advance(PAUSE);
      expect(stage.task(id).state).toBe("running.active.working.busy");
    }
    await interrupt(stage, id);
    expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "host", message: LOCKED.message } });
  });

  test("that leaves a step without a reason is no cancellation by a person, however often the host says that it is idle", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.emit({ type: "error", sessionID: id, error: LOCKED });
    stage.host.step(id, { finish: undefined, text: "" });
    stage.host.at(id).messages.pop();
    stage.host.at(id).busy = false;
    stage.host.emit({ type: "idle", sessionID: id });
    await settled();
    expect(stage.task(id).state).toBe("running.active.prompting.backingOff");
    stage.host.emit({ type: "idle", sessionID: id });
    await settled();
    expect(stage.task(id).state).toBe("running.active.prompting.backingOff");
    await stage.clock.advance(PAUSE);
    expect(stage.task(id).state).toBe("running.active.working.busy");
  });

  /** The host fails as it is asked to go on, before it stores anything. */
  const failUnstored = async (stage: Stage, id: string, error: HostError) => {
    stage.host.at(id).messages.pop();
    stage.host.at(id).busy = false;
    stage.host.emit({ type: "error", sessionID: id, error });
    stage.host.emit({ type: "idle", sessionID: id });
    await settled();
  };

  test("that stores no message counts as well: the third one in a row is the error of the run", async () => {
    const { stage, id } = await stageWithTask();
    await interrupt(stage, id);
    await stage.clock.advance(PAUSE);
    await failUnstored(stage, id, LOCKED);
    expect(stage.task(id).state).toBe("running.active.prompting.backingOff");
    await stage.clock.advance(PAUSE);
    await failUnstored(stage, id, { ...LOCKED, message: "the disk is full" });
    expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "host", message: "the disk is full" } });
  });

  test("is followed by another error of the host, which is not counted as one more fault", async () => {
    const { stage, id } = await stageWithTask();
    for (let time = 0; time < 2; time += 1) {
      await interrupt(stage, id);
      stage.host.emit({ type: "error", sessionID: id, error: LOCKED });
      await settled();
      expect(stage.task(id).state).toBe("running.active.prompting.backingOff");
      await stage.clock.advance(PAUSE);
      expect(stage.task(id).state).toBe("running.active.working.busy");
    }
  });

  test("does not hide that a person stops the run afterwards", async () => {
    const { stage, id } = await stageWithTask();
    await interrupt(stage, id);
    stage.host.emit({ type: "error", sessionID: id, error: LOCKED });
    await stage.clock.advance(PAUSE);
    // An abort between two requests leaves neither an error nor a reason.
    stage.host.step(id, { finish: undefined, text: "" });
    stage.host.at(id).messages.pop();
    stage.host.at(id).busy = false;
    stage.host.emit({ type: "idle", sessionID: id });
    await stage.clock.advance(1_000);
    expect(stage.task(id).status).toBe("cancelled");
  });
});

test("a model that refuses after the third interruption makes room for the next one, which is asked", async () => {
  const small = { providerID: "fake", modelID: "small" };
  const { stage, id } = await stageWithTask({ fallback: { agents: { general: [small] }, after: 30_000 } });
  for (let time = 0; time < 2; time += 1) {
    await stage.restart();
    await stage.clock.advance(60);
  }
  expect(stage.task(id).status).toBe("running");
  stage.life.die();
  stage.host.fail(id, { name: "APIError", message: "no credit", refusal: "quota" });
  await stage.restart();
  await stage.clock.advance(5_000);
  expect(stage.task(id)).toMatchObject({ state: "running.active.working.busy", model: small });
  await stage.finish(id, "12");
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
});

describe("a subagent of the host that works in the background", () => {
  /** The agent has the host begin a subagent, and ends its turn. */
  const launchLead = async (stage: Stage) => {
    const id = await stage.launch();
    const below = `${id}_below`;
    const begin = async () => {
      stage.host.addSession(below, { parentID: id, habit: "work" });
      stage.host.emitSession(below, true);
      await stage.host.prompt({ sessionID: below, messageID: "msg_b", parts: [], agent: undefined, model: undefined });
    };
    const effect = { kind: "background", sessionID: below } as const;
    const call = { type: "toolCall", sessionID: id, callID: "call_1", tool: "task", input: "it" } as const;
    stage.host.emit({ ...call, stage: "stored", effect });
    await stage.finish(id, "I wait.");
    return { id, below, begin };
  };

  /** The host gives the agent what the subagent has come to, in a message of its own. */
  const report = (stage: Stage, id: string) =>
    stage.host.prompt({
      ...{ sessionID: id, messageID: "msg_zz_report", agent: undefined, model: undefined },
      parts: [{ id: "prt_report", text: "<task>", synthetic: true }],
    });

  test("is work of the task from its call on, until its caller has answered", async () => {
    const stage = createStage();
    const { id, below, begin } = await launchLead(stage);
    expect(stage.task(id).state).toBe("running.active.working.busy");
    await begin();
    await stage.clock.advance(60_000);
    expect(stage.task(id).state).toBe("running.active.working.busy");
    await stage.finish(below, "42");
    expect(stage.task(id).state).toBe("running.active.working.busy");
    await report(stage, id);
    await settled();
    await stage.finish(id, "It is 42.");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "It is 42." });
  });

  test.each(["never begins", "is never reported"])("that %s is waited for in vain, but not for ever", async (what) => {
    const stage = createStage();
    const { id, below, begin } = await launchLead(stage);
    if (what === "is never reported") {
      await begin();
      stage.host.finish(below, "42");
    }
    await stage.clock.advance(5_000);
    expect(stage.task(id).state).toBe("running.active.working.busy");
    await stage.clock.advance(20_000);
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "I wait." });
  });

  test("whose end is missed is not waited for for ever", async () => {
    const stage = createStage();
    const { id, below, begin } = await launchLead(stage);
    await begin();
    await stage.clock.advance(60_000);
    expect(stage.task(id).state).toBe("running.active.working.busy");
    stage.host.at(below).busy = false;
    await stage.clock.advance(30_000);
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "I wait." });
  });

  test("is waited for while the host names its task as busy in its place, as where a worktree does not answer", async () => {
    const stage = createStage();
    const { id, below, begin } = await launchLead(stage);
    await begin();
    const { busy } = stage.host;
    stage.host.busy = async () => ({ ok: true, value: new Set([id]) });
    await stage.clock.advance(60_000);
    stage.host.busy = busy;
    await stage.clock.advance(60_000);
    expect(stage.task(id).state).toBe("running.active.working.busy");
    stage.host.finish(below, "42");
    await stage.clock.advance(30_000);
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "I wait." });
  });

  test("that hangs makes the task stale, and ends with it", async () => {
    const stage = createStage();
    const { id, below, begin } = await launchLead(stage);
    await begin();
    await stage.clock.advance(800_000);
    expect(stage.task(id).attention).toMatchObject({ kind: "stale" });
    await stage.call("cancel", { task_id: id });
    expect(stage.task(id).status).toBe("cancelled");
    expect(stage.host.at(below).busy).toBe(false);
  });

  test("of another session, such as a fork of a person, is none of the task's work", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.addSession("ses_fork", { habit: "work" });
    stage.host.emitSession("ses_fork", true);
    await stage.host.prompt({
      sessionID: "ses_fork",
      messageID: "msg_f",
      parts: [],
      agent: undefined,
      model: undefined,
    });
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  });
});
