import { expect, test } from "vitest";
import { createReadDirectories } from "../../../src/services/host/directories.ts";
import { createEngineSource } from "../../../src/services/http/engine-source.ts";
import { createOpenDirectories } from "../../../src/services/http/status-api.ts";
import { unavailable } from "../../fakes/fake-host.ts";
import { createStage, PARENT, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

test("a task that waits for tasks of its own has not ended; it is notified of them, and its last word is its result", async () => {
  const { stage, id } = await stageWithTask({}, { description: "lead" });
  const own = await stage.launch({ description: "help" }, { sessionID: id });
  stage.host.finish(id, "waiting");
  await stage.clock.advance(60_000);
  expect(stage.task(id)).toMatchObject({ status: "running", childTaskIds: [own] });
  expect(stage.task(own).parentTaskId).toBe(id);
  await stage.finish(own, "12 files");
  expect(stage.noticeText(id)).toContain("12 files");
  expect(stage.notices()).toEqual([]);
  stage.host.finish(id, "There are 12 files.");
  await stage.clock.advance(10_000);
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "There are 12 files." });
  expect(stage.notices()).toHaveLength(1);
});

test("a task that waits for tasks of its own says for how many, in each answer", async () => {
  const stage = createStage();
  const sites = createOpenDirectories();
  sites.add(stage);
  const api = createEngineSource(
    sites,
    stage.clock,
    () => "request 1",
    "/nowhere/worktrees",
    createReadDirectories(stage.clock),
  );
  const lead = await stage.launch({ description: "lead" });
  const own = await stage.launch({}, { sessionID: lead });
  await stage.launch({}, { sessionID: lead });
  await stage.finish(lead, "waiting");
  const answers = async () => [
    await stage.call("output", { task_id: lead }),
    await stage.call("list"),
    api.task(lead)?.why,
  ];
  for (const answer of await answers()) expect(answer).toContain("its own 2 tasks; it goes on when they end");
  await stage.finish(own, "12 files");
  await stage.finish(lead, "waiting on");
  for (const answer of await answers()) expect(answer).toContain("its own task; it goes on when that ends");
});

test("a session below a task is the task's: its tasks count as below it, and are cancelled with it", async () => {
  const { stage, id } = await stageWithTask({ maxDepth: 2 });
  stage.host.addSession("ses_helper", { parentID: id, habit: "work" });
  const own = await stage.launch({}, { sessionID: "ses_helper" });
  expect(stage.task(own)).toMatchObject({ parentTaskId: id, parentSessionID: "ses_helper" });
  expect(stage.task(id).childTaskIds).toEqual([own]);
  stage.host.addSession("ses_deeper", { parentID: own, habit: "work" });
  await expect(stage.launch({}, { sessionID: "ses_deeper" })).rejects.toThrow('2 is the limit (option "maxDepth")');
  await stage.call("cancel", { task_id: id });
  await stage.clock.advance(60_000);
  expect(stage.task(own).status).toBe("cancelled");
  // The session that launched it was stopped: a notice would set it to work again.
  expect(stage.notices("ses_helper")).toEqual([]);
});

test("what a person has the session of a cancelled task launch is theirs: it is not cancelled, and is delivered", async () => {
  const stage = createStage();
  const lead = await stage.launch();
  const held = stage.host.holdNext("session");
  await stage.call("cancel", { task_id: lead });
  await settled();
  stage.host.habits(lead, "reply");
  const own = await stage.launch({}, { sessionID: lead });
  // Late steps of the cancelled task: it is read, and its notice acknowledged.
  await stage.call("output", { task_id: lead });
  held.release();
  await stage.clock.advance(60_000);
  expect(stage.task(own).status).toBe("running");
  stage.host.finish(own, "12");
  await stage.clock.advance(1_000);
  expect(stage.noticeText(lead)).toContain("12");
});

test("an end below that is delivered while the host is being asked does not make the lead's interim word its last", async () => {
  const stage = createStage();
  const lead = await stage.launch();
  const own = await stage.launch({}, { sessionID: lead });
  const { messages } = stage.host;
  // The host has read its messages, and is slow to say so.
  const late = Promise.withResolvers<void>();
  stage.host.messages = async (sessionID, limit) => {
    const read = await messages(sessionID, limit);
    if (sessionID === lead) await late.promise;
    return read;
  };
  await stage.finish(lead, "waiting", { unwritten: true });
  await stage.finish(own, "12");
  // Its launch prompt, and the notice.
  expect(stage.notices(lead)).toHaveLength(2);
  late.resolve();
  await settled();
  expect(stage.task(lead).status).toBe("running");
  stage.host.messages = messages;
  stage.host.finish(lead, "With help: 12.");
  await stage.clock.advance(10_000);
  expect(stage.task(lead)).toMatchObject({ status: "completed", result: "With help: 12." });
});

