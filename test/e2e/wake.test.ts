import { expect, test } from "vitest";
import { addUpWakes } from "../../src/task.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { calls, failure, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { served, statusApi } from "./status-api.ts";
import { storedTasks } from "./stored.ts";
import { childOf, inChild, launching, noticesIn, notified, ours } from "./tasks-and-notices.ts";

let lab: Lab;

setUp(async () => {
  lab = await startLab();
  return () => lab.stop();
});

/** A parent's agent launches tasks with these prompts, which it is notified of together; each is at work until it is released. */
const launchHeld = async (prompts: string[], inSteps = false) => {
  const parent = await lab.session();
  const held = prompts.map((prompt) => {
    const reply = hang();
    lab.model.when(inChild(prompt), reply);
    return reply;
  });
  const word = `launch ${prompts.join(", ")}`;
  const each = prompts.map((prompt) => launching(prompt, inSteps ? {} : { wake: "all" }));
  const steps = inSteps ? each.map((call) => calls([call])) : [calls(each)];
  lab.model.when(word, [...steps, text("launched")]);
  await lab.ask(parent, word);
  const tasks = await Promise.all(prompts.map((prompt) => childOf(lab, prompt)));
  return { parent, held, tasks };
};

const ended = (taskId: string | undefined) =>
  lab.until(() => storedTasks(lab).some(({ id, status }) => id === taskId && status !== "running"), {
    what: `${taskId} has ended`,
  });

/** How many model requests the agent of a session has made, and for how many messages. */
const requestsOf = (sessionID: string) =>
  lab.model.requests.filter((request) => request.sessionID === sessionID).length;

const progress = async (parent: string) => (await noticesIn(lab, parent)).map(({ visible }) => visible.split("\n")[1]);

test("four tasks that end at different times wake the agent once, in one turn, with all four results", {
  tags: "gate",
}, async () => {
  const { parent, held, tasks } = await launchHeld(["find one", "find two", "find three", "find four"]);
  const before = requestsOf(parent);
  for (const index of [2, 0, 3]) {
    held[index]?.release(text(`number ${index}`));
    await ended(tasks[index]);
  }
  await lab.ask(parent, "how is it going");
  expect(await noticesIn(lab, parent)).toEqual([]);
  lab.model.when("Task Progress: 4/4", text("I see them.", { tokens: { input: 1_000, cached: 900, output: 20 } }));
  held[1]?.release(text("number 1"));
  const notices = await notified(lab, parent, tasks);
  expect(notices.map(({ taskId }) => taskId)).toEqual([tasks[2], tasks[0], tasks[3], tasks[1]]);
  expect(new Set(notices.map(({ hidden }) => hidden)).size).toBe(1);
  for (const index of [0, 1, 2, 3]) expect(notices[0]?.hidden).toContain(`> number ${index}`);
  expect(await progress(parent)).toEqual(Array(4).fill("Task Progress: 4/4"));
  // One for the person's question, one for the notice.
  expect(requestsOf(parent)).toBe(before + 2);
  await lab.idle(parent);
  await served(lab);
  const costs = tasks.map(async (id) => (await statusApi(lab).get(`/v1/tasks/${id}`)).body.progress.wakeCosts);
  expect(addUpWakes(await Promise.all(costs))).toMatchObject({ wakes: 1, tokens: 1_020, cachedTokens: 900 });
});

test("an error wakes the agent at once, with what it is owed so far", { tags: "gate" }, async () => {
  const { parent, held, tasks } = await launchHeld(["do well", "go wrong", "take long"]);
  held[0]?.release(text("well done"));
  await ended(tasks[0]);
  held[1]?.release(failure(401, "no such key"));
  const first = await notified(lab, parent, tasks.slice(0, 2));
  expect(first.map(({ taskId }) => taskId)).toEqual([tasks[0], tasks[1]]);
  expect(first[0]?.hidden).toContain("WATCH OUT for leftovers");
  held[2]?.release(text("done at last"));
  const all = await notified(lab, parent, tasks);
  expect(all.map(({ taskId }) => taskId)).toEqual([tasks[0], tasks[1], tasks[2]]);
  expect(await progress(parent)).toEqual(["Task Progress: 2/3", "Task Progress: 2/3", "Task Progress: 3/3"]);
});

test("what an agent is owed outlives OpenCode: the last end, in the next one, delivers it all", async () => {
  const { parent, held, tasks } = await launchHeld(["end before", "end after"]);
  held[0]?.release(text("before the end"));
  await ended(tasks[0]);
  lab.model.when(inChild("end after"), text("after the end"));
  await lab.opencode.kill();
  await lab.restart();
  const notices = await notified(lab, parent, tasks);
  expect(notices.map(({ taskId }) => taskId)).toEqual(tasks);
  expect(new Set(notices.map(({ hidden }) => hidden)).size).toBe(1);
});

test("three launches in three steps of one turn are one batch, delivered as 1/3, 2/3 and 3/3", async () => {
  const { parent, held, tasks } = await launchHeld(["step one", "step two", "step three"], true);
  for (const [index, reply] of held.entries()) {
    reply.release(text(`number ${index}`));
    await notified(lab, parent, tasks.slice(0, index + 1));
  }
  expect(await progress(parent)).toEqual([1, 2, 3].map((n) => `Task Progress: ${n}/3`));
  const hints = (await noticesIn(lab, parent)).map(({ hidden }) => hidden);
  expect(hints.join("\n")).not.toMatch(/of other batches|counts this batch only/);
  expect(hints.at(-1)).toContain("All 3 tasks finished.");
  lab.model.when("list them", [calls([ours("list")]), text("listed")]);
  await lab.ask(parent, "list them");
  const heads = (await lab.texts(parent)).join("\n").match(/Batch \S+: \d\/\d ended/g);
  expect(heads).toEqual([expect.stringMatching(/^Batch batch_\w+: 3\/3 ended$/)]);
});

test("with `promptCache`, ends that come one after the other wake the agent once; an error wakes it at once", async () => {
  await lab.restart({ plugin: [new URL("../..", import.meta.url).href, { promptCache: 60_000 }] });
  const { parent, held, tasks } = await launchHeld(["seek a", "seek b", "seek c"], true);
  const before = requestsOf(parent);
  for (const index of [1, 0]) {
    held[index]?.release(text(`number ${index}`));
    await ended(tasks[index]);
  }
  expect(await noticesIn(lab, parent)).toEqual([]);
  held[2]?.release(text("number 2"));
  const notices = await notified(lab, parent, tasks);
  expect(notices.map(({ taskId }) => taskId)).toEqual([tasks[1], tasks[0], tasks[2]]);
  await lab.idle(parent);
  expect(requestsOf(parent)).toBe(before + 1);

  const second = await launchHeld(["seek d", "seek e", "seek f"], true);
  second.held[0]?.release(text("number 0"));
  await ended(second.tasks[0]);
  second.held[1]?.release(failure(401, "no such key"));
  await notified(lab, second.parent, second.tasks.slice(0, 2));
  second.held[2]?.release(text("number 2"));
  await notified(lab, second.parent, second.tasks);
});
