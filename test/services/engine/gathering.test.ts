import { describe, expect, test } from "vitest";
import { createDurableStage } from "../../fakes/durable-stage.ts";
import { unavailable } from "../../fakes/fake-host.ts";
import { createStage, PARENT, type Stage } from "../../fakes/stage.ts";

const MINUTE = 60_000;

/** For how long the provider keeps a conversation here. */
const CACHE = 5 * MINUTE;

/** Longer than it takes to deliver a notice, and shorter than the time until others are looked for again. */
const MOMENT = 5_000;

const launch = async (stage: Stage, count: number, more: Parameters<Stage["launch"]>[0] = {}) => {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push(await stage.launch(more));
  return ids as [string, string, string];
};

/** A stage whose parent has just answered a person. */
const createCachedStage = (options: Parameters<typeof createStage>[0] = {}, create = createStage) => {
  const stage = create({ promptCache: CACHE, ...options });
  stage.host.converse(PARENT);
  return stage;
};

const finish = async (stage: Stage, id: string) => {
  await stage.finish(id, `answer of ${id}`);
  await stage.clock.advance(MOMENT);
};

/** The tasks that each notice is about, in the order in which the notices were sent. */
const notified = (stage: Stage): string[][] =>
  stage
    .notices()
    .map((parts) =>
      [...(parts.at(-1)?.text ?? "").matchAll(/^Task (\S+) (?:completed|failed|was)/gm)].map(([, id = ""]) => id),
    );

describe("while the provider has the conversation in its prompt cache", () => {
  test("ends wait for those of the other tasks at work, and one turn delivers them all", async () => {
    const stage = createCachedStage();
    const [a, b, c] = await launch(stage, 3);
    await finish(stage, a);
    await stage.clock.advance(MINUTE);
    await finish(stage, b);
    await stage.clock.advance(MINUTE);
    expect(notified(stage)).toEqual([]);
    await finish(stage, c);
    expect(notified(stage)).toEqual([[a, b, c]]);
  });

  test("what has ended is delivered shortly before that is over, though others are at work", async () => {
    const stage = createCachedStage();
    const [a, b] = await launch(stage, 2);
    await finish(stage, a);
    await stage.clock.advance(CACHE - 3 * MOMENT);
    expect(notified(stage)).toEqual([]);
    await stage.clock.advance(2 * MOMENT);
    expect(notified(stage)).toEqual([[a]]);
    // That turn has filled the cache anew.
    await finish(stage, b);
    expect(notified(stage)).toEqual([[a], [b]]);
  });

  test("a task that failed wakes the agent at once, with what is owed", async () => {
    const stage = createCachedStage();
    const [a, b] = await launch(stage, 3);
    await finish(stage, a);
    stage.host.fail(b, { name: "APIError", message: "overloaded" });
    await stage.clock.advance(MOMENT);
    expect(notified(stage)).toEqual([[a, b]]);
  });

  test("a turn that begins delivers what is owed", async () => {
    const stage = createCachedStage();
    const [a] = await launch(stage, 2);
    await finish(stage, a);
    stage.host.beginTurn(PARENT);
    await stage.clock.advance(MOMENT);
    expect(notified(stage)).toEqual([[a]]);
  });

  test("nothing is waited for that asks a person", async () => {
    const stage = createCachedStage();
    const [a, b] = await launch(stage, 2);
    await stage.ask(b);
    await finish(stage, a);
    expect(notified(stage)).toEqual([[a]]);
  });

  test("what asks a person meanwhile is found within a quarter of a minute", async () => {
    const stage = createCachedStage();
    const [a, b] = await launch(stage, 2);
    await finish(stage, a);
    await stage.ask(b);
    await stage.clock.advance(15_000);
    expect(notified(stage)).toEqual([[a]]);
  });

  test("a task that is cancelled is the last one, and its end is delivered with what waits", async () => {
    const stage = createCachedStage();
    const [a, b] = await launch(stage, 2);
    await finish(stage, a);
    await stage.call("cancel", { task_id: b });
    await stage.clock.advance(MOMENT);
    expect(notified(stage)).toEqual([[a, b]]);
  });

  test("a task that is cleared meanwhile has nothing delivered", async () => {
    const stage = createCachedStage();
    const [a] = await launch(stage, 2);
    await finish(stage, a);
    await stage.call("clear", { task_id: a });
    await stage.clock.advance(2 * CACHE);
    expect(notified(stage)).toEqual([]);
  });

  test("what waits is delivered once where the process is killed meanwhile", async () => {
    const stage = createCachedStage({}, createDurableStage);
    const [a, b] = await launch(stage, 2);
    await finish(stage, a);
    await stage.restart();
    await stage.clock.advance(CACHE);
    await finish(stage, b);
    await stage.clock.advance(MINUTE);
    expect(notified(stage).flat().toSorted()).toEqual([a, b].toSorted());
  });
});

describe("nothing waits", () => {
  test("where the agent's last answer is older than the cache", async () => {
    const stage = createCachedStage();
    const [a] = await launch(stage, 2);
    await stage.clock.advance(CACHE);
    await finish(stage, a);
    expect(notified(stage)).toEqual([[a]]);
  });

  test("where the agent is at work", async () => {
    const stage = createCachedStage();
    const [a] = await launch(stage, 2);
    stage.host.beginTurn(PARENT);
    await finish(stage, a);
    expect(notified(stage)).toEqual([[a]]);
  });

  test("where no other task is at work", async () => {
    const stage = createCachedStage();
    const [a] = await launch(stage, 1);
    await finish(stage, a);
    expect(notified(stage)).toEqual([[a]]);
  });

  test("in `opencode run`, which ends with its agent's answer", async () => {
    const stage = createCachedStage({ isHeadless: true });
    const [a] = await launch(stage, 2);
    await finish(stage, a);
    expect(notified(stage)).toEqual([[a]]);
  });

  test.each(["busy", "messages"] as const)("where the host does not say how the parent stands (%s)", async (call) => {
    const stage = createCachedStage();
    const [a] = await launch(stage, 2);
    await finish(stage, a);
    expect(notified(stage)).toEqual([]);
    stage.host.failNext(call, unavailable, 20);
    await stage.clock.advance(15_000);
    expect(notified(stage)).toEqual([[a]]);
  });
});
