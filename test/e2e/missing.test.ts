import { describe, expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { storedTasks } from "./stored.ts";
import { childOf, inChild, launchFrom, launching, noticeRequest, noticesIn } from "./tasks-and-notices.ts";

/** An agent that is taken out of the configuration later. */
const MINE = { agent: { mine: { mode: "primary" as const, prompt: "You are mine." } } };

let lab: Lab;

const taskOf = (id: string) => storedTasks(lab).find((task) => task.id === id);

/** What has happened while this plugin was not there, nor the agent: the plugin is back then. */
describe("after OpenCode was killed and has run without this plugin", () => {
  let [parent, kept, deleted] = ["", "", ""];
  let [outliving, staying, going] = ["", "", ""];
  let waits = hang();

  setUp(async () => {
    lab = await startLab({ config: MINE });
    waits = hang();
    parent = await lab.session();
    lab.model.when(inChild("outlive the agent"), waits);
    lab.model.when("launch it as mine", [calls([launching("outlive the agent")]), text("launched")]);
    await lab.ask(parent, "launch it as mine", { agent: "mine" });
    outliving = await childOf(lab, "outlive the agent");
    [kept, deleted] = [await lab.session(), await lab.session()];
    for (const prompt of ["belong to the kept one", "belong to the deleted one"])
      lab.model.when(inChild(prompt), hang());
    [staying = ""] = await launchFrom(lab, kept, ["belong to the kept one"]);
    [going = ""] = await launchFrom(lab, deleted, ["belong to the deleted one"]);
    const { plugins } = lab.options;
    await lab.opencode.kill();
    await lab.restart({ plugin: "none", config: {} });
    await lab.client.session.delete({ sessionID: deleted }, { throwOnError: true });
    expect([staying, going].map((id) => taskOf(id)?.status)).toEqual(["running", "running"]);
    await lab.restart({ plugin: plugins[0] ?? "none" });
    return () => lab.stop();
  });

  test("a notice to a session whose agent is no more goes to OpenCode's default agent, once", async () => {
    waits.release(text("I did."));
    await noticeRequest(lab, parent, outliving);
    await lab.until(() => taskOf(outliving)?.owner === null, { what: "the task is at rest" });
    expect(await noticesIn(lab, parent)).toHaveLength(1);
    expect(taskOf(outliving)).toMatchObject({ status: "completed", result: "I did." });
    const session = await lab.client.session.get({ sessionID: parent }, { throwOnError: true });
    expect(session.data.agent).toBe("build");
  });

  test("the tasks of a parent that was deleted meanwhile are removed, and no others", async () => {
    await lab.until(() => taskOf(going) === undefined, {
      what: "the deleted parent's task is removed",
    });
    expect(taskOf(staying)?.status).toBe("running");
  });
});
