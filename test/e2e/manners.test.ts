import { estimateTokenCount } from "tokenx";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { type ModelRequest, textOf } from "./lab/model-request.ts";
import { calls, failure, type HangReply, hang, text } from "./lab/reply.ts";
import { storedTasks } from "./stored.ts";
import { childOf, inChild, launchFrom, launching, noticesIn, notified, ours } from "./tasks-and-notices.ts";

let lab: Lab;

/** A model with a small window, most of which OpenCode's own instructions and tools fill. */
const small = { name: "Small", tool_call: true, limit: { context: 24_000, output: 2_000 } };

beforeAll(async () => {
  const ghost = {
    mode: "subagent" as const,
    hidden: true,
    description: "is not to be picked",
    prompt: "You are a ghost.",
  };
  lab = await startLab({ config: { provider: { scripted: { models: { small } } }, agent: { ghost } } });
});

afterAll(() => lab.stop());

let count = 0;
beforeEach(() => {
  count += 1;
});

/** A conversation with a task at work, which ends when it is released. */
const withTask = async (): Promise<{ parent: string; task: string; work: HangReply }> => {
  const parent = await lab.session();
  const prompt = `job ${count}`;
  const work = hang();
  lab.model.when(inChild(prompt), work);
  const [task = ""] = await launchFrom(lab, parent, [prompt]);
  return { parent, task, work };
};

const isStored = (task: string, status: string) =>
  lab.until(() => storedTasks(lab).some(({ id, ...stored }) => id === task && stored.status === status), {
    what: `${task} is ${status}`,
  });

const userMessages = async (sessionID: string) =>
  (await lab.messages(sessionID)).filter(({ info }) => info.role === "user");

/** The person takes back the newest question, and its answer. Resolves to the ids of all messages, which are still stored. */
const undo = async (sessionID: string): Promise<string[]> => {
  const newest = (await userMessages(sessionID)).at(-1);
  await lab.client.session.revert({ sessionID, messageID: newest?.info.id ?? "" }, { throwOnError: true });
  return idsOf(sessionID);
};

const idsOf = async (sessionID: string) => (await lab.messages(sessionID)).map(({ info }) => info.id);

const stateOf = async (sessionID: string) => (await lab.client.session.get({ sessionID }, { throwOnError: true })).data;

const requestsOf = (sessionID: string) => lab.model.requests.filter((request) => request.sessionID === sessionID);

/** What OpenCode has told last: what is waited for comes after it. */
const newestEvent = () => lab.events.all.at(-1);

const toasted = (words: string, after: ReturnType<typeof newestEvent>) =>
  lab.events.waitFor(
    (event) => event.type === "tui.toast.show" && JSON.stringify(event.properties).includes(words),
    after ? { after } : {},
  );

/** The model request of a session whose newest words are these. */
const asked = (sessionID: string, words: string) => (request: ModelRequest) =>
  request.sessionID === sessionID && request.messages.some((message) => textOf(message).includes(words));

test("what a person took back comes back whole with redo though a task ended meanwhile, and its result follows then", {
  tags: "gate",
}, async () => {
  const { parent, task, work } = await withTask();
  lab.model.when("tell me a joke", text("no"));
  await lab.ask(parent, "tell me a joke");
  const before = await undo(parent);
  const last = newestEvent();
  work.release(text("job done"));
  await toasted("delivered when you redo what you took back", last);
  await isStored(task, "completed");
  expect(await idsOf(parent)).toEqual(before);
  expect((await stateOf(parent)).revert).toBeDefined();
  const requests = requestsOf(parent).length;
  await lab.client.session.unrevert({ sessionID: parent }, { throwOnError: true });
  expect((await notified(lab, parent, [task])).map(({ taskId }) => taskId)).toEqual([task]);
  expect((await idsOf(parent)).slice(0, before.length)).toEqual(before);
  expect(requestsOf(parent).length).toBe(requests + 1);
});

test("after an undo that outlives OpenCode the result waits, and is in the turn of the person's next message, once", async () => {
  const { parent, task, work } = await withTask();
  lab.model.when("tell me a riddle", text("no"));
  await lab.ask(parent, "tell me a riddle");
  const before = await undo(parent);
  work.release(text("job done"));
  await isStored(task, "completed");
  await lab.opencode.kill();
  await lab.restart();
  await lab.session();
  await toasted("delivered when you redo what you took back", undefined);
  expect(await idsOf(parent)).toEqual(before);
  lab.model.when("something else", text("well"));
  await lab.ask(parent, "something else");
  expect((await notified(lab, parent, [task])).map(({ taskId }) => taskId)).toEqual([task]);
  const texts = (await lab.texts(parent)).join("\n");
  expect(texts).not.toContain("riddle");
});

test("an archived conversation pays no turn, and has the result in the turn of the person's next message", {
  tags: "gate",
}, async () => {
  const { parent, task, work } = await withTask();
  await lab.client.session.update({ sessionID: parent, time: { archived: Date.now() } }, { throwOnError: true });
  const before = await idsOf(parent);
  const requests = requestsOf(parent).length;
  const last = newestEvent();
  work.release(text("job done"));
  await toasted("which is archived", last);
  await isStored(task, "completed");
  expect(await idsOf(parent)).toEqual(before);
  expect(requestsOf(parent).length).toBe(requests);
  lab.model.when("are you there", text("yes"));
  await lab.ask(parent, "are you there");
  expect((await notified(lab, parent, [task])).map(({ taskId }) => taskId)).toEqual([task]);
  // In use again, though still in the archive.
  const work2 = hang();
  lab.model.when(inChild("job in the archive"), work2);
  const [later = ""] = await launchFrom(lab, parent, ["job in the archive"]);
  work2.release(text("done too"));
  await notified(lab, parent, [later]);
});

