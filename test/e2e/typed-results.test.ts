import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { lastUserText, type ModelRequest, toolResults } from "./lab/model-request.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { served, statusApi } from "./status-api.ts";
import { launching, notified } from "./tasks-and-notices.ts";

const built = new URL("../../", import.meta.url).href;

const SCHEMA = { type: "object", required: ["files"], properties: { files: { type: "array" } } };

const plugin: [string, Record<string, unknown>] = [
  built,
  { toolsets: ["tasks", "elisha"], schema: { agents: { general: SCHEMA } } },
];

let lab: Lab;

setUp(async () => {
  lab = await startLab({ plugin });
  return () => lab.stop();
});

const taskOf = async (id: string) => {
  await served(lab);
  return (await statusApi(lab).get(`/v1/tasks/${id}`)).body;
};

/** The request of a child whose newest message begins with these words. */
const asked =
  (words: string) =>
  (request: ModelRequest): boolean =>
    request.parentSessionID !== undefined && lastUserText(request).startsWith(words);

/** The request of a child whose answer to that prompt was given back. */
const givenBack =
  (prompt: string) =>
  (request: ModelRequest): boolean =>
    asked("Automated message.")(request) && JSON.stringify(request.messages).includes(prompt);

/** Launches a task with this prompt. */
const launch = async (parent: string, prompt: string): Promise<string> => {
  lab.model.when(`launch ${prompt}`, [calls([launching(prompt)]), text("launched")]);
  await lab.ask(parent, `launch ${prompt}`);
  return (await lab.model.waitFor(asked(prompt))).sessionID;
};

const userMessages = async (id: string) => (await lab.messages(id)).filter(({ info }) => info.role === "user");

test("an answer that does not fit is given back once, and the result is the JSON of the next one", {
  tags: "gate",
}, async () => {
  const parent = await lab.session();
  lab.model.when(asked("find the files"), text("There is a.ts."));
  lab.model.when(givenBack("find the files"), text('```json\n{ "files": ["a.ts"] }\n```'));
  const id = await launch(parent, "find the files");
  const notices = await notified(lab, parent, [id]);
  expect(notices).toHaveLength(1);
  expect(notices[0]?.hidden).toContain('> { "files": ["a.ts"] }\n</task_result>');
  expect(await taskOf(id)).toMatchObject({
    status: "completed",
    prompt: "find the files",
    result: '{ "files": ["a.ts"] }',
    schema: SCHEMA,
  });
  const [first, second] = await userMessages(id);
  expect(JSON.stringify(first)).toContain("one JSON value that fits this JSON Schema");
  expect(JSON.stringify(second)).toContain('- \\"it is not JSON\\"');
});

test("an answer that never fits fails the run, with the words kept, and is delivered once", async () => {
  const parent = await lab.session();
  lab.model.when(asked("count the files"), text("There are two."));
  lab.model.when(givenBack("count the files"), text('{"files": 2}'));
  const id = await launch(parent, "count the files");
  const notices = await notified(lab, parent, [id]);
  expect(notices).toHaveLength(1);
  expect(notices[0]?.hidden).toContain("did not match the required JSON Schema: /files must be array.");
  expect(await taskOf(id)).toMatchObject({ status: "error", error: { kind: "schema" }, result: '{"files": 2}' });
});

test("after a crash while an answer is given back, the child has it once, and its end is delivered once", async () => {
  const parent = await lab.session();
  lab.model.when(asked("list the files"), text("a.ts and b.ts"));
  lab.model.when(givenBack("list the files"), hang());
  const id = await launch(parent, "list the files");
  await lab.model.waitFor(givenBack("list the files"));
  await lab.opencode.kill();
  lab.model.when(givenBack("list the files"), text('{"files": ["a.ts", "b.ts"]}'));
  await lab.restart();
  const notices = await notified(lab, parent, [id]);
  expect(notices).toHaveLength(1);
  expect(await taskOf(id)).toMatchObject({ status: "completed", result: '{"files": ["a.ts", "b.ts"]}' });
  expect(await userMessages(id)).toHaveLength(2);
});

