import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { lastUserText, type ModelRequest, textOf, toolResults } from "./lab/model-request.ts";
import { runOpenCode } from "./lab/opencode-run.ts";
import { calls, failure, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { dataFolder, served, statusApi } from "./status-api.ts";
import { childOf, inChild, launchFrom, launching, noticesIn, notified, ours, wasAsked } from "./tasks-and-notices.ts";

const repository = new URL("../..", import.meta.url).href;

let lab: Lab;
let api: ReturnType<typeof statusApi>;

const plugin = (options: Record<string, unknown> = {}): [string, Record<string, unknown>] => [
  repository,
  { toolsets: ["tasks", "elisha", "subtasks"], ...options },
];

const config = {
  // So that a subagent may use OpenCode's own task tool.
  subagent_depth: 3,
  permission: { bash: "ask" as const },
  agent: {
    "Team Reviewer": {
      mode: "subagent" as const,
      description: "Reviews changes.",
      prompt: "You review.",
      // The host denies it to subagents that do not say so.
      permission: { question: "allow" as const },
    },
    lead: { mode: "primary" as const, prompt: "You lead." },
  },
};

setUp(async () => {
  lab = await startLab({ plugin: plugin(), config });
  await served(lab);
  api = statusApi(lab);
  return () => lab.stop();
});

const subtask = (title: string, args: Record<string, unknown> = {}, agent = "general") => ({
  name: `create_subtask_${agent}`,
  args: { title, ...args },
});

const elisha = (tool: string, args: Record<string, unknown>) => ({ name: `elisha_${tool}`, args });

/** The results of a tool in a session, as the conversation has them. */
const resultsOf = async (sessionID: string, tool: string) =>
  (await lab.messages(sessionID)).flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.type === "tool" && part.tool === tool && part.state.status === "completed"
        ? [JSON.parse(part.state.output) as Record<string, unknown>]
        : [],
    ),
  );

const resultOf = (sessionID: string, tool: string) =>
  lab.until(async () => (await resultsOf(sessionID, tool)).at(-1), { what: `${tool} has answered` });

/** Waits until the end of a task counts as delivered by the answer of the call that waited: of one that is lost it would not. */
const deliveredByAnswer = (taskId: string) =>
  lab.until(async () => (await api.get(`/v1/tasks/${taskId}/events`)).body.at(-1)?.type === "WAIT_DELIVERED", {
    what: "its end counts as delivered",
  });

const shell = calls([{ name: "bash", args: { command: "echo clean", description: "cleans" } }]);

const isBack = (sessionID: () => string, tool: string) => (request: ModelRequest) =>
  request.sessionID === sessionID() && toolResults(request).at(-1)?.name === tool;

const isIdle = async (sessionID: string) => {
  const { data } = await lab.client.session.status();
  return data !== undefined && !(sessionID in data);
};

