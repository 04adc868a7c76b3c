import { expect, test } from "vitest";
import { LEASE_MS } from "../../../src/services/store/ownership.ts";
import { withSilentSupervisor } from "../../../src/services/store/task-usage.ts";
import { waitReason } from "../../../src/services/text/task-state.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createStage, PARENT, type Stage, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";
import { watched } from "../../fakes/watched.ts";

test("a wait for a task that another process removes is over with the next beat", async () => {
  const memory = createMemory();
  memory.keepAlive();
  const stage = createStage({ openStore: memory.boot });
  const other = memory.boot(stage.clock);
  const id = await stage.launch();
  const read = watched(stage.call("output", { task_id: id, block: true, timeout: 600_000 }, { callID: "call_1" }));
  await stage.clock.advance(10_000);
  expect([read.value, read.fault]).toEqual([undefined, undefined]);
  other.remove([id]);
  await stage.clock.advance(3_000);
  expect(read.value ?? read.fault).toBeDefined();
});

/** A notice that was sent by a process which died before the parent answered. */
const sentAndCutOff = async () => {
  const { stage, id } = await stageWithTask();
  stage.host.habits(PARENT, "mute");
  stage.host.finish(id, "12");
  await stage.clock.advance(1_000);
  const [prompt] = stage.host.at(PARENT).prompts;
  if (!prompt) throw new Error("nothing was sent");
  return { stage, prompt };
};

test("a toast that a process showed is not shown again by the one that takes its notice over", async () => {
  const { stage } = await sentAndCutOff();
  await stage.clock.advance(600);
  expect(stage.host.toasts).toHaveLength(1);
  await stage.restart();
  await stage.clock.advance(600_000);
  expect(stage.host.at(PARENT).prompts.length).toBeGreaterThan(1);
  expect(stage.host.toasts).toHaveLength(1);
});

test("a process that is open already says how many tasks it takes over from one that has ended", async () => {
  const memory = createMemory();
  // Only its missing heartbeats show that the process before has ended.
  memory.keepAlive();
  const stage = createStage({ openStore: memory.boot });
  await stage.launch();
  await stage.launch();
  await stage.restart();
  await stage.clock.advance(10_000);
  expect(stage.host.toasts).toEqual([]);
  await stage.clock.advance(10_000);
  expect(stage.host.toasts).toEqual([
    { message: "Took over 2 tasks of an OpenCode that has ended or does not answer.", variant: "info" },
  ]);
});

test("a task that is paused is not among those that it says it takes over: it does not go on", async () => {
  const memory = createMemory();
  memory.keepAlive();
  const stage = createStage({ openStore: memory.boot });
  const [paused] = [await stage.launch(), await stage.launch()];
  const pausing = stage.engine.pause([paused], "person");
  await stage.clock.advance(1_000);
  await pausing;
  await stage.restart();
  await stage.clock.advance(20_000);
  expect(stage.host.toasts).toEqual([
    expect.objectContaining({ message: expect.stringMatching(/^Took over 1 task /) }),
  ]);
});

test("a process that begins with the tasks of the one before it says nothing", async () => {
  const { stage, id } = await stageWithTask();
  await stage.restart();
  await stage.clock.advance(20_000);
  expect(stage.task(id).status).toBe("running");
  expect(stage.host.toasts).toEqual([]);
});

test("a notice that was taken over is shown whole to a parent that reads it half stored", async () => {
  const { stage, prompt } = await sentAndCutOff();
  await stage.restart();
  await stage.clock.advance(60);
  await settled();
  const [first, ...rest] = prompt.parts;
  if (!first || rest.length === 0) throw new Error("a notice has two parts");
  const message = {
    info: { id: prompt.messageID, sessionID: PARENT, role: "user" as const, time: { created: stage.clock.now() } },
    parts: [{ id: first.id, text: first.text }],
  };
  stage.engine.onModelRequest([message]);
  expect(message.parts.map(({ id }) => id)).toEqual(prompt.parts.map(({ id }) => id));
});

/** A process whose task asks a person something, and another one that takes it over since the first is silent. */
const askedAndTakenOver = async (options: { concurrency?: { default: number } } = {}) => {
  const memory = createMemory();
  memory.keepAlive();
  const { stage, id } = await stageWithTask({ openStore: memory.boot, ...options });
  await stage.ask(id, "bash: rm -rf build");
  return { stage, id };
};

test("a person is told what was asked in a process whose task is taken over, and that it may be asked again", async () => {
  const { stage, id } = await askedAndTakenOver();
  await stage.restart();
  const toastsBefore = stage.host.toasts.length;
  await stage.clock.advance(20_000);
  expect(stage.host.toasts.slice(toastsBefore)).toEqual([
    {
      message:
        'Took over 1 task of an OpenCode that has ended or does not answer. These requests were lost with it: "bash: rm -rf build". That step is done again, and you may be asked again.',
      variant: "info",
    },
  ]);
  const taken = stage.task(id);
  expect(taken.attention).toBeUndefined();
  expect(taken).toMatchObject({ waiting: { lostRequests: ["bash: rm -rf build"] }, interruptedAt: expect.any(String) });
  expect(waitReason(taken)).toContain(
    'is open no more: "bash: rm -rf build"; it does that step again, and may ask again',
  );
  stage.host.emit({
    type: "asked",
    sessionID: id,
    request: { id: "per_2", kind: "permission", what: "bash: rm -rf build", since: stage.clock.now() },
  });
  expect(stage.task(id)).toMatchObject({ attention: { kind: "permission", what: "bash: rm -rf build" } });
  expect(stage.task(id).waiting?.lostRequests).toBeUndefined();
});