test("a conversation that is taken out of the archive has the result then", async () => {
  const { parent, task, work } = await withTask();
  await lab.client.session.update({ sessionID: parent, time: { archived: Date.now() } }, { throwOnError: true });
  const last = newestEvent();
  work.release(text("job done"));
  await isStored(task, "completed");
  await toasted("which is archived", last);
  expect(await noticesIn(lab, parent)).toEqual([]);
  await lab.client.session.update({ sessionID: parent, time: { archived: 0 } }, { throwOnError: true });
  await notified(lab, parent, [task]);
});

test.each([
  ["works", () => hang()],
  ["waits for a rate limit", () => failure(429, "slow down", { headers: { "retry-after": "3600" } })],
])(
  "a turn that %s and that a person stops is not begun anew by a result that came meanwhile; the next turn has it",
  async (what, reply) => {
    const { parent, task, work } = await withTask();
    lab.model.when(asked(parent, `take your time, it ${what}`), reply());
    await lab.prompt(parent, `take your time, it ${what}`);
    await lab.model.waitFor(asked(parent, `take your time, it ${what}`));
    work.release(text("job done"));
    await lab.until(async () => (await noticesIn(lab, parent)).length === 1, { what: "the notice is stored" });
    const before = requestsOf(parent).length;
    await lab.client.session.abort({ sessionID: parent }, { throwOnError: true });
    const stoppedAt = Date.now();
    // It used to be begun anew after half a second. Later than that, nothing can be awaited but time.
    await lab.until(() => Date.now() - stoppedAt > 4_000, { what: "the pauses of the delivery are over" });
    expect(requestsOf(parent).length).toBe(before);
    lab.model.when(asked(parent, `go on, it ${what}`), text("I go on"));
    await lab.ask(parent, `go on, it ${what}`);
    expect((await notified(lab, parent, [task])).map(({ taskId }) => taskId)).toEqual([task]);
    expect(requestsOf(parent).length).toBe(before + 1);
  },
);

test("twenty long results fit into what is free in the window of the model that reads them, and say how to read the rest", async () => {
  const parent = await lab.session();
  const model = { providerID: "scripted", modelID: "small" };
  const prompts = Array.from({ length: 20 }, (_, index) => `long job ${index}`);
  const longJobs = () => storedTasks(lab).filter(({ prompt }) => prompt.startsWith("long job"));
  const release = hang();
  for (const prompt of prompts) lab.model.when(inChild(prompt), release);
  lab.model.when("launch twenty", [
    calls(prompts.map((prompt) => launching(prompt, { wake: "all" }))),
    text("launched"),
  ]);
  await lab.ask(parent, "launch twenty", { model });
  await lab.model.waitFor((request) => request.parentSessionID === parent);
  const filled = (await lab.messages(parent)).flatMap(({ info }) =>
    info.role === "assistant" ? info.tokens.input + info.tokens.output : [],
  );
  release.release(text("twelve files in all ".repeat(400)));
  // Ten at a time.
  await lab.until(() => longJobs().every(({ status }) => status === "completed"), {
    what: "all have ended",
  });
  const ids = longJobs().map(({ id }) => id);
  expect(ids).toHaveLength(20);
  const notices = await notified(lab, parent, ids);
  // Each once, whether in one message or in several.
  expect(notices.map(({ taskId }) => taskId).toSorted()).toEqual(ids.toSorted());
  const free = small.limit.context - small.limit.output - (filled.at(-1) ?? 0);
  for (const hidden of new Set(notices.map((notice) => notice.hidden))) {
    expect(estimateTokenCount(hidden)).toBeLessThan(free);
    expect(hidden).toContain("of 7999 characters. Read all: asyncagents_output(task_id=");
  }
});

test("in a fork that a person made, the agent learns whose tasks its conversation mentions", async () => {
  const { parent, task, work } = await withTask();
  const { data: fork } = await lab.client.session.fork({ sessionID: parent }, { throwOnError: true });
  lab.model.when(asked(fork.id, "what runs"), [
    calls([ours("list"), ours("output", { task_id: task })]),
    text("nothing of mine"),
  ]);
  await lab.ask(fork.id, "what runs");
  const answer = (await lab.texts(fork.id)).join("\n");
  expect(answer).toContain(
    `This conversation has copies of the calls that launched ${task}. Those tasks are of the conversation "lab" (${parent}), and their results are delivered there.`,
  );
  expect(answer).toContain(`"${task}": it is of another conversation, ${parent}, where its result is delivered.`);
  work.release(text("job done"));
  await notified(lab, parent, [task]);
  expect(await noticesIn(lab, fork.id)).toEqual([]);
});

test("a hidden subagent is launched by its name, and an agent by its name in another case", async () => {
  const parent = await lab.session();
  lab.model.when("launch hidden ones", [
    calls([launching("in hiding", { agent: "Ghost" }), launching("in capitals", { agent: "GENERAL" })]),
    calls([launching("in vain", { agent: "title" })]),
    text("launched"),
  ]);
  await lab.ask(parent, "launch hidden ones");
  const ids = await Promise.all(["in hiding", "in capitals"].map((prompt) => childOf(lab, prompt)));
  const agents = await Promise.all(ids.map(async (id) => (await stateOf(id)).agent));
  expect(agents).toEqual(["ghost", "general"]);
  const answer = (await lab.texts(parent)).join("\n");
  expect(answer).toContain('There is no agent "title". Agents: ');
  expect(answer).not.toMatch(/Agents: .*ghost/);
  await notified(lab, parent, ids);
});
