import { expect, test } from "vitest";
import { createMemory } from "../../fakes/disk.ts";
import { createStage, PARENT } from "../../fakes/stage.ts";
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
  const stage = createStage();
  const id = await stage.launch();
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

test("a process that begins with the tasks of the one before it says nothing", async () => {
  const stage = createStage();
  const id = await stage.launch();
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
