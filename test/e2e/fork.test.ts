import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { type ModelRequest, textOf, toolResults } from "./lab/model-request.ts";
import { runOpenCode } from "./lab/opencode-run.ts";
import { calls, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { noticesIn, ours, wasAsked } from "./tasks-and-notices.ts";

const repository = new URL("../..", import.meta.url).href;

let lab: Lab;

setUp(async () => {
  lab = await startLab({ plugin: [repository, { fork: { maxTokens: 2_000 } }] });
  return () => lab.stop();
});

const forking = (prompt: string) => ours("task", { description: "fork", prompt, agent: "general", fork: true });

/** What a model was sent, without the system prompt: role and text of each message. */
const conversation = ({ messages }: ModelRequest) =>
  messages.filter(({ role }) => role !== "system").map((message) => `${message.role}: ${textOf(message)}`);

/** Has the parent's agent fork a task, and resolves to the first request of the task's model. */
const fork = async (parent: string, prompt: string): Promise<ModelRequest> => {
  const word = `fork for ${prompt}`;
  lab.model.when(
    (request) => request.sessionID !== parent && conversation(request).at(-1) === `user: ${prompt}`,
    text("forked answer"),
  );
  lab.model.when(
    (request) =>
      request.sessionID === parent &&
      textOf(request.messages.findLast(({ role }) => role === "user") ?? { role: "user" }) === word,
    [calls([forking(prompt)]), text("launched")],
  );
  await lab.ask(parent, word);
  return lab.model.waitFor(
    (request) => request.sessionID !== parent && conversation(request).some((line) => line.includes(prompt)),
  );
};

test("a forked task's model sees the conversation up to the launch, long results cut, with a preamble", {
  tags: "gate",
}, async () => {
  const parent = await lab.session();
  const file = join(lab.opencode.project, "long.txt");
  await writeFile(file, "a line of some length, again and again\n".repeat(150));
  lab.model.when("read the long file", [calls([{ name: "read", args: { filePath: file } }]), text("It is long.")]);
  await lab.ask(parent, "read the long file");
  const before = await lab.messages(parent);
  const request = await fork(parent, "say what you saw");
  const seen = conversation(request);
  expect(seen[0]).toBe("user: read the long file");
  const [result] = toolResults(request);
  expect(result?.name).toBe("read");
  expect(result?.output).toMatch(/\[Truncated: \d{4} characters originally\]$/);
  expect(result?.output.length).toBeLessThan(1_600);
  expect(JSON.stringify(request.messages)).toContain("long.txt");
  const rest = seen.slice(seen.indexOf("assistant: It is long."));
  expect(rest[1]).toBe("user: fork for say what you saw");
  expect(rest.join("\n")).toContain("context may be truncated");
  expect(rest.join("\n")).toContain("Long texts that were shortened in it: 1.");
  expect(rest.at(-1)).toContain("say what you saw");
  // The parent's own conversation is as it was.
  expect((await lab.messages(parent)).slice(0, before.length)).toEqual(before);
  await lab.until(async () => (await noticesIn(lab, parent)).length === 1, { what: "the parent is notified" });
  expect((await noticesIn(lab, parent))[0]?.hidden).toContain("forked answer");
});

test("of a conversation that is too long the oldest messages are left out", async () => {
  const parent = await lab.session();
  for (const turn of ["first", "second", "third"]) {
    lab.model.when(`the ${turn} turn`, text(`${turn} answer ${"word ".repeat(700)}`));
    await lab.ask(parent, `the ${turn} turn`);
  }
  const seen = conversation(await fork(parent, "sum up the turns")).join("\n");
  expect(seen).not.toContain("the first turn");
  expect(seen).toContain("the third turn");
  expect(seen).toMatch(/The oldest \d+ messages are left out/);
});

test("a fork of a compacted conversation begins with its summary", async () => {
  const parent = await lab.session();
  lab.model.when("before the summary", text(`old answer ${"word ".repeat(3_000)}`));
  await lab.ask(parent, "before the summary");
  lab.model.when(
    (request) => request.sessionID === parent && JSON.stringify(request.messages).includes("summar"),
    text("THE SUMMARY of what was said"),
  );
  await lab.client.session.summarize({ sessionID: parent, providerID: "scripted", modelID: "m1" });
  await lab.until(async () => (await lab.texts(parent)).some((line) => line.includes("THE SUMMARY")), {
    what: "it is summed up",
  });
  const seen = conversation(await fork(parent, "go on after the summary")).join("\n");
  expect(seen).toContain("THE SUMMARY");
  expect(seen).not.toContain("old answer");
});

/** Has OpenCode's own database refuse every fork, until it is undone. */
const refuseForks = () => {
  const database = new DatabaseSync(join(lab.options.home, "data", "opencode", "opencode.db"), { timeout: 10_000 });
  database.exec(`CREATE TRIGGER no_forks BEFORE INSERT ON session WHEN NEW.title LIKE '%(fork #%'
    BEGIN SELECT RAISE(ABORT, 'no forks today'); END`);
  return () => {
    database.exec("DROP TRIGGER no_forks");
    database.close();
  };
};

test("when OpenCode cannot fork, the task's model gets the conversation as text, and the agent is notified", async () => {
  const parent = await lab.session();
  lab.model.when("where is the shop?", text("By the harbour."));
  await lab.ask(parent, "where is the shop?");
  const allowForks = refuseForks();
  const seen = conversation(await fork(parent, "find the harbour")).join("\n");
  allowForks();
  expect(seen).toContain("User:\n> where is the shop?\n\nAgent:\n> By the harbour.");
  expect(seen).toContain("context may be truncated");
  expect(seen).not.toContain("assistant: By the harbour.");
  const answer = (await lab.texts(parent)).find((line) => line.includes("as text"));
  expect(answer).toContain("could not fork");
  const notice = await lab.until(async () => (await noticesIn(lab, parent))[0], { what: "the parent is notified" });
  expect(notice.hidden).toContain("forked answer");
  lab.model.when("list the forked", [calls([ours("list")]), text("listed")]);
  await lab.prompt(parent, "list the forked");
  const isListed = (line: string) => line.startsWith("tool asyncagents_list") && line.includes("(forked)");
  await lab.until(async () => (await lab.texts(parent)).some(isListed), { what: "it is listed as forked" });
});

/** In a fork the parent's words are in sight too: only its own prompt, last of all, tells it from the parent. */
const inFork = (prompt: string) => (request: ModelRequest) => conversation(request).at(-1) === `user: ${prompt}`;

const cleaning = calls([{ name: "bash", args: { command: "echo clean", description: "cleans" } }]);

test("what a forked task may not do without a person waits for one, and shows in the list", async () => {
  await lab.restart({ config: { permission: { bash: "ask" } } });
  const parent = await lab.session();
  lab.model.when("have it cleaned", [calls([forking("clean the build")]), text("launched")]);
  lab.model.when(inFork("clean the build"), cleaning);
  await lab.ask(parent, "have it cleaned");
  const asked = await lab.events.waitFor("permission.asked");
  lab.model.when("show the list", [calls([ours("list")]), text("shown")]);
  await lab.ask(parent, "show the list");
  expect(await lab.texts(parent)).toContainEqual(
    expect.stringMatching(/\(forked\) .*waiting for the user to approve: "bash: echo clean"/),
  );
  lab.model.when(
    (request) => request.sessionID !== parent && toolResults(request).at(-1)?.name === "bash",
    text("cleaned"),
  );
  await lab.client.permission.reply({ requestID: asked.properties.id, reply: "once" });
  await lab.until(async () => (await noticesIn(lab, parent)).length === 1, { what: "the parent is notified" });
  expect((await noticesIn(lab, parent))[0]?.hidden).toContain("cleaned");
});

test("in opencode run, where nobody could answer, it is rejected at once, and the task ends", {
  tags: "gate",
}, async () => {
  lab.model.when(wasAsked("shell it"), (request) => {
    const [launched, read] = toolResults(request);
    if (!launched) return calls([forking("clean in the shell")]);
    if (!read) return calls([ours("output", { task_id: /ses_\w+/.exec(launched.output)?.[0], block: true })]);
    return text(read.output);
  });
  lab.model.when(inFork("clean in the shell"), cleaning);
  const run = await runOpenCode({
    plugins: lab.options.plugins,
    modelURL: lab.model.url,
    message: "shell it",
    config: { permission: { bash: "ask" } },
  });
  expect(run.timedOut).toBe(false);
  const read = run.events.findLast(({ type }) => type === "text")?.part?.text ?? "";
  expect(read).toContain("(forked)");
  expect(read).toContain("Status: completed");
});
