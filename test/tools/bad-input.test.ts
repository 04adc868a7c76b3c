import { describe, expect, test } from "vitest";
import { refused, unavailable } from "../fakes/fake-host.ts";
import { createStage, PARENT, stageWithTask } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { watched } from "../fakes/watched.ts";

const GOOD = { description: "count files", prompt: "Count the files.", agent: "general" };

describe("a launch that is not possible makes no session, and says why", () => {
  test.each([
    ["an unknown agent", { agent: "wizard" }, /no agent "wizard"\. Agents: build, general, explore\./],
    ["a hidden agent", { agent: "title" }, /no agent "title"/],
    ["an empty description", { description: " \n" }, /task is not described/],
    ["an empty prompt", { prompt: "" }, /prompt is empty/],
  ])("%s", async (_, args, message) => {
    const stage = createStage();
    await expect(stage.call("task", { ...GOOD, ...args })).rejects.toThrow(message);
    expect(stage.host.calls).not.toContain("createSession");
    expect(await stage.call("list")).toBe("No background tasks found");
  });

  test("a task too deep", async () => {
    const stage = createStage({ maxDepth: 2 });
    const child = await stage.launch();
    const grandchild = await stage.launch({}, { sessionID: child });
    await expect(stage.call("task", GOOD, { sessionID: grandchild })).rejects.toThrow(
      /3 levels deep, and 2 is the limit \(option "maxDepth"\)/,
    );
  });

  test("an aborted turn", async () => {
    const stage = createStage();
    await expect(stage.call("task", GOOD, { abort: AbortSignal.abort() })).rejects.toThrow(
      /aborted; nothing was launched/,
    );
    expect(stage.host.calls).not.toContain("createSession");
  });

  test.each(["agents", "session", "createSession"] as const)("a host that answers %s with an error", async (call) => {
    for (const failure of [refused, unavailable]) {
      const stage = createStage();
      // What is only read is asked for again, for as long as a minute.
      stage.host.failNext(call, failure, failure === unavailable && call !== "createSession" ? 6 : 1);
      const refusal = expect(stage.call("task", GOOD)).rejects.toThrow(failure.message);
      await stage.clock.advance(60_000);
      await refusal;
      expect(stage.store.list({})).toEqual([]);
      // The next launch is none the worse for it.
      expect(await stage.call("task", GOOD)).toContain("is running in the background");
    }
  });
});

describe("a task that the session does not have", () => {
  const tools = ["output", "cancel", "clear"];

  test.each(tools)("%s of an unknown id", async (tool) => {
    const stage = createStage();
    await expect(stage.call(tool, { task_id: "ses_nowhere" })).rejects.toThrow(
      'This session has no task "ses_nowhere". asyncagents_list shows the tasks it has.',
    );
  });

  test.each(tools)("%s of another parent's task, which stays as it is", async (tool) => {
    const stage = createStage();
    stage.host.addSession("ses_other");
    const theirs = await stage.launch({}, { sessionID: "ses_other" });
    await expect(stage.call(tool, { task_id: theirs })).rejects.toThrow(/has no task/);
    expect(stage.task(theirs).status).toBe("running");
    expect(stage.task(theirs).resultRetrievedAt).toBeUndefined();
  });

  test.each(["cancel", "clear"])("%s of another parent's batch", async (tool) => {
    const stage = createStage();
    stage.host.addSession("ses_other");
    const theirs = await stage.launch({ batch_id: "shared" }, { sessionID: "ses_other" });
    await expect(stage.call(tool, { batch_id: "shared" })).rejects.toThrow('no batch "shared". Batches: none.');
    expect(stage.task(theirs).status).toBe("running");
  });

  test("a beginning that fits one task is that task's id; one that fits several is refused", async () => {
    const stage = createStage();
    const [first, second] = [await stage.launch(), await stage.launch()];
    expect(await stage.call("output", { task_id: "ses_0001" })).toContain(first);
    await expect(stage.call("output", { task_id: "ses_" })).rejects.toThrow(
      `begins the ids of 2 tasks: ${first}, ${second}`,
    );
    await expect(stage.call("output", { task_id: "" })).rejects.toThrow(/exactly one of task_id and batch_id/);
  });
});

