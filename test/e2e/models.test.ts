import { afterAll, beforeAll, expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { toolResults } from "./lab/model-request.ts";
import { calls, text } from "./lab/reply.ts";
import { served, statusApi } from "./status-api.ts";
import { childOf, inChild, launching, told } from "./telling.ts";

let lab: Lab;

const priced = { cost: { input: 2, output: 8 }, tool_call: true, limit: { context: 100_000, output: 4096 } };
const models = { "vendor/m3": { name: "M3", reasoning: true, ...priced }, m4: { name: "M4", ...priced } };

beforeAll(async () => {
  lab = await startLab({ config: { provider: { scripted: { models } } } });
  await served(lab);
});

afterAll(() => lab.stop());

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
  await told(lab, parent, ids);
  const { data: children } = await lab.client.session.children({ sessionID: parent });
  expect(children?.map(({ id }) => id).sort()).toEqual([...ids].sort());
  const [hard = ""] = ids;
  const { body } = await statusApi(lab).get(`/v1/tasks/${hard}`);
  expect(body.model).toEqual({ providerID: "scripted", modelID: "vendor/m3", variant: "high" });
});
