import { afterAll, beforeAll, expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { toolResults } from "./lab/model-request.ts";
import { calls, failure, text } from "./lab/reply.ts";
import { type ScriptedModel, startModel } from "./lab/scripted-model.ts";
import { served, statusApi } from "./status-api.ts";
import { childOf, inChild, launchFrom, launching, ours, told } from "./telling.ts";

let model: ScriptedModel;
let lab: Lab;

const m1 = { name: "M1", tool_call: true, limit: { context: 1_000_000, output: 4096 } };

beforeAll(async () => {
  model = await startModel();
  const options = { baseURL: model.url, apiKey: "none" };
  const other = { npm: "@ai-sdk/openai-compatible", name: "Other", options, models: { m1 } };
  lab = await startLab({ model, config: { provider: { other } } });
  await served(lab);
});

afterAll(async () => {
  await lab.stop();
  await model.stop();
});

const taskOf = async (id: string) => (await statusApi(lab).get(`/v1/tasks/${id}`)).body;

/** Waits until the provider of this task refuses it for now, and returns until when, in epoch milliseconds. */
const refusedUntil = async (id: string): Promise<number> => {
  const refused = async () => {
    const task = await taskOf(id);
    return task.state === "running.retrying" && task;
  };
  const { waiting } = await lab.until(refused, { what: `${id} is refused for now` });
  return Date.parse(waiting.until);
};

test("while a provider refuses one task for now, others on it wait and say so, and those of another provider start", async () => {
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
  const words = `queued: 1st, waits for scripted, which refuses another task until ${new Date(until).toISOString()}`;
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
  const notices = await told(lab, parent, ids);
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
  const notices = await told(lab, parent, [id]);
  expect(notices.map(({ taskId }) => taskId).filter((taskId) => taskId === id)).toHaveLength(1);
  expect((await taskOf(refused)).status).toBe("cancelled");
});
