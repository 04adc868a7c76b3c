import { expect, test } from "vitest";
import { TaskResult } from "../../src/tools/elisha/elisha-toolset.ts";
import { isComplete, textOf, waitUntilComplete } from "../../src/tools/elisha/task-utilities.ts";
import { createDurableStage } from "../fakes/durable-stage.ts";
import { refused, unavailable } from "../fakes/fake-host.ts";
import { createStage, PARENT, type Stage, type StageOptions } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { atOnce, watched } from "../fakes/watched.ts";

const rule = (section: string, name: string, show: () => Promise<void>) =>
  test(`elisha-task-domain › ${section} › ${name}`, show);

const PARAMETERS = "Task Tool Parameters";
const RESULT = "TaskResult Type";

const elisha = (options: StageOptions = {}) => createStage({ toolsets: ["elisha"], ...options });

const GOOD = { title: "count files", agent: "general", prompt: "Count the files." };

/** What a tool answers, once it does. Every answer is checked against the schema. */
const answered = async (stage: Stage, ...call: Parameters<Stage["call"]>): Promise<TaskResult> =>
  TaskResult.parse(JSON.parse(await stage.call(...call)));

/** A call that may wait. */
const pending = (...call: Parameters<typeof answered>) => watched(answered(...call));

const only = (stage: Stage) => {
  const [task] = stage.engine.list({});
  if (!task) throw new Error("there is no task");
  return task;
};

/** Launches a task in the background, and resolves with its id. */
const background = async (stage: Stage, args = {}): Promise<string> => {
  const { task_id } = await atOnce(answered(stage, "elisha_task", { ...GOOD, ...args, async: true }));
  await settled();
  return task_id ?? "";
};

/** A stage with one such task. */
const inBackground = async (options?: StageOptions) => {
  const stage = elisha(options);
  return { stage, id: await background(stage) };
};

rule(PARAMETERS, "elisha_task takes title, agent and prompt, and waits for the result by default", async () => {
  const stage = elisha();
  const call = pending(stage, "elisha_task", GOOD, { callID: "call_1" });
  await settled();
  const { sessionID } = only(stage);
  expect(stage.host.at(sessionID).created).toMatchObject({
    title: "count files (@general subagent)",
    agent: "general",
  });
  expect(stage.host.at(sessionID).prompts[0]?.parts[0]?.text).toBe("Count the files.");
  await stage.clock.advance(3_600_000);
  expect(call.value).toBeUndefined();
  await stage.finish(sessionID, "There are 12.");
  expect(call.value).toEqual({
    status: "completed",
    task_id: sessionID,
    agent: "general",
    title: "count files",
    result: "There are 12.",
  });
});

rule(PARAMETERS, "elisha_task with async returns at once, and the end is delivered by a notice", async () => {
  const { stage, id } = await inBackground();
  expect(only(stage)).toMatchObject({ sessionID: id, status: "running" });
  await stage.finish(id, "There are 12.");
  expect(stage.noticeText()).toContain("There are 12.");
  expect(stage.noticeText()).toContain("Use elisha_task_output tools to see agent responses.");
});

rule(
  PARAMETERS,
  "a waiting call ends at once when the caller's turn is aborted; the task goes on, and its end is delivered",
  async () => {
    const stage = elisha();
    const turn = new AbortController();
    const call = pending(stage, "elisha_task", GOOD, { callID: "call_1", abort: turn.signal });
    await settled();
    turn.abort();
    await settled();
    const { sessionID } = only(stage);
    expect(call.value).toMatchObject({ status: "running", task_id: sessionID });
    await stage.finish(sessionID, "There are 12.");
    expect(stage.noticeText()).toContain("There are 12.");
  },
);

