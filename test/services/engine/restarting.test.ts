import { describe, expect, test } from "vitest";
import { createDurableStage, diskOfTest, durableStageWithTask } from "../../fakes/durable-stage.ts";
import { createFakeHost, type FakeHost, unavailable } from "../../fakes/fake-host.ts";
import { createStage, PARENT, type Stage, stageWithTask } from "../../fakes/stage.ts";
import { createVirtualClock, settled } from "../../fakes/virtual-clock.ts";

/** The first adoption is over, and what followed from it. */
const adopted = async (stage: Stage) => {
  await stage.clock.advance(60);
};

const prompts = (stage: Stage, id: string) => stage.host.at(id).prompts.map(({ messageID }) => messageID);

describe("a task whose process died", () => {
  test("that was answered meanwhile is completed with the time of its answer, and delivered once", async () => {
    const { stage, id } = await durableStageWithTask();
    stage.life.die();
    await stage.clock.advance(5_000);
    stage.host.finish(id, "12");
    const answeredAt = new Date(stage.clock.now()).toISOString();
    await stage.clock.advance(60_000);
    await stage.restart();
    await adopted(stage);
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12", completedAt: answeredAt });
    expect(stage.notices()).toHaveLength(1);
    expect(prompts(stage, id)).toHaveLength(1);
  });

  test("in the middle of its run goes on with the same prompt, and its parent is notified once", async () => {
    const { stage, id } = await durableStageWithTask();
    await stage.restart();
    await adopted(stage);
    expect(stage.task(id).status).toBe("running");
    expect(new Set(prompts(stage, id)).size).toBe(1);
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
    expect(stage.notices()).toHaveLength(1);
  });

  test("with every field, its prompt, batch and parent's agent: all of it comes back", async () => {
    const stage = createDurableStage();
    const id = await stage.launch({ batch_id: "release", prompt: "Find it all." });
    await stage.clock.advance(2_000);
    const before = stage.task(id);
    await stage.restart();
    expect(stage.task(id)).toEqual(before);
    expect(before).toMatchObject({ prompt: "Find it all.", batchId: "release", parentAgent: "build" });
  });

  test("whose session is gone ends in error, and its parent is notified once", async () => {
    const { stage, id } = await durableStageWithTask();
    stage.life.die();
    stage.host.delete(id);
    await stage.restart();
    await adopted(stage);
    // Not found once: that may have another cause.
    expect(stage.task(id).status).toBe("running");
    await stage.clock.advance(5_000);
    expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "sessionGone" } });
    expect(stage.notices()).toHaveLength(1);
  });

  test("whose parent was deleted is stopped and cleared", async () => {
    const { stage, id } = await durableStageWithTask();
    stage.life.die();
    stage.host.delete(PARENT);
    await stage.restart();
    await adopted(stage);
    expect(stage.engine.get(id)).toBeDefined();
    await stage.clock.advance(6_000);
    expect(stage.engine.get(id)).toBeUndefined();
    expect(stage.host.at(id).busy).toBe(false);
  });

  test("ends in error at once with recovery: fail", async () => {
    const { stage, id } = await durableStageWithTask({ recovery: "fail" });
    await stage.restart();
    await adopted(stage);
    expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "interrupted" } });
    expect(prompts(stage, id)).toHaveLength(1);
    expect(stage.notices()).toHaveLength(1);
  });

  test("and was aborted by the shutdown is not taken for cancelled", async () => {
    const { stage, id } = await durableStageWithTask();
    stage.life.die();
    stage.host.abortByPerson(id);
    await stage.restart();
    await adopted(stage);
    expect(stage.task(id).status).toBe("running");
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  });

  test("and was aborted by the shutdown is not taken for cancelled while its prompt is on its way in again", async () => {
    const { stage, id } = await durableStageWithTask();
    stage.life.die();
    stage.host.abortByPerson(id);
    await stage.restart();
    // The host takes the prompt, and does not begin with it for a while.
    stage.host.habits(id, "lose", "work");
    await adopted(stage);
    stage.host.emit({ type: "idle", sessionID: id });
    await settled();
    expect(stage.task(id).state).toBe("running.active.prompting.backingOff");
    await stage.clock.advance(5_000);
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  });

  test("while it was being cancelled is cancelled", async () => {
    const { stage, id } = await durableStageWithTask();
    stage.host.holdNext("abort");
    void stage.call("cancel", { task_id: id });
    await settled();
    await stage.restart();
    await stage.clock.advance(5_000);
    expect(stage.task(id).status).toBe("cancelled");
    expect(stage.notices()).toHaveLength(1);
  });

  test("a moment after its host aborted it is not taken for cancelled", async () => {
    const { stage, id } = await durableStageWithTask();
    stage.host.abortByPerson(id);
    await stage.clock.advance(100);
    expect(stage.task(id).status).toBe("running");
    stage.engine.stop();
    await stage.restart();
    await adopted(stage);
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  });

  test("in a state that this version does not know ends in error, and its parent is notified once", async () => {
    const { stage, id } = await durableStageWithTask();
    const record = stage.store.get(id);
    if (!record) throw new Error("the task is not stored");
    const value = { ...record.snapshot.value, run: "dreaming" } as never;
    stage.store.commit({ records: [{ ...record, snapshot: { ...record.snapshot, value } }], journal: [], prompts: [] });
    await stage.restart();
    await stage.clock.advance(5_000);
    expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "internal" } });
    expect(stage.notices()).toHaveLength(1);
    expect(stage.host.at(id).busy).toBe(false);
  });
});