describe("subtasks", () => {
  test("each subagent has a tool of its own: configured ones, the host's own, and no primary or hidden ones", {
    tags: "gate",
  }, async () => {
    const parent = await lab.session();
    await lab.ask(parent, "which tools are there?");
    const request = await lab.model.waitFor("which tools are there?");
    const names = request.tools.map((tool) => tool.function.name);
    expect(names.filter((name) => name.startsWith("create_subtask_")).sort()).toEqual([
      "create_subtask_Team_Reviewer_e0905c",
      "create_subtask_explore",
      "create_subtask_general",
    ]);
    expect(names).toEqual(expect.arrayContaining(["elisha_task", "elisha_task_output", "elisha_task_cancel"]));
  });

  test("a configured agent does a subtask; its parent goes on with the result, and no notice comes", {
    tags: "gate",
  }, async () => {
    const parent = await lab.session();
    lab.model.when(inChild("Review the plan."), text("It is good.\n\nIn detail: yes."));
    lab.model.when("have it reviewed", [
      calls([subtask("review", { intent: "Review the plan." }, "Team_Reviewer_e0905c")]),
      text("reviewed"),
    ]);
    await lab.ask(parent, "have it reviewed");
    const id = await childOf(lab, "Review the plan.");
    expect(await resultsOf(parent, "create_subtask_Team_Reviewer_e0905c")).toEqual([
      {
        taskId: id,
        agentId: "Team Reviewer",
        subTaskStatus: "Success",
        summary: "It is good.",
        finalAssistantMessage: "It is good.\n\nIn detail: yes.",
      },
    ]);
    expect((await api.get(`/v1/tasks/${id}`)).body).toMatchObject({ agent: "Team Reviewer", author: "build" });
    await deliveredByAnswer(id);
    expect(await noticesIn(lab, parent)).toEqual([]);
  });

  test("two levels: each parent waits for its own child", async () => {
    const parent = await lab.session();
    lab.model.when(inChild("inner work"), text("inner answer"));
    lab.model.when(inChild("outer work"), (request) => {
      const [inner] = toolResults(request);
      return inner
        ? text(`outer answer after ${JSON.parse(inner.output).finalAssistantMessage}`)
        : calls([subtask("inner work")]);
    });
    lab.model.when("go deep", [calls([subtask("outer work")]), text("done")]);
    await lab.ask(parent, "go deep");
    const outer = await childOf(lab, "outer work");
    const inner = await childOf(lab, "inner work");
    expect(await resultOf(parent, "create_subtask_general")).toMatchObject({
      taskId: outer,
      subTaskStatus: "Success",
      finalAssistantMessage: "outer answer after inner answer",
    });
    expect((await api.get(`/v1/tasks/${inner}`)).body).toMatchObject({ parentTaskId: outer, author: "general" });
    expect((await api.get(`/v1/tasks/${outer}`)).body).toMatchObject({ childTaskIds: [inner] });
    for (const task of [inner, outer]) await deliveredByAnswer(task);
    for (const session of [parent, outer]) expect(await noticesIn(lab, session)).toEqual([]);
  });

  test("subagents-and-subtasks › Practical UI Requirement › a subtask asks a permission while its parent waits; answered over the API, it goes on, and the parent after it", async () => {
    const parent = await lab.session();
    let child = "";
    lab.model.when(inChild("clean the build"), shell);
    lab.model.when(
      isBack(() => child, "bash"),
      text("cleaned"),
    );
    lab.model.when("clean and wait", [calls([subtask("clean the build")]), text("all clean")]);
    await lab.prompt(parent, "clean and wait");
    child = await childOf(lab, "clean the build");
    const attention = await lab.until(async () => (await api.get(`/v1/tasks/${child}`)).body.attention, {
      what: "the task waits for a person",
    });
    expect(attention).toMatchObject({ kind: "permission", what: expect.stringContaining("bash: echo clean") });
    expect(await isIdle(parent)).toBe(false);
    expect(await resultsOf(parent, "create_subtask_general")).toEqual([]);
    const once = { requestId: attention.requests[0].id, reply: "once" };
    const answered = await api.post(`/v1/tasks/${child}/answers`, once);
    expect(answered.status).toBe(200);
    expect(answered.body).not.toHaveProperty("attention");
    expect((await api.post(`/v1/tasks/${child}/answers`, once)).status).toBe(409);
    expect(await resultOf(parent, "create_subtask_general")).toMatchObject({ finalAssistantMessage: "cleaned" });
    await lab.until(async () => (await lab.texts(parent)).includes("assistant: all clean"), {
      what: "the parent goes on",
    });
  });

  test("a parent aborted while it waits has its answer, and the subtask is cancelled; nobody is woken", {
    tags: "gate",
  }, async () => {
    const parent = await lab.session();
    lab.model.when(inChild("work without end"), hang());
    lab.model.when("wait for ever", [calls([subtask("work without end")]), text("never said")]);
    await lab.prompt(parent, "wait for ever");
    const child = await childOf(lab, "work without end");
    await lab.client.session.abort({ sessionID: parent });
    expect(await resultOf(parent, "create_subtask_general")).toMatchObject({ taskId: child, subTaskStatus: "Cancel" });
    const isCancelled = async () => (await api.get(`/v1/tasks/${child}`)).body.status === "cancelled";
    await lab.until(isCancelled, { what: "the subtask is cancelled" });
    await lab.until(async () => (await isIdle(child)) && (await isIdle(parent)), { what: "both rest" });
    expect(await noticesIn(lab, parent)).toEqual([]);
    await deliveredByAnswer(child);
    expect(await noticesIn(lab, parent)).toEqual([]);
  });
});

