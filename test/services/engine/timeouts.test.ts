import { describe, expect, test } from "vitest";
import { isTaskReminder } from "../../../src/services/text/reminder-text.ts";
import { createFakeProcess } from "../../fakes/fake-process.ts";
import { createStage, PARENT, type Stage, stageWithTask } from "../../fakes/stage.ts";

const RUN = 60_000;
const STALE = 600_000;
/** How often it is looked which runs take too long. */
const CHECKED_EVERY = 5_000;
/** Longer than it takes to notice that a run is over its time, and to stop it. */
const MOMENT = 10_000;

const tool = (stage: Stage, sessionID: string, stageOfCall: "begun" | "stored", input?: string) =>
  stage.host.emit({
    type: "toolCall",
    sessionID,
    callID: "call_long",
    tool: "bash",
    stage: stageOfCall,
    ...(input === undefined ? {} : { input }),
  });

const isTimedOut = (stage: Stage, id: string) => stage.task(id).error?.kind === "timeout";

test("a run that takes longer than `timeouts.run` is stopped, and its parent is told what to do", async () => {
  const { stage, id } = await stageWithTask({ timeouts: { run: RUN } });
  await stage.clock.advance(RUN - 1_000);
  expect(stage.task(id).status).toBe("running");
  await stage.clock.advance(MOMENT);
  expect(stage.task(id)).toMatchObject({ status: "error", error: { name: "RunTimeout", kind: "timeout" } });
  expect(stage.host.at(id).busy).toBe(false);
  const told = stage.noticeText();
  expect(told).toMatch(/It ran for 1m.* of at most 1m, and was stopped\. A retry goes on.*timeouts\.run/);
});

test("each run has its own time", async () => {
  const { stage, id } = await stageWithTask({ timeouts: { run: RUN } });
  await stage.clock.advance(RUN - MOMENT);
  stage.host.finish(id, "done");
  await stage.clock.advance(RUN);
  await stage.call("task", { resume: id, prompt: "And now?" });
  await stage.clock.advance(RUN - MOMENT);
  expect(stage.task(id).status).toBe("resumed");
  await stage.clock.advance(2 * MOMENT);
  expect(isTimedOut(stage, id)).toBe(true);
});

test("nothing is stopped while a tool runs: not its task, and not the one above, which would take it along", async () => {
  const stage = createStage({ timeouts: { run: RUN } });
  const lead = await stage.launch();
  const own = await stage.launch({}, { sessionID: lead });
  tool(stage, own, "begun", "npm test");
  await stage.clock.advance(10 * RUN);
  expect([lead, own].map((id) => stage.task(id).status)).toEqual(["running", "running"]);
  tool(stage, own, "stored", "npm test");
  await stage.clock.advance(MOMENT);
  expect([lead, own].map((id) => isTimedOut(stage, id))).toContain(true);
  expect([lead, own].map((id) => stage.task(id).status)).not.toContain("running");
});

test("a call whose arguments the model still writes is no tool that runs, nor is one of an idle session", async () => {
  const stage = createStage({ timeouts: { run: RUN } });
  const [writing, idle] = [await stage.launch(), await stage.launch()];
  tool(stage, writing, "begun");
  tool(stage, idle, "begun", "sleep");
  stage.host.emit({ type: "idle", sessionID: idle });
  await stage.clock.advance(RUN + MOMENT);
  expect([writing, idle].map((id) => isTimedOut(stage, id))).toEqual([true, true]);
});

test("nothing is stopped while a person is waited for; then it is", async () => {
  const { stage, id } = await stageWithTask({ timeouts: { run: RUN } });
  await stage.ask(id, "bash: rm");
  await stage.clock.advance(10 * RUN);
  expect(stage.task(id).status).toBe("running");
  stage.reply(id);
  await stage.clock.advance(MOMENT);
  expect(isTimedOut(stage, id)).toBe(true);
});

