import { describe, expect, test } from "vitest";
import { createDurableStage } from "../../fakes/durable-stage.ts";
import { missing } from "../../fakes/fake-host.ts";
import { createStage, PARENT, type Stage, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

/** Longer than it takes to stop a session, and to ask OpenCode what became of a run. */
const MOMENT = 10_000;

const pause = async (stage: Stage, ...ids: string[]) => {
  const paused = stage.engine.pause(ids, "person");
  await stage.clock.advance(MOMENT);
  return paused;
};

const goOn = async (stage: Stage, ...ids: string[]) => {
  const continued = stage.engine.continue(ids);
  await stage.clock.advance(MOMENT);
  return continued;
};

const eventsOf = (stage: Stage, id: string, type: string) =>
  stage.store.journal(id).filter((event) => event.type === type);

/** The different messages that a session was prompted with: one that was sent again counts once. */
const promptsOf = ({ host }: Stage, id: string) => new Set(host.at(id).prompts.map(({ messageID }) => messageID));

const stateOf = (stage: Stage, id: string) => stage.task(id).state;

describe("a task at work", () => {
  test("is stopped, keeps what was done, and leaves its slot to the next one", async () => {
    const stage = createStage({ concurrency: { default: 1 } });
    const id = await stage.launch();
    const next = await stage.launch();
    stage.host.step(id);
    const steps = stage.host.at(id).messages.length;
    expect(stateOf(stage, next)).toBe("running.queued");
    expect(await pause(stage, id)).toEqual([{ task: expect.objectContaining({ sessionID: id, status: "running" }) }]);
    expect(stage.task(id)).toMatchObject({ state: "running.pausing.paused", waiting: { for: "continue" } });
    expect(stage.host.at(id).busy).toBe(false);
    expect(stage.host.at(id).messages).toHaveLength(steps);
    expect(stateOf(stage, next)).toBe("running.active.working.busy");
    expect(stage.notices()).toEqual([]);
  });

  test("goes on after its last finished step, with the prompt that it was given first, once there is a slot", async () => {
    const stage = createStage({ concurrency: { default: 1 } });
    const id = await stage.launch();
    const next = await stage.launch();
    stage.host.step(id);
    await pause(stage, id);
    expect(await goOn(stage, id)).toEqual([{ task: expect.objectContaining({ sessionID: id }) }]);
    expect(stateOf(stage, id)).toBe("running.queued");
    expect(stage.host.at(id).busy).toBe(false);
    await stage.finish(next, "10");
    await stage.clock.advance(MOMENT);
    expect(stateOf(stage, id)).toBe("running.active.working.busy");
    expect(promptsOf(stage, id).size).toBe(1);
    expect(stage.host.at(id).prompts).toHaveLength(2);
    expect(stage.host.at(id).messages.filter(({ finish }) => finish === "tool-calls")).toHaveLength(1);
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12", resumeCount: 0 });
    await stage.clock.advance(MOMENT);
    expect(stage.noticeText()).toContain("12");
  });

  test("goes on though OpenCode does not find its session at first: that its turn was ended is not taken for a person's doing", async () => {
    const { stage, id } = await stageWithTask();
    await pause(stage, id);
    stage.host.failNext("messages", missing);
    await goOn(stage, id);
    expect(stateOf(stage, id)).toBe("running.active.working.busy");
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  });

  test("is paused and goes on as often as somebody likes: none of that counts as an interruption", async () => {
    const { stage, id } = await stageWithTask();
    for (let time = 0; time < 5; time += 1) {
      await pause(stage, id);
      expect(stateOf(stage, id)).toBe("running.pausing.paused");
      await goOn(stage, id);
      expect(stateOf(stage, id)).toBe("running.active.working.busy");
    }
    expect(promptsOf(stage, id).size).toBe(1);
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  });

  test("that had answered just before is completed instead, and its result is delivered", async () => {
    const { stage, id } = await stageWithTask();
    const held = stage.host.holdNext("abort");
    const paused = stage.engine.pause([id], "person");
    stage.host.finish(id, "12");
    held.release();
    await stage.clock.advance(MOMENT);
    expect(await paused).toEqual([{ task: expect.objectContaining({ status: "completed", result: "12" }) }]);
    expect(stage.noticeText()).toContain("12");
    expect(await stage.engine.continue([id])).toEqual([{ task: expect.anything(), refused: expect.any(String) }]);
  });

  test("whose session does not stop at once is paused when it does", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.failNext("abort", { kind: "unavailable", name: "Unreachable", message: "connection refused" }, 2);
    await pause(stage, id);
    await stage.clock.advance(60_000);
    expect(stateOf(stage, id)).toBe("running.pausing.paused");
    expect(stage.host.at(id).busy).toBe(false);
  });

  test("that cannot be stopped is not paused, and goes on as it is", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.failNext("abort", { kind: "unavailable", name: "Unreachable", message: "connection refused" }, 50);
    const paused = stage.engine.pause([id], "person");
    await stage.clock.advance(900_000);
    expect(await paused).toEqual([
      { task: expect.anything(), refused: expect.stringContaining("could not be stopped") },
    ]);
    expect(stateOf(stage, id)).toBe("running.active.working.busy");
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  });

  test("that has stopped after all, when it was given up to stop it, goes on: nobody has cancelled it", async () => {
    const { stage, id } = await stageWithTask();
    const unheard = { kind: "unavailable", name: "Unreachable", message: "connection refused" } as const;
    stage.host.failNext("abort", unheard, 50);
    const paused = stage.engine.pause([id], "person");
    // By an attempt whose answer is lost.
    await stage.clock.advance(2_600);
    stage.host.abortByPerson(id);
    await stage.clock.advance(900_000);
    await paused;
    expect(stateOf(stage, id)).toBe("running.active.working.busy");
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  });

  test("whose answer must pass a gate is paused, and the gate judges the answer once it goes on", async () => {
    let runs = 0;
    const runCommand = async () => {
      runs += 1;
      return { end: "exited", exit: 0, output: "" } as const;
    };
    const stage = createStage({ gate: { agents: { general: "npm test" }, tries: 1, timeout: 60_000 }, runCommand });
    const id = await stage.launch();
    const held = stage.host.holdNext("abort");
    const paused = stage.engine.pause([id], "person");
    stage.host.finish(id, "12");
    held.release();
    await stage.clock.advance(MOMENT);
    await paused;
    expect(stateOf(stage, id)).toBe("running.pausing.paused");
    expect(runs).toBe(0);
    await goOn(stage, id);
    expect(runs).toBe(1);
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  });

  test("has its open requests rejected, and waits for no person while it is paused", async () => {
    const { stage, id } = await stageWithTask();
    await stage.ask(id);
    expect(stage.task(id).attention).toBeDefined();
    await pause(stage, id);
    expect(new Set(stage.host.rejected)).toEqual(new Set(["per_1"]));
    expect(stage.host.openRequests.size).toBe(0);
    expect(stage.task(id)).not.toHaveProperty("attention");
    expect(stateOf(stage, id)).toBe("running.pausing.paused");
    await goOn(stage, id);
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  });
});

