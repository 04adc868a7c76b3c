import { expect, test, vi } from "vitest";
import { malformedRequestEvent } from "../../fakes/malformed-events.ts";
import { createStage, PARENT } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";
import { createRecordedStage } from "./recorded-stage.ts";

/** Texts of a conversation, which a page must never get. */
const SAID = [
  "secret-prompt",
  "secret-description",
  "secret-result",
  "secret-question",
  "secret-error",
  "secret-reply",
];

test("a launch is recorded step by step, in the order in which the events were sent", async () => {
  const stage = createRecordedStage();
  await stage.launch();
  expect(stage.lines()).toEqual([
    "outside → supervisor: xstate.init, open",
    "outside → supervisor: PREPARE",
    "supervisor → launch: xstate.init, waiting",
    "launch → supervisor: EFFECT takeTurn",
    "outside → supervisor: PREPARATION TURN_TAKEN",
    "supervisor → launch: TURN_TAKEN, requesting",
    "launch → supervisor: EFFECT createSession",
    "outside → supervisor: PREPARATION SESSION_CREATED",
    "supervisor → launch: SESSION_CREATED, starting",
    "launch → supervisor: EFFECT startTask",
    "outside → supervisor: LAUNCH",
    "supervisor → outbox: xstate.init, idle open",
    "supervisor → ses_0001: xstate.init, running queued none none none none",
    "ses_0001 → supervisor: EFFECT requestSlot",
    "supervisor → outbox: PARENT_PRESENT, ignored",
    "outside → supervisor: PREPARATION TASK_STARTED",
    "supervisor → launch: TASK_STARTED, started",
    "launch → supervisor: EFFECT answerCall",
    expect.stringMatching(/^launch → supervisor: xstate\.done\.actor\.launch:msg_\w+$/),
    "outside → supervisor: TASK SLOT_GRANTED",
    "supervisor → ses_0001: SLOT_GRANTED, sending",
    "ses_0001 → supervisor: EFFECT sendPrompt",
    "outside → supervisor: TASK PROMPT_ACCEPTED",
    "supervisor → ses_0001: PROMPT_ACCEPTED, busy",
  ]);
});

test("a step has the transitions by which the actor came into other states, those of events that it raised itself too", async () => {
  const stage = createRecordedStage();
  const id = await stage.launch();
  await stage.finish(id, "There are 12.");
  const { steps } = stage.showing();
  const through = (event: string, to: RegExp) =>
    steps.find((step) => step.event === event && to.test(step.to))?.through;
  expect(through("xstate.init", / launch /)).toEqual({
    preparing: "beginning::3",
    "preparing.waiting": "beginning::3",
  });
  expect(through("TURN_TAKEN", / launch /)).toEqual({
    "preparing.creating": "preparing.waiting:TURN_TAKEN:0",
    "preparing.creating.requesting": "preparing.waiting:TURN_TAKEN:0",
  });
  expect(through("SLOT_GRANTED", / task /)).toEqual({
    "run.active": "run.queued:SLOT_GRANTED:2",
    "run.active.prompting": "run.queued:SLOT_GRANTED:2",
    "run.active.prompting.sending": "run.queued:SLOT_GRANTED:2",
  });
  expect(through("CHECKED_ANSWERED", / task /)).toEqual({
    "lifecycle.completed": "lifecycle.running:RUN_ENDED:0",
    "run.idle": "run.active.checking.asking.verifying:CHECKED_ANSWERED:4",
    "notice.due": "notice.none:RUN_ENDED:1",
  });
});

test("a delivered task is gone and keeps its last state; resumed, it is the same actor", async () => {
  const stage = createRecordedStage();
  const id = await stage.complete("There are 12.");
  await stage.clock.advance(1_000);
  const task = () => stage.showing().actors.filter((actor) => actor.id === id);
  expect(task()).toMatchObject([
    {
      gone: true,
      states: ["lifecycle.completed", "run.idle", "notice.none", "attention.none", "steering.none", "nextRun.none"],
      lastTransition: { event: "NOTICE_ACKNOWLEDGED" },
    },
  ]);
  expect(stage.lines().at(-1)).not.toContain("ignored");

  await stage.call("task", { resume: id, prompt: "Go on." });
  await settled();
  expect(task()).toMatchObject([
    {
      gone: false,
      states: [
        "lifecycle.resumed",
        "run.active.working.busy",
        "notice.none",
        "attention.none",
        "steering.none",
        "nextRun.none",
      ],
    },
  ]);
});