describe("a run whose last words are being read is not stopped any more", () => {
  const ask = (stage: Stage, sessionID: string) => {
    const request = { id: "per_1", kind: "permission", what: "bash: rm", since: 0 } as const;
    stage.host.emit({ type: "asked", sessionID, request });
    return () => stage.host.emit({ type: "replied", sessionID, requestID: "per_1" });
  };
  const runTool = (stage: Stage, sessionID: string) => {
    tool(stage, sessionID, "begun", "npm test");
    return () => tool(stage, sessionID, "stored", "npm test");
  };

  test.each([
    { what: "a tool begins in it", begin: runTool, where: "itself" },
    { what: "a tool begins in a task below it", begin: runTool, where: "below" },
    { what: "its agent asks a person", begin: ask, where: "itself" },
    { what: "the agent of a task below it asks a person", begin: ask, where: "below" },
  ] as const)("when $what, and is stopped once that is over", async ({ begin, where }) => {
    const stage = createStage({ timeouts: { run: RUN } });
    const lead = await stage.launch();
    const own = where === "below" ? await stage.launch({}, { sessionID: lead }) : lead;
    const tasks = [...new Set([lead, own])];
    const held = tasks.map(() => stage.host.holdNext("messages"));
    await stage.clock.advance(RUN + CHECKED_EVERY + 1_000);
    expect(stage.host.calls.filter((call) => call === "messages")).toHaveLength(tasks.length);
    const end = begin(stage, own);
    for (const { release } of held) release();
    await stage.clock.advance(3 * MOMENT);
    expect(tasks.map((id) => stage.task(id).status)).toEqual(tasks.map(() => "running"));
    end();
    await stage.clock.advance(MOMENT);
    expect(tasks.map((id) => isTimedOut(stage, id))).toContain(true);
    expect(tasks.map((id) => stage.task(id).status)).not.toContain("running");
  });
});

test("the time goes on through a restart", async () => {
  const { stage, id } = await stageWithTask({ timeouts: { run: RUN } });
  await stage.clock.advance(RUN - MOMENT);
  await stage.restart();
  await stage.clock.advance(3 * MOMENT);
  expect(isTimedOut(stage, id)).toBe(true);
});

const notes = (stage: Stage) =>
  stage.host.attempts
    .filter(({ sessionID, noReply, parts }) => sessionID === PARENT && noReply && !isTaskReminder(parts[0]?.text))
    .flatMap(({ parts }) => parts);

const toasts = (stage: Stage) => stage.host.toasts.filter(({ message }) => message.includes("no sign of life"));

test("a silent task is reported once: the person in a toast, the agent in a note that starts no turn", async () => {
  const { stage, id } = await stageWithTask();
  await stage.clock.advance(3 * STALE);
  expect(stage.task(id).attention?.kind).toBe("stale");
  expect(toasts(stage)).toEqual([
    { message: 'Task "find it" has shown no sign of life for 10m. It goes on, and may be stuck.', variant: "info" },
  ]);
  const [note, ...others] = notes(stage);
  expect(others).toEqual([]);
  expect(note).toMatchObject({ synthetic: true });
  expect(note?.text).toContain(`Task ${id} "find it" has shown no sign of life for 10m`);
  expect(note?.text).toContain(`asyncagents_output(task_id="${id}")`);
  expect(stage.host.at(PARENT).busy).toBe(false);
});

test("it is reported again only after the task has shown life", async () => {
  const { stage, id } = await stageWithTask();
  await stage.clock.advance(1.5 * STALE);
  stage.host.emit({ type: "busy", sessionID: id });
  await stage.clock.advance(STALE / 2);
  expect(stage.task(id).attention).toBeUndefined();
  expect(toasts(stage)).toHaveLength(1);
  await stage.clock.advance(STALE);
  expect([toasts(stage).length, notes(stage).length]).toEqual([2, 2]);
});

