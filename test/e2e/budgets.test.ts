import { afterAll, beforeAll, expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { toolResults } from "./lab/model-request.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { childOf, inChild, launchFrom, launching, told } from "./telling.ts";

const LIMITS = { loop: { repeat: 5 }, budget: { toolCalls: 8 } };
/** Long enough for a child to begin its first call on a slow machine; the call takes longer. */
const TIME = { timeouts: { run: 6_000 } };

const built = new URL("../../", import.meta.url).href;

let lab: Lab;

beforeAll(async () => {
  lab = await startLab({ plugin: [built, LIMITS] });
});

afterAll(() => lab.stop());

const bash = (command: string) => ({ name: "bash", args: { command, description: "try it" } });

/** Tells the parent of the task's end, and returns the hidden part of the notice. */
const noticeOf = async (parent: string, task: string): Promise<string> => {
  const notices = await told(lab, parent, [task]);
  return notices.find(({ taskId }) => taskId === task)?.hidden ?? "";
};

const expectStopped = async (task: string) => {
  const { data } = await lab.client.session.status();
  expect(data).not.toHaveProperty(task);
};

test("a task that calls the same tool again and again is stopped, and what it said so far is told", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("go round"), calls([bash("true")], { text: "Trying once more." }));
  const [task = ""] = await launchFrom(lab, parent, ["go round"]);
  const notice = await noticeOf(parent, task);
  expect(notice).toContain("LoopDetected: It called the tool bash 5 times in a row with the same arguments");
  expect(notice).toContain("a partial result");
  expect(notice).toContain("> Trying once more.");
  await expectStopped(task);
});

test("a task that needs more tool calls than its budget has is stopped", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("try everything"), (request) => calls([bash(`echo ${toolResults(request).length}`)]));
  const [task = ""] = await launchFrom(lab, parent, ["try everything"]);
  expect(await noticeOf(parent, task)).toContain("BudgetExceeded: It used 9 of 8 tool calls, and was stopped.");
  await expectStopped(task);
});

test("the calls of a task's own tasks count, and these are stopped with it", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("have it tried"), [calls([launching("try for another")]), text("waiting")]);
  lab.model.when(inChild("try for another"), (request) => {
    const { length } = toolResults(request);
    return length < 8 ? calls([bash(`echo ${length}`)]) : hang();
  });
  const [lead = ""] = await launchFrom(lab, parent, ["have it tried"]);
  const own = await childOf(lab, "try for another");
  expect(await noticeOf(parent, lead)).toContain("It used 9 of 8 tool calls, its 1 task included, and was stopped.");
  for (const id of [lead, own]) await expectStopped(id);
});

test("a run that takes too long is stopped, but not while a tool runs", async () => {
  await lab.restart({ plugin: [built, TIME] });
  const parent = await lab.session();
  lab.model.when(inChild("dawdle"), hang());
  lab.model.when(inChild("have it run"), [calls([bash("sleep 9; echo it ran")]), hang()]);
  const [idle = "", busy = ""] = await launchFrom(lab, parent, ["dawdle", "have it run"]);
  const notices = await told(lab, parent, [idle, busy]);
  expect(notices.map(({ taskId }) => taskId)).toEqual([idle, busy]);
  for (const { hidden } of notices)
    expect(hidden).toMatch(/RunTimeout: It ran for [\d.]+s of at most 6s, and was stopped/);
  expect(await lab.texts(busy)).toContainEqual(expect.stringContaining("it ran"));
  for (const id of [idle, busy]) await expectStopped(id);
});