describe("a task in the queue", () => {
  test("is paused without anything sent, and does not get the slot that becomes free", async () => {
    const stage = createStage({ concurrency: { default: 1 } });
    const first = await stage.launch();
    const queued = await stage.launch();
    await pause(stage, queued);
    expect(stage.task(queued)).toMatchObject({ state: "running.pausing.paused" });
    await stage.finish(first, "10");
    await stage.clock.advance(MOMENT);
    expect(stateOf(stage, queued)).toBe("running.pausing.paused");
    expect(stage.host.attempts.filter(({ sessionID }) => sessionID === queued)).toEqual([]);
    expect(stage.host.calls).not.toContain("abort");
  });

  test("is given its prompt once it goes on", async () => {
    const stage = createStage({ concurrency: { default: 1 } });
    const first = await stage.launch();
    const queued = await stage.launch({ prompt: "Count the tests." });
    await pause(stage, queued);
    await goOn(stage, queued);
    expect(stateOf(stage, queued)).toBe("running.queued");
    await stage.finish(first, "10");
    await stage.clock.advance(MOMENT);
    expect(stage.host.at(queued).prompts.map(({ parts }) => parts[0]?.text)).toEqual(["Count the tests."]);
    await stage.finish(queued, "12");
    expect(stage.task(queued)).toMatchObject({ status: "completed", result: "12" });
  });

  test("that waits to go on after a pause can be paused again, and loses nothing by that", async () => {
    const stage = createStage({ concurrency: { default: 1 } });
    const id = await stage.launch();
    const next = await stage.launch();
    stage.host.step(id);
    await pause(stage, id);
    await goOn(stage, id);
    await pause(stage, id);
    expect(stateOf(stage, id)).toBe("running.pausing.paused");
    await stage.finish(next, "10");
    await goOn(stage, id);
    expect(stateOf(stage, id)).toBe("running.active.working.busy");
    expect(promptsOf(stage, id).size).toBe(1);
  });
});