rule(
  PARAMETERS,
  "an abort while the host makes the session ends the call at once, and leaves nothing behind",
  async () => {
    const stage = elisha();
    const sessions = stage.host.sessionIDs();
    const turn = new AbortController();
    const held = stage.host.holdNext("createSession");
    const call = pending(stage, "elisha_task", GOOD, { abort: turn.signal });
    await settled();
    turn.abort();
    await settled();
    expect(call.value).toEqual({
      status: "failed",
      error: "The turn was aborted; nothing was launched.",
      code: "SESSION_ERROR",
    });
    held.release();
    await settled();
    expect(stage.engine.list({})).toEqual([]);
    expect(stage.host.sessionIDs()).toEqual(sessions);
  },
);

rule(PARAMETERS, "elisha_task_output does not wait by default", async () => {
  const { stage, id } = await inBackground();
  expect(await atOnce(answered(stage, "elisha_task_output", { task_id: id }))).toEqual({
    status: "running",
    task_id: id,
    agent: "general",
    title: "count files",
  });
});

rule(PARAMETERS, "elisha_task_output with wait answers when the task ends, however long that takes", async () => {
  const { stage, id } = await inBackground();
  const call = pending(stage, "elisha_task_output", { task_id: id, wait: true });
  await stage.clock.advance(3_600_000);
  expect(call.value).toBeUndefined();
  await stage.finish(id, "There are 12.");
  expect(call.value).toMatchObject({ status: "completed", result: "There are 12." });
  expect(stage.task(id).resultRetrievedAt).toBeDefined();
});

rule(PARAMETERS, "a timeout, in ms, ends the wait with TIMEOUT; the task goes on, and owes its notice", async () => {
  const { stage, id } = await inBackground();
  const call = pending(stage, "elisha_task_output", { task_id: id, wait: true, timeout: 1_500 });
  await stage.clock.advance(1_499);
  expect(call.value).toBeUndefined();
  await stage.clock.advance(1);
  expect(call.value).toEqual({
    status: "running",
    task_id: id,
    agent: "general",
    title: "count files",
    error: "Still running after 1.5s. The task continues.",
    code: "TIMEOUT",
  });
  await stage.finish(id, "There are 12.");
  expect(stage.noticeText()).toContain("There are 12.");
});

rule(PARAMETERS, "a timeout without wait changes nothing", async () => {
  const { stage, id } = await inBackground();
  for (const timeout of [5, -1]) {
    const result = await answered(stage, "elisha_task_output", { task_id: id, timeout });
    expect(result).toMatchObject({ status: "running" });
    expect(result).not.toHaveProperty("code");
  }
});

rule(PARAMETERS, "a task that waits for a person says so, to a read and to a wait that timed out", async () => {
  const { stage, id } = await inBackground();
  await stage.ask(id, "bash: rm -rf dist");
  const words = 'It is waiting for the user to approve: "bash: rm -rf dist"';
  expect(await answered(stage, "elisha_task_output", { task_id: id })).toEqual({
    status: "running",
    task_id: id,
    agent: "general",
    title: "count files",
    error: words,
  });
  const call = pending(stage, "elisha_task_output", { task_id: id, wait: true, timeout: 10 });
  await stage.clock.advance(10);
  expect(call.value).toMatchObject({ status: "running", error: `Still running after 10ms. ${words}`, code: "TIMEOUT" });
});

rule(
  PARAMETERS,
  "a task in the queue says its place and what it waits for: at launch, to a read, and after a timeout",
  async () => {
    const stage = elisha({ concurrency: { default: 1 } });
    await background(stage);
    const launched = await answered(stage, "elisha_task", { title: "b", agent: "general", prompt: "B.", async: true });
    const words = "It is queued: 1st, waits for a slot (1 of 1 in use)";
    expect(launched).toMatchObject({ status: "running", error: words });
    const task_id = String(launched.task_id);
    expect(await answered(stage, "elisha_task_output", { task_id })).toMatchObject({ status: "running", error: words });
    const call = pending(stage, "elisha_task_output", { task_id, wait: true, timeout: 10 });
    await stage.clock.advance(10);
    expect(call.value).toMatchObject({ error: `Still running after 10ms. ${words}`, code: "TIMEOUT" });
  },
);

