import { describe, expect, test } from "vitest";
import { createDurableStage } from "../../fakes/durable-stage.ts";
import { createStage, PARENT, type Stage } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

/** Milliseconds within which an outbox checks its batches again by itself. */
const RECHECK = 15_000;

/** Launches tasks of one batch; by default they wake the parent's agent together. */
const launchAll = async (stage: Stage, count: number, more: Parameters<Stage["launch"]>[0] = {}) => {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push(await stage.launch({ wake: "all", batch_id: "b", ...more }));
  return ids as [string, string, string, string];
};

const finish = async (stage: Stage, ...ids: string[]) => {
  for (const id of ids) {
    stage.host.finish(id, `answer of ${id}`);
    await stage.clock.advance(2_000);
  }
};

/** The tasks that each notice is about, in the order in which the notices were sent. */
const notified = (stage: Stage): string[][] =>
  stage
    .notices()
    .map((parts) =>
      [...(parts.at(-1)?.text ?? "").matchAll(/^Task (\S+) (?:completed|failed|was)/gm)].map(([, id = ""]) => id),
    );

/** Lets the outbox check its batches once more. */
const recheck = (stage: Stage) => stage.clock.advance(RECHECK);

/** Every task is at rest: nothing is owed, and nothing is left to do. */
const atRest = (stage: Stage) => stage.store.adopt(stage.clock.now() + 60_000, () => true).tasks.length === 0;

describe("with `all`", () => {
  test("the parent's agent is woken once, when the last task of the batch ends, and notified of all", async () => {
    const stage = createStage();
    const ids = await launchAll(stage, 4);
    await finish(stage, ids[2], ids[0], ids[3]);
    expect(notified(stage)).toEqual([]);
    await finish(stage, ids[1]);
    expect(notified(stage)).toEqual([[ids[2], ids[0], ids[3], ids[1]]]);
    const texts = stage.notices()[0]?.map(({ text }) => text) ?? [];
    expect(texts).toHaveLength(5);
    expect(texts.slice(0, 4).every((text) => text.includes("\nTask Progress: 4/4\n"))).toBe(true);
    expect(atRest(stage)).toBe(true);
  });

  test("an error wakes it at once, with what is owed so far, and the rest wakes it once more", async () => {
    const stage = createStage();
    const ids = await launchAll(stage, 4);
    await finish(stage, ids[0]);
    stage.host.fail(ids[1], { name: "APIError", message: "overloaded" });
    await stage.clock.advance(2_000);
    expect(notified(stage)).toEqual([[ids[0], ids[1]]]);
    await finish(stage, ids[2]);
    expect(notified(stage)).toHaveLength(1);
    await finish(stage, ids[3]);
    expect(notified(stage)).toEqual([
      [ids[0], ids[1]],
      [ids[2], ids[3]],
    ]);
  });

  test("a task of another batch does not keep it from being woken, nor is delivered too early", async () => {
    const stage = createStage();
    const mine = await launchAll(stage, 2);
    const others = await launchAll(stage, 2, { batch_id: "other" });
    await finish(stage, mine[0], mine[1]);
    expect(notified(stage)).toEqual([[mine[0], mine[1]]]);
    await finish(stage, others[0]);
    expect(notified(stage)).toHaveLength(1);
    await finish(stage, others[1]);
    expect(notified(stage)[1]).toEqual([others[0], others[1]]);
  });

  test("what is owed goes with the notice of a task that wakes with each end", async () => {
    const stage = createStage();
    const [first, second] = await launchAll(stage, 2);
    const each = await stage.launch({ batch_id: "b", wake: "each" });
    await finish(stage, first, each);
    expect(notified(stage)).toEqual([[first, each]]);
    await finish(stage, second);
    expect(notified(stage)).toEqual([[first, each], [second]]);
  });

  test("a person's message delivers nothing: what is owed is delivered with the last end, once", async () => {
    const stage = createStage();
    const [first, second] = await launchAll(stage, 2);
    await finish(stage, first);
    stage.host.converse(PARENT);
    await recheck(stage);
    expect(notified(stage)).toEqual([]);
    await finish(stage, second);
    expect(notified(stage)).toEqual([[first, second]]);
  });

  test("tasks that are launched into the batch later are waited for, too", async () => {
    const stage = createStage();
    const [first, second] = await launchAll(stage, 2);
    await finish(stage, first);
    const [third] = await launchAll(stage, 1);
    await finish(stage, second);
    expect(notified(stage)).toEqual([]);
    await finish(stage, third);
    expect(notified(stage)).toEqual([[first, second, third]]);
  });

  test("and so are launches that are under way, unless they fail", async () => {
    const stage = createStage();
    const [first] = await launchAll(stage, 1);
    const creations = [stage.host.holdNext("createSession"), stage.host.holdNext("createSession")];
    const second = stage.launch({ wake: "all", batch_id: "b" });
    const stopped = new AbortController();
    const never = stage.launch({ wake: "all", batch_id: "b" }, { abort: stopped.signal }).catch(() => "nothing");
    await settled();
    await finish(stage, first);
    creations[0]?.release();
    await finish(stage, await second);
    expect(notified(stage)).toEqual([]);
    stopped.abort();
    creations[1]?.release();
    expect(await never).toBe("nothing");
    await recheck(stage);
    expect(notified(stage)).toEqual([[first, await second]]);
  });
});