test("in opencode run a subtask is launched and waited for by its very first call, and the run ends with its result", async () => {
  lab.model.when("run it through", (request) => {
    const [result] = toolResults(request);
    return result ? text(result.output) : calls([subtask("count in the shell")]);
  });
  lab.model.when(inChild("count in the shell"), text("There are 12.", { delayMs: 1_000 }));
  const run = await runOpenCode({ plugins: lab.options.plugins, modelURL: lab.model.url, message: "run it through" });
  const said = run.events.findLast(({ type }) => type === "text")?.part?.text ?? "";
  expect(JSON.parse(said)).toMatchObject({ subTaskStatus: "Success", finalAssistantMessage: "There are 12." });
});

describe("what holds a task up", () => {
  const attentionOf = (taskId: string) =>
    lab.until(async () => (await api.get(`/v1/tasks/${taskId}`)).body.attention, { what: "it waits for a person" });

  test("a question with choices: an answer that does not fit is refused, one that does goes to the child", async () => {
    const parent = await lab.session();
    let child = "";
    const question = {
      question: "Which one?",
      header: "File",
      options: [
        { label: "a.ts", description: "the first" },
        { label: "b.ts", description: "the second" },
      ],
    };
    lab.model.when(inChild("choose a file"), calls([{ name: "question", args: { questions: [question] } }]));
    lab.model.when(
      (request) => request.sessionID === child && toolResults(request).at(-1)?.name === "question",
      (request) => text(`asked: ${toolResults(request).at(-1)?.output}`),
    );
    lab.model.when("have one chosen", [
      calls([launching("choose a file", { agent: "Team Reviewer" })]),
      text("launched"),
    ]);
    await lab.ask(parent, "have one chosen");
    child = await childOf(lab, "choose a file");
    const attention = await attentionOf(child);
    expect(attention).toMatchObject({
      kind: "question",
      what: "Which one?",
      requests: [{ questions: [{ question: "Which one?", options: ["a.ts", "b.ts"], multiple: false, custom: true }] }],
    });
    const answer = (body: object) =>
      api.post(`/v1/tasks/${child}/answers`, { requestId: attention.requests[0].id, ...body });
    expect((await answer({ reply: "once" })).body.error).toContain("is a question");
    expect((await answer({ answers: [["a.ts", "b.ts"]] })).status).toBe(409);
    expect((await answer({ answers: [["b.ts"]] })).status).toBe(200);
    const notice = await lab.until(async () => (await noticesIn(lab, parent))[0], { what: "the parent is notified" });
    expect(notice.hidden).toContain("b.ts");
  });

  test("a permission that is rejected, in OpenCode without a word or over the API: the child goes on without it", async () => {
    const parent = await lab.session();
    const prompts = ["tidy up in the house", "tidy up in the yard"];
    for (const prompt of prompts) {
      lab.model.when(
        (request) => request.parentSessionID !== undefined && lastUserText(request) === prompt,
        (request) =>
          toolResults(request).length === 0 ? shell : text(`without: ${toolResults(request).at(-1)?.output}`),
      );
    }
    const [house = "", yard = ""] = await launchFrom(lab, parent, prompts);
    const inHouse = (await attentionOf(house)).requests[0].id;
    const inYard = (await attentionOf(yard)).requests[0].id;
    await lab.client.permission.reply({ requestID: inHouse, reply: "reject" });
    await api.post(`/v1/tasks/${yard}/answers`, { requestId: inYard, reply: "reject", message: "Leave the yard." });
    const hidden = async () => (await noticesIn(lab, parent)).map((notice) => notice.hidden).join("\n");
    await lab.until(async () => (await noticesIn(lab, parent)).length === 2, { what: "both are delivered" });
    expect(await hidden()).toMatch(/without: .*rejected permission/);
    expect(await hidden()).toMatch(/without: .*Leave the yard\./s);
    expect(await hidden()).not.toMatch(/^Task \S+ failed\.$/m);
  });

  test("a permission that a session below a child asks: the task is held up, the person notified, and a cancel rejects it", {
    tags: "gate",
  }, async () => {
    const parent = await lab.session();
    lab.model.when(
      (request) => request.parentSessionID !== undefined && lastUserText(request) === "help cleaning",
      shell,
    );
    lab.model.when(
      inChild("have it cleaned by a helper"),
      calls([{ name: "task", args: { description: "help", prompt: "help cleaning", subagent_type: "general" } }]),
    );
    const [child = ""] = await launchFrom(lab, parent, ["have it cleaned by a helper"]);
    const attention = await attentionOf(child);
    expect(attention.what).toMatch(/^bash: echo clean .*\(asked by ses_\w+, a subagent of this task\)$/);
    await lab.until(
      async () =>
        (await lab.texts(parent)).some((line) => /cli\.js answer per_\w+ <once\|always\|reject>$/m.test(line)),
      {
        what: "the person is notified",
      },
    );
    expect((await lab.client.permission.list()).data).toHaveLength(1);
    await api.post(`/v1/tasks/${child}/cancel`);
    expect((await lab.client.permission.list()).data).toEqual([]);
    expect((await api.get(`/v1/tasks/${child}`)).body).toMatchObject({ status: "cancelled" });
  });
});

