import { expect, test } from "vitest";
import { createStage, PARENT, type Stage, stageWithTask } from "../../fakes/stage.ts";

let parts = 0;

/** The host reports a step of a session. */
const spend = (stage: Stage, sessionID: string, tokens: number, cost: number) => {
  parts += 1;
  stage.host.emit({ type: "step", sessionID, partID: `prt_step_${parts}`, tokens, cost });
};

const hidden = (stage: Stage, parent = PARENT) =>
  stage
    .notices(parent)
    .flat()
    .filter(({ synthetic }) => synthetic)
    .map(({ text }) => text);

/** A lead with a helper that has a helper of its own, and each has used something. */
const nested = async () => {
  const stage = createStage();
  const lead = await stage.launch({ description: "lead" });
  const helper = await stage.launch({ description: "help" }, { sessionID: lead });
  const deeper = await stage.launch({ description: "help more" }, { sessionID: helper });
  spend(stage, lead, 1_000, 0.1);
  spend(stage, helper, 20_000, 0.2);
  spend(stage, deeper, 100_000, 0.12);
  return { stage, lead, helper, deeper };
};

test("what a task used includes the tasks below it, live and at once", async () => {
  const { stage, lead, helper, deeper } = await nested();
  expect(stage.task(lead)).toMatchObject({
    progress: { tokens: 1_000, cost: 0.1 },
    usage: { tokens: 121_000, cost: 0.42 },
  });
  expect(stage.engine.get(helper)?.usage).toEqual({ tokens: 120_000, cost: 0.32 });
  expect(stage.engine.get(deeper)?.usage).toEqual({ tokens: 100_000, cost: 0.12 });
  spend(stage, deeper, 1_000, 0.01);
  expect(stage.engine.get(lead)?.usage).toEqual({ tokens: 122_000, cost: 0.43 });
});

test("it is shown by _output while the task works and after its end, with what its own runs used of it", async () => {
  const { stage, lead, helper, deeper } = await nested();
  expect(await stage.call("output", { task_id: lead })).toContain("Cost: $0.42, 121k tokens (its own runs: $0.10)");
  expect(await stage.call("output", { task_id: deeper }, { sessionID: helper })).toMatch(
    /^Cost: \$0\.12, 100k tokens$/m,
  );
  for (const id of [deeper, helper, lead]) {
    stage.host.finish(id, "12");
    await stage.clock.advance(60_000);
  }
  expect(await stage.call("output", { task_id: lead })).toMatch(/Status: completed.*\nCost: \$0\.42, 121k tokens \(/);
});

test("sums stay when OpenCode ends while some tasks work, and go on from there", async () => {
  const { stage, lead, helper, deeper } = await nested();
  stage.host.finish(deeper, "12");
  await stage.clock.advance(5_000);
  await stage.restart();
  expect(stage.engine.get(lead)?.usage).toEqual({ tokens: 121_000, cost: 0.42 });
  await stage.clock.advance(60_000);
  spend(stage, helper, 5_000, 0.08);
  expect(stage.engine.get(lead)?.usage).toEqual({ tokens: 126_000, cost: 0.5 });
  expect(await stage.call("list")).toContain("$0.50, 126k tokens");
});

test("a list shows it for each task, each batch and all, whatever is listed of them", async () => {
  const { stage, lead } = await nested();
  const other = await stage.launch({ description: "other", batch_id: "second" });
  const third = await stage.launch({ description: "third", batch_id: "second" });
  spend(stage, other, 9_000, 0.5);
  spend(stage, third, 1_000, 0.25);
  expect((await stage.call("list")).split("\n")).toEqual([
    "Batch batch_turn: 0/1 ended · $0.42, 121k tokens",
    `- ${lead} · running · general · "lead" · 0ms · $0.42, 121k tokens`,
    "Batch second: 0/2 ended · $0.75, 10k tokens",
    `- ${other} · running · general · "other" · 0ms · $0.50, 9k tokens`,
    `- ${third} · running · general · "third" · 0ms · $0.25, 1k tokens`,
    "All tasks: $1.17, 131k tokens",
  ]);
  await stage.call("cancel", { task_id: other });
  const cancelled = await stage.call("list", { status: "cancelled" });
  expect(cancelled).toContain("Batch second: 1/2 ended · $0.75, 10k tokens");
  expect(cancelled).toContain("All tasks: $1.17, 131k tokens");
  const batch = await stage.call("output", { batch_id: "second" });
  expect(batch).toMatch(/^Batch second: 1\/2 ended · \$0\.75, 10k tokens$/m);
});

test("a notice says it to the model: of the tasks that ended, of their batch and of all", async () => {
  const { stage, lead, helper, deeper } = await nested();
  const other = await stage.launch({ description: "other" });
  spend(stage, other, 9_000, 0.5);
  const third = await stage.launch({ description: "third", batch_id: "second" });
  spend(stage, third, 0, 1);
  await stage.finish(other, "12");
  expect(hidden(stage)[0]).toMatch(/^Cost: \$0\.50, 9k tokens \(this batch: \$0\.92, all tasks: \$1\.92\)\.$/m);
  await stage.finish(deeper, "13");
  expect(hidden(stage, helper)[0]).toMatch(/^Cost: \$0\.12, 100k tokens\.$/m);
  expect(
    stage
      .notices()
      .flat()
      .filter(({ text, synthetic }) => !synthetic && text.includes("$")),
  ).toEqual([]);
  expect(stage.engine.get(lead)?.usage.cost).toBe(0.42);
});

test("where the host reports neither cost nor tokens, nothing is said", async () => {
  const { stage, id } = await stageWithTask();
  const texts = [await stage.call("output", { task_id: id }), await stage.call("list")];
  await stage.finish(id, "12");
  texts.push(await stage.call("output", { task_id: id }), ...hidden(stage));
  expect(texts.filter((text) => /\$|tokens?\b|Cost/.test(text))).toEqual([]);
});

test("where it reports tokens alone, as for models without a price, those are said", async () => {
  const { stage, id } = await stageWithTask();
  spend(stage, id, 1_500, 0);
  await stage.finish(id, "12");
  expect(hidden(stage)[0]).toMatch(/^Cost: 1\.5k tokens\.$/m);
});

test("a cleared task does not count any more", async () => {
  const { stage, lead, helper } = await nested();
  await stage.call("clear", { task_id: helper }, { sessionID: lead });
  await stage.clock.advance(60_000);
  expect(stage.engine.get(lead)?.usage).toEqual({ tokens: 1_000, cost: 0.1 });
});
