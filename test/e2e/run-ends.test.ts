import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { loadSqlite } from "../../src/services/store/sqlite/driver.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { lastUserText, toolResults } from "./lab/model-request.ts";
import { calls, hang, type Reply, text } from "./lab/reply.ts";
import type { Script } from "./lab/scripted-model.ts";
import { served, statusApi } from "./status-api.ts";
import { inChild, launchFrom, notified, ours } from "./tasks-and-notices.ts";

let lab: Lab;

beforeAll(async () => {
  lab = await startLab();
});

afterAll(() => lab.stop());

const A_STEP = { name: "glob", args: { pattern: "*.none" } };

/** The task as the status API shows it. */
const taskOf = async (id: string) => {
  await served(lab);
  return (await statusApi(lab).get(`/v1/tasks/${id}`)).body;
};

/** Launches a task whose model answers like that, and waits for the notice of its end. */
const run = async (prompt: string, script: Script) => {
  const parent = await lab.session();
  lab.model.when(inChild(prompt), script);
  const [id = ""] = await launchFrom(lab, parent, [prompt]);
  const [notice] = await notified(lab, parent, [id]);
  const asked = lab.model.requests.filter(({ sessionID }) => sessionID === id).length;
  return { parent, id, asked, notice: notice?.hidden ?? "", visible: notice?.visible ?? "", task: await taskOf(id) };
};

/** What the tools that list and show tasks say of it. */
const outputOf = async (parent: string, id: string): Promise<string> => {
  lab.model.when(`show ${id}`, [calls([ours("list"), ours("output", { task_id: id })]), text("shown")]);
  await lab.ask(parent, `show ${id}`);
  const request = await lab.model.waitFor(
    (one) => one.sessionID === parent && toolResults(one).some(({ name }) => name === "asyncagents_output"),
  );
  return toolResults(request)
    .slice(-2)
    .map(({ output }) => output)
    .join("\n");
};

const expectAtRest = async (id: string) => {
  const { data } = await lab.client.session.status();
  expect(data).not.toHaveProperty(id);
};

describe("a provider that does not say why its model stopped", () => {
  test.each([
    ["nothing at all", null],
    ["a word that OpenCode does not know", "eos"],
    ["that it calls tools, of which there are none", "tool_calls"],
  ])("says %s: OpenCode asks again, the turn is ended, and its text is delivered as perhaps cut", async (_, finish) => {
    const prompt = `count the files, then say ${finish}`;
    const { parent, id, asked, notice, visible, task } = await run(
      prompt,
      text("There are 12.", { finish, tokens: "none" }),
    );
    await expectAtRest(id);
    // The abort takes a moment, in which OpenCode asks again.
    expect(asked).toBeLessThan(40);
    expect(notice).toContain(`Task ${id} completed.\nIts result may be cut: the provider never said that the model`);
    expect(notice).toContain("> There are 12.\n</task_result>");
    expect(notice).not.toContain("whole");
    expect(visible).toContain("Its result may be cut.");
    expect(task).toMatchObject({ status: "completed", result: "There are 12.", incomplete: "noStopReason" });
    expect(await outputOf(parent, id)).toContain("Its result may be cut: the provider never said");
  });

  test("and whose model writes nothing ends the run as a loop, with what was written before", async () => {
    const script: Reply[] = [calls([A_STEP], { text: "I look." }), text("", { finish: null })];
    const { id, notice, task } = await run("look, then fall silent", script);
    await expectAtRest(id);
    expect(notice).toContain('Error: "NoStopReason: Its model answered');
    expect(notice).toContain("a partial result");
    expect(notice).toContain("> I look.");
    expect(task).toMatchObject({ status: "error", error: { kind: "loop", name: "NoStopReason" }, result: "I look." });
  });

  test("while its model calls tools goes on: those steps are its work", async () => {
    const step = (of: number): Reply => calls([{ ...A_STEP, args: { pattern: `*.${of}` } }], { finish: null });
    const { task } = await run("look five times", [step(1), step(2), step(3), step(4), step(5), text("Seen.")]);
    expect(task).toMatchObject({ status: "completed", result: "Seen." });
    expect(task).not.toHaveProperty("incomplete");
  });
});