test("a session below a child is deleted while it asks: its request goes with it, and the task goes on", async () => {
  const parent = await lab.session();
  const work = hang();
  lab.model.when(inChild("work beside a helper"), work);
  const [child = ""] = await launchFrom(lab, parent, ["work beside a helper"]);
  const helper = await lab.session({ parentID: child });
  lab.model.when(inChild("clean up, helper"), shell);
  await lab.prompt(helper, "clean up, helper");
  const attention = async () => (await api.get(`/v1/tasks/${child}`)).body.attention;
  await lab.until(attention, { what: "the task is held up" });
  await lab.client.session.delete({ sessionID: helper });
  const isClosed = async () => (await lab.client.permission.list()).data?.length === 0 && !(await attention());
  await lab.until(isClosed, { what: "the request is gone" });
  work.release(text("done"));
  await notified(lab, parent, [child]);
});

test("in opencode run what resumed tasks ask is rejected at once: it answers only for sessions it saw made, and no questions", async () => {
  const parent = await lab.session();
  const [cleaner = ""] = await launchFrom(lab, parent, ["wait for the broom"]);
  const asker = ours("task", { description: "asker", prompt: "wait for a choice", agent: "Team Reviewer" });
  lab.model.when("launch the asker", [calls([asker]), text("launched")]);
  await lab.ask(parent, "launch the asker");
  const chooser = await childOf(lab, "wait for a choice");
  await notified(lab, parent, [cleaner, chooser]);
  const question = { question: "Which?", header: "h", options: [{ label: "a", description: "" }] };
  const asks = new Map([
    [cleaner, shell],
    [chooser, calls([{ name: "question", args: { questions: [question] } }])],
  ]);
  lab.model.when(
    (request) => asks.has(request.sessionID) && lastUserText(request) === "go on",
    (request) =>
      (toolResults(request).length === 0 && asks.get(request.sessionID)) || text(`without ${request.sessionID}`),
  );
  const resumes = [cleaner, chooser].map((id) => ours("task", { resume: id, prompt: "go on" }));
  const reads = [cleaner, chooser].map((id) => ours("output", { task_id: id, block: true }));
  lab.model.when(wasAsked("go on in the shell"), (request) => {
    const results = toolResults(request).map(({ output }) => output);
    const begun = results.filter((output) => output.includes("resumed")).length;
    return results.some((output) => output.includes("without")) ? text("done") : calls(begun === 0 ? resumes : reads);
  });
  const run = await runOpenCode({
    plugins: lab.options.plugins,
    modelURL: lab.model.url,
    home: lab.options.home,
    config,
    args: ["--session", parent],
    message: "go on in the shell",
  });
  expect(run.timedOut).toBe(false);
  const outputs = run.events.flatMap(({ part }) => part?.state?.output ?? []).join("\n");
  for (const id of [cleaner, chooser]) expect(outputs).toContain(`without ${id}`);
});

