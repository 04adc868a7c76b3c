import { expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { lastUserText, type ModelRequest } from "./lab/model-request.ts";
import { calls, failure, type HangReply, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { served, statusApi } from "./status-api.ts";
import { inChild, launchFrom, notified, ours } from "./tasks-and-notices.ts";

let lab: Lab;

setUp(async () => {
  lab = await startLab();
  await served(lab);
  return () => lab.stop();
});

const A_STEP = calls([{ name: "glob", args: { pattern: "*.none" } }]);

/** A task whose model is silent in its first step, until the test releases it. */
const working = async (prompt: string): Promise<{ parent: string; task: string; step: HangReply }> => {
  const parent = await lab.session();
  const step = hang();
  lab.model.when(inChild(prompt), step);
  const [task = ""] = await launchFrom(lab, parent, [prompt]);
  return { parent, task, step };
};

/** How often the instruction is in the task's conversation. */
const stored = async (task: string, prompt: string): Promise<number> =>
  (await lab.messages(task)).filter(
    ({ info, parts }) =>
      info.role === "user" && parts.some((part) => part.type === "text" && part.text.endsWith(`\n${prompt}`)),
  ).length;

/** Has the parent's agent give the task an instruction, and waits until that is in its conversation. */
const steer = async (parent: string, task: string, prompt: string): Promise<void> => {
  const word = `steer ${task} with ${prompt}`;
  lab.model.when(word, [calls([ours("task", { steer: task, prompt })]), text("steered")]);
  await lab.ask(parent, word);
  await lab.until(async () => (await stored(task, prompt)) === 1, { what: "the instruction is stored" });
};

/** The requests in which a model was shown the instruction: what really happened, whatever the plugin says. */
const shown = (task: string, prompt: string): ModelRequest[] =>
  lab.model.requests.filter(
    ({ sessionID, messages }) => sessionID === task && JSON.stringify(messages).includes(`\\n${prompt}"`),
  );

/** What became of the instructions of the task's newest run, as the status API has it. */
const fates = async (task: string): Promise<string[]> => {
  const { body } = await statusApi(lab).get(`/v1/tasks/${task}`);
  return (body.instructions ?? []).map(
    ({ text: said, from, fate }: Record<string, string>) => `${said} ${from} ${fate}`,
  );
};

const seeing = (task: string, prompt: string) => (request: ModelRequest) =>
  request.sessionID === task && lastUserText(request).includes(prompt);

test("an instruction is not seen until the next step asks the model, which is shown it", { tags: "gate" }, async () => {
  const { parent, task, step } = await working("count new files");
  const next = hang();
  lab.model.when(seeing(task, "only the tests"), next);
  await steer(parent, task, "only the tests");
  expect(shown(task, "only the tests")).toEqual([]);
  expect(await fates(task)).toEqual(["only the tests agent waiting"]);
  step.release(A_STEP);
  await lab.model.waitFor(seeing(task, "only the tests"));
  await lab.until(async () => (await fates(task))[0] === "only the tests agent seen", { what: "it counts as seen" });
  expect(shown(task, "only the tests")).toHaveLength(1);
  next.release(text("5 tests."));
  const [notice] = await notified(lab, parent, [task]);
  expect(notice?.hidden).not.toContain("never saw");
  expect(await fates(task)).toEqual(["only the tests agent seen"]);
});

test("an instruction that a cancelled run missed is in the notice, and a retry reads it in the conversation", {
  tags: "gate",
}, async () => {
  const { parent, task } = await working("count cancelled files");
  await steer(parent, task, "only the docs");
  await statusApi(lab).post(`/v1/tasks/${task}/cancel`);
  const [notice] = await notified(lab, parent, [task]);
  expect(await fates(task)).toEqual(["only the docs agent missed"]);
  expect(shown(task, "only the docs")).toEqual([]);
  const words = 'Its agent never saw the instruction "only the docs" (agent): the run ended first.';
  expect(notice?.visible).toContain(words);
  expect(notice?.hidden).toContain(`${words} If it still matters, retry the task with it in the prompt.`);
  lab.model.when((request) => request.sessionID === task, text("gone on"));
  await statusApi(lab).post(`/v1/tasks/${task}/retry`);
  await lab.until(async () => shown(task, "only the docs").length === 1, { what: "the retry reads it" });
  expect(await fates(task)).toEqual([]);
});

test("a person is told of an instruction of theirs that a failed run missed", async () => {
  const { parent, task, step } = await working("count failing files");
  await statusApi(lab).post(`/v1/tasks/${task}/steer`, { prompt: "only the examples" });
  await lab.until(async () => (await stored(task, "only the examples")) === 1, { what: "the instruction is stored" });
  step.release(failure(400, "bad request"));
  const [notice] = await notified(lab, parent, [task]);
  expect(await fates(task)).toEqual(["only the examples user missed"]);
  expect(shown(task, "only the examples")).toEqual([]);
  expect(notice?.visible).toContain('never saw the instruction "only the examples" (user)');
  const toasts = lab.events.all.filter(
    ({ type, properties }) =>
      type === "tui.toast.show" && JSON.stringify(properties).includes("never saw your instruction"),
  );
  expect(toasts).toHaveLength(1);
});

test("a request with the instruction that the provider refuses is one that the model was asked with", async () => {
  const { parent, task, step } = await working("count refused files");
  lab.model.when(seeing(task, "only the sources"), failure(400, "bad request"));
  await steer(parent, task, "only the sources");
  step.release(A_STEP);
  await notified(lab, parent, [task]);
  expect(shown(task, "only the sources")).toHaveLength(1);
  expect(await fates(task)).toEqual(["only the sources agent seen"]);
});

test("an instruction that is summed up before the next step is read for the summary, and counts as seen with the step after it", async () => {
  const { parent, task, step } = await working("count many files");
  const summed = hang();
  const isSummary = (request: ModelRequest) => request.sessionID === task && request.tools.length === 0;
  const isGoingOn = (request: ModelRequest) =>
    request.sessionID === task && JSON.stringify(request.messages).includes("THE SUMMARY");
  lab.model.when(isSummary, summed);
  lab.model.when(isGoingOn, text("9."));
  await steer(parent, task, "only the top");
  step.release(calls([{ name: "glob", args: { pattern: "*.none" } }], { tokens: { input: 99_000, output: 10 } }));
  const summary = await lab.model.waitFor(isSummary);
  expect(JSON.stringify(summary.messages)).toContain("only the top");
  expect(await fates(task)).toEqual(["only the top agent waiting"]);
  summed.release(text("THE SUMMARY"));
  await notified(lab, parent, [task]);
  // OpenCode gives the agent the summary in place of all that was summed up.
  const after = await lab.model.waitFor(isGoingOn);
  expect(JSON.stringify(after.messages)).not.toContain("only the top");
  expect(await fates(task)).toEqual(["only the top agent seen"]);
});

test("an instruction that is summed up by a run which fails over it is missed", async () => {
  const { parent, task, step } = await working("count too many files");
  lab.model.when((request) => request.sessionID === task && request.tools.length === 0, failure(400, "bad request"));
  await steer(parent, task, "only the bottom");
  step.release(calls([{ name: "glob", args: { pattern: "*.none" } }], { tokens: { input: 99_000, output: 10 } }));
  await notified(lab, parent, [task]);
  expect(await fates(task)).toEqual(["only the bottom agent missed"]);
});

test("an instruction that was seen before OpenCode was killed stays seen, whatever becomes of the run", async () => {
  const { parent, task, step } = await working("count killed files");
  lab.model.when(seeing(task, "only the notes"), hang());
  await steer(parent, task, "only the notes");
  step.release(A_STEP);
  await lab.model.waitFor(seeing(task, "only the notes"));
  await lab.opencode.kill();
  await lab.restart();
  // A directory is served when it is asked for.
  await lab.client.session.list();
  await served(lab);
  await statusApi(lab).post(`/v1/tasks/${task}/cancel`);
  await lab.until(async () => (await statusApi(lab).get(`/v1/tasks/${task}`)).body.status === "cancelled", {
    what: "it is cancelled",
  });
  expect(await fates(task)).toEqual(["only the notes agent seen"]);
});
