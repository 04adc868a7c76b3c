import { describe, expect, test } from "vitest";
import { durableStageWithTask } from "../../fakes/durable-stage.ts";
import { missing, unavailable } from "../../fakes/fake-host.ts";
import { createStage, PARENT, type Stage, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

/** A session is deleted by somebody else, and no event tells of that. */
const deleteUnheard = (stage: Stage, sessionID: string) => {
  stage.host.listen(() => undefined);
  stage.host.delete(sessionID);
  stage.host.listen((event) => stage.engine.onHostEvent(event));
};

const timesDelivered = (stage: Stage, id: string) => stage.noticeText().split(`Task ${id} completed.`).length - 1;

describe("a parent that the host does not find", () => {
  test.each(["session", "prompt", "messages"] as const)(
    "once, when %s is called for a notice, keeps its tasks, and is notified of each once",
    async (call) => {
      const stage = createStage();
      const [first, second] = [await stage.launch(), await stage.launch()];
      if (call === "messages") stage.host.habits(PARENT, "ignore", "reply");
      stage.host.failNext(call, missing);
      stage.host.finish(first, "12");
      await stage.clock.advance(3_000);
      expect(stage.store.list({})).toHaveLength(2);
      expect(stage.host.calls).not.toContain("abort");
      await stage.clock.advance(60_000);
      stage.host.finish(second, "13");
      await stage.clock.advance(60_000);
      expect([first, second].map((id) => stage.task(id).status)).toEqual(["completed", "completed"]);
      expect([first, second].map((id) => timesDelivered(stage, id))).toEqual([1, 1]);
      const sent = stage.host.attempts.filter(({ sessionID }) => sessionID === PARENT);
      expect(new Set(sent.map(({ messageID }) => messageID)).size).toBe(2);
    },
  );

  test("and does not list either when it is asked again, is deleted: its tasks are stopped and removed", async () => {
    const stage = createStage();
    const [ended, running] = [await stage.launch(), await stage.launch()];
    deleteUnheard(stage, PARENT);
    stage.host.finish(ended, "12");
    await stage.clock.advance(4_900);
    expect(stage.store.list({})).toHaveLength(2);
    await stage.clock.advance(1_000);
    expect(stage.store.list({})).toEqual([]);
    expect(stage.host.at(running).busy).toBe(false);
  });

  test("but lists, keeps its tasks however often it is not found", async () => {
    const stage = createStage();
    const [ended, running] = [await stage.launch(), await stage.launch()];
    stage.host.failNext("session", missing, 40);
    stage.host.finish(ended, "12");
    await stage.clock.advance(600_000);
    expect(stage.store.list({})).toHaveLength(2);
    expect(stage.host.at(running).busy).toBe(true);
    await stage.clock.advance(3_600_000);
    await stage.clock.sleep(5 * 3_600_000);
    expect(timesDelivered(stage, ended)).toBe(1);
  });

  test("once, by the process that takes over its tasks, keeps them", async () => {
    const { stage, id } = await durableStageWithTask();
    await stage.restart();
    stage.host.failNext("session", missing);
    await stage.clock.advance(60_000);
    expect(stage.task(id).status).toBe("running");
  });

  test("and is found to be deleted while a call for it is under way, is not notified", async () => {
    const { stage, id } = await stageWithTask();
    deleteUnheard(stage, PARENT);
    await stage.finish(id, "12");
    const hold = stage.host.holdNext("allSessions");
    await stage.clock.advance(5_000);
    expect(stage.store.list({})).toHaveLength(1);
    hold.release();
    await settled();
    expect(stage.store.list({})).toEqual([]);
  });
});

describe("a task's own session that the host does not find", () => {
  test.each(["prompt", "messages"] as const)(
    "once, when %s is called, is not deleted: the run goes on",
    async (call) => {
      const stage = createStage();
      if (call === "prompt") stage.host.failNext(call, missing);
      const id = await stage.launch();
      if (call === "prompt") {
        await stage.clock.advance(10_000);
        expect(stage.host.at(id).busy).toBe(true);
      } else stage.host.failNext(call, missing);
      await stage.finish(id, "12", { unwritten: true });
      if (call === "messages") expect(stage.task(id).state).toBe("running.active.checking.missing");
      await stage.clock.advance(10_000);
      expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
      expect(timesDelivered(stage, id)).toBe(1);
    },
  );

  test("twice, but lists, is not deleted; a host that keeps at it is given up, as one that does not answer", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.failNext("messages", missing, 3);
    stage.host.finish(id, "12", { unwritten: true });
    await stage.clock.advance(20_000);
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
    const other = await stage.launch();
    stage.host.failNext("messages", missing, 100);
    stage.host.finish(other, "12", { unwritten: true });
    await stage.clock.advance(120_000);
    expect(stage.task(other)).toMatchObject({ status: "error", error: { kind: "host" } });
  });

  test("any more, and does not list, is deleted: the task ends in error after the second look", async () => {
    const { stage, id } = await stageWithTask();
    deleteUnheard(stage, id);
    // Its model's call ends after two seconds; the pause between the looks is five.
    await stage.clock.advance(6_900);
    expect(stage.task(id).state).toBe("running.active.checking.missing");
    await stage.clock.advance(200);
    expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "sessionGone" } });
  });

  test("once, while it waits for a person, goes on waiting", async () => {
    const { stage, id } = await stageWithTask();
    await stage.ask(id, "");
    stage.host.failNext("session", missing);
    stage.host.failNext("allSessions", { ...unavailable, kind: "unavailable" });
    await stage.clock.advance(60_000);
    stage.host.failNext("session", missing);
    await stage.clock.advance(60_000);
    expect(stage.task(id)).toMatchObject({ status: "running", attention: { kind: "permission" } });
  });

  test("does not end a cancellation: what may stand below it is looked for again", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.addSession("ses_native", { parentID: id });
    stage.host.at("ses_native").busy = true;
    stage.host.failNext("children", missing);
    const answer = stage.call("cancel", { task_id: id });
    await settled();
    expect(stage.task(id).state).toBe("running.stopping.pausing");
    await stage.clock.advance(300);
    expect(await answer).toContain("is cancelled");
    expect(stage.host.at("ses_native").busy).toBe(false);
  });
});

test("a message for an agent is not lost by one answer that its session is not found", async () => {
  const stage = createStage();
  await stage.launch();
  stage.host.failNext("session", missing);
  stage.host.emit({ type: "compacted", sessionID: PARENT });
  await stage.clock.advance(10_000);
  expect(stage.host.attempts.filter(({ noReply }) => noReply)).toHaveLength(1);
});
