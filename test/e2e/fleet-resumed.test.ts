import { expect, test } from "vitest";
import { opencodeTaskchart } from "../cli/command-line.ts";
import { describeWithNats } from "../fakes/nats-server.ts";
import {
  atRest,
  expectJournals,
  type Fleet,
  launch,
  running,
  type Server,
  startFleet,
  taskOf,
} from "./fleet-servers.ts";
import { setUp } from "./lab/set-up.ts";
import { dataFolder, statusApi } from "./status-api.ts";
import { storedTasks } from "./stored.ts";
import { childOf, inChild, noticesIn } from "./tasks-and-notices.ts";

describeWithNats("A task that ran on another server", () => {
  let fleet: Fleet;
  let a: Server;
  let b: Server;
  let c: Server;

  setUp(async () => {
    fleet = await startFleet(30_000);
    a = await fleet.add("laptop", { fleet: { offer: ["general"] } });
    b = await fleet.addWorker("desk");
    c = await fleet.addWorker("cellar");
    return () => fleet?.stop();
  });

  const resume = (task: string, prompt: string) => statusApi(a).post(`/v1/tasks/${task}/resume`, { prompt });

  const told = async (parent: string, times: number) => {
    await a.until(async () => (await noticesIn(a, parent)).length === times, { what: `${times} notices` });
    await atRest(a);
    return (await noticesIn(a, parent)).at(-1);
  };

  test("is resumed there, in its session and with its changes, and refused in words while that server is off", async () => {
    fleet.model.when(inChild("write a"), running("echo two >> a.txt", "Wrote a."));
    const { parent, task } = await launch(a, "write a");
    await told(parent, 1);
    const { server } = await taskOf(a, task);
    const [worker, other] = server.label === "desk" ? [b, c] : [c, b];
    const there = await childOf(worker, "write a");
    await atRest(worker);

    fleet.model.when(inChild("write b"), running("cat a.txt > b.txt", "Wrote b."));
    expect((await resume(task, "write b")).body).toMatchObject({ status: "resumed", resumeCount: 1 });
    const notice = await told(parent, 2);
    expect(notice?.hidden).toContain("Wrote b.");
    expect(notice?.hidden).toContain('"b.txt" added +2 −0');
    expect(notice?.hidden).toContain('"a.txt" +1 −0');
    await atRest(worker);
    expect(storedTasks(worker).map(({ id, status }) => [id, status])).toEqual([[there, "completed"]]);
    expect(storedTasks(other)).toEqual([]);
    expect(await worker.texts(there)).toContain("assistant: Wrote b.");
    const applied = await opencodeTaskchart(["apply", task, "--in", a.project.top, "--data", dataFolder(a)]);
    expect(applied).toMatchObject({ code: 0 });
    expect([a.project.read("a.txt"), a.project.read("b.txt")]).toEqual(["one\ntwo\n", "one\ntwo\n"]);

    await worker.opencode.kill();
    const refused = await resume(task, "write c");
    expect(refused.status).toBe(409);
    expect(refused.body.error).toContain(
      `cannot be resumed now: server "${server.label}", where it ran, does not answer. Try again when it is back.`,
    );
    expect(await taskOf(a, task)).toMatchObject({ status: "completed", result: "Wrote b." });

    fleet.model.when(inChild("write c"), running("echo three > c.txt", "Wrote c."));
    await worker.restart();
    await a.until(async () => (await resume(task, "write c")).status === 200, { what: "it is back" });
    expect((await told(parent, 3))?.hidden).toContain('"c.txt" added +1 −0');
    await atRest(worker);
    for (const lab of [a, worker]) await expectJournals(lab);
  });
});
