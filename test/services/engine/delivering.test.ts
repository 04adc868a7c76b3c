import { estimateTokenCount } from "tokenx";
import { describe, expect, test } from "vitest";
import { unavailable } from "../../fakes/fake-host.ts";
import { createStage, PARENT, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

const PROVIDER_DOWN = { name: "APIError", message: "overloaded" };

describe("a notice", () => {
  test("goes out under the parent's own agent, model and variant, as they are when it is sent", async () => {
    const { stage, id } = await stageWithTask();
    Object.assign(stage.host.at(PARENT), {
      agent: "plan",
      model: { providerID: "fake", modelID: "large", variant: "high" },
    });
    await stage.finish(id, "12");
    expect(stage.host.at(PARENT).prompts).toEqual([
      expect.objectContaining({
        agent: "plan",
        model: { providerID: "fake", modelID: "large", variant: "high" },
      }),
    ]);
  });

  test("has parts whose ids ascend in the order in which they are to be read", async () => {
    const stage = createStage();
    const tasks = [await stage.launch(), await stage.launch()];
    stage.host.emit({ type: "error", sessionID: PARENT, error: PROVIDER_DOWN });
    for (const id of tasks) stage.host.finish(id, `answer of ${id}`);
    await stage.clock.advance(1_000);
    const parts = stage.host.at(PARENT).prompts[0]?.parts ?? [];
    expect(parts.map(({ id }) => id)).toEqual(parts.map(({ id }) => id).toSorted());
    expect(parts.map(({ synthetic }) => synthetic)).toEqual([false, false, true]);
  });

  test("goes with one toast, once the parent has begun to answer, and none for a second sending", async () => {
    const { stage, id } = await stageWithTask({}, { description: "count files" });
    stage.host.habits(PARENT, "lose", "reply");
    stage.host.finish(id, "12");
    await stage.clock.advance(1_499);
    expect(stage.host.toasts).toEqual([]);
    await stage.clock.advance(60_000);
    expect(stage.host.toasts).toEqual([
      { message: expect.stringContaining('✓ Agent "count files" finished'), variant: "success" },
    ]);
  });
});

describe("a prompt to the parent is sent until it is taken up", () => {
  test.each(["lose", "ignore"] as const)("when the host seems to %s it", async (habit) => {
    const { stage, id } = await stageWithTask();
    stage.host.habits(PARENT, habit, "reply");
    stage.host.finish(id, "12");
    await stage.clock.advance(2_000);
    const { prompts, messages } = stage.host.at(PARENT);
    expect(prompts).toHaveLength(2);
    expect(prompts[1]).toEqual(prompts[0]);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    await stage.clock.advance(600_000);
    expect(stage.host.at(PARENT).prompts).toHaveLength(2);
  });

  test("for as long as it takes, at growing intervals", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.habits(PARENT, "lose");
    stage.host.finish(id, "12");
    await stage.clock.advance(3_600_000);
    const sends = stage.host.at(PARENT).prompts.length;
    expect(sends).toBeGreaterThan(50);
    expect(sends).toBeLessThan(80);
    stage.host.habits(PARENT, "reply");
    await stage.clock.advance(60_000);
    expect(stage.notices()).toHaveLength(1);
  });

  test.each(["refused on its way", "lost by the host"])(
    "though the person goes on talking meanwhile, when it was %s",
    async (how) => {
      const { stage, id } = await stageWithTask();
      if (how === "lost by the host") stage.host.habits(PARENT, "lose", "reply");
      else stage.host.failNext("prompt", unavailable);
      await stage.finish(id, "12");
      stage.host.converse(PARENT);
      await stage.clock.advance(60_000);
      expect(stage.notices()).toHaveLength(1);
      expect(stage.host.at(PARENT).messages.map(({ role }) => role)).toEqual([
        "user",
        "assistant",
        "user",
        "assistant",
      ]);
    },
  );

  test("also when it was stored only after the person's own turn, and nobody came to it", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.habits(PARENT, "lose", "ignore", "reply");
    await stage.finish(id, "12");
    stage.host.converse(PARENT);
    await stage.clock.advance(60_000);
    const { messages } = stage.host.at(PARENT);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(messages.at(-1)?.promptID).toBe(messages.at(-2)?.id);
  });
});

describe("a parent whose own turn just failed", () => {
  test("is left alone until the host has finished with that turn", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.emit({ type: "error", sessionID: PARENT, error: PROVIDER_DOWN });
    stage.host.emit({ type: "idle", sessionID: PARENT });
    stage.host.finish(id, "12");
    await stage.clock.advance(499);
    expect(stage.host.at(PARENT).prompts).toHaveLength(0);
    await stage.clock.advance(1);
    expect(stage.notices()).toHaveLength(1);
  });
});

test("a notice that could not be sent is sent again, the same to the letter", async () => {
  const { stage, id } = await stageWithTask();
  stage.host.failNext("prompt", unavailable, 3);
  await stage.finish(id, "done");
  expect(stage.notices()).toHaveLength(0);
  expect(stage.store.get(id)?.snapshot.value).toMatchObject({ notice: "sending" });
  await stage.clock.advance(60_000);
  expect(stage.notices()).toHaveLength(1);
  const attempts = stage.host.attempts.filter(({ sessionID }) => sessionID === PARENT);
  expect(attempts).toHaveLength(4);
  expect(new Set(attempts.map((prompt) => JSON.stringify(prompt))).size).toBe(1);
  expect(stage.host.at(PARENT).messages.filter(({ role }) => role === "user")).toHaveLength(1);
  expect(stage.store.get(id)?.snapshot.value).toMatchObject({ notice: "none" });
});