test("the plan agent, which OpenCode keeps from general, gets it by none of our tools; and explore by all", async () => {
  const parent = await lab.session();
  const ways = (agent: string) => [
    launching("plan it", { agent }),
    elisha("task", { title: "plan it", agent, prompt: "plan it", async: true }),
    subtask("plan it", {}, agent),
  ];
  lab.model.when("plan with general", [calls(ways("general")), text("planned")]);
  await lab.ask(parent, "plan with general", { agent: "plan" });
  const request = lab.model.requests.findLast(({ sessionID }) => sessionID === parent);
  const results = request ? toolResults(request) : [];
  expect(results.map(({ output }) => output)).toEqual(
    Array(3).fill(expect.stringContaining("rule which prevents you")),
  );
  const children = async () => (await lab.client.session.children({ sessionID: parent })).data;
  expect(await children()).toEqual([]);
  lab.model.when("plan with explore", [calls(ways("explore")), text("planned")]);
  await lab.ask(parent, "plan with explore", { agent: "plan" });
  expect(await children()).toHaveLength(3);
});

describe("elisha", () => {
  const task = (prompt: string, more = {}) => elisha("task", { title: prompt, agent: "general", prompt, ...more });

  test("elisha_task waits for the result, in JSON", { tags: "gate" }, async () => {
    const parent = await lab.session();
    lab.model.when(inChild("count in JSON"), text("There are 12."));
    lab.model.when("ask elisha", [calls([task("count in JSON")]), text("done")]);
    await lab.ask(parent, "ask elisha");
    expect(await resultsOf(parent, "elisha_task")).toEqual([
      {
        status: "completed",
        task_id: await childOf(lab, "count in JSON"),
        agent: "general",
        title: "count in JSON",
        result: "There are 12.",
      },
    ]);
    await deliveredByAnswer(await childOf(lab, "count in JSON"));
    expect(await noticesIn(lab, parent)).toEqual([]);
  });

  test("async it returns at once; a wait times out, and the task goes on until it is cancelled", {
    tags: "gate",
  }, async () => {
    const parent = await lab.session();
    lab.model.when(inChild("think for ever"), hang());
    lab.model.when("ask elisha later", (request) => {
      const results = toolResults(request);
      const id = results[0] && JSON.parse(results[0].output).task_id;
      return (
        [
          calls([task("think for ever", { async: true })]),
          calls([elisha("task_output", { task_id: id, wait: true, timeout: 300 })]),
          calls([elisha("task_cancel", { task_id: id })]),
        ][results.length] ?? text("done")
      );
    });
    await lab.ask(parent, "ask elisha later");
    const id = await childOf(lab, "think for ever");
    const common = { task_id: id, agent: "general", title: "think for ever" };
    expect(await resultsOf(parent, "elisha_task")).toEqual([{ status: "running", ...common }]);
    expect(await resultsOf(parent, "elisha_task_output")).toEqual([
      { status: "running", ...common, error: "Still running after 300ms. The task continues.", code: "TIMEOUT" },
    ]);
    expect(await resultsOf(parent, "elisha_task_cancel")).toEqual([{ status: "cancelled", ...common }]);
    expect(await isIdle(id)).toBe(true);
    await deliveredByAnswer(id);
    expect(await noticesIn(lab, parent)).toEqual([]);
  });
});

