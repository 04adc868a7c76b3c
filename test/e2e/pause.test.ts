import { expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { lastUserText, toolResults } from "./lab/model-request.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { served, statusApi } from "./status-api.ts";
import { inChild, launchFrom, noticesIn, notified, ours } from "./tasks-and-notices.ts";

let lab: Lab;

setUp(async () => {
  lab = await startLab();
  return () => lab.stop();
});

/** The step of a child that has a command print a word. */
const step = (word: string) => calls([{ name: "bash", args: { command: `echo ${word}`, description: word } }]);

const requestsOf = (task: string) => lab.model.requests.filter(({ sessionID }) => sessionID === task);

const isBusy = async (task: string): Promise<boolean> => {
  const { data = {} } = await lab.client.session.status();
  return task in data;
};

/** Has the parent's agent call the cancel tool for a task; returns what that answers. */
const callCancel = async (parent: string, task: string, instead: "pause" | "continue") => {
  const word = `${instead} ${task} now`;
  lab.model.when(word, [calls([ours("cancel", { task_id: task, instead })]), text("done")]);
  await lab.ask(parent, word);
  const asked = lab.model.requests.filter((request) => request.sessionID === parent && lastUserText(request) === word);
  return asked.flatMap(toolResults).at(-1)?.output;
};

const waitForRequests = (task: string, count: number) =>
  lab.until(() => requestsOf(task).length === count, { what: `${count} requests of the task` });

test("a task that its agent pauses in its second step costs nothing, and goes on after the first when it is told to", {
  tags: "gate",
}, async () => {
  const parent = await lab.session();
  lab.model.when(inChild("print two words"), [step("first"), hang(), text("first, and second")]);
  const [task = ""] = await launchFrom(lab, parent, ["print two words"]);
  await waitForRequests(task, 2);
  expect(await callCancel(parent, task, "pause")).toContain("is paused: it keeps what was done");
  expect(await isBusy(task)).toBe(false);
  expect(await noticesIn(lab, parent)).toEqual([]);
  expect(await callCancel(parent, task, "continue")).toContain("goes on.");
  const [notice] = await notified(lab, parent, [task]);
  expect(notice?.visible).toContain('✓ **Agent "about print two words" finished in');
  expect(notice?.hidden).toContain("first, and second");
  const [last, ...more] = requestsOf(task).slice(2);
  expect(more).toEqual([]);
  expect(last && toolResults(last).map(({ output }) => output)).toEqual([expect.stringContaining("first")]);
  expect(last && lastUserText(last)).toContain("print two words");
});

test("a task that a person pauses stays paused over a restart, and goes on in the next process", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("print more words"), [step("first"), hang(), text("first, and more")]);
  const [task = ""] = await launchFrom(lab, parent, ["print more words"]);
  await waitForRequests(task, 2);
  await served(lab);
  const paused = await statusApi(lab).post(`/v1/tasks/${task}/pause`);
  expect(paused.body).toMatchObject({ status: "running", waiting: { for: "continue" } });
  expect(await isBusy(task)).toBe(false);
  await lab.restart();
  await served(lab);
  const api = statusApi(lab);
  await lab.until(async () => (await api.get(`/v1/tasks/${task}`)).body.allowed?.includes("CONTINUE"), {
    what: "the next process has the task",
  });
  expect((await api.get(`/v1/tasks/${task}`)).body).toMatchObject({ waiting: { for: "continue" } });
  expect(requestsOf(task)).toHaveLength(2);
  expect((await api.post(`/v1/tasks/${task}/continue`)).status).toBe(200);
  const [notice] = await notified(lab, parent, [task]);
  expect(notice?.hidden).toContain("first, and more");
  expect(requestsOf(task)).toHaveLength(3);
});