test("one prompt at a time goes to a parent, with all that is owed by then", async () => {
  const stage = createStage();
  const tasks = [await stage.launch(), await stage.launch(), await stage.launch()];
  const hold = stage.host.holdNext("prompt");
  for (const id of tasks) {
    await stage.finish(id, `answer of ${id}`);
  }
  expect(stage.host.calls.filter((call) => call === "prompt")).toHaveLength(tasks.length + 1);
  hold.release();
  await settled();
  expect(stage.notices().map((parts) => parts.length)).toEqual([2, 3]);
});

test("a hundred long ends of a model whose window nobody knows come in several prompts, each of some 8,000 tokens and each end once", async () => {
  const stage = createStage();
  const tasks: string[] = [];
  for (let index = 0; index < 100; index += 1) tasks.push(await stage.launch());
  stage.host.emit({ type: "error", sessionID: PARENT, error: PROVIDER_DOWN });
  for (const id of tasks) stage.host.finish(id, "all twelve ".repeat(800));
  await stage.clock.advance(10_000);
  const prompts = stage.notices();
  const hidden = prompts.map((parts) => parts.at(-1)?.text ?? "");
  expect(prompts.length).toBeGreaterThan(1);
  for (const text of hidden) expect(estimateTokenCount(text)).toBeLessThan(8_500);
  const told = hidden.flatMap((text) => [...text.matchAll(/^Task (ses_\w+) completed/gm)].map(([, id]) => id));
  expect(told.toSorted()).toEqual(tasks.toSorted());
  expect(hidden.join("\n").match(/The first \d+ of \d+ characters\. Read all:/g)).toHaveLength(100);
});

describe("progress", () => {
  test("of tasks that were launched one after the other: notices and the list say the same", async () => {
    const stage = createStage();
    const batches = ["a", "b", "b"];
    const tasks: string[] = [];
    for (const batch_id of batches) tasks.push(await stage.launch({ batch_id }));
    const newest = () =>
      stage
        .notices()
        .at(-1)
        ?.map(({ text }) => text) ?? [];
    const heads = async () => (await stage.call("list")).split("\n").filter((line) => line.startsWith("Batch"));
    const end = async (index: number) => {
      await stage.finish(tasks[index] ?? "", "12");
    };

    await end(0);
    expect(newest()[0]).toContain("Task Progress: 1/1");
    expect(newest()[1]).toContain("WATCH OUT for leftovers");
    expect(newest()[1]).toContain("Still running: 0 of this batch, 2 of other batches.");
    expect(newest()[1]).not.toContain("finished.");
    expect(await heads()).toEqual(["Batch a: 1/1 ended", "Batch b: 0/2 ended"]);

    await end(1);
    expect(newest()[0]).toContain("Task Progress: 1/2");
    expect(newest()[1]).toContain("WATCH OUT for leftovers");
    expect(newest()[1]).not.toContain("Still running");
    expect(await heads()).toEqual(["Batch a: 1/1 ended", "Batch b: 1/2 ended"]);

    await end(2);
    expect(newest()[0]).toContain("Task Progress: 2/2");
    expect(newest()[1]).toContain("All 3 tasks finished.\nTask Progress counts this batch only: 2 of the 3.");
    expect(await heads()).toEqual(["Batch a: 1/1 ended", "Batch b: 2/2 ended"]);
  });
});

test("two parents are notified side by side, each of its own", async () => {
  const stage = createStage();
  stage.host.addSession("ses_other");
  const mine = await stage.launch({ description: "mine" });
  const theirs = await stage.launch({ description: "theirs" }, { sessionID: "ses_other" });
  const hold = stage.host.holdNext("session");
  await stage.finish(mine, "12");
  await stage.finish(theirs, "13");
  expect(stage.notices("ses_other")[0]?.[0]?.text).toContain("theirs");
  hold.release();
  await settled();
  expect(stage.notices()[0]?.[0]?.text).toContain("mine");
});

test("a child that waits for tasks of its own is not stale, however silent; those are", async () => {
  const stage = createStage();
  const lead = await stage.launch();
  const own = await stage.launch({}, { sessionID: lead });
  await stage.clock.advance(1_000_000);
  expect(stage.task(own).attention?.kind).toBe("stale");
  expect(stage.task(lead).attention).toBeUndefined();
});

test("a child gets its parent's model, unless its agent names one, and what its parent may not do, it may not", async () => {
  const stage = createStage();
  Object.assign(stage.host.at(PARENT), {
    permission: [
      { permission: "bash", pattern: "*", action: "allow" },
      { permission: "webfetch", pattern: "*", action: "deny" },
      { permission: "external_directory", pattern: "/tmp/*", action: "allow" },
    ],
  });
  const general = stage.host.at(await stage.launch({ agent: "general" }));
  const explore = stage.host.at(await stage.launch({ agent: "explore" }));
  expect(general.prompts[0]).toMatchObject({ agent: "general", model: { modelID: "m1" } });
  expect(explore.prompts[0]).toMatchObject({ agent: "explore", model: { modelID: "small", variant: "low" } });
  expect(general.permission.map(({ permission }) => permission)).toEqual(["webfetch", "external_directory"]);
});