test("what a forked task asks waits in its parent's conversation for the person alone; the command answers it", async () => {
  const parent = await lab.session();
  const prompt = "clean in a fork";
  const inFork = (request: ModelRequest) =>
    request.sessionID !== parent && textOf(request.messages.at(-1) ?? { role: "user" }).includes(prompt);
  let child = "";
  lab.model.when("have a fork clean", [
    calls([ours("task", { description: "fork", prompt, agent: "general", fork: true })]),
    text("launched"),
  ]);
  lab.model.when(inFork, (request) => {
    child = request.sessionID;
    return shell;
  });
  lab.model.when(
    isBack(() => child, "bash"),
    text("cleaned"),
  );
  await lab.ask(parent, "have a fork clean");
  const isMessage = (line: string) => /cli\.js answer per_\w+ <once\|always\|reject>$/m.test(line);
  const message = await lab.until(async () => (await lab.texts(parent)).find(isMessage), {
    what: "the person is notified",
  });
  expect(message).toContain(`Agent "fork" (general) asks permission for bash: echo clean`);
  expect(await isIdle(parent)).toBe(true);
  const main = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, [main, "answer", ...args, "--data", dataFolder(lab)]);
  const [, request = ""] = /cli\.js answer (per_\w+) </.exec(message) ?? [];
  expect((await run(child)).stdout).toContain(`answer ${request} <once|always|reject>`);
  expect((await run(request, "once")).stdout).toContain("Answered.");
  const notice = await lab.until(async () => (await noticesIn(lab, parent))[0], { what: "the parent is notified" });
  expect(notice.hidden).toContain("cleaned");
  await lab.until(() => isIdle(parent), { what: "the parent rests" });
  const seen = lab.model.requests.filter(({ sessionID }) => sessionID === parent);
  expect(seen.some((request) => JSON.stringify(request.messages).includes("cli.js answer"))).toBe(false);
});

describe("arguments that are wrong, which OpenCode hands on as the model sent them", () => {
  test("one tool of each toolset says what is wrong in its own form, and does nothing; the agent reads it and goes on", {
    tags: "gate",
  }, async () => {
    const parent = await lab.session();
    lab.model.when(inChild("keep on"), hang());
    const [id = ""] = await launchFrom(lab, parent, ["keep on"]);
    lab.model.when("say it wrong", [
      calls([
        ours("cancel", { all: "false" }),
        ours("clear", { taskid: id }),
        ours("list", { status: "paused" }),
        launching("x", { agent: "wizard" }),
        ours("output", { task_id: "ses_nowhere" }),
        elisha("task_output", {}),
        elisha("task", { title: "t", agent: "general", prompt: "p", async: "soon" }),
        { name: "create_subtask_general", args: {} },
        { name: "create_subtask_general", args: { title: "t", artifactRefs: [{ path: "a\nb" }] } },
      ]),
      text("I see"),
    ]);
    await lab.ask(parent, "say it wrong");
    const seen = lab.model.requests.findLast(({ sessionID }) => sessionID === parent);
    const answers = (seen ? toolResults(seen) : []).slice(-9).map(({ output }) => output);
    expect(answers).toEqual([
      expect.stringContaining("exactly one of task_id, batch_id and all: none given"),
      expect.stringContaining('There is no argument "taskid". Arguments: task_id, batch_id.'),
      expect.stringContaining('status is "paused", but must be one of "running", "completed"'),
      expect.stringMatching(/There is no agent "wizard"\. Agents: .*general/),
      expect.stringContaining('has no task "ses_nowhere"'),
      JSON.stringify({ status: "failed", error: "task_id is missing: it must be a string.", code: "SESSION_ERROR" }),
      JSON.stringify({ status: "failed", error: 'async is "soon", but must be true or false.', code: "SESSION_ERROR" }),
      expect.stringContaining("title is missing: it must be a string."),
      expect.stringContaining('artifactRefs holds {"path":"a\\nb"}, but each must be a line of text'),
    ]);
    expect((await lab.texts(parent)).at(-1)).toBe("assistant: I see");
    expect((await api.get(`/v1/tasks/${id}`)).body).toMatchObject({ status: "running" });
    expect((await lab.client.session.children({ sessionID: parent })).data).toHaveLength(1);
    await api.post(`/v1/tasks/${id}/cancel`);
  });
});