test("a task that a session below launches while the host is being asked keeps the lead from ending", async () => {
  const stage = createStage();
  const lead = await stage.launch();
  stage.host.addSession("ses_helper", { parentID: lead, habit: "work" });
  const look = stage.host.holdNext("messages");
  await stage.finish(lead, "waiting", { unwritten: true });
  const own = await stage.launch({}, { sessionID: "ses_helper" });
  look.release();
  await stage.clock.advance(60_000);
  expect(stage.task(own).parentTaskId).toBe(lead);
  expect(stage.task(lead).status).toBe("running");
});

test("a follow-up is answered, though a notice that was formed before it comes after it", async () => {
  const stage = createStage();
  const lead = await stage.launch();
  const own = await stage.launch({}, { sessionID: lead });
  await stage.finish(own, "12");
  await stage.finish(lead, "With help: 12.");
  stage.host.finish(lead, "With help: 12.");
  await stage.clock.advance(10_000);
  await stage.call("task", { resume: own, prompt: "And now?" }, { sessionID: lead });
  await settled();
  stage.host.failNext("prompt", unavailable);
  await stage.finish(own, "13");
  await stage.call("task", { resume: lead, prompt: "What is new?" });
  await stage.clock.advance(5_000);
  const [followUp, notice] = stage.host
    .at(lead)
    .messages.filter(({ role }) => role === "user")
    .slice(-2);
  expect(notice && followUp && notice.id < followUp.id).toBe(true);
  stage.host.finish(lead, "Now 13.");
  await stage.clock.advance(10_000);
  expect(stage.task(lead)).toMatchObject({ status: "completed", result: "Now 13.", resumeCount: 1 });
  expect(stage.host.at(lead).prompts.filter(({ messageID }) => messageID === followUp?.id)).toHaveLength(1);
});

test("a notice on its way into a session that is being cancelled leaves nothing running there", async () => {
  const stage = createStage();
  const lead = await stage.launch();
  const own = await stage.launch({}, { sessionID: lead });
  await stage.finish(lead, "waiting");
  const hold = stage.host.holdNext("prompt");
  await stage.finish(own, "12");
  const answer = stage.call("cancel", { task_id: lead });
  await settled();
  hold.release();
  await stage.clock.advance(5_000);
  expect(await answer).toContain("is cancelled");
  expect(stage.host.at(lead).busy).toBe(false);
  expect(stage.host.at(PARENT).messages.length).toBeGreaterThan(0);
});

test("a task has not ended while a task of a session below it runs; once that has ended and was delivered, it ends", async () => {
  const { stage, id } = await stageWithTask({}, { description: "lead" });
  stage.host.addSession("ses_helper", { parentID: id, habit: "work" });
  stage.host.addSession("ses_deeper", { parentID: "ses_helper", habit: "work" });
  const own = await stage.launch({ description: "help" }, { sessionID: "ses_deeper" });
  expect(stage.task(own)).toMatchObject({ parentTaskId: id, parentSessionID: "ses_deeper" });
  stage.host.finish(id, "waiting");
  await stage.clock.advance(600_000);
  expect(stage.task(id).status).toBe("running");
  expect(stage.notices()).toEqual([]);
  await stage.finish(own, "12 files");
  expect(stage.task(own).status).toBe("completed");
  expect(stage.notices("ses_deeper")).toHaveLength(1);
  await stage.clock.advance(5_000);
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "waiting" });
  expect(stage.notices()).toHaveLength(1);
});

test("a notice to a task is acknowledged when its agent begins to answer it, and not sent into a turn that just failed", async () => {
  const stage = createStage();
  const lead = await stage.launch();
  const [first, second] = [await stage.launch({}, { sessionID: lead }), await stage.launch({}, { sessionID: lead })];
  await stage.finish(lead, "waiting");
  await stage.finish(first, "12");
  expect(stage.store.get(first)?.snapshot.value.notice).toBe("none");
  const sent = () => stage.host.at(lead).prompts.length;
  const before = sent();
  stage.host.emit({ type: "error", sessionID: lead, error: { name: "ContextOverflowError", message: "too long" } });
  stage.host.finish(second, "13");
  await stage.clock.advance(400);
  expect(sent()).toBe(before);
  await stage.clock.advance(200);
  expect(sent()).toBe(before + 1);
});