describe("a notice whose process died", () => {
  test("before the parent had it is sent again, with the same ids", async () => {
    const { stage, id } = await durableStageWithTask();
    stage.host.habits(PARENT, "lose", "reply");
    await stage.finish(id, "12");
    expect(stage.notices()).toHaveLength(0);
    await stage.restart();
    await stage.clock.advance(10_000);
    expect(stage.notices()).toHaveLength(1);
    expect(new Set(prompts(stage, PARENT)).size).toBe(1);
    expect(stage.store.get(id)?.snapshot.value.notice).toBe("none");
  });

  test("after the parent had answered it is not sent again", async () => {
    const { stage, id } = await durableStageWithTask();
    stage.host.habits(PARENT, "ignore", "reply");
    await stage.finish(id, "12");
    stage.life.die();
    stage.host.finish(PARENT, "I see.");
    await stage.restart();
    await stage.clock.advance(10_000);
    expect(prompts(stage, PARENT)).toHaveLength(1);
    expect(stage.store.get(id)?.snapshot.value.notice).toBe("none");
  });

  test("while the parent was answering it is delivered again: that answer was cut off", async () => {
    const { stage, id } = await durableStageWithTask();
    stage.host.habits(PARENT, "work");
    stage.life.die();
    stage.host.finish(id, "12");
    await stage.restart();
    await adopted(stage);
    expect(stage.host.at(PARENT).busy).toBe(true);
    expect(stage.notices()).toHaveLength(1);
  });

  test("that a tool delivered just as the plugin was disposed of is not delivered again", async () => {
    const { stage, id } = await durableStageWithTask();
    const answer = stage.call("output", { task_id: id, block: true }, { callID: "call_1" });
    await settled();
    stage.host.finish(id, "12");
    expect(await answer).toContain("12");
    stage.engine.stop();
    stage.host.at(PARENT).toolCalls.set("call_1", "stored");
    await stage.restart();
    // The host may be slow to say so.
    stage.host.failNext("toolCall", unavailable);
    await stage.clock.advance(60_000);
    expect(stage.notices()).toHaveLength(0);
    expect(stage.store.get(id)?.snapshot.value.notice).toBe("none");
  });

  test("whose waiting call cannot be looked after, for a fault of ours, is delivered", async () => {
    const { stage, id } = await durableStageWithTask();
    void stage.call("output", { task_id: id, block: true }, { callID: "call_1" });
    await settled();
    stage.host.finish(id, "12");
    await stage.restart();
    stage.host.throwNext("toolCall", "kaboom");
    await stage.clock.advance(60_000);
    expect(stage.notices()).toHaveLength(1);
  });
});

