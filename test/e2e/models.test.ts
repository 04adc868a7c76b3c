import { expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { toolResults } from "./lab/model-request.ts";
import { calls, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { served, statusApi } from "./status-api.ts";
import { childOf, inChild, launching, notified, ours } from "./tasks-and-notices.ts";

let lab: Lab;

const priced = { cost: { input: 2, output: 8 }, tool_call: true, limit: { context: 1_000_000, output: 4096 } };
const models = { "vendor/m3": { name: "M3", reasoning: true, ...priced }, m4: { name: "M4", ...priced } };

setUp(async () => {
  lab = await startLab({ config: { provider: { scripted: { models } } } });
  await served(lab);
  return () => lab.stop();
});

test("a task runs on the model that its launch names, and a model that is unknown is refused with the nearest", async () => {
  const parent = await lab.session();
  lab.model.when("divide the work", [
    calls([
      launching("think hard", { model: "scripted/vendor/m3#high" }),
      launching("be quick", { model: "scripted/m4" }),
      launching("as usual"),
      launching("go astray", { model: "scripted/vendor-m3" }),
      launching("go too far", { model: "scripted/m4#high" }),
    ]),
    text("divided"),
  ]);
  await lab.ask(parent, "divide the work");
  const answered = await lab.model.waitFor(
    (request) => request.sessionID === parent && toolResults(request).length === 5,
  );
  const asked = async (prompt: string) => (await lab.model.waitFor(inChild(prompt))).body;
  expect(await asked("think hard")).toMatchObject({ model: "vendor/m3", reasoning_effort: "high" });
  expect(await asked("be quick")).toMatchObject({ model: "m4" });
  expect(await asked("as usual")).toMatchObject({ model: "m1" });
  const outputs = toolResults(answered).map(({ output }) => output);
  expect(outputs[0]).toContain("(agent general, model scripted/vendor/m3#high, batch ");
  expect(outputs[3]).toMatch(/Provider "scripted" has no model "vendor-m3"\. Its models: scripted\/vendor\/m3, /);
  expect(outputs[4]).toContain('Model "scripted/m4" has no variants: leave out "#high".');
  const ids = await Promise.all(["think hard", "be quick", "as usual"].map((prompt) => childOf(lab, prompt)));
  await notified(lab, parent, ids);
  const { data: children } = await lab.client.session.children({ sessionID: parent });
  expect(children?.map(({ id }) => id).sort()).toEqual([...ids].sort());
  const [hard = ""] = ids;
  const { body } = await statusApi(lab).get(`/v1/tasks/${hard}`);
  expect(body.model).toEqual({ providerID: "scripted", modelID: "vendor/m3", variant: "high" });
});

test("what tasks cost is shown with the tasks below them: in the notice, by the tools and by the API", async () => {
  const parent = await lab.session();
  // 2 dollars for a million tokens in, and 8 for a million out.
  const worth = (input: number, output: number) => ({ tokens: { input, output } });
  lab.model.when(inChild("inner work"), text("inner done", worth(50_000, 25_000)));
  lab.model.when(
    (request) => request.parentSessionID === parent && toolResults(request).length === 0,
    calls([launching("inner work")], worth(100_000, 0)),
  );
  lab.model.when(
    (request) => request.parentSessionID === parent && toolResults(request).length > 0,
    text("outer done", worth(0, 0)),
  );
  lab.model.when("launch the work", [calls([launching("outer work", { model: "scripted/m4" })]), text("launched")]);
  await lab.ask(parent, "launch the work");
  const outer = await childOf(lab, "outer work");
  const inner = await childOf(lab, "inner work");
  const [notice] = await notified(lab, parent, [outer]);
  expect(notice?.hidden).toMatch(/^Cost: \$0\.50, 175k tokens\.$/m);
  expect(notice?.visible).not.toContain("$");
  const api = statusApi(lab);
  const amount = async (id: string) => {
    const { usage, progress } = (await api.get(`/v1/tasks/${id}`)).body;
    return { usage, own: { tokens: progress.tokens, cost: progress.cost } };
  };
  expect(await amount(inner)).toMatchObject({ usage: { tokens: 75_000, cost: 0.3 } });
  expect(await amount(outer)).toEqual({
    usage: { tokens: 175_000, cost: 0.5 },
    own: { tokens: 100_000, cost: 0.2 },
  });
  lab.model.when("what did it cost", [calls([ours("list"), ours("output", { task_id: outer })]), text("that much")]);
  await lab.ask(parent, "what did it cost");
  const asked = await lab.model.waitFor((request) => request.sessionID === parent && toolResults(request).length === 3);
  const [, list = "", output = ""] = toolResults(asked).map((result) => result.output);
  expect(list).toContain("$0.50, 175k tokens");
  expect(output).toContain("Cost: $0.50, 175k tokens (its own runs: $0.20)");
});