describe("of tasks below each other", () => {
  const stageWithFamily = async (options: Parameters<typeof createStage>[0] = {}) => {
    const stage = createStage(options);
    const lead = await stage.launch();
    const helper = await stage.launch({ description: "help", prompt: "Help." }, { sessionID: lead });
    const below = await stage.launch({ description: "help it", prompt: "Help it." }, { sessionID: helper });
    return { stage, lead, helper, below };
  };

  test("those below are paused with the one above, and go on with it", async () => {
    const { stage, lead, helper, below } = await stageWithFamily();
    expect(await pause(stage, lead)).toHaveLength(1);
    for (const id of [lead, helper, below]) {
      expect(stateOf(stage, id)).toBe("running.pausing.paused");
      expect(stage.host.at(id).busy).toBe(false);
    }
    await goOn(stage, lead);
    for (const id of [lead, helper, below]) {
      expect(stage.task(id).status).toBe("running");
      expect(stage.host.at(id).busy).toBe(true);
      expect(promptsOf(stage, id).size).toBe(1);
    }
    await stage.finish(below, "8");
    await stage.finish(helper, "10");
    await stage.finish(lead, "12");
    await stage.clock.advance(MOMENT);
    expect(stage.task(below)).toMatchObject({ status: "completed" });
  });

  test("one below another that has ended is paused as well: it is not taken for stopped by a person", async () => {
    const stage = createDurableStage();
    const lead = await stage.launch();
    const helper = await stage.launch({}, { sessionID: lead });
    const below = await stage.launch({}, { sessionID: helper });
    await stage.finish(below, "8");
    await stage.clock.advance(MOMENT);
    await stage.finish(helper, "10");
    await stage.clock.advance(MOMENT);
    expect([stage.task(helper).status, stage.task(below).status]).toEqual(["completed", "completed"]);
    await stage.restart();
    await stage.clock.advance(60_000);
    await stage.engine.resume({
      ...{ parentSessionID: helper, taskId: below, prompt: "And now?", agent: undefined },
      signal: new AbortController().signal,
    });
    await stage.clock.advance(MOMENT);
    expect(stateOf(stage, below)).toBe("resumed.active.working.busy");
    await pause(stage, lead);
    await stage.clock.advance(60_000);
    expect([stateOf(stage, lead), stateOf(stage, below)]).toEqual(["running.pausing.paused", "resumed.pausing.paused"]);
    await goOn(stage, lead);
    expect(stage.host.at(below).busy).toBe(true);
  });

  test("one that is launched while the one above is being paused is not lost", async () => {
    const stage = createStage();
    const lead = await stage.launch();
    const held = stage.host.holdNext("createSession");
    const launched = stage.launch({ description: "help", prompt: "Help." }, { sessionID: lead });
    await settled();
    const paused = stage.engine.pause([lead], "person");
    held.release();
    await stage.clock.advance(MOMENT);
    const [helper] = await Promise.all([launched, paused]);
    await stage.clock.advance(60_000);
    expect(stage.task(helper).status).toBe("running");
    await goOn(stage, lead);
    expect(stage.host.at(helper).busy).toBe(true);
    await stage.finish(helper, "I helped.");
    expect(stage.task(helper)).toMatchObject({ status: "completed", result: "I helped." });
  });

  test("the ones above go on working while one below is paused", async () => {
    const { stage, lead, helper, below } = await stageWithFamily();
    await pause(stage, helper);
    expect(stage.host.at(lead).busy).toBe(true);
    expect(stateOf(stage, helper)).toBe("running.pausing.paused");
    expect(stateOf(stage, below)).toBe("running.pausing.paused");
  });

  test("a cancel of a paused one takes those below it along", async () => {
    const { stage, lead, helper, below } = await stageWithFamily();
    await pause(stage, lead);
    await stage.engine.cancel([lead]);
    await stage.clock.advance(MOMENT);
    for (const id of [lead, helper, below]) expect(stage.task(id).status).toBe("cancelled");
  });

  test("one whose end the one above waited for in a call is paused, and not cancelled with that call", async () => {
    const stage = createStage({ toolsets: ["tasks", "subtasks"], onParentCancel: "cancel" });
    const lead = await stage.launch();
    const turn = new AbortController();
    const args = { title: "help", intent: "Help." };
    const answer = stage.call("create_subtask_general", args, {
      sessionID: lead,
      callID: "call_1",
      abort: turn.signal,
    });
    await settled();
    const [helper] = stage.store.list({ parentSessionID: lead }).map(({ sessionID }) => sessionID);
    if (!helper) throw new Error("nothing was launched");
    const abortOfHost = stage.host.holdNext("abort");
    const paused = stage.engine.pause([lead], "person");
    await settled();
    abortOfHost.release();
    turn.abort();
    await stage.clock.advance(60_000);
    await Promise.allSettled([paused, answer]);
    expect([stateOf(stage, lead), stateOf(stage, helper)]).toEqual([
      "running.pausing.paused",
      "running.pausing.paused",
    ]);
    await goOn(stage, lead);
    await stage.finish(helper, "I helped.");
    await stage.clock.advance(MOMENT);
    expect(stage.task(helper)).toMatchObject({ status: "completed" });
    expect(stage.noticeText(lead)).toContain("I helped.");
  });

  test("a notice for a paused lead waits, and arrives once that goes on", async () => {
    const stage = createStage();
    const lead = await stage.launch();
    const helper = await stage.launch({ description: "help", prompt: "Help." }, { sessionID: lead });
    const held = stage.host.holdNext("abort");
    const paused = stage.engine.pause([lead], "person");
    // It answers before it is stopped.
    stage.host.finish(helper, "I helped.");
    held.release();
    await stage.clock.advance(MOMENT);
    await paused;
    await stage.clock.advance(600_000);
    expect(stage.task(helper)).toMatchObject({ status: "completed", result: "I helped." });
    expect(stateOf(stage, lead)).toBe("running.pausing.paused");
    expect(stage.noticeText(lead)).not.toContain("I helped.");
    expect(stage.host.at(lead).busy).toBe(false);
    await goOn(stage, lead);
    expect(stateOf(stage, lead)).toMatch(/^running\.active\.working/);
    expect(stage.noticeText(lead)).toContain("I helped.");
    await stage.finish(lead, "12");
    await stage.clock.advance(MOMENT);
    expect(stage.task(lead)).toMatchObject({ status: "completed", result: "12" });
    expect(stage.noticeText()).toContain("12");
  });
});