test("what had been asked is said of the run no more once it has ended, nor of the next one", async () => {
  const { stage, id } = await askedAndTakenOver();
  await stage.restart();
  await stage.clock.advance(20_000);
  await stage.finish(id, "12");
  expect(stage.store.get(id)?.snapshot.context.lostRequests).toBeUndefined();
  await stage.clock.advance(1_000);
  await stage.call("task", { resume: id, prompt: "More." });
  await settled();
  expect(stage.task(id).status).toBe("resumed");
  expect(stage.task(id).waiting?.lostRequests).toBeUndefined();
  expect(stage.task(id).interruptedAt).toBeUndefined();
});

test("a run that had not begun was not interrupted: nobody is told that it is taken over", async () => {
  const memory = createMemory();
  memory.keepAlive();
  const stage = createStage({ openStore: memory.boot, concurrency: { default: 1 } });
  await stage.launch();
  const queued = await stage.launch();
  await stage.restart();
  await stage.clock.advance(20_000);
  expect(stage.host.toasts.map(({ message }) => message)).toEqual([
    "Took over 1 task of an OpenCode that has ended or does not answer.",
  ]);
  expect(stage.task(queued).interruptedAt).toBeUndefined();
});

test("of a task whose process gives no sign of life it is said which one is waited for, and until when", async () => {
  const memory = createMemory();
  memory.keepAlive();
  const { stage, id } = await stageWithTask({ openStore: memory.boot });
  const since = new Date(stage.clock.now()).toISOString();
  const until = new Date(stage.clock.now() + LEASE_MS).toISOString();
  stage.life.pause();
  const other = memory.boot(stage.clock);
  const { waiting } = stage.task(id);
  const seen = (ms: number) =>
    withSilentSupervisor({ sessionID: id, status: "running" as const, waiting }, other, stage.clock.now() + ms);
  expect(seen(LEASE_MS).waiting).toEqual(waiting);
  const silent = seen(LEASE_MS + 1);
  expect(silent.waiting?.silent).toMatchObject({ pid: 1, until: expect.any(String) });
  expect(waitReason(silent)).toMatch(
    /its OpenCode, process 1, has shown no sign of life since .*; another one in the directory takes/,
  );
  expect([since, until].every((time) => time <= String(silent.waiting?.silent?.until))).toBe(true);
});

test.each([
  { step: "waited for the person with all that it had called", results: [undefined], deleted: ["msg_step"] },
  { step: "had a call that has ended, which would be made twice", results: ["done", undefined], deleted: [] },
])(
  "the step that asked is taken back before the prompt is sent again; one that $step: $deleted",
  async ({ results, deleted }) => {
    const { stage, id } = await askedAndTakenOver();
    const taken: string[] = [];
    stage.host.conversation = async () => ({
      ok: true,
      value: [
        { id: "msg_prompt", role: "user", parts: [{ kind: "text", text: "Find it." }] },
        {
          id: "msg_step",
          role: "assistant",
          parts: results.map((result) => ({ kind: "tool", name: "bash", params: {}, result })),
        },
      ],
    });
    stage.host.deleteMessage = async (sessionID, messageID) => {
      expect(stage.host.at(id).prompts).toHaveLength(1);
      if (sessionID === id) taken.push(messageID);
      return { ok: true, value: undefined };
    };
    await stage.restart();
    await stage.clock.advance(20_000);
    expect(taken).toEqual(deleted);
    expect(new Set(stage.host.at(id).prompts.map(({ messageID }) => messageID)).size).toBe(1);
    expect(stage.host.at(id).prompts.length).toBeGreaterThan(1);
  },
);

/** The sessions whose conversations are read from now on, in order. */
const conversationsReadOn = (stage: Stage): readonly string[] => {
  const read: string[] = [];
  const { conversation } = stage.host;
  stage.host.conversation = (sessionID) => {
    read.push(sessionID);
    return conversation(sessionID);
  };
  return read;
};

test("a later step is not taken back, though OpenCode ends again before the child has asked anew", async () => {
  const { stage, id } = await askedAndTakenOver();
  const read = conversationsReadOn(stage);
  await stage.restart();
  await stage.clock.advance(20_000);
  expect(read).toEqual([id]);
  stage.host.step(id);
  await stage.restart();
  await stage.clock.advance(20_000);
  expect(stage.host.at(id).prompts.length).toBe(3);
  expect(read).toEqual([id]);
  expect(stage.store.get(id)?.snapshot.context.lostRequests).toHaveLength(1);
});

test("no step is taken back where it was a session below the task that asked: that would launch its work again", async () => {
  const memory = createMemory();
  const stage = createStage({ openStore: memory.boot });
  const lead = await stage.launch();
  const below = await stage.launch({}, { sessionID: lead });
  await stage.ask(below, "bash");
  expect(stage.task(lead).attention?.kind).toBe("permission");
  const read = conversationsReadOn(stage);
  await stage.restart();
  await stage.clock.advance(20_000);
  expect(read).toEqual([below]);
});
