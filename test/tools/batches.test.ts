import { describe, expect, test } from "vitest";
import { createStage } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";

test("the list is grouped by batch, with how far each is", async () => {
  const stage = createStage();
  const [first, second] = [await stage.launch({ batch_id: "a" }), await stage.launch({ batch_id: "a" })];
  const third = await stage.launch({ batch_id: "b" });
  await stage.finish(first, "12");
  const lines = (await stage.call("list")).split("\n");
  expect(lines.map((line) => line.split(" · ")[0])).toEqual([
    "Batch a: 1/2 ended",
    `- ${first}`,
    `- ${second}`,
    "Batch b: 0/1 ended",
    `- ${third}`,
  ]);
  const running = (await stage.call("list", { status: "completed" })).split("\n");
  expect(running.map((line) => line.split(" · ")[0])).toEqual(["Batch a: 1/2 ended", `- ${first}`]);
});

describe("with the option list.maxTasks at fifty, the list shows older batches by their heading alone", () => {
  /** Twelve batches of five tasks, all of them ended, but for the second task of batch 3. */
  const stageOfSixty = async (listedTasks?: number) => {
    const stage = createStage(listedTasks === undefined ? {} : { listedTasks });
    const ids = new Map<string, string[]>();
    for (let batch = 0; batch < 12; batch += 1) {
      const own: string[] = [];
      for (let task = 0; task < 5; task += 1) own.push(await stage.launch({ batch_id: `b${batch}` }));
      ids.set(`b${batch}`, own);
      for (const [index, id] of own.entries()) if (batch !== 3 || index !== 1) stage.host.finish(id, "12");
      await settled();
    }
    return { stage, ids };
  };

  const HINT = "Older batches show no tasks here: asyncagents_output with batch_id lists those of one.";

  test("but for those with a live task; a read of the batch lists its tasks", async () => {
    const { stage, ids } = await stageOfSixty(50);
    const list = (await stage.call("list")).split("\n");
    const headings = list.filter((line) => line.startsWith("Batch ")).map((line) => line.split(" · ")[0]);
    expect(headings).toEqual([...ids.keys()].map((id) => `Batch ${id}: ${id === "b3" ? 4 : 5}/5 ended`));
    const shown = list.filter((line) => line.startsWith("- ")).map((line) => /ses_\w+/.exec(line)?.[0]);
    const open = [...ids].filter(([id]) => !["b0", "b1"].includes(id));
    expect(shown).toEqual(open.flatMap(([, tasks]) => tasks));
    expect(list.at(-1)).toBe(HINT);
    const oldest = await stage.call("output", { batch_id: "b0" });
    for (const id of ids.get("b0") ?? []) expect(oldest).toContain(`- ${id} · completed`);
  });

  test("by default all tasks have a line, with their ids", async () => {
    const { stage, ids } = await stageOfSixty();
    const list = await stage.call("list");
    for (const id of [...ids.values()].flat()) expect(list).toContain(`- ${id} · `);
    expect(list).not.toContain(HINT);
  });

  test("but for the newest one, however large it is", async () => {
    const stage = createStage({ listedTasks: 50 });
    const ids: string[] = [];
    for (let task = 0; task < 51; task += 1) ids.push(await stage.launch({ batch_id: "large" }));
    for (const id of ids) stage.host.finish(id, "12");
    await settled();
    const list = await stage.call("list");
    for (const id of ids) expect(list).toContain(`- ${id} · completed`);
    expect(list).not.toContain(HINT);
  });
});

