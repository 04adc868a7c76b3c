import { describe, expect, test } from "vitest";
import { createStage, PARENT, type Stage, stageWithResult, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

/** Launches a task that works, and gives it an instruction. Resolves to its id. */
const steered = async (stage: Stage, prompt = "Only the tests."): Promise<string> => {
  const id = await stage.launch();
  await stage.call("task", { steer: id, prompt });
  await settled();
  return id;
};

/** What people and agents wrote to the child, oldest first. */
const written = (stage: Stage, id: string): string[] =>
  stage.host
    .at(id)
    .messages.filter(({ role }) => role === "user")
    .map(({ text }) => text.split("\n").at(-1) ?? "");

/** From now on the host stores instructions, and says so only when the returned function is called. */
const storeSilently = (stage: Stage): (() => void) => {
  const { storeMessage } = stage.host;
  const said = Promise.withResolvers<void>();
  stage.host.storeMessage = async (prompt) => {
    const stored = await storeMessage(prompt);
    await said.promise;
    return stored;
  };
  return said.resolve;
};

test("a child at work is given the instruction in its conversation, in words that say what it is, and its answer to it is the result", async () => {
  const { stage, id } = await stageWithTask();
  const told = await stage.call("task", { steer: id, prompt: "Only the tests." });
  expect(told).toBe(
    `Task ${id} was given the instruction: its agent sees it at its next step. You will still be notified when the task ends, and told if its agent never saw it.`,
  );
  await settled();
  expect(stage.host.at(id).prompts.at(-1)).toMatchObject({ agent: "general", noReply: true });
  expect(stage.host.at(id).messages.at(-1)?.text).toBe(
    "The agent that launched you gives you a further instruction while you work. Follow it from now on, and go on with your task:\n\nOnly the tests.",
  );
  expect(stage.task(id).status).toBe("running");
  stage.host.step(id);
  await stage.finish(id, "5 of them.");
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "5 of them." });
  expect(stage.notices()).toHaveLength(1);
});

test("a child that ends its turn while the instruction is on its way is woken for it, and ends once", async () => {
  const { stage, id } = await stageWithTask();
  const store = stage.host.holdNext("storeMessage");
  await stage.call("task", { steer: id, prompt: "Only the tests." });
  await stage.finish(id, "12");
  expect(stage.task(id).status).toBe("running");
  store.release();
  await settled();
  expect(stage.host.at(id)).toMatchObject({ busy: true });
  expect(stage.task(id).status).toBe("running");
  await stage.finish(id, "5 of them.");
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "5 of them." });
  expect(written(stage, id)).toEqual(["Find it.", "Only the tests."]);
  expect(stage.notices()).toHaveLength(1);
});

test("a child that ends its turn without a look at the stored instruction is woken for it", async () => {
  const stage = createStage();
  const id = await steered(stage);
  await stage.finish(id, "12", { unseen: true });
  expect(stage.task(id).status).toBe("running");
  expect(stage.host.at(id)).toMatchObject({ busy: true });
  await stage.finish(id, "5 of them.");
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "5 of them." });
});

test("an instruction for a task whose prompt is not taken yet stands behind that prompt", async () => {
  const stage = createStage();
  const prompt = stage.host.holdNext("prompt");
  const id = await stage.launch();
  await stage.call("task", { steer: id, prompt: "Only the tests." });
  await settled();
  expect(written(stage, id)).toEqual([]);
  prompt.release();
  await settled();
  expect(written(stage, id)).toEqual(["Find it.", "Only the tests."]);
});

test("an instruction waits for a prompt that the host took and has not stored yet", async () => {
  const stage = createStage();
  stage.host.childHabits("lose", "work");
  const id = await steered(stage);
  expect(written(stage, id)).toEqual([]);
  stage.host.emit({ type: "idle", sessionID: id });
  await stage.clock.advance(10_000);
  expect(written(stage, id)).toEqual(["Find it.", "Only the tests."]);
});

describe("after a crash", () => {
  test("between storing the instruction with the task and sending it, the child is given it once", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.holdNext("storeMessage");
    await stage.call("task", { steer: id, prompt: "Only the tests." });
    await settled();
    await stage.restart();
    await stage.clock.advance(60_000);
    expect(written(stage, id)).toEqual(["Find it.", "Only the tests."]);
    await stage.finish(id, "5 of them.");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "5 of them." });
  });
});