describe("arguments that do not go together", () => {
  test.each([
    ["none", {}],
    ["two", { task_id: "ses_0001", all: true }],
    ["three", { task_id: "ses_0001", batch_id: "b", all: true }],
    ["only all: false", { all: false }],
    ["only blanks", { task_id: "", batch_id: " " }],
  ])("cancel with %s", async (_, args) => {
    const { stage, id } = await stageWithTask();
    await expect(stage.call("cancel", args)).rejects.toThrow(/exactly one of task_id, batch_id and all/);
    expect(stage.task(id).status).toBe("running");
  });

  test.each([
    ['all: "false"', { all: "false" }, /exactly one of task_id, batch_id and all: none given/],
    ["all: 1", { all: 1 }, "all is 1, but must be true or false."],
    ["a name that it does not have", { taskid: "ses_0001", all: true }, 'There is no argument "taskid".'],
    ["a task_id that is none", { task_id: 5 }, "task_id is 5, but must be a string."],
  ])("cancel with %s", async (_, args, message) => {
    const { stage, id } = await stageWithTask();
    await expect(stage.call("cancel", args)).rejects.toThrow(message);
    expect(stage.task(id).status).toBe("running");
  });

  test.each([
    [{ taskid: "ses_0001" }, 'There is no argument "taskid". Arguments: task_id, batch_id.'],
    [{ all: true }, 'There is no argument "all".'],
    [{ task_id: null }, "task_id is null, but must be a string."],
    [{ task_id: " " }, 'task_id is " ", but must not be empty: leave both out'],
    [{ task_id: ["ses_0001"] }, 'task_id is ["ses_0001"], but must be a string.'],
  ])("clear of %j removes nothing", async (args, message) => {
    const { stage, id } = await stageWithTask();
    await expect(stage.call("clear", args)).rejects.toThrow(message);
    expect(stage.task(id).status).toBe("running");
  });

  test("list with a status that there is not names those that there are", async () => {
    const stage = createStage();
    await stage.launch();
    await expect(stage.call("list", { status: "paused" })).rejects.toThrow(
      'status is "paused", but must be one of "running", "completed", "error", "cancelled", "resumed".',
    );
    expect(await stage.call("list", { status: null })).toContain("ses_0001");
  });

  test("a whole session of a batch is refused at once, not after the wait", async () => {
    const stage = createStage();
    const { batchId } = stage.task(await stage.launch());
    const args = { batch_id: batchId, full_session: true, block: true };
    const read = watched(stage.call("output", args));
    await settled();
    expect(String(read.fault)).toContain("full_session shows one task: give task_id.");
  });

  test.each([0, "0"])("output with a timeout of %j does not wait, and says how the task stands", async (timeout) => {
    const { stage, id } = await stageWithTask();
    const read = watched(stage.call("output", { task_id: id, block: true, timeout }));
    await stage.clock.advance(0);
    expect(read.value).toContain("Still running after a wait of 0ms.");
  });

  test.each([0, 1.5, "many"])("output with a message_limit of %j", async (message_limit) => {
    const { stage, id } = await stageWithTask();
    await expect(stage.call("output", { task_id: id, message_limit })).rejects.toThrow(
      `message_limit is ${JSON.stringify(message_limit)}, but must be a whole number of at least 1.`,
    );
  });

  test("clear with both", async () => {
    const { stage, id } = await stageWithTask();
    await expect(stage.call("clear", { task_id: id, batch_id: "b" })).rejects.toThrow(/not both/);
    expect(stage.task(id).status).toBe("running");
  });

  test.each([-1, 600_001, Number.NaN])("output with a timeout of %s", async (timeout) => {
    const { stage, id } = await stageWithTask();
    await expect(stage.call("output", { task_id: id, block: true, timeout })).rejects.toThrow(
      `timeout is ${timeout}, but must be between 0 and 600000 milliseconds.`,
    );
  });
});

describe("an answer that is no error", () => {
  test("cancelling a task that has finished says so and changes nothing", async () => {
    const { stage, id } = await stageWithTask({}, { description: "count files" });
    await stage.finish(id, "12");
    expect(await stage.call("cancel", { task_id: id })).toBe(
      `Task ${id} "count files" has already finished (completed).`,
    );
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
    expect(await stage.call("cancel", { all: true })).toBe("No running tasks to cancel.");
  });

  test("the list can be narrowed to a status", async () => {
    const stage = createStage();
    const [done, running] = [await stage.launch(), await stage.launch()];
    await stage.finish(done, "12");
    const completed = await stage.call("list", { status: "completed" });
    expect(completed).toContain(done);
    expect(completed).not.toContain(running);
    expect(await stage.call("list", { status: "error" })).toBe("No background tasks found");
  });

  test("the tool's result names the child session for the interface to link to", async () => {
    const { stage, id } = await stageWithTask();
    expect((await stage.callWhole("output", { task_id: id })).metadata).toEqual({ sessionId: id });
    expect(stage.host.at(id)).toMatchObject({ parentID: PARENT, agent: "general" });
  });
});
