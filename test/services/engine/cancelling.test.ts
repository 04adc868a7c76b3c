import { describe, expect, test } from "vitest";
import { createMemory } from "../../fakes/disk.ts";
import { unavailable } from "../../fakes/fake-host.ts";
import { createStage, PARENT, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

describe("cancel", () => {
  test("of all stops every running task of the session", async () => {
    const stage = createStage();
    const [done, first, second] = [await stage.launch(), await stage.launch(), await stage.launch()];
    await stage.finish(done, "12");
    const answer = await stage.call("cancel", { all: true });
    expect(answer.split("\n")).toHaveLength(2);
    expect([done, first, second].map((id) => stage.task(id).status)).toEqual(["completed", "cancelled", "cancelled"]);
  });

  test("stops what the task's own agents launched, sessions and tasks", async () => {
    const { stage, id } = await stageWithTask();
    const grandchild = await stage.launch({}, { sessionID: id });
    stage.host.addSession("ses_native", { parentID: id });
    stage.host.at("ses_native").busy = true;
    await stage.call("cancel", { task_id: id });
    expect(stage.task(grandchild).status).toBe("cancelled");
    expect(stage.host.at("ses_native").busy).toBe(false);
    // Nor is the stopped session woken to be told of its own tasks.
    const prompted = stage.host.at(id).prompts.length;
    await stage.clock.advance(60_000);
    expect(stage.host.at(id).prompts).toHaveLength(prompted);
    expect(stage.host.at(id).busy).toBe(false);
  });

  test("waits until the session has stopped, is stored, and is delivered", async () => {
    const { stage, id } = await stageWithTask();
    const hold = stage.host.holdNext("abort");
    let answered = false;
    const answer = stage.call("cancel", { task_id: id }).then((text) => {
      answered = true;
      return text;
    });
    await settled();
    expect(answered).toBe(false);
    expect(stage.task(id).state).toBe("running.stopping.aborting");
    hold.release();
    expect(await answer).toContain("is cancelled");
    expect(stage.store.get(id)?.task.status).toBe("cancelled");
    await settled();
    expect(stage.notices()[0]?.[0]?.text).toContain("⊘");
  });

  test("of a task that is just launching one: the launch leaves nothing behind", async () => {
    const { stage, id } = await stageWithTask();
    const hold = stage.host.holdNext("createSession");
    const launch = stage.launch({}, { sessionID: id });
    await settled();
    await stage.call("cancel", { task_id: id });
    hold.release();
    await expect(launch).rejects.toThrow(/was stopped in the meantime/);
    expect(stage.host.calls).toContain("deleteSession");
    expect(stage.store.list({ parentSessionID: id })).toEqual([]);
  });

  test("right after the launch stops the session though its prompt arrives later", async () => {
    const stage = createStage();
    const hold = stage.host.holdNext("prompt");
    const id = await stage.launch();
    const answer = stage.call("cancel", { task_id: id });
    await settled();
    expect(stage.task(id).state).toBe("running.stopping.pausing");
    hold.release();
    await settled();
    expect(stage.host.at(id).busy).toBe(true);
    await stage.clock.advance(300);
    expect(await answer).toContain("is cancelled");
    expect(stage.host.at(id).busy).toBe(false);
  });

  test("of a task whose prompt arrives after the abort, and before it is looked for, aborts once more at once", async () => {
    const stage = createStage();
    const prompt = stage.host.holdNext("prompt");
    const id = await stage.launch();
    const look = stage.host.holdNext("message");
    const answer = stage.call("cancel", { task_id: id });
    await settled();
    prompt.release();
    await settled();
    expect(stage.host.at(id).busy).toBe(true);
    look.release();
    expect(await answer).toContain("is cancelled");
    expect(stage.host.at(id).busy).toBe(false);
  });

  test("ends, and says so, when the host never confirms", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.failNext("abort", unavailable, 1_000);
    const answer = stage.call("cancel", { task_id: id });
    await stage.clock.advance(10_000);
    expect(await answer).toContain("is cancelled");
    expect(stage.task(id).failureReason).toContain("did not confirm");
  });

  test("of a task that is being cancelled waits for the same end", async () => {
    const { stage, id } = await stageWithTask();
    const hold = stage.host.holdNext("abort");
    const first = stage.call("cancel", { task_id: id });
    await settled();
    const second = stage.call("cancel", { task_id: id });
    hold.release();
    expect(await first).toContain("is cancelled");
    expect(await second).toContain("is already being cancelled");
  });
});

describe("a task that fails", () => {
  test("takes the tasks with it that it launched: nobody is left to read them", async () => {
    const { stage, id } = await stageWithTask();
    const grandchild = await stage.launch({}, { sessionID: id });
    stage.host.fail(id, { name: "APIError", message: "401" });
    await stage.clock.advance(60_000);
    expect(stage.task(id).status).toBe("error");
    expect(stage.task(grandchild).status).toBe("cancelled");
    expect(stage.host.at(id).prompts).toHaveLength(1);
  });
});

describe("a person's abort of the child session", () => {
  test("cancels the task after a moment, with the time of the abort, and the parent is notified", async () => {
    const { stage, id } = await stageWithTask({}, { description: "count files" });
    stage.host.abortByPerson(id);
    const abortedAt = new Date(stage.clock.now()).toISOString();
    await stage.clock.advance(500);
    expect(stage.task(id).completedAt).toBe(abortedAt);
    expect(stage.task(id).status).toBe("cancelled");
    expect(stage.notices()[0]?.[0]?.text).toContain('⊘ **Agent "count files" cancelled');
  });
});