describe("a notice that is on its way to a lead when that is paused", () => {
  const stageWithNotice = async (moment: "sent" | "stored") => {
    const stage = createStage();
    const lead = await stage.launch();
    const helper = await stage.launch({ description: "help", prompt: "Help." }, { sessionID: lead });
    if (moment === "stored") {
      await stage.finish(helper, "I helped.");
      await stage.clock.advance(1_000);
      return { stage, lead, paused: stage.engine.pause([lead], "person") };
    }
    const held = stage.host.holdNext("prompt");
    await stage.finish(helper, "I helped.");
    await stage.clock.advance(1_000);
    const paused = stage.engine.pause([lead], "person");
    await stage.clock.advance(MOMENT);
    held.release();
    return { stage, lead, paused };
  };

  test.each(["sent", "stored"] as const)("does not wake it, and is read once it goes on (%s)", async (moment) => {
    const { stage, lead, paused } = await stageWithNotice(moment);
    await stage.clock.advance(600_000);
    await paused;
    expect(stateOf(stage, lead)).toBe("running.pausing.paused");
    expect(stage.host.at(lead).busy).toBe(false);
    await goOn(stage, lead);
    expect(stateOf(stage, lead)).toMatch(/^running\.active\.working/);
    expect(stage.noticeText(lead)).toContain("I helped.");
    await stage.finish(lead, "12");
    await stage.clock.advance(MOMENT);
    expect(stage.task(lead)).toMatchObject({ status: "completed", result: "12" });
    const { messages, parts } = stage.host.at(lead);
    const notices = messages.filter(({ id }) => parts.get(id)?.some(({ text }) => text.includes("I helped.")));
    expect(notices).toHaveLength(1);
  });
});