rule(PARAMETERS, "a timeout that is no time is refused, and says why", async () => {
  const { stage, id } = await inBackground();
  expect(await answered(stage, "elisha_task_output", { task_id: id, wait: true, timeout: -1 })).toEqual({
    status: "failed",
    error: "timeout is -1, but must be 0 or more milliseconds.",
    code: "SESSION_ERROR",
  });
});

rule(PARAMETERS, "a timeout of 0 asks how the task stands, and waits for nothing", async () => {
  const { stage, id } = await inBackground();
  const call = pending(stage, "elisha_task_output", { task_id: id, wait: true, timeout: 0 });
  await stage.clock.advance(0);
  expect(call.value).toMatchObject({
    status: "running",
    error: "Still running after 0ms. The task continues.",
    code: "TIMEOUT",
  });
});

rule(PARAMETERS, "a task_id that is blank finds no task, not even the only one", async () => {
  const { stage, id } = await inBackground();
  for (const tool of ["elisha_task_output", "elisha_task_cancel"]) {
    for (const task_id of ["", " "]) {
      expect(await answered(stage, tool, { task_id })).toMatchObject({ status: "failed", code: "SESSION_ERROR" });
    }
    expect(await answered(stage, "elisha_task_output", { task_id: ` ${id} ` })).toMatchObject({ status: "running" });
  }
});

rule(PARAMETERS, "a cancel that waits when the plugin is disposed of has delivered nothing, and says so", async () => {
  const stage = createDurableStage({ toolsets: ["elisha"] });
  const id = await background(stage);
  stage.host.holdNext("abort");
  const call = pending(stage, "elisha_task_cancel", { task_id: id }, { callID: "call_1" });
  await settled();
  stage.engine.stop();
  await settled();
  expect(call.value).toBeUndefined();
  expect(String(call.fault)).toContain(`OpenCode is closing. Nothing is lost: ${id} will continue`);
  await stage.restart();
  await stage.clock.advance(60_000);
  expect(stage.task(id).status).toBe("cancelled");
  expect(stage.notices()).toHaveLength(1);
});

rule(
  PARAMETERS,
  "the end that elisha_task_cancel answers with is delivered by that; only if it is not stored, by a notice",
  async () => {
    for (const [became, notices] of [
      ["stored", 0],
      ["failed", 1],
    ] as const) {
      const { stage, id } = await inBackground();
      await answered(stage, "elisha_task_cancel", { task_id: id }, { callID: "call_1" });
      await stage.clock.advance(5_000);
      expect(stage.notices()).toEqual([]);
      const told = { type: "toolCall", sessionID: PARENT, callID: "call_1", tool: "elisha_task_cancel" } as const;
      stage.host.emit({ ...told, stage: became });
      await stage.clock.advance(60_000);
      expect(stage.notices()).toHaveLength(notices);
    }
  },
);

rule(
  PARAMETERS,
  "elisha_task_cancel of a task that refuses says so at once, and its end is delivered by a notice",
  async () => {
    const stage = createDurableStage({ toolsets: ["elisha"] });
    const id = await background(stage);
    // The next process has not taken it over yet.
    await stage.restart();
    const call = pending(stage, "elisha_task_cancel", { task_id: id }, { callID: "call_1" });
    await settled();
    expect(call.value).toMatchObject({ status: "running", task_id: id });
    expect(call.value?.error).toContain("is supervised by another OpenCode process");
    stage.host.emit({
      type: "toolCall",
      sessionID: PARENT,
      callID: "call_1",
      tool: "elisha_task_cancel",
      stage: "stored",
    });
    await stage.clock.advance(30_000);
    stage.host.finish(id, "There are 12.");
    await stage.clock.advance(60_000);
    expect(stage.task(id).status).toBe("completed");
    expect(stage.notices()).toHaveLength(1);
  },
);

rule(PARAMETERS, "elisha_task_cancel of an ended task leaves it, and says so", async () => {
  const { stage, id } = await inBackground();
  await stage.finish(id, "There are 12.");
  const result = await answered(stage, "elisha_task_cancel", { task_id: id });
  expect(result).toMatchObject({ status: "completed", result: "There are 12." });
  expect(result.error).toMatch(/^Task ses_0001 /);
});