describe("an answer that is not whole", () => {
  test("since the model reached its limit is said to be cut, wherever it is shown", async () => {
    const { parent, id, notice, visible, task } = await run(
      "write it all",
      text("One, two, thr", { finish: "length" }),
    );
    expect(notice).toContain("Its result is cut: the model reached the limit of its output");
    expect(notice).not.toContain("whole");
    expect(visible).toContain("Its result is cut.");
    expect(task).toMatchObject({ result: "One, two, thr", incomplete: "length", receipt: { incomplete: "length" } });
    const shown = await outputOf(parent, id);
    expect(shown).toMatch(/ · completed · general · .* · result is cut$/m);
    expect(shown).toContain("Its result is cut: the model reached the limit of its output");
  });

  test("since reasoning used up the limit is missing, and what was written before is not taken for it", async () => {
    const script: Reply[] = [
      calls([A_STEP], { text: "I look first." }),
      text("", { reasoning: "Let me think.", finish: "length" }),
    ];
    const { id, parent, notice, visible, task } = await run("think hard", script);
    expect(notice).toContain("Its result is missing: the model's reasoning used up the limit of its output");
    expect(notice).toContain("which is not its result");
    expect(visible).not.toContain("I look first.");
    expect(task).toMatchObject({ result: "", incomplete: "reasoning", earlierText: "I look first." });
    expect(await outputOf(parent, id)).toContain("which is not its result:");
  });

  test("since the content filter ended it fails, and what was written of it is kept", { tags: "gate" }, async () => {
    const { notice, task } = await run("write of it", text("At first, ", { finish: "content_filter" }));
    expect(notice).toContain('Error: "ContentFilterError: ');
    expect(notice).toContain("a partial result");
    expect(notice).toContain("> At first,");
    expect(task).toMatchObject({ status: "error", error: { name: "ContentFilterError", kind: "provider" } });
  });
});

test.each([
  ["is empty", text("")],
  ["is reasoning alone", text("", { reasoning: "Nothing more to say." })],
])("where the last message %s, what was said on the way is no result", async (_, last) => {
  const script: Reply[] = [calls([A_STEP], { text: "Let me look." }), last];
  const { notice, visible, task } = await run(`look: its last message ${_}`, script);
  expect(notice).toContain("The agent's last message has no text: it finished without a result.");
  expect(notice).toContain("What the agent had written last before that, which is not its result");
  expect(notice).toContain("> Let me look.");
  expect(visible).toContain("It has no result.");
  expect(task).toMatchObject({ status: "completed", result: "", earlierText: "Let me look." });
});

describe("a person who writes to the agent while it works", () => {
  /** Launches a task, has a person ask its agent something in its first step, which then ends like that. */
  const askedMeanwhile = async (prompt: string, question: string, first: Reply) => {
    const parent = await lab.session();
    const step = hang();
    lab.model.when(inChild(prompt), step);
    lab.model.when(
      (request) => request.parentSessionID !== undefined && lastUserText(request).includes(question),
      text("4 so far."),
    );
    const [id = ""] = await launchFrom(lab, parent, [prompt]);
    await lab.model.waitFor(inChild(prompt));
    await lab.prompt(id, question, { agent: "general" });
    await lab.until(async () => (await lab.texts(id)).includes(`user: ${question}`), {
      what: "the question is stored",
    });
    step.release(first);
    const notices = await notified(lab, parent, [id]);
    expect(notices).toHaveLength(1);
    expect(await lab.texts(id)).toContain("assistant: 4 so far.");
    return { notice: notices[0]?.hidden ?? "", task: await taskOf(id) };
  };

  test("gets an answer of their own, and the agent's report stays the result", { tags: "gate" }, async () => {
    const { notice, task } = await askedMeanwhile("report all", "how many of all?", text("The report: all is well."));
    expect(notice).toContain("> The report: all is well.\n</task_result>");
    expect(task).toMatchObject({ status: "completed", result: "The report: all is well." });
    expect(task).not.toHaveProperty("incomplete");
  });

  test("in the middle of a turn has the only answer: the result says that it is to them", async () => {
    const { notice, task } = await askedMeanwhile("report some", "how many of some?", calls([A_STEP]));
    expect(notice).toContain("Its result may not answer the task: a person wrote to the agent while it worked");
    expect(notice).toContain("> 4 so far.");
    expect(task).toMatchObject({ status: "completed", result: "4 so far.", incomplete: "remark" });
  });
});

/** Milliseconds after which OpenCode gives up a statement that another program keeps waiting. */
const GIVES_UP_AFTER = 5_000;

test("a statement that OpenCode's database refuses interrupts a run, which then goes on from its last step", async () => {
  const parent = await lab.session();
  const step = hang();
  lab.model.when(inChild("count slowly"), [calls([A_STEP]), step]);
  const [id = ""] = await launchFrom(lab, parent, ["count slowly"]);
  const requests = () => lab.model.requests.filter(({ sessionID }) => sessionID === id);
  await lab.until(() => requests().length === 2, { what: "the second step begins" });
  const database = loadSqlite({ readonly: false })(join(lab.options.home, "data", "opencode", "opencode.db"));
  let isOpen = true;
  const unlock = () => {
    if (isOpen) database.close();
    isOpen = false;
  };
  onTestFinished(unlock);
  database.exec("BEGIN IMMEDIATE");
  step.release(text("There are 12."));
  const failed = await lab.events.waitFor("session.error", { sessionID: id, timeoutMs: 4 * GIVES_UP_AFTER });
  expect(JSON.stringify(failed.properties.error)).toContain("Failed to execute statement");
  unlock();
  const [notice, ...more] = await notified(lab, parent, [id]);
  expect(more).toEqual([]);
  expect(notice?.hidden).toContain("> There are 12.");
  expect(await taskOf(id)).toMatchObject({ status: "completed", result: "There are 12." });
  expect(requests()).toHaveLength(3);
});