describe("a process that ends", () => {
  test("leaves a task paused, and the next one has it go on", async () => {
    const stage = createDurableStage();
    const id = await stage.launch();
    stage.host.step(id);
    await pause(stage, id);
    await stage.restart();
    await stage.clock.advance(60_000);
    expect(stateOf(stage, id)).toBe("running.pausing.paused");
    expect(stage.host.at(id).busy).toBe(false);
    await goOn(stage, id);
    expect(stateOf(stage, id)).toBe("running.active.working.busy");
    expect(promptsOf(stage, id).size).toBe(1);
    await stage.finish(id, "12");
    await stage.clock.advance(MOMENT);
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
    expect(stage.noticeText()).toContain("12");
  });

  test("while a task is being paused does not undo that", async () => {
    const stage = createDurableStage();
    const id = await stage.launch();
    stage.host.holdNext("abort");
    void stage.engine.pause([id], "person");
    await settled();
    expect(stateOf(stage, id)).toContain("pausing");
    await stage.restart();
    await stage.clock.advance(60_000);
    expect(stateOf(stage, id)).toBe("running.pausing.paused");
    await goOn(stage, id);
    expect(stateOf(stage, id)).toBe("running.active.working.busy");
  });

  test("while a task waits for a slot to go on leaves it in the queue", async () => {
    const stage = createDurableStage({ concurrency: { default: 1 } });
    const id = await stage.launch();
    const next = await stage.launch();
    await pause(stage, id);
    await goOn(stage, id);
    await stage.restart();
    await stage.clock.advance(60_000);
    for (const each of [next, id]) {
      if (stage.host.at(each).busy) await stage.finish(each, "10");
      await stage.clock.advance(MOMENT);
    }
    for (const each of [next, id]) {
      if (stage.host.at(each).busy) await stage.finish(each, "12");
      await stage.clock.advance(MOMENT);
    }
    expect(stage.task(id)).toMatchObject({ status: "completed" });
    expect(stage.task(next)).toMatchObject({ status: "completed" });
    expect(promptsOf(stage, id).size).toBe(1);
  });
});

describe("time", () => {
  const RUN = 60_000;

  test("before a task that was paused in the queue begins does not count, though there is a slot at once then", async () => {
    const stage = createStage({ timeouts: { run: RUN }, concurrency: { default: 1 } });
    const first = await stage.launch();
    const id = await stage.launch();
    await pause(stage, id);
    await stage.finish(first, "10");
    await stage.clock.advance(3 * RUN);
    await goOn(stage, id);
    await stage.clock.advance(RUN - 3 * MOMENT);
    expect(stateOf(stage, id)).toBe("running.active.working.busy");
  });

  test("in which a task is paused, or waits for a slot after that, does not count towards `timeouts.run`", async () => {
    const stage = createStage({ timeouts: { run: RUN }, concurrency: { default: 1 } });
    const id = await stage.launch();
    await pause(stage, id);
    await stage.clock.advance(20 * RUN);
    expect(stateOf(stage, id)).toBe("running.pausing.paused");
    const next = await stage.launch();
    await goOn(stage, id);
    await stage.clock.advance(RUN / 2);
    expect(stateOf(stage, id)).toBe("running.queued");
    await stage.finish(next, "10");
    await stage.clock.advance(RUN - MOMENT);
    expect(stateOf(stage, id)).toBe("running.active.working.busy");
    await stage.clock.advance(2 * MOMENT);
    expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "timeout" } });
  });

  test("in which a task is paused does not make it stale", async () => {
    const { stage, id } = await stageWithTask({ timeouts: { stale: 60_000 } });
    await pause(stage, id);
    await stage.clock.advance(900_000);
    expect(stage.task(id)).not.toHaveProperty("attention");
    await goOn(stage, id);
    expect(stage.task(id)).not.toHaveProperty("attention");
  });
});