rule(
  PARAMETERS,
  "elisha_task_cancel of a failed task keeps its error; of one that is being cancelled it waits too",
  async () => {
    const stage = elisha();
    const failed = await background(stage);
    stage.host.fail(failed, { name: "APIError", message: "overloaded" });
    await stage.clock.advance(1_000);
    expect(await answered(stage, "elisha_task_cancel", { task_id: failed })).toMatchObject({
      status: "failed",
      error: `Task ${failed} has already finished (error). Its error: "APIError: overloaded"`,
      code: "SESSION_ERROR",
    });
    const id = await background(stage);
    const both = [1, 2].map(() => answered(stage, "elisha_task_cancel", { task_id: id }));
    for (const result of await Promise.all(both)) {
      expect(result).toMatchObject({ status: "cancelled" });
      expect(result).not.toHaveProperty("error");
    }
  },
);

rule(RESULT, "a task that failed is `failed`, with its error and SESSION_ERROR", async () => {
  const { stage, id } = await inBackground();
  stage.host.fail(id, { name: "APIError", message: "overloaded" });
  await stage.clock.advance(1_000);
  expect(await answered(stage, "elisha_task_output", { task_id: id })).toEqual({
    status: "failed",
    task_id: id,
    agent: "general",
    title: "count files",
    error: "APIError: overloaded",
    code: "SESSION_ERROR",
  });
});

rule(RESULT, "a cancelled task is `cancelled`", async () => {
  const { stage, id } = await inBackground();
  await stage.engine.cancel([id]);
  expect(await answered(stage, "elisha_task_output", { task_id: id })).toMatchObject({ status: "cancelled" });
});

rule(RESULT, "a resumed task is `running`, and then has the new result", async () => {
  const { stage, id } = await inBackground({ toolsets: ["elisha", "tasks"] });
  await stage.finish(id, "There are 12.");
  await stage.call("task", { resume: id, prompt: "And in b?" });
  expect(await answered(stage, "elisha_task_output", { task_id: id })).toMatchObject({ status: "running" });
  await settled();
  await stage.finish(id, "There are 3.");
  expect(await answered(stage, "elisha_task_output", { task_id: id })).toMatchObject({
    status: "completed",
    result: "There are 3.",
  });
});

rule(
  RESULT,
  "SESSION_ERROR when the host makes no session, or does not say what it takes; no task is left behind",
  async () => {
    const calls = ["createSession", "agents", "session"] as const;
    for (const [call, failure] of calls.flatMap((name) => [[name, refused] as const, [name, unavailable] as const])) {
      const stage = elisha();
      stage.host.failNext(call, failure, 20);
      const answer = answered(stage, "elisha_task", GOOD);
      await stage.clock.advance(60_000);
      const result = await answer;
      expect(result).toMatchObject({ status: "failed", code: "SESSION_ERROR" });
      expect(result.error).toContain(failure.message);
      expect(stage.engine.list({})).toEqual([]);
    }
  },
);

test.each(["elisha_task_output", "elisha_task_cancel"])(
  "elisha-task-domain › TaskResult Type › SESSION_ERROR from %s for a task that is not there, or another parent's",
  async (tool) => {
    const { stage, id } = await inBackground();
    expect(await answered(stage, tool, { task_id: "ses_none" })).toEqual({
      status: "failed",
      task_id: "ses_none",
      error: 'This session has no task "ses_none".',
      code: "SESSION_ERROR",
    });
    const foreign = await answered(stage, tool, { task_id: id }, { sessionID: "ses_other" });
    expect(foreign).toMatchObject({ status: "failed", code: "SESSION_ERROR" });
    expect(stage.task(id).status).toBe("running");
  },
);