describe("clear", () => {
  test("removes all of the session's tasks, the running ones cancelled first, and notifies nobody", async () => {
    const stage = createStage();
    const [done, running] = [await stage.launch(), await stage.launch()];
    await stage.finish(done, "12");
    const told = stage.notices().length;
    expect(await stage.call("clear")).toBe(
      [`Removed ${done} "find it" (completed).`, `Removed ${running} "find it" (cancelled).`].join("\n"),
    );
    expect(stage.host.at(running).busy).toBe(false);
    expect(await stage.call("list")).toBe("No background tasks found");
    await stage.clock.advance(60_000);
    expect(stage.notices()).toHaveLength(told);
  });

  test("reports a running task as cancelled, and nothing that it was before", async () => {
    const stage = createStage();
    await stage.launch();
    const heard: string[] = [];
    stage.engine.subscribe(({ status }) => heard.push(status));
    await Promise.all([stage.call("clear"), stage.call("clear")]);
    expect(heard.slice(heard.indexOf("cancelled"))).toEqual(["cancelled", "cancelled"]);
  });

  test("lets go a read that waits for the task", async () => {
    const { stage, id } = await stageWithTask();
    const read = stage.call("output", { task_id: id, block: true });
    await settled();
    await stage.call("clear", { task_id: id });
    expect(await read).toContain("Status: cancelled");
  });

  test("takes what a task launches while it is being cleared", async () => {
    const { stage, id } = await stageWithTask();
    await stage.launch({}, { sessionID: id });
    await stage.call("clear");
    expect(stage.store.list({})).toEqual([]);
  });

  test("withdraws the notice that a removed task was still owed", async () => {
    const stage = createStage();
    const [first, second] = [await stage.launch(), await stage.launch()];
    stage.host.emit({ type: "error", sessionID: PARENT, error: { name: "APIError", message: "overloaded" } });
    stage.host.finish(first, "one");
    await stage.finish(second, "two");
    await stage.call("clear", { task_id: first });
    await stage.clock.advance(60_000);
    const told = stage.notices().flatMap((parts) => parts.map(({ text }) => text));
    expect(told.join("\n")).not.toContain("one");
    expect(told.join("\n")).toContain("two");
  });

  test("that fails leaves no task whose end nobody is told", async () => {
    const memory = createMemory();
    const remove = () => {
      throw new Error("the disk is full");
    };
    const { stage, id } = await stageWithTask({ openStore: (clock) => ({ ...memory.boot(clock), remove }) });
    await expect(stage.call("clear", { task_id: id })).rejects.toThrow("the disk is full");
    await stage.clock.advance(60_000);
    expect(stage.task(id).status).toBe("cancelled");
    expect(stage.notices()).toHaveLength(1);
  });

  test("of a batch leaves other tasks alone", async () => {
    const stage = createStage();
    const [inside, outside] = [await stage.launch({ batch_id: "b" }), await stage.launch({ batch_id: "c" })];
    await stage.call("clear", { batch_id: "b" });
    expect(stage.engine.get(inside)).toBeUndefined();
    expect(stage.task(outside).status).toBe("running");
  });
});

test("a cancel does not hold while a session below the task's works on", async () => {
  const { stage, id } = await stageWithTask();
  stage.host.addSession("ses_native", { parentID: id });
  stage.host.at("ses_native").busy = true;
  const { abort } = stage.host;
  let isDeaf = true;
  stage.host.abort = async (sessionID) =>
    isDeaf && sessionID === "ses_native" ? { ok: true, value: undefined } : abort(sessionID);
  const answer = stage.call("cancel", { task_id: id });
  await settled();
  expect(stage.task(id).state).toBe("running.stopping.pausing");
  isDeaf = false;
  await stage.clock.advance(300);
  expect(await answer).toContain("is cancelled");
  expect(stage.task(id).failureReason).toBeUndefined();
});

describe("a cancellation of which the parent knows", () => {
  test("is not begun where OpenCode ends right after the abort: the task is taken over instead", async () => {
    const { stage, id } = await stageWithTask();
    const own = await stage.launch({}, { sessionID: id });
    stage.host.finish(id, "waiting");
    // Its notice is under way: what cancels would stop the session until that has arrived.
    stage.host.habits(id, "mute");
    await stage.finish(own, "12");
    stage.engine.cancelSilently(id);
    await stage.clock.advance(100);
    stage.engine.stop();
    stage.host.calls.length = 0;
    // By then the toast of the notice has come to nothing, and the tries to stop the session would not be over.
    await stage.clock.advance(1_500);
    expect(stage.clock.pending()).toBe(0);
    await stage.clock.advance(60_000);
    expect(stage.host.calls).toEqual([]);
    expect(stage.store.journal(id).map(({ type }) => type)).not.toContain("CANCEL");
  });

  test("is delivered all the same where the session may work on: the host never confirmed that it stopped", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.failNext("abort", unavailable, 1_000);
    stage.engine.cancelSilently(id);
    await stage.clock.advance(60_000);
    expect(stage.task(id)).toMatchObject({ status: "cancelled", error: { kind: "host" } });
    expect(stage.notices()).toHaveLength(1);
  });
});