test("elisha_task takes a schema of its own, and answers with JSON in its result", async () => {
  const parent = await lab.session();
  const args = { title: "Add", agent: "explore", prompt: "add 1 and 2", schema: { type: "integer" } };
  lab.model.when(asked("add 1 and 2"), text("3"));
  lab.model.when("do the sum", [calls([{ name: "elisha_task", args }]), text("done")]);
  await lab.ask(parent, "do the sum");
  const answer = await lab.model.waitFor((request) => toolResults(request).some(({ name }) => name === "elisha_task"));
  expect(JSON.parse(toolResults(answer)[0]?.output ?? "")).toMatchObject({ status: "completed", result: "3" });
});

test("a schema that is none is refused at the launch, with what is wrong", async () => {
  const parent = await lab.session();
  const args = { title: "Add", agent: "explore", prompt: "add 3 and 4", schema: { type: "number", minmum: 3 } };
  lab.model.when("do another sum", [calls([{ name: "elisha_task", args }]), text("done")]);
  await lab.ask(parent, "do another sum");
  const answer = await lab.model.waitFor(
    (request) => request.sessionID === parent && toolResults(request).some(({ name }) => name === "elisha_task"),
  );
  expect(JSON.parse(toolResults(answer)[0]?.output ?? "")).toEqual({
    status: "failed",
    code: "SESSION_ERROR",
    error: 'This is not a usable JSON Schema: "strict mode: unknown keyword: \\"minmum\\"". Nothing was launched.',
  });
});

test("a schema and an answer that are made to use up all memory are bounded: the launch, or the run, says why", async () => {
  const parent = await lab.session();
  const hostile = (schemas: number) => ({
    items: { anyOf: Array.from({ length: schemas }, () => ({ type: "string" })) },
  });
  const adding = (schemas: number) => ({
    name: "elisha_task",
    args: { title: "Add", agent: "explore", prompt: `add up ${schemas}`, schema: hostile(schemas), async: true },
  });
  lab.model.when("try both", [calls([adding(900), adding(480)]), text("done")]);
  const answer = text(JSON.stringify(Array.from({ length: 12_000 }, () => 1)));
  lab.model.when(asked("add up 480"), answer);
  lab.model.when(givenBack("add up 480"), answer);
  await lab.ask(parent, "try both");
  const told = await lab.model.waitFor(
    (request) =>
      request.sessionID === parent && toolResults(request).filter(({ name }) => name === "elisha_task").length > 1,
  );
  const [refused] = toolResults(told).map(({ output }) => JSON.parse(output));
  expect(refused.error).toContain("it has 902 schemas and dependent names within, and at most 500 are taken");
  const { sessionID: id } = await lab.model.waitFor(asked("add up 480"));
  expect(await notified(lab, parent, [id])).toHaveLength(1);
  const { error } = await taskOf(id);
  expect(error).toMatchObject({
    kind: "schema",
    message: expect.stringContaining("it cannot be checked: more than 10000 of its parts do not fit"),
  });
});

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** A plugin by which OpenCode is killed when an answer with this JSON is read. */
const deadly = (json: string) => `
const { parse } = JSON;
export default async () => {
  JSON.parse = (text, ...more) => {
    if (text === ${JSON.stringify(json)}) process.kill(process.pid, "SIGKILL");
    return parse(text, ...more);
  };
  return {};
};
`;

test("a check of an answer that kills OpenCode each time is not begun a fourth time: the run ends, and says so once", async () => {
  const answer = '"kills OpenCode"';
  const source = join(lab.options.home, "deadly.mjs");
  writeFileSync(source, deadly(answer));
  await lab.restart({ config: { plugin: [plugin, pathToFileURL(source).href] } });
  const parent = await lab.session();
  const args = { title: "Say", agent: "explore", prompt: "say it", schema: { type: "string" }, async: true };
  lab.model.when(asked("say it"), text(answer));
  lab.model.when("have it said", [calls([{ name: "elisha_task", args }]), text("done")]);
  await lab.prompt(parent, "have it said");
  const { sessionID: id } = await lab.model.waitFor(asked("say it"));
  for (let end = 0; end < 3; end += 1) {
    await lab.until(() => !isAlive(lab.opencode.pid), {
      what: `OpenCode is killed, time ${end + 1}`,
    });
    // It may be killed before it listens.
    await lab.restart().catch(() => undefined);
  }
  expect(await notified(lab, parent, [id])).toHaveLength(1);
  expect(await taskOf(id)).toMatchObject({
    status: "error",
    result: answer,
    error: { kind: "schema", message: expect.stringContaining("OpenCode ended 3 times in a row meanwhile") },
  });
});