describe("two processes on one store", () => {
  const createPair = () => {
    const disk = diskOfTest();
    disk.keepAlive();
    const clock = createVirtualClock();
    const host = createFakeHost(clock);
    // Two hosts share their sessions, but an abort reaches only what works in that host.
    const abortedInFirst: string[] = [];
    const ofFirst: FakeHost = Object.assign(Object.create(host) as FakeHost, {
      abort: async (id: string) => {
        abortedInFirst.push(id);
        return { ok: true, value: undefined } as const;
      },
    });
    const second = createStage({ openStore: disk.boot, clock, host });
    const first = createStage({ openStore: disk.boot, clock, host: ofFirst });
    return { first, second, abortedInFirst };
  };

  test("never both supervise a task: what the other has is shown, and refused", async () => {
    const { first, second } = createPair();
    const id = await first.launch();
    await first.clock.advance(60_000);
    expect(second.task(id).status).toBe("running");
    expect(await second.call("cancel", { task_id: id })).toContain("another OpenCode process");
    expect(first.task(id).status).toBe("running");
    await first.finish(id, "12");
    expect(first.notices()).toHaveLength(1);
    expect(await second.call("output", { task_id: id })).toContain("12");
  });

  test("a blocking read that began before its task was taken over delivers its end", async () => {
    const { first, second } = createPair();
    const id = await first.launch();
    const read = second.call("output", { task_id: id, block: true, timeout: 60_000 }, { callID: "call_1" });
    await settled();
    first.life.die();
    await second.clock.advance(20_000);
    second.host.listen(second.engine.onHostEvent);
    second.host.finish(id, "12");
    expect(await read).toContain("12");
    second.host.emit({ type: "toolCall", sessionID: PARENT, callID: "call_1", tool: "output", stage: "stored" });
    await second.clock.advance(60_000);
    expect(second.notices()).toHaveLength(0);
    expect(second.store.get(id)?.snapshot.value.notice).toBe("none");
  });

  test("a blocking read in one ends with a task of the other, whose notice alone delivers the end", async () => {
    const { first, second } = createPair();
    const id = await first.launch();
    const read = second.call("output", { task_id: id, block: true }).catch(String);
    await settled();
    first.host.finish(id, "12");
    await first.clock.advance(10_000);
    expect(await read).toMatch(/^Error: Another OpenCode process works on .* by a notice/);
    expect(first.notices()).toHaveLength(1);
    expect(await second.call("output", { task_id: id })).toContain("12");
  });

  test("a process that is stopped past its lease loses its tasks; awake again it does no harm", async () => {
    const { first, second, abortedInFirst } = createPair();
    const id = await first.launch();
    first.life.pause();
    await first.clock.advance(30_000);
    second.host.listen(second.engine.onHostEvent);
    expect(second.store.isOwnedElsewhere(id)).toBe(false);
    expect(first.store.isOwnedElsewhere(id)).toBe(true);
    first.life.wake();
    await first.clock.advance(5_000);
    // What worked on the task in its own host is stopped: the work goes on in the other.
    expect(abortedInFirst).toEqual([id]);
    expect(first.engine.get(id)?.status).toBe("running");
    second.host.finish(id, "12");
    await second.clock.advance(10_000);
    expect(second.task(id)).toMatchObject({ status: "completed", result: "12" });
    expect(second.notices()).toHaveLength(1);
  });

  test("after the whole machine has slept, each keeps its tasks", async () => {
    const { first, second } = createPair();
    const id = await first.launch();
    for (const { life } of [first, second]) life.pause();
    await first.clock.advance(3_600_000);
    for (const { life } of [second, first]) life.wake();
    await first.clock.advance(30_000);
    expect(second.store.isOwnedElsewhere(id)).toBe(true);
    await first.finish(id, "12");
    expect(first.notices()).toHaveLength(1);
  });

  test("a task at rest is resumed by whoever asks first, and belongs to that process", async () => {
    const { first, second } = createPair();
    const id = await first.complete("12");
    await first.clock.advance(1_000);
    second.host.listen(second.engine.onHostEvent);
    await second.call("task", { resume: id, prompt: "And now?" });
    await settled();
    await expect(first.call("task", { resume: id, prompt: "And for me?" })).rejects.toThrow("another OpenCode process");
    await second.finish(id, "13");
    expect(second.task(id)).toMatchObject({ status: "completed", result: "13", resumeCount: 1 });
  });
});