test.each([
  [
    "elisha_task",
    {},
    "title is missing: it must be a string. agent is missing: it must be a string. prompt is missing: it must be a string.",
  ],
  ["elisha_task", { ...GOOD, async: "soon" }, 'async is "soon", but must be true or false.'],
  ["elisha_task_output", {}, "task_id is missing: it must be a string."],
  ["elisha_task_output", { task_id: 5 }, "task_id is 5, but must be a string."],
  ["elisha_task_output", { task_id: "ses_1", wait: "yes" }, 'wait is "yes", but must be true or false.'],
  ["elisha_task_output", { task_id: "ses_1", offset: -1 }, "offset is -1, but must be a whole number of at least 0."],
  ["elisha_task_cancel", { id: "ses_1" }, 'There is no argument "id". Arguments: task_id.'],
])(
  "elisha-task-domain › TaskResult Type › wrong arguments are answered in JSON, with a code: %s %j",
  async (tool, args, error) => {
    const stage = elisha();
    expect(await answered(stage, tool, args)).toEqual({ status: "failed", error, code: "SESSION_ERROR" });
    expect(stage.host.calls).not.toContain("createSession");
  },
);

rule("Validate Agent Exists", "AGENT_NOT_FOUND before anything is made, and before a person is asked", async () => {
  const stage = elisha();
  const asked: unknown[] = [];
  const ask = async (request: unknown) => void asked.push(request);
  for (const agent of ["Baruch (executor)", "title", ""]) {
    expect(await answered(stage, "elisha_task", { ...GOOD, agent }, { ask })).toEqual({
      status: "failed",
      error: `Agent(${agent}) not found or not active.`,
      code: "AGENT_NOT_FOUND",
    });
  }
  expect(asked).toEqual([]);
  expect(stage.host.calls).not.toContain("createSession");
});

rule(
  "Return JSON Strings from Tools",
  "a result that the host would cut is cut before, so that JSON stays JSON",
  async () => {
    const { stage, id } = await inBackground();
    const long = `${'ü\n"'.repeat(40_000)}`;
    await stage.finish(id, long);
    const text = await stage.call("elisha_task_output", { task_id: id });
    expect(Buffer.byteLength(text)).toBeLessThan(50_000);
    expect(Buffer.byteLength(text)).toBeGreaterThan(48_900);
    const { result = "" } = TaskResult.parse(JSON.parse(text));
    expect(result).toMatch(
      /\n\[Characters 0 to (\d+) of 120000\. Read on: elisha_task_output\(task_id="ses_0001", offset=\1\)\.\]$/,
    );
    expect(long.startsWith(result.slice(0, result.lastIndexOf("\n[")))).toBe(true);
  },
);

rule("Return JSON Strings from Tools", "what was cut of a result is read on, piece by piece, to its end", async () => {
  const { stage, id } = await inBackground();
  const whole = 'ü\n"🎲'.repeat(30_000);
  await stage.finish(id, whole);
  const pieces: string[] = [];
  for (let offset: string | undefined = "0"; offset !== undefined; ) {
    const { result = "" } = await answered(stage, "elisha_task_output", { task_id: id, offset });
    const mark =
      /\n\[Characters \d+ to (\d+) of 150000\. Read on: elisha_task_output\(task_id="ses_0001", offset=\1\)\.\]$/;
    pieces.push(result.replace(mark, ""));
    offset = mark.exec(result)?.[1];
  }
  expect(pieces.length).toBeGreaterThan(2);
  expect(pieces.join("")).toBe(whole);
});

rule("Return JSON Strings from Tools", "what is asked for wrongly is answered in JSON too", async () => {
  const stage = elisha({ maxDepth: 1 });
  const refusal = { status: "failed", code: "SESSION_ERROR" };
  expect(await answered(stage, "elisha_task", { ...GOOD, title: " " })).toMatchObject(refusal);
  expect(await answered(stage, "elisha_task", { ...GOOD, prompt: "" })).toMatchObject(refusal);
  const id = await background(stage);
  const deep = await answered(stage, "elisha_task", GOOD, { sessionID: id });
  expect(deep).toMatchObject(refusal);
  expect(deep.error).toContain('1 is the limit (option "maxDepth")');
});