test("a task whose provider refuses for now is not stale before OpenCode asks again, and says what it waits for", async () => {
  const stale = 120_000;
  const { stage, id } = await stageWithTask({ timeouts: { stale } });
  const until = stage.clock.now() + 2 * stale;
  stage.host.emit({ type: "retrying", sessionID: id, attempt: 1, message: "Rate limit reached", until });
  await stage.clock.advance(1.5 * stale);
  expect([stage.task(id).state, stage.task(id).attention]).toEqual(["running.active.working.retrying", undefined]);
  const refused =
    /waits for:? fake, which refuses for now: "Rate limit reached"; OpenCode asks again in 1m \(attempt 2\)/i;
  expect(await stage.call("list")).toMatch(refused);
  expect(await stage.call("output", { task_id: id })).toMatch(refused);
  await stage.clock.advance(2 * stale);
  expect(stage.task(id).attention?.kind).toBe("stale");
  stage.host.emit({ type: "busy", sessionID: id });
  expect(stage.task(id).state).toBe("running.active.working.busy");
});

test("a task that waits for a slot is not stale: its silence counts from when it has one", async () => {
  const stage = createStage({ concurrency: { default: 1 } });
  const [first, second] = [await stage.launch(), await stage.launch()];
  for (let n = 0; n < 3; n += 1) {
    stage.host.emit({ type: "busy", sessionID: first });
    await stage.clock.advance(0.8 * STALE);
  }
  expect([stage.task(second).state, stage.task(second).attention]).toEqual(["running.queued", undefined]);
  stage.host.finish(first, "12");
  await stage.clock.advance(0.9 * STALE);
  expect([stage.task(second).state, stage.task(second).attention]).toEqual(["running.active.working.busy", undefined]);
  await stage.clock.advance(STALE);
  expect(stage.task(second).attention?.kind).toBe("stale");
});

test("a note that could not be stored while the agent was at work is dropped when the task shows life", async () => {
  const stage = createStage();
  stage.host.habits(PARENT, "work");
  const id = await stage.launch();
  stage.host.beginStep(PARENT, "msg_turn");
  stage.host.at(PARENT).busy = true;
  await stage.clock.advance(1.5 * STALE);
  expect([toasts(stage).length, notes(stage).length]).toEqual([1, 0]);
  stage.host.emit({ type: "busy", sessionID: id });
  await stage.clock.advance(STALE / 2);
  await stage.rest();
  await stage.clock.advance(MOMENT);
  expect(notes(stage)).toEqual([]);
});

test("a machine that slept reports no silence: nothing could be heard", async () => {
  const life = createFakeProcess();
  const { stage, id } = await stageWithTask({ life });
  await stage.clock.advance(STALE / 2);
  life.pause();
  await stage.clock.advance(10 * STALE);
  life.wake();
  await stage.clock.advance(STALE / 2);
  expect([stage.task(id).attention, toasts(stage).length]).toEqual([undefined, 0]);
  await stage.clock.advance(STALE);
  expect(toasts(stage)).toHaveLength(1);
});

test("a task that ends is not stale any more, and nothing more is reported of it", async () => {
  const { stage, id } = await stageWithTask();
  await stage.clock.advance(STALE - 1_000);
  stage.host.finish(id, "done");
  await stage.clock.advance(STALE);
  expect([toasts(stage).length, notes(stage).length]).toEqual([0, 0]);
});

test("a task whose session was deleted while it asked, of which no event came, ends in an error", async () => {
  const { stage, id } = await stageWithTask();
  stage.host.listen(() => undefined);
  await stage.ask(id);
  stage.host.delete(id);
  stage.host.listen(stage.engine.onHostEvent);
  await stage.clock.advance(STALE / 4 + MOMENT);
  expect(stage.task(id).status).toBe("running");
  await stage.clock.advance(STALE / 4);
  expect(stage.task(id)).toMatchObject({ status: "error" });
  await stage.clock.advance(MOMENT);
  expect(stage.notices()).toHaveLength(1);
});