test("a task that is cancelled while an instruction is on its way ends cancelled, and nothing wakes its child", async () => {
  const { stage, id } = await stageWithTask();
  const store = stage.host.holdNext("storeMessage");
  await stage.call("task", { steer: id, prompt: "Only the tests." });
  await stage.call("cancel", { task_id: id });
  store.release();
  await stage.clock.advance(60_000);
  expect(stage.task(id).status).toBe("cancelled");
  expect(stage.host.at(id).busy).toBe(false);
});

test("a child that a person aborts with an unseen instruction is cancelled, not woken", async () => {
  const stage = createStage();
  const id = await steered(stage);
  stage.host.abortByPerson(id);
  await stage.clock.advance(10_000);
  expect(stage.task(id).status).toBe("cancelled");
  expect(stage.host.at(id).busy).toBe(false);
});

test("a steered task can be resumed, and its next answer is that to the follow-up", async () => {
  const stage = createStage();
  const id = await steered(stage);
  await stage.finish(id, "5 of them.");
  await stage.call("task", { resume: id, prompt: "And now?" });
  await settled();
  await stage.finish(id, "6.");
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "6.", resumeCount: 1 });
  expect(written(stage, id)).toEqual(["Find it.", "Only the tests.", "And now?"]);
});

test("an agent that waits for its own tasks is woken for an instruction, and still waits for them", async () => {
  const { stage, id } = await stageWithTask();
  const below = await stage.launch({}, { sessionID: id, agent: "general" });
  await stage.finish(id, "I wait.");
  expect(stage.task(id).status).toBe("running");
  await stage.call("task", { steer: id, prompt: "Only the tests." });
  await settled();
  expect(stage.host.at(id).busy).toBe(true);
  await stage.finish(id, "I wait for those.");
  expect(stage.task(id).status).toBe("running");
  stage.host.habits(id, "reply");
  stage.host.finish(below, "12");
  await stage.clock.advance(10_000);
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "ok" });
});

describe("an instruction is refused, with the reason", () => {
  test.each([
    ["for a task that has ended", {}, /cannot be steered: it has already finished \(completed\): use resume/],
    ["without words", { prompt: " " }, /prompt is empty/],
    ["with resume", { resume: "ses_0001" }, /only one of steer, resume, retry and fork/],
    ["with retry", { retry: "ses_0001" }, /only one of steer, resume, retry and fork/],
    ["with fork", { fork: true }, /only one of steer, resume, retry and fork/],
    ["for a task that is not there", { steer: "ses_other" }, /has no task "ses_other"/],
  ])("%s", async (_, args, message) => {
    const { stage, id } = await stageWithResult("12");
    await expect(stage.call("task", { steer: id, prompt: "Only the tests.", ...args })).rejects.toThrow(message);
    expect(stage.host.at(id).prompts).toHaveLength(1);
  });

  test("for another parent's task", async () => {
    const stage = createStage();
    stage.host.addSession("ses_other");
    const id = await stage.launch();
    const call = stage.call("task", { steer: id, prompt: "Only the tests." }, { sessionID: "ses_other" });
    await expect(call).rejects.toThrow(/has no task/);
  });

  test("for an agent that the caller may not use", async () => {
    const { stage, id } = await stageWithTask();
    const ask = async () => {
      throw new Error("not allowed");
    };
    await expect(stage.call("task", { steer: id, prompt: "Only the tests." }, { ask })).rejects.toThrow(/not allowed/);
    expect(stage.store.get(id)?.snapshot.context.instructions).toBeUndefined();
  });

  test("for a task that is being cancelled", async () => {
    const { stage, id } = await stageWithTask();
    const abort = stage.host.holdNext("abort");
    const cancelled = stage.call("cancel", { task_id: id });
    await settled();
    await expect(stage.call("task", { steer: id, prompt: "Faster." })).rejects.toThrow(/it is being cancelled/);
    abort.release();
    await stage.clock.advance(10_000);
    await cancelled;
  });
});