describe("a subtask", () => {
  test("that speaks and then fails answers with both; artifacts and priority may come as Coauthor has them", async () => {
    const parent = await lab.session();
    const prompt =
      "count and fail\n\nArtifacts for this, as references:\n- docs/plan.md (kind: file_range, lineStart: 3)";
    lab.model.when(inChild(prompt), (request) =>
      toolResults(request).length > 0
        ? failure(400, "no more")
        : calls([{ name: "glob", args: { pattern: "*" } }], { text: "So far there are 7." }),
    );
    const artifactRefs = [{ kind: "file_range", path: "docs/plan.md", lineStart: 3 }];
    lab.model.when("have it counted", [
      calls([subtask("count and fail", { artifactRefs, priority: "high" })]),
      text("done"),
    ]);
    await lab.ask(parent, "have it counted");
    const [result] = await resultsOf(parent, "create_subtask_general");
    expect(result).toMatchObject({ subTaskStatus: "Error", finalAssistantMessage: "So far there are 7." });
    expect(result?.failureReason).toContain("no more");
    expect((await api.get(`/v1/tasks/${result?.taskId}`)).body).toMatchObject({ priority: 1 });
    await deliveredByAnswer(String(result?.taskId));
    expect(await noticesIn(lab, parent)).toEqual([]);
  });

  test("whose answer is too long for the host is read on, and the tools' definitions stay small", {
    tags: "gate",
  }, async () => {
    const parent = await lab.session();
    const whole = "wörds ".repeat(15_000).trim();
    lab.model.when(inChild("write a book"), text(whole));
    lab.model.when(
      (request) => request.sessionID === parent,
      (request) => {
        const results = toolResults(request).map(({ output }) => JSON.parse(output).finalAssistantMessage as string);
        const offset = /offset=(\d+)\)\.\]$/.exec(results.at(-1) ?? "")?.[1];
        if (results.length === 0) return calls([subtask("write a book")]);
        const [result] = toolResults(request);
        const taskId = JSON.parse(result?.output ?? "{}").taskId;
        return offset ? calls([{ name: "read_subtask", args: { taskId, offset } }]) : text("read");
      },
    );
    await lab.ask(parent, "have a book written");
    const [first] = await resultsOf(parent, "create_subtask_general");
    const others = await resultsOf(parent, "read_subtask");
    const pieces = [first, ...others].map((result) => String(result?.finalAssistantMessage));
    expect(others.length).toBeGreaterThan(0);
    expect(pieces.map((piece) => piece.replace(/\n\[Characters .*\]$/, "")).join("")).toBe(whole);
    const tools = lab.model.requests.findLast(({ sessionID }) => sessionID === parent)?.tools ?? [];
    const bytes = (beginning: string) =>
      Buffer.byteLength(JSON.stringify(tools.filter((tool) => tool.function.name.startsWith(beginning))));
    expect(bytes("asyncagents_")).toBeLessThanOrEqual(3_200);
    expect(bytes("elisha_")).toBeLessThanOrEqual(1_600);
    expect(bytes("create_subtask_general")).toBeLessThanOrEqual(800);
    expect(bytes("read_subtask")).toBeLessThanOrEqual(400);
  });
});

