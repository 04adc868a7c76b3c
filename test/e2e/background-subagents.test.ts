import { afterAll, beforeAll, expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { lastUserText, type ModelRequest, toolResults } from "./lab/model-request.ts";
import { calls, hang, type Reply, text } from "./lab/reply.ts";
import { served, statusApi } from "./status-api.ts";
import { inChild, launchFrom, noticesIn, notified } from "./tasks-and-notices.ts";

let lab: Lab;

beforeAll(async () => {
  lab = await startLab({
    config: { subagent_depth: 3 },
    env: { OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS: "1" },
  });
});

afterAll(() => lab.stop());

const taskOf = async (id: string) => {
  await served(lab);
  return (await statusApi(lab).get(`/v1/tasks/${id}`)).body;
};

/** A call of OpenCode's own tool for subagents. */
const subagent = (prompt: string) => ({
  name: "task",
  args: { description: prompt, prompt, subagent_type: "general", background: true },
});

/** The request of a model that is given what its subagent in the background has come to. */
const reported = (words: string) => (request: ModelRequest) =>
  request.parentSessionID !== undefined && lastUserText(request).includes(`<task_result>\n${words}`);

/** Launches a task whose agent has OpenCode's own subagents do its work, and ends its turn. Resolves once that has ended. */
const launchLead = async (prompt: string, ...works: string[]) => {
  const parent = await lab.session();
  const lead = (request: ModelRequest): Reply =>
    toolResults(request).length > 0
      ? text("I wait for it.")
      : calls(works.map(subagent), { tokens: { input: 100, output: 0 } });
  lab.model.when(inChild(prompt), lead);
  const [task = ""] = await launchFrom(lab, parent, [prompt]);
  await lab.until(async () => (await lab.texts(task)).includes("assistant: I wait for it."), {
    what: "the turn of the task ends",
  });
  return { parent, task };
};

test("a task whose own subagent works in the background has not ended: the answer to that is its result, and it counts", {
  tags: "gate",
}, async () => {
  const work = hang();
  lab.model.when(inChild("look everywhere"), work);
  lab.model.when(reported("It is in the attic."), text("Found in the attic."));
  const { parent, task } = await launchLead("find it", "look everywhere");
  await lab.model.waitFor(inChild("look everywhere"));
  expect(await taskOf(task)).toMatchObject({ status: "running" });
  expect(await noticesIn(lab, parent)).toEqual([]);
  work.release(text("It is in the attic.", { tokens: { input: 5_000, output: 0 } }));
  const [notice, ...more] = await notified(lab, parent, [task]);
  expect(more).toEqual([]);
  expect(notice?.hidden).toContain("> Found in the attic.");
  const { result, progress } = await taskOf(task);
  expect(result).toBe("Found in the attic.");
  expect(progress.tokens).toBeGreaterThan(5_000);
});

test("with two of them, the answer to the last one is the result", async () => {
  const [one, other] = [hang(), hang()];
  lab.model.when(inChild("look left"), one);
  lab.model.when(inChild("look right"), other);
  lab.model.when(reported("Nothing left."), text("One is missing."));
  lab.model.when(reported("Nothing right."), text("It is nowhere."));
  const { parent, task } = await launchLead("find both", "look left", "look right");
  one.release(text("Nothing left."));
  await lab.until(async () => (await lab.texts(task)).includes("assistant: One is missing."), {
    what: "half is known",
  });
  other.release(text("Nothing right."));
  const notices = await notified(lab, parent, [task]);
  expect(notices).toHaveLength(1);
  expect(notices[0]?.hidden).toContain("> It is nowhere.");
});

test("a cancelled task takes its subagent in the background with it", async () => {
  lab.model.when(inChild("look for ever"), hang());
  const { task } = await launchLead("find nothing", "look for ever");
  const below = (await lab.model.waitFor(inChild("look for ever"))).sessionID;
  await served(lab);
  await statusApi(lab).post(`/v1/tasks/${task}/cancel`);
  await lab.until(async () => (await taskOf(task)).status === "cancelled", { what: "the task is cancelled" });
  const { data } = await lab.client.session.status();
  expect(data).not.toHaveProperty(below);
});

test("after a crash nobody waits for a subagent that ended with OpenCode", async () => {
  lab.model.when(inChild("look once more"), hang());
  const { parent, task } = await launchLead("find again", "look once more");
  await lab.opencode.kill();
  await lab.restart();
  const [notice] = await notified(lab, parent, [task]);
  expect(notice?.hidden).toContain("> I wait for it.");
});
