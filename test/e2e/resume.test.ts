import { expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { calls, failure, hang, type Reply, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { inChild, launchFrom, noticesIn, notified, ours } from "./tasks-and-notices.ts";

let lab: Lab;

setUp(async () => {
  lab = await startLab();
  return () => lab.stop();
});

/** A parent with a task that has completed and whose result was delivered. */
const completed = async (prompt: string): Promise<{ parent: string; task: string }> => {
  const parent = await lab.session();
  lab.model.when(inChild(prompt), text("There are 12."));
  const [task] = await launchFrom(lab, parent, [prompt]);
  await notified(lab, parent, [String(task)]);
  return { parent, task: String(task) };
};

/** Has the parent's agent resume the task with these prompts, all in one message. */
const resume = async (parent: string, task: string, prompts: string[]): Promise<void> => {
  const word = `follow up with ${prompts.join(", ")}`;
  lab.model.when(word, [calls(prompts.map((prompt) => ours("task", { resume: task, prompt }))), text("resumed")]);
  await lab.ask(parent, word);
};

const answering = (prompt: string, reply: Reply) => lab.model.when(inChild(prompt), reply);

/** Waits until the parent has this many notices, has answered them, and rests. */
const notices = async (parent: string, count: number) => {
  await lab.until(
    async () => {
      const answered = (await lab.texts(parent)).at(-1)?.startsWith("assistant:");
      const { data } = await lab.client.session.status();
      return answered && data && !(parent in data) && (await noticesIn(lab, parent)).length >= count;
    },
    { what: `${count} notices, and rest` },
  );
  return noticesIn(lab, parent);
};

test("a task is resumed twice: each prompt is answered with the whole conversation in sight", {
  tags: "gate",
}, async () => {
  const { parent, task } = await completed("count all files");
  answering("and the tests?", text("5 of them."));
  await resume(parent, task, ["and the tests?"]);
  expect((await notices(parent, 2)).at(-1)?.visible).toContain("✓ **Resume #1 completed in");
  answering("and the docs?", text("2 of them."));
  await resume(parent, task, ["and the docs?"]);
  const [, , third] = await notices(parent, 3);
  expect(third?.visible).toContain("✓ **Resume #2 completed in");
  expect(third?.hidden).toContain("2 of them.");
  expect(await lab.texts(task)).toEqual([
    "user: count all files",
    "assistant: There are 12.",
    "user: and the tests?",
    "assistant: 5 of them.",
    "user: and the docs?",
    "assistant: 2 of them.",
  ]);
  const last = lab.model.requests.findLast(({ sessionID }) => sessionID === task);
  expect(JSON.stringify(last?.messages)).toContain("There are 12.");
});

test("of two resumes in one assistant message one is taken and the other refused", { tags: "gate" }, async () => {
  const { parent, task } = await completed("count red files");
  const held = hang();
  for (const prompt of ["one more", "another more"]) answering(prompt, held);
  await resume(parent, task, ["one more", "another more"]);
  const refusals = (await lab.texts(parent)).filter((line) => line.includes("is currently being resumed"));
  expect(refusals).toHaveLength(1);
  held.release(text("13."));
  expect(await notices(parent, 2)).toHaveLength(2);
  expect((await lab.texts(task)).filter((line) => line.startsWith("user:"))).toHaveLength(2);
});

test("a resume whose session was deleted suggests a new task", async () => {
  const { parent, task } = await completed("count blue files");
  await lab.client.session.delete({ sessionID: task });
  await resume(parent, task, ["are you there?"]);
  expect(await lab.texts(parent)).toContainEqual(
    expect.stringContaining("does not exist any more. Start a new task with asyncagents_task."),
  );
  expect(await noticesIn(lab, parent)).toHaveLength(1);
});

test("a resume that fails is reported as that, and the earlier result stays readable", async () => {
  const { parent, task } = await completed("count green files");
  answering("and now?", failure(401, "out of credit"));
  await resume(parent, task, ["and now?"]);
  const last = (await notices(parent, 2)).at(-1);
  expect(last?.visible).toContain("✗ **Resume #1 failed in");
  expect(last?.hidden).toContain("out of credit");
  lab.model.when("read it", [calls([ours("output", { task_id: task })]), text("read")]);
  await lab.ask(parent, "read it");
  expect(await lab.texts(parent)).toContainEqual(expect.stringMatching(/Status: error[\s\S]*There are 12\./));
});

test("a resumed task that is cancelled stops, and is reported as cancelled", { tags: "gate" }, async () => {
  const { parent, task } = await completed("count grey files");
  answering("never stop", hang());
  await resume(parent, task, ["never stop"]);
  await lab.model.waitFor(inChild("never stop"));
  lab.model.when("stop the resume", [calls([ours("cancel", { task_id: task })]), text("stopped")]);
  await lab.ask(parent, "stop the resume");
  expect((await notices(parent, 2)).at(-1)?.visible).toContain("⊘ **Agent");
  const { data } = await lab.client.session.status();
  expect(data).not.toHaveProperty(task);
});

test("a batch of three is read with block, a line for each, and a task's conversation on request", async () => {
  const parent = await lab.session();
  const held = hang();
  const prompts = ["sort one", "sort two", "sort three"];
  for (const prompt of prompts) answering(prompt, held);
  const tasks = await launchFrom(lab, parent, prompts);
  const batch = /batch (batch_\w+)/.exec((await lab.texts(parent)).join("\n"))?.[1];
  lab.model.when("read all", [calls([ours("output", { batch_id: batch, block: true })]), text("got them")]);
  await lab.prompt(parent, "read all");
  await lab.until(async () => (await lab.texts(parent)).includes("tool asyncagents_output running"), {
    what: "it waits",
  });
  held.release(text("sorted"));
  await lab.idle(parent);
  const read = (await lab.texts(parent)).findLast((line) => line.startsWith("tool asyncagents_output")) ?? "";
  expect(read).toContain(`Batch ${batch}: 3/3 ended`);
  for (const task of tasks) expect(read).toMatch(new RegExp(`- ${task} · completed .*: "sorted"`));
  expect(await noticesIn(lab, parent)).toEqual([]);
  lab.model.when("what was said", [calls([ours("output", { task_id: tasks[0], full_session: true })]), text("I see")]);
  await lab.ask(parent, "what was said");
  expect(await lab.texts(parent)).toContainEqual("tool asyncagents_output: User:\n> sort one\n\nAgent:\n> sorted");
});