rule("Return JSON Strings from Tools", "long texts beside the result are cut too", async () => {
  const stage = elisha();
  const long = "x".repeat(60_000);
  const id = await background(stage, { title: long });
  const texts = [
    await stage.call("elisha_task_output", { task_id: id }),
    await stage.call("elisha_task_output", { task_id: long }),
    await stage.call("elisha_task", { ...GOOD, agent: long }),
  ];
  for (const text of texts) {
    expect(text.length).toBeLessThan(5_000);
    TaskResult.parse(JSON.parse(text));
  }
});

rule("Task Tools", "there are the three of them, and no others", async () => {
  const stage = elisha();
  await expect(stage.call("task", {})).rejects.toThrow(/elisha_task, elisha_task_output, elisha_task_cancel$/);
});

const UTILITIES = "Task Utilities";

rule(
  UTILITIES,
  "fetchTaskText gives the text of a result, whole however long, and says where there is none",
  async () => {
    const { stage, id } = await inBackground();
    expect(() => textOf(stage.engine, id)).toThrow(`Task ${id} has no result: it is running.`);
    const long = "There are 12. ".repeat(10_000);
    await stage.finish(id, long);
    expect(textOf(stage.engine, id)).toBe(long.trim());
    const failed = await background(stage);
    stage.host.fail(failed, { name: "APIError", message: "overloaded" });
    await stage.clock.advance(1_000);
    expect(() => textOf(stage.engine, failed)).toThrow(
      `Task ${failed} has no result: it is error (APIError: overloaded).`,
    );
    expect(() => textOf(stage.engine, "ses_none")).toThrow('There is no task "ses_none".');
  },
);

rule(UTILITIES, "isTaskComplete is true once a task has ended, however", async () => {
  const { stage, id } = await inBackground();
  expect(isComplete(stage.engine, id)).toBe(false);
  await stage.finish(id, "There are 12.");
  expect(isComplete(stage.engine, id)).toBe(true);
  const cancelled = await background(stage);
  await stage.engine.cancel([cancelled]);
  expect(isComplete(stage.engine, cancelled)).toBe(true);
  expect(() => isComplete(stage.engine, "ses_none")).toThrow('There is no task "ses_none".');
});

rule(UTILITIES, "waitForTask resolves to true when the task ends, which is delivered all the same", async () => {
  const { stage, id } = await inBackground();
  const wait = watched(waitUntilComplete(stage.engine, id, undefined));
  await stage.clock.advance(3_600_000);
  expect(wait.value).toBeUndefined();
  await stage.finish(id, "There are 12.");
  expect(wait.value).toBe(true);
  expect(stage.noticeText()).toContain("There are 12.");
  expect(await atOnce(waitUntilComplete(stage.engine, id, 0))).toBe(true);
});

rule(UTILITIES, "waitForTask resolves to false after its timeout in ms, and the task goes on", async () => {
  const { stage, id } = await inBackground();
  const wait = watched(waitUntilComplete(stage.engine, id, 1_500));
  await stage.clock.advance(1_499);
  expect(wait.value).toBeUndefined();
  await stage.clock.advance(1);
  expect(wait.value).toBe(false);
  expect(stage.task(id).status).toBe("running");
});

rule(UTILITIES, "waitForTask refuses a time below 0 and a task that is not there, and ends with OpenCode", async () => {
  const { stage, id } = await inBackground();
  await expect(waitUntilComplete(stage.engine, id, -1)).rejects.toThrow("timeout is -1, but must be 0 or more");
  await expect(waitUntilComplete(stage.engine, "ses_none", 1)).rejects.toThrow('There is no task "ses_none".');
  const wait = watched(waitUntilComplete(stage.engine, id, undefined));
  await settled();
  stage.engine.stop();
  await settled();
  expect(String(wait.fault)).toContain(`OpenCode is closing. Task ${id} continues when it runs again.`);
});
