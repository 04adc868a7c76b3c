import { describe, expect, test } from "vitest";
import { createStage } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";

const SHORT = "Nothing has changed since you last asked.";

const stageWithTask = async (options: Parameters<typeof createStage>[0] = {}) => {
  const stage = createStage(options);
  const id = await stage.launch({ description: "find it", batch_id: "search" });
  return { stage, id };
};

/** The arguments of the same question, by the tool that it is asked of. */
const QUESTIONS = [
  ["output", (id: string) => ({ task_id: id })],
  ["output", () => ({ batch_id: "search" })],
  ["list", () => ({})],
  ["list", () => ({ status: "running" })],
] as const;

describe.each(QUESTIONS)("an agent that asks %s again and again", (tool, argsOf) => {
  test("is answered in full twice, and then in a sentence that says what will happen by itself", async () => {
    const { stage, id } = await stageWithTask();
    const ask = () => stage.call(tool, argsOf(id));
    const [first, second, third, tenth] = [await ask(), await ask(), await ask(), await ask()];
    for (const answer of [first, second]) expect(answer).not.toContain(SHORT);
    for (const answer of [third, tenth]) {
      expect(answer).toContain(
        `${SHORT} You will be notified of each end: continue with other work, or end your turn.`,
      );
    }
  });

  test("is answered in full once anything has changed", async () => {
    const { stage, id } = await stageWithTask();
    const ask = () => stage.call(tool, argsOf(id));
    for (let time = 0; time < 3; time += 1) await ask();
    await stage.ask(id, "rm -rf build");
    expect(await ask()).toContain("rm -rf build");
    await ask();
    expect(await ask()).toContain(SHORT);
    stage.reply(id);
    await settled();
    expect(await ask()).not.toContain(SHORT);
  });

  test("is answered in full as often as it asks when nothing runs any more", async () => {
    const { stage, id } = await stageWithTask();
    await stage.finish(id, "12");
    for (let time = 0; time < 5; time += 1) expect(await stage.call(tool, argsOf(id))).not.toContain(SHORT);
  });

  test("is answered in full after ten minutes: a person may have asked for it", async () => {
    const { stage, id } = await stageWithTask({ timeouts: { stale: 3_600_000 } });
    const ask = () => stage.call(tool, argsOf(id));
    for (let time = 0; time < 3; time += 1) await ask();
    await stage.clock.advance(600_000);
    expect(await ask()).toContain(SHORT);
    await stage.clock.advance(600_001);
    expect(await ask()).not.toContain(SHORT);
  });
});

test("the sentence comes with how the task stands now", async () => {
  const { stage, id } = await stageWithTask();
  for (let time = 0; time < 2; time += 1) await stage.call("output", { task_id: id });
  await stage.clock.advance(120_000);
  const [line] = (await stage.call("output", { task_id: id })).split("\n");
  expect(line).toBe("running for 2m · 0 tool calls");
});

test("the sentence comes with the number of tasks that have ended, of a batch and of all", async () => {
  const { stage, id } = await stageWithTask();
  const other = await stage.launch({ batch_id: "search" });
  await stage.finish(other, "12");
  const ask = async (tool: string, args: object) => {
    for (let time = 0; time < 2; time += 1) await stage.call(tool, { ...args });
    return (await stage.call(tool, { ...args })).split("\n")[0];
  };
  expect(await ask("output", { batch_id: "search" })).toContain("Batch search: 1/2 ended");
  expect(await ask("list", {})).toBe("1 of 2 tasks have ended.");
  await stage.finish(id, "12");
});

test("other questions, and those of other sessions, are questions of their own", async () => {
  const { stage, id } = await stageWithTask();
  const other = await stage.launch();
  for (let time = 0; time < 3; time += 1) await stage.call("output", { task_id: id });
  expect(await stage.call("output", { task_id: other })).not.toContain(SHORT);
  expect(await stage.call("list")).not.toContain(SHORT);
});

test("a call that waits, and one for the conversation, are answered in full", async () => {
  const { stage, id } = await stageWithTask();
  for (let time = 0; time < 4; time += 1) {
    const conversation = await stage.call("output", { task_id: id, full_session: true });
    const waited = stage.call("output", { task_id: id, block: true, timeout: 1_000 });
    await stage.clock.advance(1_000);
    for (const answer of [conversation, await waited]) expect(answer).not.toContain(SHORT);
  }
});

test("in a run of OpenCode that ends with its answer, the sentence says how to wait", async () => {
  const { stage, id } = await stageWithTask({ isHeadless: true });
  for (let time = 0; time < 2; time += 1) await stage.call("output", { task_id: id });
  expect(await stage.call("output", { task_id: id })).toContain(
    `${SHORT} To wait for an end, call asyncagents_output with block: true.`,
  );
});