test("an event that an actor has no transition for is recorded as ignored", async () => {
  const stage = createRecordedStage();
  const id = await stage.launch();
  stage.host.emit({ type: "replied", sessionID: id, requestID: "per_none" });
  expect(stage.lines().at(-1)).toBe(`supervisor → ${id}: REQUEST_ANSWERED, ignored`);
});

test("no text of a conversation is kept: no prompt, result, notice, question or error", async () => {
  const stage = createRecordedStage({ maxResultChars: 10_000 });
  const { host, clock } = stage;
  const launch = () => stage.launch({ description: "secret-description", prompt: "secret-prompt" });
  const [done, failed, asking, resumed] = [await launch(), await launch(), await launch(), await launch()];
  host.emit({
    type: "asked",
    sessionID: asking,
    request: { id: "que_1", kind: "question", what: "secret-question", since: 1 },
  });
  host.finish(done, "secret-result");
  host.fail(failed, { name: "APIError", message: "secret-error" });
  host.finish(resumed, "secret-result");
  await clock.advance(5_000);
  await stage.call("task", { resume: resumed, prompt: "secret-prompt" });
  host.failNext("prompt", { kind: "refused", name: "BadRequest", message: "secret-error" });
  await launch();
  host.converse(PARENT);
  host.finish(asking, "secret-reply");
  await clock.advance(60_000);
  expect(
    stage
      .notices()
      .flat()
      .map(({ text }) => text)
      .join(),
  ).toContain("secret-result");

  const shown = JSON.stringify(stage.showing());
  expect(shown).toContain("CHECKED_FAILED");
  expect(shown).toContain("REQUEST_ASKED");
  for (const text of SAID) expect(shown).not.toContain(text);
  expect(shown).not.toContain("secret");
});

test("an actor that threw is gone; its replacement, which reports the end, is the same task", async () => {
  const stage = createRecordedStage();
  const id = await stage.launch();
  stage.engine.onHostEvent({ type: "asked", sessionID: id, request: null } as never);
  await settled();
  const lines = stage.lines();
  const thrown = lines.findIndex((line) => line.startsWith(`${id} → supervisor: xstate.error.actor.`));
  expect(thrown).toBeGreaterThan(0);
  expect(lines.slice(thrown)).toContainEqual(`supervisor → ${id}: SUPERVISION_FAILED, error idle due`);
  await stage.clock.advance(1_000);
  expect(stage.showing().actors.filter((actor) => actor.id === id)).toMatchObject([{ gone: true }]);
});

test("a supervisor that threw takes its actors with it; those that the next one takes over are shown as before", async () => {
  const stage = createRecordedStage();
  const id = await stage.launch();
  stage.engine.onHostEvent(malformedRequestEvent(id));
  expect(stage.showing().actors.map(({ kind, gone, states }) => ({ kind, gone, states }))).toEqual([
    { kind: "supervisor", gone: false, states: ["open"] },
    { kind: "launch", gone: true, states: ["started"] },
    { kind: "outbox", gone: false, states: ["delivery.idle", "parent.open"] },
    {
      kind: "task",
      gone: false,
      states: [
        "lifecycle.running",
        "run.active.working.busy",
        "notice.none",
        "attention.none",
        "steering.none",
        "nextRun.none",
      ],
    },
  ]);
  stage.host.finish(id, "There are 12.");
  await stage.clock.advance(1_000);
  expect(stage.lines()).toContain(`supervisor → ${id}: CHECKED_ANSWERED, completed idle due`);
});

test("a supervisor that is closed takes its actors with it", async () => {
  const stage = createRecordedStage();
  await stage.launch();
  stage.engine.stop();
  expect(stage.lines().at(-1)).toBe("outside → supervisor: CLOSE, closed");
  expect(stage.showing().actors.map(({ kind, gone }) => ({ kind, gone }))).toEqual([
    { kind: "supervisor", gone: true },
    { kind: "launch", gone: true },
    { kind: "outbox", gone: true },
    { kind: "task", gone: true },
  ]);
});

test("an inspector that throws does no harm: it is not called again, and that is logged", async () => {
  const inspect = vi.fn(() => {
    throw new Error("a fault in the inspector");
  });
  const stage = createStage({ inspect });
  const id = await stage.complete("There are 12.");
  await stage.clock.advance(1_000);
  expect(stage.task(id)).toMatchObject({ status: "completed" });
  expect(inspect).toHaveBeenCalledTimes(1);
  expect(stage.logged.filter((line) => line.includes("a fault in the inspector"))).toHaveLength(1);
});