test("an instruction that is given while a task is paused is seen once it goes on", async () => {
  const { stage, id } = await stageWithTask();
  stage.host.step(id);
  await pause(stage, id);
  await stage.call("task", { steer: id, prompt: "Leave the tests out." });
  await stage.clock.advance(MOMENT);
  expect(stateOf(stage, id)).toBe("running.pausing.paused");
  expect(stage.host.at(id).busy).toBe(false);
  await goOn(stage, id);
  const place = stage.host.at(id).messages.findIndex(({ text }) => text.includes("Leave the tests out."));
  expect(place).toBeGreaterThan(0);
  await stage.finish(id, "12");
  await stage.clock.advance(MOMENT);
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  expect(stage.host.at(id).messages.filter(({ text }) => text.includes("Leave the tests out."))).toHaveLength(1);
  expect(eventsOf(stage, id, "INSTRUCTION_SEEN")).toHaveLength(1);
});

test("an instruction for a task that is paused in the queue reaches it with its prompt", async () => {
  const stage = createStage({ concurrency: { default: 1 } });
  const first = await stage.launch();
  const queued = await stage.launch();
  await pause(stage, queued);
  await stage.call("task", { steer: queued, prompt: "Leave the tests out." });
  await goOn(stage, queued);
  await stage.finish(first, "10");
  await stage.clock.advance(MOMENT);
  expect(stage.host.at(queued).messages.some(({ text }) => text.includes("Leave the tests out."))).toBe(true);
});

test("a cancel ends a paused task at once, and nothing is sent to it", async () => {
  const { stage, id } = await stageWithTask();
  await pause(stage, id);
  const prompts = stage.host.at(id).prompts.length;
  await stage.call("cancel", { task_id: id });
  await stage.clock.advance(MOMENT);
  expect(stage.task(id)).toMatchObject({ status: "cancelled" });
  expect(stage.host.at(id).prompts).toHaveLength(prompts);
  expect(stage.host.at(id).busy).toBe(false);
});

test("a cancelled task that was paused is retried as any other", async () => {
  const { stage, id } = await stageWithTask();
  await pause(stage, id);
  await stage.call("cancel", { task_id: id });
  await stage.clock.advance(MOMENT);
  await stage.call("task", { retry: id });
  await stage.clock.advance(MOMENT);
  expect(stateOf(stage, id)).toBe("resumed.active.working.busy");
  await pause(stage, id);
  expect(stateOf(stage, id)).toBe("resumed.pausing.paused");
  await goOn(stage, id);
  await stage.finish(id, "12");
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
});

test("a session that is deleted while its task is paused ends it", async () => {
  const { stage, id } = await stageWithTask();
  await pause(stage, id);
  stage.host.delete(id);
  await stage.clock.advance(MOMENT);
  expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "sessionGone" } });
});

test("what a person has its agent answer while the task is paused is what the task goes on from", async () => {
  const { stage, id } = await stageWithTask();
  stage.host.step(id);
  await pause(stage, id);
  stage.host.converse(id);
  await stage.clock.advance(MOMENT);
  expect(stateOf(stage, id)).toBe("running.pausing.paused");
  await goOn(stage, id);
  if (stage.host.at(id).busy) await stage.finish(id, "12");
  await stage.clock.advance(MOMENT);
  expect(stage.task(id).status).toBe("completed");
});

