import { afterAll, beforeAll, expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { storedTasks } from "./stored.ts";
import { childOf, inChild, launchFrom, launching, noticeRequest, noticesIn } from "./tasks-and-notices.ts";

/** An agent that is taken out of the configuration later. */
const MINE = { agent: { mine: { mode: "primary" as const, prompt: "You are mine." } } };

let lab: Lab;

beforeAll(async () => {
  lab = await startLab({ config: MINE });
});

afterAll(() => lab.stop());

const taskOf = (id: string) => storedTasks(lab).find((task) => task.id === id);

test("a notice to a session whose agent is no more goes to OpenCode's default agent, once", async () => {
  const parent = await lab.session();
  const waits = hang();
  lab.model.when(inChild("outlive the agent"), waits);
  lab.model.when("launch it as mine", [calls([launching("outlive the agent")]), text("launched")]);
  await lab.ask(parent, "launch it as mine", { agent: "mine" });
  const id = await childOf(lab, "outlive the agent");
  await lab.opencode.kill();
  await lab.restart({ config: {} });
  waits.release(text("I did."));
  await noticeRequest(lab, parent, id);
  await lab.until(() => taskOf(id)?.owner === null, { what: "the task is at rest" });
  expect(await noticesIn(lab, parent)).toHaveLength(1);
  expect(taskOf(id)).toMatchObject({ status: "completed", result: "I did." });
  const session = await lab.client.session.get({ sessionID: parent }, { throwOnError: true });
  expect(session.data.agent).toBe("build");
});

test("the tasks of a parent that was deleted while this plugin was not there are removed when it is back", async () => {
  const [kept, deleted] = [await lab.session(), await lab.session()];
  for (const prompt of ["belong to the kept one", "belong to the deleted one"]) lab.model.when(inChild(prompt), hang());
  const [staying = ""] = await launchFrom(lab, kept, ["belong to the kept one"]);
  const [going = ""] = await launchFrom(lab, deleted, ["belong to the deleted one"]);
  const { plugins } = lab.options;
  await lab.restart({ plugin: "none" });
  await lab.client.session.delete({ sessionID: deleted }, { throwOnError: true });
  expect([staying, going].map((id) => taskOf(id)?.status)).toEqual(["running", "running"]);
  await lab.restart({ plugin: plugins[0] ?? "none" });
  await lab.until(() => taskOf(going) === undefined, {
    what: "the deleted parent's task is removed",
    timeoutMs: 40_000,
  });
  expect(taskOf(staying)?.status).toBe("running");
});