describe("the last one of a batch never ends:", () => {
  test("it is cancelled, and is delivered with the rest", async () => {
    const stage = createStage();
    const [first, second] = await launchAll(stage, 2);
    await finish(stage, first);
    await stage.call("cancel", { task_id: second });
    await settled();
    expect(notified(stage)).toEqual([[first, second]]);
  });

  test("it is cleared, and the rest is delivered", async () => {
    const stage = createStage();
    const [first, second] = await launchAll(stage, 2);
    await finish(stage, first);
    await stage.call("clear", { task_id: second });
    await settled();
    expect(notified(stage)).toEqual([[first]]);
  });

  test("a tool call returns its result, and the rest is delivered", async () => {
    const stage = createStage();
    const [first, second] = await launchAll(stage, 2);
    await finish(stage, first);
    const read = stage.call("output", { task_id: second, block: true });
    await finish(stage, second);
    expect(await read).toContain(`answer of ${second}`);
    expect(notified(stage)).toEqual([[first]]);
    expect(atRest(stage)).toBe(true);
  });

  test("it waits for a person, and the rest is delivered meanwhile", async () => {
    const stage = createStage();
    const [first, second, third] = await launchAll(stage, 3);
    await finish(stage, first, second);
    expect(notified(stage)).toEqual([]);
    await stage.ask(third, "bash: ls");
    await recheck(stage);
    expect(notified(stage)).toEqual([[first, second]]);
    stage.reply(third);
    await finish(stage, third);
    expect(notified(stage)).toEqual([[first, second], [third]]);
  });

  test("a check that fails is made again", async () => {
    const stage = createStage();
    const { list } = stage.store;
    const [first, second] = await launchAll(stage, 2);
    await finish(stage, first);
    stage.store.list = () => {
      throw new Error("the disk is full");
    };
    await stage.finish(second, "2");
    stage.store.list = list;
    await recheck(stage);
    expect(notified(stage)).toEqual([[first, second]]);
  });
});

describe("a tool call that reads an end that is owed", () => {
  test("and waits for the task delivers it: the notice is about the others only", async () => {
    const stage = createStage();
    const [first, second, third] = await launchAll(stage, 3);
    await finish(stage, first, second);
    expect(await stage.call("output", { task_id: first, block: true })).toContain(`answer of ${first}`);
    await finish(stage, third);
    expect(notified(stage)).toEqual([[second, third]]);
  });

  test("and waits for the batch delivers all: no notice is left to send", async () => {
    const stage = createStage();
    const [first, second] = await launchAll(stage, 2);
    await finish(stage, first);
    const read = stage.call("output", { batch_id: "b", block: true });
    await settled();
    await finish(stage, second);
    expect(await read).toContain("Batch b: 2/2 ended");
    expect(notified(stage)).toEqual([]);
    expect(atRest(stage)).toBe(true);
  });
});