describe("a request that is not possible is refused with a reason, and changes nothing", () => {
  const expectRefusal = async (stage: Stage, id: string, kind: "pause" | "goOn", words: RegExp) => {
    const before = { ...stage.task(id) };
    const [result] = await (kind === "pause" ? pause(stage, id) : goOn(stage, id));
    expect(result).toMatchObject({ task: { sessionID: id }, refused: expect.stringMatching(words) });
    expect(stage.task(id)).toEqual(before);
  };

  test("a pause of a task that has ended", async () => {
    const stage = createStage();
    const id = await stage.complete("12");
    await stage.clock.advance(MOMENT);
    await expectRefusal(stage, id, "pause", /^has already finished \(completed\)$/);
  });

  test("a pause of a task that is paused already", async () => {
    const { stage, id } = await stageWithTask();
    await pause(stage, id);
    await expectRefusal(stage, id, "pause", /is paused already/);
  });

  test("a pause of a task that is being paused", async () => {
    const { stage, id } = await stageWithTask();
    const held = stage.host.holdNext("abort");
    const first = stage.engine.pause([id], "person");
    await settled();
    const second = stage.engine.pause([id], "agent");
    held.release();
    await stage.clock.advance(MOMENT);
    expect(await first).toEqual([{ task: expect.anything() }]);
    expect(await second).toEqual([{ task: expect.anything(), refused: "is paused already" }]);
    expect(eventsOf(stage, id, "PAUSE")).toHaveLength(1);
  });

  test("a pause of a task that is being cancelled", async () => {
    const { stage, id } = await stageWithTask();
    const held = stage.host.holdNext("abort");
    const cancelled = stage.engine.cancel([id]);
    await settled();
    const [result] = await stage.engine.pause([id], "person");
    expect(result?.refused).toBe("is being cancelled");
    held.release();
    await stage.clock.advance(MOMENT);
    await cancelled;
    expect(stage.task(id).status).toBe("cancelled");
  });

  test("to have a task go on that is not paused", async () => {
    const { stage, id } = await stageWithTask();
    await expectRefusal(stage, id, "goOn", /^is not paused$/);
    expect(stage.host.at(id).prompts).toHaveLength(1);
  });

  test("to have a task go on that has ended", async () => {
    const stage = createStage();
    const id = await stage.complete("12");
    await stage.clock.advance(MOMENT);
    await expectRefusal(stage, id, "goOn", /^has already finished \(completed\): use resume$/);
  });
});

test("a task that is told to go on while it is being paused goes on, or says that it is too early", async () => {
  const { stage, id } = await stageWithTask();
  const held = stage.host.holdNext("abort");
  const paused = stage.engine.pause([id], "person");
  await settled();
  const continued = stage.engine.continue([id]);
  held.release();
  await stage.clock.advance(MOMENT);
  await paused;
  const [result] = await continued;
  if (result?.refused !== undefined) {
    expect(result.refused).toContain("try again in a moment");
    await goOn(stage, id);
  }
  expect(stateOf(stage, id)).toBe("running.active.working.busy");
});

test("a person pauses a task and has it go on through the store", async () => {
  const { stage, id } = await stageWithTask();
  stage.store.submitCommand({ id: "req_1", taskId: id, command: { kind: "pause" } }, stage.clock.now());
  stage.engine.runRemoteCommands();
  await stage.clock.advance(MOMENT);
  expect(stage.store.takeOutcome("req_1")).toEqual({});
  expect(stateOf(stage, id)).toBe("running.pausing.paused");
  stage.store.submitCommand({ id: "req_2", taskId: id, command: { kind: "continue" } }, stage.clock.now());
  stage.engine.runRemoteCommands();
  await stage.clock.advance(MOMENT);
  expect(stage.store.takeOutcome("req_2")).toEqual({});
  expect(stateOf(stage, id)).toBe("running.active.working.busy");
  stage.store.submitCommand({ id: "req_3", taskId: id, command: { kind: "continue" } }, stage.clock.now());
  stage.engine.runRemoteCommands();
  await stage.clock.advance(MOMENT);
  expect(stage.store.takeOutcome("req_3")).toMatchObject({ refused: expect.stringContaining(`Task ${id} `) });
});

test("a batch whose last task is paused is not delivered before that task has ended", async () => {
  const stage = createStage({ wake: "all" });
  const batch = { batch_id: "batch_one" };
  const one = await stage.launch(batch);
  const other = await stage.launch(batch);
  await pause(stage, other);
  await stage.finish(one, "first answer");
  await stage.clock.advance(600_000);
  expect(stage.noticeText(PARENT)).not.toContain("first answer");
  await goOn(stage, other);
  await stage.finish(other, "second answer");
  await stage.clock.advance(MOMENT);
  expect(stage.noticeText(PARENT)).toContain("first answer");
  expect(stage.noticeText(PARENT)).toContain("second answer");
});