test("a model that is asked while the host has stored only half of an instruction is shown all of it", async () => {
  const stage = createStage();
  const id = await steered(stage);
  const { id: messageID = "" } = stage.host.at(id).messages.at(-1) ?? {};
  const shown = { info: { id: messageID, sessionID: id, role: "user" as const, time: { created: 0 } }, parts: [] };
  stage.engine.onModelRequest([shown]);
  expect(shown.parts).toMatchObject([{ text: expect.stringContaining("Only the tests.") }]);
});

test("the task shows how many instructions are on their way, and its journal what became of them", async () => {
  const { stage, id } = await stageWithTask();
  const store = stage.host.holdNext("storeMessage");
  await stage.call("task", { steer: id, prompt: "first" });
  await stage.call("task", { steer: id, prompt: "second" });
  expect(stage.task(id).pendingInstructions).toBe(2);
  store.release();
  await settled();
  expect(stage.task(id)).not.toHaveProperty("pendingInstructions");
  const given = stage.store.journal(id).flatMap(({ type }) => (/^STEER/.test(type) ? type : []));
  expect(given).toEqual(["STEER", "STEER", "STEERING_STORED", "STEERING_STORED"]);
});

test("a prompt that waits to be sent again goes out though an instruction is stored before it", async () => {
  const { stage, id } = await stageWithTask();
  const say = storeSilently(stage);
  await stage.call("task", { steer: id, prompt: "Only the tests." });
  await settled();
  stage.host.breakOff(id);
  await settled();
  expect(stage.task(id).state).toBe("running.active.prompting.backingOff");
  const { messages } = stage.host.at(id);
  stage.host.revert(id, messages.at(-1)?.id ?? "");
  await stage.clock.advance(2_000);
  expect(stage.task(id).state).toBe("running.active.prompting.sending");
  say();
  await settled();
  stage.host.unrevert(id);
  await stage.clock.advance(60_000);
  expect(stage.task(id).state).toBe("running.active.working.busy");
  await stage.finish(id, "12");
  // The prompt is older by its id: the child is given the instruction once more, to be sure.
  await stage.finish(id, "5 of them.");
  expect(stage.task(id).status).toBe("completed");
  expect(stage.notices()).toHaveLength(1);
});

test("an instruction that waits to be sent once more goes out though a later one is stored before it", async () => {
  const stage = createStage();
  const id = await steered(stage, "first");
  const say = storeSilently(stage);
  await stage.call("task", { steer: id, prompt: "second" });
  await settled();
  // Its model has seen neither: the host is given the first one again, as soon as nothing is taken back.
  stage.host.finish(id, "12", { unseen: true });
  stage.host.revert(id, stage.host.at(id).messages.at(-1)?.id ?? "");
  await stage.clock.advance(2_000);
  expect(stage.task(id).state).toBe("running.active.prompting.sending");
  say();
  await settled();
  stage.host.unrevert(id);
  await stage.clock.advance(60_000);
  expect(stage.task(id).state).toBe("running.active.working.busy");
  await stage.finish(id, "5 of them.");
  await stage.finish(id, "5 of them.");
  expect(stage.task(id).status).toBe("completed");
  expect(written(stage, id)).toEqual(["Find it.", "first", "second"]);
  expect(stage.notices()).toHaveLength(1);
});