describe("an agent whose conversation overflows while three tasks run", () => {
  test("does not forget them: the compaction is given them, and one synthetic message reminds of them", async () => {
    const parent = await lab.session();
    const works = ["first long work", "second long work", "third long work"];
    for (const work of works) lab.model.when(inChild(work), hang());
    const ids = await launchFrom(lab, parent, works);
    const isSummary = (request: ModelRequest) =>
      request.sessionID === parent &&
      request.tools.length === 0 &&
      JSON.stringify(request.messages).includes("<task-context>");
    lab.model.when(isSummary, text("THE SUMMARY"));
    lab.model.when("fill it up", text("full", { tokens: { input: 99_000, output: 10 } }));
    await lab.ask(parent, "fill it up");
    const compaction = await lab.model.waitFor(isSummary);
    for (const id of ids) expect(JSON.stringify(compaction.messages)).toContain(id);
    const isReminder = (line: string) => line.startsWith("user (synthetic): <task-context>");
    const reminders = async () => (await lab.texts(parent)).filter(isReminder);
    const [reminder] = await lab.until(async () => (await reminders()).length > 0 && reminders(), {
      what: "it is reminded",
    });
    for (const id of ids) expect(reminder).toContain(`- ${id} "about `);
    // OpenCode has it go on by itself, once: it is reminded even then, and the message that stays costs no further turn.
    const since = () =>
      lab.model.requests.filter(({ sessionID, at }) => sessionID === parent && at > compaction.at).map(lastUserText);
    expect(since()).toEqual([expect.stringContaining("<task-context>")]);
    lab.model.when("and now?", text("I wait for three tasks."));
    await lab.ask(parent, "and now?");
    expect(since()).toHaveLength(2);
    expect(await reminders()).toHaveLength(1);
    for (const id of ids) expect(since()[1]).toContain(id);
    for (const id of ids) await api.post(`/v1/tasks/${id}/cancel`);
  });
});

test("a subtask that waits for its own is killed with OpenCode: it does not launch that again, and is notified of its end", async () => {
  const parent = await lab.session();
  const inner = hang();
  lab.model.when(inChild("inner count"), inner);
  lab.model.when(
    (request) => request.parentSessionID === parent,
    (request) => {
      const seen = JSON.stringify(request.messages);
      if (seen.includes("There are 12.")) return text("The outer answer is 12.");
      return seen.includes("<task-context>") ? text("I wait for it.") : calls([subtask("inner count")]);
    },
  );
  lab.model.when("count deep", [calls([subtask("outer count")]), text("never said")]);
  await lab.prompt(parent, "count deep");
  await childOf(lab, "inner count");
  const { data: [outer] = [] } = await lab.client.session.children({ sessionID: parent });
  await lab.opencode.kill();
  await lab.restart();
  await served(lab);
  await lab.client.session.list();
  const isReminded = ({ sessionID, messages }: ModelRequest) =>
    sessionID === outer?.id && JSON.stringify(messages).includes("<task-context>");
  await lab.model.waitFor(isReminded);
  inner.release(text("There are 12."));
  const notice = await lab.until(async () => (await noticesIn(lab, parent))[0], {
    what: "the parent is notified",
  });
  expect(notice.hidden).toContain("The outer answer is 12.");
  expect((await lab.client.session.children({ sessionID: outer?.id ?? "" })).data).toHaveLength(1);
  expect(await noticesIn(lab, parent)).toHaveLength(1);
});

test("with onParentCancel: detach a subtask outlives the turn that waited for it, and its result is delivered", async () => {
  await lab.restart({ plugin: plugin({ subtasks: { onParentCancel: "detach" } }) });
  await served(lab);
  const parent = await lab.session();
  const work = hang();
  lab.model.when(inChild("work that is let go"), work);
  lab.model.when("wait a while", [calls([subtask("work that is let go")]), text("never said")]);
  await lab.prompt(parent, "wait a while");
  const child = await childOf(lab, "work that is let go");
  await lab.client.session.abort({ sessionID: parent });
  expect(await resultOf(parent, "create_subtask_general")).toMatchObject({ taskId: child, subTaskStatus: "Cancel" });
  work.release(text("There are 12."));
  const [notice] = await notified(lab, parent, [child]);
  expect(notice?.hidden).toContain("There are 12.");
});
