import { expect, test } from "vitest";
import { createStage, PARENT, type Stage } from "../../fakes/stage.ts";

/** The parent's agent launches a task in a step of its own. */
const launchInStep = async (stage: Stage, step: string): Promise<string> => {
  const end = stage.host.beginStep(PARENT, step);
  const id = await stage.launch({}, { messageID: step });
  end();
  return id;
};

const launchInSteps = async (stage: Stage, ...steps: string[]): Promise<string[]> => {
  const ids: string[] = [];
  for (const step of steps) ids.push(await launchInStep(stage, step));
  return ids;
};

const batchesOf = (stage: Stage, ids: string[]) => ids.map((id) => stage.task(id).batchId);

const STEPS = ["msg_step1", "msg_step2", "msg_step3"];

test("three launches in three steps of one turn are one batch, named after the user message", async () => {
  const stage = createStage();
  const ids = await launchInSteps(stage, ...STEPS);
  const asked = stage.host.at(PARENT).messages[0]?.id ?? "";
  expect(batchesOf(stage, ids)).toEqual(Array(3).fill(asked.replace("msg_", "batch_")));
  expect(stage.host.calls).not.toContain("message");
});

test("notices, their hidden part and the list count the same, and speak of no other batch", async () => {
  const stage = createStage();
  const ids = await launchInSteps(stage, ...STEPS);
  const told: { progress: unknown; counts: (string | undefined)[]; list: unknown }[] = [];
  for (const id of ids) {
    stage.host.finish(id, "12");
    await stage.clock.advance(2_000);
    const [visible, hidden] = stage.notices().at(-1) ?? [];
    told.push({
      progress: visible?.text.split("\n")[1],
      counts: hidden?.text.split("\n").filter((line) => /running|All \d|this batch|other batches/.test(line)) ?? [],
      list: (await stage.call("list")).split("\n")[0]?.split(": ")[1],
    });
  }
  expect(told).toEqual([
    { progress: "Task Progress: 1/3", counts: [], list: "1/3 ended" },
    { progress: "Task Progress: 2/3", counts: [], list: "2/3 ended" },
    { progress: "Task Progress: 3/3", counts: ["All 3 tasks finished."], list: "3/3 ended" },
  ]);
});

test("what an agent launches in answer to a notice is another batch, and so is what it does in its next turn", async () => {
  const stage = createStage();
  const [first = ""] = await launchInSteps(stage, "msg_step1");
  stage.host.habits(PARENT, "work");
  stage.host.finish(first, "12");
  await stage.clock.advance(2_000);
  const [second = ""] = await launchInSteps(stage, "msg_step2");
  stage.host.finish(PARENT, "I see.");
  const [third = ""] = await launchInSteps(stage, "msg_step3");
  const batches = batchesOf(stage, [first, second, third]);
  expect(new Set(batches).size).toBe(3);
  expect(batches[1]).toBe(stage.host.at(PARENT).prompts[0]?.messageID.replace("msg_", "batch_"));
});

test("a batch id that is given counts, whatever the turn", async () => {
  const stage = createStage();
  const [first = ""] = await launchInSteps(stage, "msg_step1");
  const second = await stage.launch({ batch_id: "release" }, { messageID: "msg_step1" });
  expect(batchesOf(stage, [first, second])).toEqual([expect.stringMatching(/^batch_/), "release"]);
});

test("the turn of a step that no event told of is asked for, in this process or the next", async () => {
  const stage = createStage();
  const [first = ""] = await launchInSteps(stage, "msg_step1");
  stage.host.beginStep(PARENT, "msg_step2");
  await stage.restart();
  const second = await stage.launch({}, { messageID: "msg_step2" });
  expect(new Set(batchesOf(stage, [first, second])).size).toBe(1);
  expect(stage.host.calls.filter((call) => call === "message")).toEqual(["message"]);
});