test("in opencode run, only the tasks of sessions that are at work there are taken over", async () => {
  const disk = diskOfTest();
  const { stage, id } = await stageWithTask({ openStore: disk.boot });
  stage.host.addSession("ses_other");
  const other = await stage.launch({}, { sessionID: "ses_other" });
  stage.life.die();
  stage.host.crash();
  const run = createStage({ openStore: disk.boot, clock: stage.clock, host: stage.host, isHeadless: true });
  await adopted(run);
  expect(run.store.isOwnedElsewhere(id)).toBe(true);
  stage.host.emit({ type: "busy", sessionID: PARENT });
  await run.clock.advance(100);
  expect(run.store.isOwnedElsewhere(id)).toBe(false);
  expect(run.store.isOwnedElsewhere(other)).toBe(true);
});

test("in opencode run, a task that is idle and waits for its own is taken over together with those", async () => {
  const disk = diskOfTest();
  const stage = createStage({ openStore: disk.boot });
  const lead = await stage.launch();
  const help = await stage.launch({}, { sessionID: lead });
  await stage.finish(lead, "I wait for my help.");
  stage.life.die();
  stage.host.crash();
  const run = createStage({ openStore: disk.boot, clock: stage.clock, host: stage.host, isHeadless: true });
  stage.host.emit({ type: "busy", sessionID: PARENT });
  await run.clock.advance(100);
  expect([lead, help].filter((id) => run.store.isOwnedElsewhere(id))).toEqual([]);
  expect(run.task(lead).status).toBe("running");
  await stage.finish(help, "12");
  const tellings = run.notices(lead).filter((parts) => parts.some(({ text }) => text.includes(`Task ${help} `)));
  expect(tellings).toHaveLength(1);
});

test("a process that cannot look what it has lost itself takes nothing over until it can", async () => {
  const disk = diskOfTest();
  const { stage, id } = await stageWithTask({ openStore: disk.boot });
  stage.life.die();
  stage.host.crash();
  let isLocked = true;
  const openStore: typeof disk.boot = (clock) => {
    const store = disk.boot(clock);
    const heartbeat = (at: number) => {
      if (isLocked) throw new Error("the database is locked");
      return store.heartbeat(at);
    };
    return { ...store, heartbeat };
  };
  const run = createStage({ openStore, clock: stage.clock, host: stage.host, isHeadless: true });
  stage.host.emit({ type: "busy", sessionID: PARENT });
  await run.clock.advance(100);
  expect(run.store.isOwnedElsewhere(id)).toBe(true);
  isLocked = false;
  await run.clock.advance(3_000);
  expect(run.store.isOwnedElsewhere(id)).toBe(false);
});

test("a process that stops leaves its tasks free at once, and no timer", async () => {
  const { stage, id } = await durableStageWithTask();
  stage.engine.stop();
  expect(stage.clock.pending()).toBe(0);
  await stage.restart();
  await adopted(stage);
  expect(stage.store.isOwnedElsewhere(id)).toBe(false);
  expect(stage.task(id).status).toBe("running");
});