test("a batch is read with a line for each task, and what came of it", async () => {
  const stage = createStage();
  const [done, failed, running] = [
    await stage.launch({ batch_id: "a" }),
    await stage.launch({ batch_id: "a" }),
    await stage.launch({ batch_id: "a" }),
  ];
  stage.host.finish(done, "There are\n12.\n\nThey are all tests.");
  stage.host.fail(failed, { name: "APIError", message: "401" });
  await settled();
  const lines = (await stage.call("output", { batch_id: "a" })).split("\n");
  expect(lines[0]).toBe("Batch a: 2/3 ended");
  expect(lines[1]).toMatch(new RegExp(`^- ${done} · completed .*: "There are 12\\."$`));
  expect(lines[2]).toMatch(new RegExp(`^- ${failed} · error .*: "APIError: 401"$`));
  expect(lines[3]).toContain(`- ${running} · running`);
});

test("a blocking read of a batch waits for all of it, and delivers all", async () => {
  const stage = createStage();
  const tasks = [await stage.launch({ batch_id: "a" }), await stage.launch({ batch_id: "a" })];
  const read = { text: "" };
  const wait = async () => {
    read.text = await stage.call("output", { batch_id: "a", block: true });
  };
  void wait();
  await settled();
  for (const id of tasks) {
    expect(read.text).toBe("");
    await stage.finish(id, `answer of ${id}`);
  }
  expect(read.text).toContain("Batch a: 2/2 ended");
  for (const id of tasks) expect(read.text).toContain(`answer of ${id}`);
  await stage.clock.advance(60_000);
  expect(stage.notices()).toEqual([]);
});

test("a blocking read that gives up on a batch delivers what has ended, and notices deliver the rest", async () => {
  const stage = createStage();
  const [first, second] = [await stage.launch({ batch_id: "a" }), await stage.launch({ batch_id: "a" })];
  const read = stage.call("output", { batch_id: "a", block: true, timeout: 5_000 });
  await settled();
  stage.host.finish(first, "one");
  await stage.clock.advance(5_000);
  expect(await read).toMatch(/1\/2 ended[\s\S]*Still running after a wait of 5s\./);
  stage.host.finish(second, "two");
  await stage.clock.advance(60_000);
  expect(stage.notices()).toHaveLength(1);
  expect(stage.notices()[0]?.[1]?.text).toContain("two");
});

test.each([
  ["none", {}],
  ["2", { task_id: "ses_0001", batch_id: "a" }],
])("output with %s of task_id and batch_id is refused", async (given, args) => {
  const stage = createStage();
  await stage.launch({ batch_id: "a" });
  await expect(stage.call("output", args)).rejects.toThrow(`exactly one of task_id and batch_id: ${given} given.`);
});

test("another parent's batch of the same name is neither joined nor read", async () => {
  const stage = createStage();
  stage.host.addSession("ses_other");
  const mine = await stage.launch({ batch_id: "a" });
  const theirs = await stage.launch({ batch_id: "a" }, { sessionID: "ses_other" });
  const read = await stage.call("output", { batch_id: "a" });
  expect(read).toContain(mine);
  expect(read).not.toContain(theirs);
  expect(read).toContain("0/1 ended");
  await stage.call("cancel", { batch_id: "a" });
  expect(stage.task(theirs).status).toBe("running");
});

test("by default a list is as long as OpenCode takes it: older batches show their heading alone", async () => {
  const stage = createStage({ budget: { tasksPerParent: 1_000 } });
  const first = await stage.launch({ batch_id: "b0", description: "d".repeat(200) });
  await stage.finish(first, "12");
  let newest = first;
  for (let launched = 1; launched < 220; launched += 1) {
    newest = await stage.launch({ batch_id: `b${Math.floor(launched / 20)}`, description: "d".repeat(200) });
    stage.host.finish(newest, "12");
  }
  await settled();
  const list = await stage.call("list");
  expect(Buffer.byteLength(list)).toBeGreaterThan(40_000);
  expect(Buffer.byteLength(list)).toBeLessThan(50_000);
  expect(list).toContain("Batch b0: 20/20 ended");
  expect(list).not.toContain(first);
  expect(list).toContain(`- ${newest} · completed`);
  expect(list.split("\n").at(-1)).toMatch(/^Older batches show no tasks here/);
});