describe("a resume inside a batch", () => {
  test("of a task that was delivered keeps its batch at work until it ends again", async () => {
    const stage = createStage();
    const [first, second] = await launchAll(stage, 2);
    await finish(stage, first);
    await stage.call("output", { task_id: first, block: true });
    await stage.call("task", { resume: first, prompt: "And now?" });
    await finish(stage, second);
    expect(notified(stage)).toEqual([]);
    await finish(stage, first);
    expect(notified(stage)).toEqual([[second, first]]);
  });

  test("of a task whose end is owed waits for the notice, and its own end is owed after that", async () => {
    const stage = createStage();
    const [first, second] = await launchAll(stage, 2);
    await finish(stage, first);
    expect(await stage.call("task", { resume: first, prompt: "And now?" })).toMatch(
      /^Task \S+ has a result that is still to be delivered to you\. It goes on .* \(resume #1\).*read the result with \S+_output and block: true\.$/,
    );
    expect(await stage.call("output", { task_id: first })).toContain(
      "completed after 0ms, goes on by a resume once its result is delivered",
    );
    await expect(stage.call("task", { resume: first, prompt: "Or else?" })).rejects.toThrow("is to go on already");
    await finish(stage, second);
    expect(notified(stage)).toEqual([[first, second]]);
    expect(stage.task(first)).toMatchObject({ status: "resumed", resumeCount: 1 });
    await finish(stage, first);
    expect(notified(stage)).toEqual([[first, second], [first]]);
  });

  test("of a task whose end is owed begins at once when a call reads the result", async () => {
    const stage = createStage();
    const [first] = await launchAll(stage, 2);
    await finish(stage, first);
    await stage.call("task", { resume: first, prompt: "And now?" });
    const callID = "call_read";
    expect(await stage.call("output", { task_id: first, block: true }, { callID })).toContain("Status: completed");
    expect(stage.task(first)).toMatchObject({ status: "completed", nextRun: "resume" });
    stage.host.emit({ type: "toolCall", sessionID: PARENT, callID, tool: "output", stage: "stored" });
    await settled();
    expect(stage.task(first)).toMatchObject({ status: "resumed", resumeCount: 1 });
    expect(stage.host.at(first).prompts.at(-1)?.parts[0]?.text).toContain("And now?");
  });

  test("of a task whose end is owed may be cancelled before it begins: its parent is notified", async () => {
    const stage = createStage();
    const [first, second] = await launchAll(stage, 2);
    await finish(stage, first);
    await stage.call("task", { resume: first, prompt: "And now?" });
    expect(await stage.call("cancel", { task_id: first })).toContain(
      "stays completed, and does not go on: its resume is cancelled",
    );
    await finish(stage, second);
    await settled();
    expect(stage.task(first)).toMatchObject({ status: "cancelled", resumeCount: 1 });
    expect(notified(stage)).toEqual([[first, second], [first]]);
  });

  test("of a task whose end is owed begins in the process that takes it over", async () => {
    const stage = createDurableStage();
    const [first, second] = await launchAll(stage, 2);
    await finish(stage, first);
    await stage.call("task", { resume: first, prompt: "And now?" });
    await stage.restart();
    await stage.clock.advance(60);
    expect(stage.task(first)).toMatchObject({ status: "completed", nextRun: "resume" });
    await finish(stage, second);
    expect(stage.task(first)).toMatchObject({ status: "resumed", resumeCount: 1 });
  });
});

describe("over the end of a process", () => {
  test("what is owed is delivered with the last end, which comes in the next process", async () => {
    const stage = createDurableStage();
    const [first, second, third] = await launchAll(stage, 3);
    await finish(stage, first, second);
    await stage.restart();
    await stage.clock.advance(60);
    expect(notified(stage)).toEqual([]);
    await finish(stage, third);
    expect(notified(stage)).toEqual([[first, second, third]]);
  });

  test("what is owed is delivered when the last end came while no process lived", async () => {
    const stage = createDurableStage();
    const [first, second] = await launchAll(stage, 2);
    await finish(stage, first);
    stage.life.die();
    stage.host.finish(second, "2");
    await stage.restart();
    await stage.clock.advance(60_000);
    expect(notified(stage)).toEqual([[first, second]]);
  });
});

test("tasks of another process are waited for, and their end is noticed within a while", async () => {
  const stage = createStage();
  const [first, second] = await launchAll(stage, 2);
  await finish(stage, first);
  const { list } = stage.store;
  let hasEnded = false;
  const elsewhere = { ...list({ parentSessionID: PARENT })[0], sessionID: "ses_elsewhere" } as ReturnType<
    typeof list
  >[number];
  const { get } = stage.store;
  stage.store.get = (id) => get(id === "ses_elsewhere" ? second : id);
  stage.store.list = (filter) => [...list(filter), { ...elsewhere, status: hasEnded ? "completed" : "running" }];
  await finish(stage, second);
  await recheck(stage);
  expect(notified(stage)).toEqual([]);
  hasEnded = true;
  await recheck(stage);
  expect(notified(stage)).toEqual([[first, second]]);
});

describe("the policy", () => {
  test("is the option's where a launch does not say it", async () => {
    const stage = createStage({ wake: "all" });
    const first = await stage.launch();
    const second = await stage.launch();
    const loud = await stage.launch({ wake: "each" });
    await finish(stage, first);
    expect(notified(stage)).toEqual([]);
    await finish(stage, loud, second);
    expect(notified(stage)).toEqual([[first, loud], [second]]);
    expect([first, loud].map((id) => stage.task(id).wake)).toEqual(["all", undefined]);
  });

  test("is said to the agent that launches, and is refused in another form", async () => {
    const stage = createStage();
    const launch = (more: Record<string, unknown>) =>
      stage.call("task", { description: "find it", prompt: "Find it.", agent: "general", ...more });
    expect(await launch({ wake: "all" })).toContain("notified when all of its batch have ended, or one has failed.");
    expect(await launch({})).toContain("You will be notified when it ends.");
    await expect(launch({ wake: "never" })).rejects.toThrow(/wake/);
  });

  test("is no reason to wait in `opencode run`, which ends with its agent's answer", async () => {
    const stage = createStage({ isHeadless: true, wake: "all" });
    const [first] = await launchAll(stage, 2);
    await finish(stage, first);
    expect(notified(stage)).toEqual([[first]]);
  });
});
