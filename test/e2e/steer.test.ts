import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { lastUserText, type ModelRequest } from "./lab/model-request.ts";
import { calls, type HangReply, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { dataFolder, served, statusApi } from "./status-api.ts";
import { inChild, launchFrom, notified, ours } from "./tasks-and-notices.ts";

const run = promisify(execFile);
const BIN = fileURLToPath(new URL("../../node_modules/.bin/", import.meta.url));
const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

let lab: Lab;

setUp(async () => {
  lab = await startLab();
  await served(lab);
  return () => lab.stop();
});

/** A child whose model is silent in its first step, until the test releases it. */
const working = async (prompt: string): Promise<{ parent: string; task: string; step: HangReply }> => {
  const parent = await lab.session();
  const step = hang();
  lab.model.when(inChild(prompt), step);
  const [task = ""] = await launchFrom(lab, parent, [prompt]);
  return { parent, task, step };
};

/** Has the parent's agent give the task instructions, all in one message. Resolves to what it gets as an answer. */
const steer = async (parent: string, task: string, prompts: string[]): Promise<string> => {
  const word = `steer with ${prompts.join(", ")}`;
  lab.model.when(word, [calls(prompts.map((prompt) => ours("task", { steer: task, prompt }))), text("steered")]);
  await lab.ask(parent, word);
  return (await lab.texts(parent)).join("\n");
};

/** The request of the child in which an instruction is the newest message. */
const seeing = (task: string, prompt: string) => (request: ModelRequest) =>
  request.sessionID === task && lastUserText(request).includes(prompt);

/** What the user and agents wrote to the child, one line each. */
const written = async (task: string): Promise<string[]> =>
  (await lab.messages(task)).flatMap(({ info, parts }) =>
    info.role === "user"
      ? parts.flatMap((part) => (part.type === "text" ? (part.text.split("\n").at(-1) ?? "") : []))
      : [],
  );

const A_STEP = calls([{ name: "glob", args: { pattern: "*.none" } }]);

test("an instruction is seen by the child's model at its next step, and its answer to it is the result", {
  tags: "gate",
}, async () => {
  const { parent, task, step } = await working("count all files");
  lab.model.when(seeing(task, "only the tests"), text("5 tests."));
  expect(await steer(parent, task, ["only the tests"])).toContain(`Task ${task} was given the instruction`);
  await lab.until(async () => (await written(task)).length === 2, { what: "the instruction is stored" });
  expect(lab.model.requests.filter(({ sessionID }) => sessionID === task)).toHaveLength(1);
  step.release(A_STEP);
  const next = await lab.model.waitFor(seeing(task, "only the tests"));
  expect(lastUserText(next)).toContain("The agent that launched you gives you a further instruction while you work.");
  expect(next.messages.some(({ role }) => role === "tool")).toBe(true);
  const [notice, ...more] = await notified(lab, parent, [task]);
  expect(notice?.hidden).toContain("5 tests.");
  expect(more).toEqual([]);
  expect(await written(task)).toEqual(["count all files", "only the tests"]);
  expect(lab.model.requests.filter(({ sessionID }) => sessionID === task)).toHaveLength(2);
});

test("an instruction that comes in the child's last step makes it take another one", async () => {
  const { parent, task, step } = await working("count red files");
  lab.model.when(seeing(task, "only the tests"), text("6 tests."));
  await steer(parent, task, ["only the tests"]);
  await lab.until(async () => (await written(task)).length === 2, { what: "the instruction is stored" });
  step.release(text("12."));
  const notices = await notified(lab, parent, [task]);
  expect(notices).toHaveLength(1);
  expect(notices[0]?.hidden).toContain("6 tests.");
  expect(await lab.texts(task)).toEqual([
    "user: count red files",
    "assistant: 12.",
    expect.stringContaining("only the tests"),
    "assistant: 6 tests.",
  ]);
});

test("several instructions are seen in the order in which they were given, each once", async () => {
  const { parent, task, step } = await working("count blue files");
  lab.model.when(seeing(task, "third"), text("done"));
  await steer(parent, task, ["first", "second", "third"]);
  await lab.until(async () => (await written(task)).length === 4, { what: "the instructions are stored" });
  step.release(A_STEP);
  await notified(lab, parent, [task]);
  expect(await written(task)).toEqual(["count blue files", "first", "second", "third"]);
});

test("instructions that race with the child's end are all seen, and the task ends once", async () => {
  for (const delay of [0, 10, 30, 60]) {
    const prompt = `count files after ${delay} ms`;
    const parent = await lab.session();
    lab.model.when(inChild(prompt), text("12.", { delayMs: 400 }));
    const [task = ""] = await launchFrom(lab, parent, [prompt]);
    const word = `quickly steer ${task}`;
    lab.model.when(seeing(task, "only the tests"), text("7 tests."));
    lab.model.when(word, [
      calls([ours("task", { steer: task, prompt: "only the tests" })], { delayMs: delay }),
      text("steered"),
    ]);
    await lab.ask(parent, word);
    const outcome = (await lab.texts(parent)).join("\n");
    const notices = await notified(lab, parent, [task]);
    expect(notices).toHaveLength(1);
    // Too late, it is refused; then the child has not seen it.
    const isTaken = outcome.includes("was given the instruction");
    expect(isTaken || outcome.includes("use resume")).toBe(true);
    expect(notices[0]?.hidden).toContain(isTaken ? "7 tests." : "12.");
  }
});

test("a person gives instructions by the status API and by the command", async () => {
  const { parent, task, step } = await working("count grey files");
  lab.model.when(seeing(task, "and the docs"), text("9 of both."));
  const answer = await statusApi(lab).post(`/v1/tasks/${task}/steer`, { prompt: "only the tests" });
  expect(answer).toMatchObject({ status: 200, body: { sessionID: task, status: "running" } });
  const { stdout } = await run(join(BIN, "node"), [CLI, "steer", task, "and", "the docs", "--data", dataFolder(lab)]);
  expect(stdout).toContain("was given the instruction");
  await lab.until(async () => (await written(task)).length === 3, { what: "both are stored" });
  step.release(A_STEP);
  const [notice] = await notified(lab, parent, [task]);
  expect(notice?.hidden).toContain("9 of both.");
  expect((await lab.texts(task)).join("\n")).toContain("The user gives you a further instruction");
  const late = await statusApi(lab).post(`/v1/tasks/${task}/steer`, { prompt: "faster" });
  expect(late).toMatchObject({ status: 409, body: { error: expect.stringContaining("use resume") } });
});

test("an instruction survives a crash: the run goes on with it, and it is in the conversation once", async () => {
  const { parent, task, step } = await working("count old files");
  await steer(parent, task, ["only the tests"]);
  await lab.until(async () => (await written(task)).length === 2, { what: "the instruction is stored" });
  await lab.opencode.kill();
  step.release(text("never heard"));
  lab.model.when(seeing(task, "only the tests"), text("8 tests."));
  await lab.restart();
  // A directory is served when it is asked for.
  await lab.client.session.list();
  const notices = await notified(lab, parent, [task]);
  expect(notices[0]?.hidden).toContain("8 tests.");
  expect(await written(task)).toEqual(["count old files", "only the tests"]);
});