describe("what became of an instruction", () => {
  /** What became of each instruction of the task's newest run. */
  const fates = (stage: Stage, id: string) =>
    stage.task(id).instructions?.map(({ text, from, fate }) => `${text} ${from} ${fate}`);
  /** What the notices said to the parent's agent, and what people see of them. */
  const said = (stage: Stage): string =>
    stage
      .notices()
      .flat()
      .map(({ text }) => text)
      .join("\n");

  test("is shown while it is not known, and once a step has begun with it", async () => {
    const stage = createStage();
    const id = await steered(stage);
    expect(fates(stage, id)).toEqual(["Only the tests. agent waiting"]);
    expect(await stage.call("output", { task_id: id })).toContain(
      'Instructions: "Only the tests." (agent): not seen yet',
    );
    stage.host.step(id);
    expect(fates(stage, id)).toEqual(["Only the tests. agent seen"]);
    await stage.finish(id, "5 of them.");
    expect(await stage.call("output", { task_id: id })).toContain('Instructions: "Only the tests." (agent): seen');
    expect(said(stage)).not.toContain("never saw");
  });

  test("is not that it was seen where the step that goes on had begun before", async () => {
    const stage = createStage();
    const id = await steered(stage);
    const begun = stage.host.at(id).messages.find(({ role }) => role === "assistant");
    if (!begun) throw new Error("no step has begun");
    const { text: _, ...info } = { ...begun, finish: "tool-calls" };
    stage.host.emit({ type: "message", sessionID: id, message: info });
    expect(fates(stage, id)).toEqual(["Only the tests. agent waiting"]);
  });

  test("of a run that is cancelled before its next step is told with its end, with what helps", async () => {
    const stage = createStage();
    const id = await steered(stage);
    await stage.engine.cancel([id]);
    await stage.clock.advance(10_000);
    expect(fates(stage, id)).toEqual(["Only the tests. agent missed"]);
    const words = 'Its agent never saw the instruction "Only the tests." (agent): the run ended first.';
    expect(said(stage)).toContain(`${words} If it still matters, retry the task with it in the prompt.`);
    expect(await stage.call("output", { task_id: id })).toContain(words);
    expect(await stage.call("list", {})).toContain("1 instruction missed");
    expect(stage.host.toasts.map(({ message }) => message).join()).not.toContain("never saw");
  });

  test("that a person gave and the run missed is told to the person, too", async () => {
    const { stage, id } = await stageWithTask();
    stage.engine.steer({ parentSessionID: PARENT, taskId: id, prompt: "Only the tests.", from: "user" });
    await settled();
    stage.host.fail(id, { name: "APIError", message: "no credit" });
    await stage.clock.advance(10_000);
    expect(stage.task(id).status).toBe("error");
    expect(fates(stage, id)).toEqual(["Only the tests. user missed"]);
    expect(said(stage)).toContain('never saw the instruction "Only the tests." (user)');
    expect(stage.host.toasts.map(({ message }) => message)).toContainEqual(
      'The agent of "find it" never saw your instruction "Only the tests.": its run ended first. If it still matters, retry the task with it in the prompt.',
    );
  });

  test("is known of each of several: the run ended between two of them", async () => {
    const stage = createStage();
    const id = await steered(stage, "first");
    stage.host.step(id);
    await stage.call("task", { steer: id, prompt: "second" });
    await settled();
    await stage.engine.cancel([id]);
    await stage.clock.advance(10_000);
    expect(fates(stage, id)).toEqual(["first agent seen", "second agent missed"]);
  });

  test("of a step that no process saw is found out before the run ends", async () => {
    const stage = createStage();
    const id = await steered(stage);
    stage.host.crash();
    const { messages } = stage.host.at(id);
    const instruction = messages.at(-1);
    if (instruction?.role !== "user") throw new Error("the instruction is not the newest message");
    // The process ended when the step had begun, before it could say so.
    messages.push({ ...instruction, id: `${instruction.id}z`, role: "assistant", promptID: instruction.id, text: "" });
    await stage.restart();
    await stage.clock.advance(10_000);
    expect(fates(stage, id)).toEqual(["Only the tests. agent seen"]);
  });

  test("of a step that answers what came after it is that it was seen: each step is shown all that is there", async () => {
    const { stage, id } = await stageWithTask();
    const below = await stage.launch({}, { sessionID: id, agent: "general" });
    await stage.call("task", { steer: id, prompt: "Only the tests." });
    await settled();
    await stage.clock.advance(1_000);
    stage.host.habits(below, "reply");
    stage.host.finish(below, "12");
    await stage.clock.advance(10_000);
    stage.host.step(id);
    expect(stage.host.at(id).messages.at(-1)?.promptID).not.toBe(
      stage.store.get(id)?.snapshot.context.given?.[0]?.messageID,
    );
    expect(fates(stage, id)).toEqual(["Only the tests. agent seen"]);
  });

  test("stays with its run: a retry is a run of its own", async () => {
    const stage = createStage();
    const id = await steered(stage);
    await stage.engine.cancel([id]);
    await stage.clock.advance(10_000);
    await stage.call("task", { retry: id });
    await settled();
    expect(stage.task(id)).toMatchObject({ status: "resumed" });
    expect(stage.task(id)).not.toHaveProperty("instructions");
  });
});
