import { expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { type ModelRequest, toolResults } from "./lab/model-request.ts";
import { calls, failure, hang, text } from "./lab/reply.ts";
import { type ScriptedModel, startModel } from "./lab/scripted-model.ts";
import { setUp } from "./lab/set-up.ts";
import { served, statusApi } from "./status-api.ts";
import { childOf, inChild, launchFrom, launching, notified, ours } from "./tasks-and-notices.ts";

const repository = new URL("../..", import.meta.url).href;

let model: ScriptedModel;
let lab: Lab;

const m1 = { name: "M1", tool_call: true, limit: { context: 1_000_000, output: 4096 } };

setUp(async () => {
  model = await startModel();
  const options = { baseURL: model.url, apiKey: "none" };
  const other = { npm: "@ai-sdk/openai-compatible", name: "Other", options, models: { m1, m3: { ...m1, name: "M3" } } };
  const fallback = { agents: { explore: ["scripted/m2", "other/unheard-of", "other/m3"] }, after: 4_000 };
  lab = await startLab({ model, plugin: [repository, { fallback }], config: { provider: { other } } });
  await served(lab);
  return async () => {
    await lab.stop();
    await model.stop();
  };
});

const taskOf = async (id: string) => (await statusApi(lab).get(`/v1/tasks/${id}`)).body;

/** Waits until the provider of this task refuses it for now, and returns until when, in epoch milliseconds. */
const refusedUntil = async (id: string): Promise<number> => {
  const refused = async () => {
    const task = await taskOf(id);
    return task.state === "running.active.working.retrying" && task;
  };
  const { waiting } = await lab.until(refused, { what: `${id} is refused for now` });
  return Date.parse(waiting.until);
};

test("while a provider refuses one task for now, others on it wait and say so, and those of another provider start", {
  tags: "gate",
}, async () => {
  const parent = await lab.session();
  const slowDown = failure(429, "Rate limit reached for requests", { headers: { "retry-after": "6" } });
  model.when(inChild("go first"), [slowDown, text("first done")]);
  const [first = ""] = await launchFrom(lab, parent, ["go first"]);
  const until = await refusedUntil(first);
  expect((await taskOf(first)).waiting.refusal).toEqual({
    provider: "scripted",
    attempt: 1,
    message: "Rate limit reached for requests",
  });
  model.when("launch the others", [
    calls([launching("wait for it"), launching("go elsewhere", { model: "other/m1" })]),
    calls([ours("list")]),
    text("launched"),
  ]);
  await lab.ask(parent, "launch the others");
  const asked = await model.waitFor((request) => request.sessionID === parent && toolResults(request).length === 4);
  const [, waits = "", starts = "", list = ""] = toolResults(asked).map(({ output }) => output);
  const words = `queued: 1st, waits for scripted, which refused another task and is asked again at ${new Date(until).toISOString()}`;
  expect(waits).toContain(words);
  expect(starts).not.toContain("queued");
  expect(list).toContain(words);
  expect(list).toContain(
    'waits for scripted, which refuses for now: "Rate limit reached for requests"; OpenCode asks again in ',
  );
  const elsewhere = await model.waitFor(inChild("go elsewhere"));
  const waited = await model.waitFor(inChild("wait for it"));
  expect(elsewhere.at).toBeLessThan(until);
  expect(waited.at).toBeGreaterThanOrEqual(until);
  const ids = [first, ...(await Promise.all(["wait for it", "go elsewhere"].map((prompt) => childOf(lab, prompt))))];
  const notices = await notified(lab, parent, ids);
  expect(notices.map(({ taskId }) => taskId).sort()).toEqual(ids.sort());
});

test("a task whose provider refuses for now can be cancelled, and then holds up nobody", async () => {
  const parent = await lab.session();
  model.when(inChild("be refused"), failure(429, "come back tomorrow", { headers: { "retry-after": "3600" } }));
  const [refused = ""] = await launchFrom(lab, parent, ["be refused"]);
  await refusedUntil(refused);
  model.when("launch another", [calls([launching("start soon")]), text("launched")]);
  await lab.ask(parent, "launch another");
  expect(model.requests.filter(inChild("start soon"))).toEqual([]);
  model.when("give it up", [calls([ours("cancel", { task_id: refused })]), text("given up")]);
  await lab.ask(parent, "give it up");
  const id = await childOf(lab, "start soon");
  const notices = await notified(lab, parent, [id]);
  expect(notices.map(({ taskId }) => taskId).filter((taskId) => taskId === id)).toHaveLength(1);
  expect((await taskOf(refused)).status).toBe("cancelled");
});

/** The requests of a child with this prompt to that model. */
const asked = (prompt: string, name: string) => (request: ModelRequest) =>
  inChild(prompt)(request) && request.body.model === name;

/** The models that a child with this prompt was asked with, in order. */
const modelsAsked = (prompt: string) => model.requests.filter(inChild(prompt)).map(({ body }) => body.model);

/** Has an agent launch a task of the agent that has other models, and waits until it has ended and its parent was notified. */
const explored = async (prompt: string) => {
  const parent = await lab.session();
  model.when(`explore ${prompt}`, [calls([launching(prompt, { agent: "explore" })]), text("launched")]);
  await lab.ask(parent, `explore ${prompt}`);
  const id = await childOf(lab, prompt);
  return { id, parent, notices: await notified(lab, parent, [id]) };
};

test("a task whose models are refused goes on with the next in the same session, until one takes it", {
  tags: "gate",
}, async () => {
  model.when(asked("look around", "m1"), failure(402, "insufficient credits"));
  model.when(asked("look around", "m2"), failure(401, "bad key"));
  model.when(asked("look around", "m3"), text("found by m3"));
  const { id, parent, notices } = await explored("look around");
  // The unknown model is refused by OpenCode itself.
  expect(modelsAsked("look around")).toEqual(["m1", "m2", "m3"]);
  const task = await taskOf(id);
  expect(task).toMatchObject({ status: "completed", result: "found by m3" });
  expect(task.model).toEqual({ providerID: "other", modelID: "m3" });
  expect(task.refusedModels.map(({ reason }: { reason: string }) => reason)).toEqual([
    "insufficient credits",
    "bad key",
    expect.stringContaining("Model not found: other/unheard-of"),
  ]);
  const went = 'went on with other/m3 after scripted/m1: "insufficient credits", scripted/m2: "bad key", ';
  expect(notices.map(({ hidden }) => hidden)).toEqual([expect.stringContaining(`It ${went}`)]);
  model.when("what became of it", [calls([ours("output", { task_id: id })]), text("I see")]);
  await lab.ask(parent, "what became of it");
  const [, output] = toolResults(
    await model.waitFor((request) => request.sessionID === parent && toolResults(request).length === 2),
  );
  expect(output?.output).toContain(`Model: ${went}`);
  // The conversation has the prompt once.
  const prompts = (await lab.messages(id)).filter(({ info }) => info.role === "user");
  expect(prompts).toHaveLength(1);
});

test("a task whose provider makes it wait longer than it is to goes on with the next model", async () => {
  model.when(asked("be patient", "m1"), failure(429, "slow down", { headers: { "retry-after": "3" } }));
  model.when(asked("be patient", "m2"), text("found by m2"));
  const { id, notices } = await explored("be patient");
  expect(modelsAsked("be patient")).toEqual(["m1", "m1", "m2"]);
  expect(await taskOf(id)).toMatchObject({ status: "completed", model: { modelID: "m2" } });
  expect(notices[0]?.hidden).toContain('It went on with scripted/m2 after scripted/m1: "slow down".');
  expect(notices).toHaveLength(1);
});

test("a task whose provider serves again in an hour holds no slot until then, over a restart, and starts sooner when it is told to", {
  timeout: 120_000,
}, async () => {
  const parent = await lab.session();
  const usedUp = failure(429, "Usage limit reached", { headers: { "retry-after": "3600" } });
  model.when(inChild("use it up"), [usedUp, text("done after all")]);
  model.when(inChild("come next"), [text("the next one")]);
  const [first = ""] = await launchFrom(lab, parent, ["use it up"]);
  const until = await refusedUntil(first);
  const isSetAside = async () => {
    const task = await taskOf(first);
    return task.waiting?.for === "quota" && task;
  };
  const set = await lab.until(isSetAside, { what: "the task is set aside", timeoutMs: 30_000 });
  expect(set.waiting).toMatchObject({ refusal: { provider: "scripted", message: "Usage limit reached" } });
  expect(Date.parse(set.waiting.until)).toBe(until);
  const { data: busy } = await lab.client.session.status();
  expect(busy?.[first]).toBeUndefined();
  model.when("launch the next", [calls([launching("come next")]), text("launched")]);
  await lab.ask(parent, "launch the next");
  const asked = await model.waitFor((request) => request.sessionID === parent && toolResults(request).length === 2);
  expect(toolResults(asked)[1]?.output).toContain("waits for scripted, which refused another task");
  await lab.restart();
  await served(lab);
  await lab.until(isSetAside, { what: "the next process has it wait" });
  await lab.until(async () => (await taskOf(first)).allowed?.includes("CONTINUE"), {
    what: "the next process has the task",
  });
  expect((await statusApi(lab).post(`/v1/tasks/${first}/continue`)).status).toBe(200);
  const next = await childOf(lab, "come next");
  const notices = await notified(lab, parent, [first, next]);
  expect(notices.map(({ hidden }) => hidden).join()).toContain("done after all");
});

test("a task that its model has refused goes on with the one that a retry names, and stays with it", {
  tags: "gate",
}, async () => {
  const parent = await lab.session();
  model.when(inChild("refuse my key"), [failure(401, "the key is not accepted"), text("done elsewhere")]);
  const [id = ""] = await launchFrom(lab, parent, ["refuse my key"]);
  await notified(lab, parent, [id]);
  const api = statusApi(lab);
  const refused = await api.post(`/v1/tasks/${id}/retry`);
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([409, expect.stringContaining("another model")]);
  const retried = await api.post(`/v1/tasks/${id}/retry`, { model: "other/m1" });
  expect([retried.status, retried.body.model]).toEqual([200, expect.objectContaining({ providerID: "other" })]);
  const completed = async () => {
    const task = await taskOf(id);
    return task.status === "completed" && task;
  };
  const task = await lab.until(completed, { what: "the retried task has completed" });
  expect(task.model).toMatchObject({ providerID: "other", modelID: "m1" });
});

test("a task that every model refuses fails, and says why each did", async () => {
  model.when(inChild("have no luck"), failure(401, "bad key"));
  const { id, notices } = await explored("have no luck");
  expect(modelsAsked("have no luck")).toEqual(["m1", "m2", "m3"]);
  expect(await taskOf(id)).toMatchObject({ status: "error", error: { kind: "provider", refusal: "auth" } });
  expect(notices[0]?.hidden).toMatch(
    /It was refused by every model: scripted\/m1: "bad key", .*, other\/m3: "bad key"\./,
  );
  expect(notices).toHaveLength(1);
});

test("after a crash, a run that was refused for now and one that was changing its model go on, each delivered once", async () => {
  const parent = await lab.session();
  const first = hang();
  model.when(asked("change over", "m1"), first);
  model.when(asked("change over", "m2"), text("changed over"));
  const tomorrow = failure(429, "come back tomorrow", { headers: { "retry-after": "3600" } });
  model.when(inChild("come back"), [tomorrow, text("came back")]);
  model.when("launch both", [
    calls([launching("change over", { agent: "explore" })]),
    calls([launching("come back")]),
    text("launched"),
  ]);
  await lab.ask(parent, "launch both");
  const changing = await childOf(lab, "change over");
  const refused = await childOf(lab, "come back");
  await refusedUntil(refused);
  first.release(failure(402, "insufficient credits"));
  const isChanging = async () => (await taskOf(changing)).waiting.for === "model";
  await lab.until(isChanging, { what: "it changes its model" });
  await lab.opencode.kill();
  expect([...modelsAsked("change over"), ...modelsAsked("come back")]).toEqual(["m1", "m1"]);

  await lab.restart();
  const notices = await notified(lab, parent, [changing, refused]);
  expect(notices.map(({ taskId }) => taskId).toSorted()).toEqual([changing, refused].toSorted());
  expect(modelsAsked("change over")).toEqual(["m1", "m2"]);
  expect(modelsAsked("come back")).toEqual(["m1", "m1"]);
  await served(lab);
  const reason = "insufficient credits";
  expect(await taskOf(changing)).toMatchObject({
    status: "completed",
    result: "changed over",
    refusedModels: [{ reason }],
  });
  expect(await taskOf(refused)).toMatchObject({ status: "completed", result: "came back" });
});
