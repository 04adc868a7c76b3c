import { expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { lastUserText, type ModelRequest } from "./lab/model-request.ts";
import { calls, failure, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { inChild, launchFrom, noticesIn, notified, ours } from "./tasks-and-notices.ts";

let lab: Lab;

setUp(async () => {
  lab = await startLab();
  return () => lab.stop();
});

/** The step of a child that has a command print a word. */
const step = (word: string) => calls([{ name: "bash", args: { command: `echo ${word}`, description: word } }]);

/** A request of a task's agent after it was told to go on. */
const goingOn =
  (task: string) =>
  (request: ModelRequest): boolean =>
    request.sessionID === task && lastUserText(request).includes("Go on from where you were.");

/** Has the parent's agent retry a task, with a prompt or without. */
const retry = async (parent: string, task: string, more: Record<string, unknown> = {}): Promise<void> => {
  const word = `retry ${task} now`;
  lab.model.when(word, [calls([ours("task", { retry: task, ...more })]), text("retried")]);
  await lab.ask(parent, word);
};

/** Waits until the parent has this many notices. */
const notices = async (parent: string, count: number) => {
  await lab.until(async () => (await noticesIn(lab, parent)).length >= count, { what: `${count} notices` });
  return noticesIn(lab, parent);
};

test("a task that fails with a 400 in its third step goes on after the second, which is not done again", {
  tags: "gate",
}, async () => {
  const parent = await lab.session();
  lab.model.when(inChild("print three words"), [step("first"), step("second"), failure(400, "bad request")]);
  const [task = ""] = await launchFrom(lab, parent, ["print three words"]);
  const [failed] = await notified(lab, parent, [task]);
  expect(failed?.visible).toContain('✗ **Agent "about print three words" failed in');
  const paid = lab.model.requests.filter(({ sessionID }) => sessionID === task).length;
  lab.model.when(goingOn(task), text("first, second, third"));
  await retry(parent, task);
  const [, second] = await notices(parent, 2);
  expect(second?.visible).toContain("✓ **Retry #1 completed in");
  expect(second?.hidden).toContain("first, second, third");
  const later = lab.model.requests.filter(({ sessionID }) => sessionID === task).slice(paid);
  expect(later).toHaveLength(1);
  const outputs = later
    .flatMap(({ messages }) => messages)
    .flatMap(({ role, content }) => (role === "tool" ? [JSON.stringify(content)] : []));
  expect(outputs).toEqual([expect.stringContaining("first"), expect.stringContaining("second")]);
  expect(later.map(lastUserText)).toEqual([expect.stringContaining("bad request")]);
  expect(await noticesIn(lab, parent)).toHaveLength(2);
});

test("a task that was cancelled in the middle of a step goes on after the last one that was finished, with a prompt", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("print many words"), [step("first"), hang()]);
  const [task = ""] = await launchFrom(lab, parent, ["print many words"]);
  await lab.until(() => lab.model.requests.filter(({ sessionID }) => sessionID === task).length === 2, {
    what: "the second step",
  });
  lab.model.when("stop that", [calls([ours("cancel", { task_id: task })]), text("stopped")]);
  await lab.ask(parent, "stop that");
  await notified(lab, parent, [task]);
  lab.model.when(goingOn(task), text("one word will do"));
  await retry(parent, task, { prompt: "One word will do." });
  const [, second] = await notices(parent, 2);
  expect(second?.visible).toContain("✓ **Retry #1 completed in");
  const [last] = lab.model.requests.filter(({ sessionID }) => sessionID === task).slice(-1);
  expect(last && lastUserText(last)).toMatch(/your task was cancelled[\s\S]*\n\nOne word will do\.$/);
  expect(JSON.stringify(last?.messages)).toContain("first");
});
