import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { opencodeTaskchart } from "../cli/command-line.ts";
import { describeWithNats } from "../fakes/nats-server.ts";
import {
  atRest,
  bash,
  expectJournals,
  type Fleet,
  launch,
  launchBy,
  running,
  type Server,
  startFleet,
  taskOf,
  toldOnce,
} from "./fleet-servers.ts";
import { lastUserText } from "./lab/model-request.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { dataFolder, served, statusApi } from "./status-api.ts";
import { storedTasks } from "./stored.ts";
import { childOf, inChild, launching, noticesIn } from "./tasks-and-notices.ts";

describeWithNats("A fleet of real servers", () => {
  let fleet: Fleet;
  let a: Server;
  let b: Server;

  setUp(async () => {
    // Nobody dies here, and on a busy machine servers are slow.
    fleet = await startFleet(30_000);
    [a, b] = await Promise.all([
      fleet.add("laptop", {
        fleet: { offer: ["general", "explore", "translator"] },
        options: { gate: { agents: { explore: "true" } } },
        config: { agent: { translator: { mode: "subagent", description: "Known here alone." } } },
      }),
      fleet.addWorker("desk", { config: { permission: { bash: { "*": "allow", "touch *": "ask" } } } }),
    ]);
    return () => fleet?.stop();
  });

  const stands = (server: Server) => [server.project.standing(), readdirSync(server.project.top)];

  const cancel = (task: string) => statusApi(a).post(`/v1/tasks/${task}/cancel`);

  test("a task that is launched on one server runs on another, its end is delivered once, and the journals of both replay", {
    tags: "gate",
  }, async () => {
    fleet.model.when(inChild("look around"), text("seen from there"));
    const { parent, task } = await launch(a, "look around");
    const notice = await toldOnce(a, parent);
    expect(notice?.hidden).toContain("seen from there");
    const there = await childOf(b, "look around");
    expect(storedTasks(b).map(({ id }) => id)).toEqual([there]);
    expect(storedTasks(a).map(({ id }) => id)).toEqual([task]);
    expect(await taskOf(a, task)).toMatchObject({ status: "completed", server: { label: "desk" } });
    await atRest(b);
    expect(await noticesIn(b, there)).toEqual([]);
    await expectJournals(a);
    await expectJournals(b);
  });

  test("a provider of another server that does not say why its model stopped ends the task there, and the origin server knows it", async () => {
    fleet.model.when(inChild("look without an end"), text("seen again and again", { finish: null, tokens: "none" }));
    const { parent, task } = await launch(a, "look without an end");
    const notice = await toldOnce(a, parent);
    expect(notice?.hidden).toContain("Its result may be cut: the provider never said");
    const ended = { status: "completed", result: "seen again and again", incomplete: "noStopReason" };
    expect(await taskOf(a, task)).toMatchObject(ended);
    await atRest(b);
  });

  test("both servers say which one works for others, and how much", async () => {
    await Promise.all([served(a), served(b)]);
    const [seenByA, seenByB] = await Promise.all([a, b].map((server) => statusApi(server).get("/v1/fleet")));
    const desk = { label: "desk", isDrained: false, projects: [{ slots: 4 }] };
    expect(seenByA?.body).toMatchObject({
      isUsed: true,
      isReached: true,
      server: { label: "laptop" },
      servers: [desk],
    });
    expect(seenByB?.body).toMatchObject({ isUsed: true, isReached: true, server: { label: "desk" }, servers: [desk] });
  });

  test("what an agent asks on another server is answered at the origin, and it goes on", { tags: "gate" }, async () => {
    fleet.model.when(inChild("ask first"), running("touch asked.txt", "I was allowed to."));
    const { parent, task } = await launch(a, "ask first");
    const request = async () => (await taskOf(a, task)).attention?.requests?.[0];
    const { id: requestId, what } = await a.until(request, { what: "the request is seen at the origin" });
    expect(what).toContain("touch asked.txt");
    expect((await statusApi(a).post(`/v1/tasks/${task}/answers`, { requestId, reply: "once" })).status).toBe(200);
    const notice = await toldOnce(a, parent);
    expect(notice?.hidden).toContain("I was allowed to.");
  });

  test("what an agent does on another server is seen at the origin while it does it, and its conversation can be read", async () => {
    const answer = hang();
    fleet.model.when(inChild("do two things"), [calls([bash("echo the first thing")]), answer]);
    const { parent, task } = await launch(a, "do two things");
    const counted = async () => (await taskOf(a, task)).progress.toolCalls === 1;
    await a.until(counted, { what: "its call is counted at the origin" });
    expect(await taskOf(a, task)).toMatchObject({ status: "running", server: { label: "desk" } });
    const logs = await statusApi(a).get(`/v1/tasks/${task}/logs`);
    expect(logs.status).toBe(200);
    expect(JSON.stringify(logs.body)).toContain("do two things");
    expect(JSON.stringify(logs.body)).toContain("the first thing");
    answer.release(text("Both are done."));
    expect((await toldOnce(a, parent))?.hidden).toContain("Both are done.");
    expect((await taskOf(a, task)).progress).toMatchObject({ toolCalls: 1, lastTools: ["bash"] });
  });

  test("what a task changed on another server arrives as a worktree, is applied at the origin, and that server's checkout stays as it was", {
    tags: "gate",
  }, async () => {
    const before = stands(b);
    fleet.model.when(inChild("change it"), running("echo two >> a.txt; echo new > b.txt", "Changed."));
    const { parent, task } = await launch(a, "change it");
    const notice = await toldOnce(a, parent);
    expect(notice?.hidden).toContain('"b.txt" added +1 −0');
    expect(await taskOf(a, task)).toMatchObject({ server: { label: "desk" }, worktree: { isShared: false } });
    const { body } = await statusApi(a).get(`/v1/tasks/${task}/changes`);
    expect(body.files.map(({ path }: { path: string }) => path)).toEqual(["a.txt", "b.txt"]);
    expect(a.project.read("a.txt")).toBe("one\n");
    const applied = await opencodeTaskchart(["apply", task, "--in", a.project.top, "--data", dataFolder(a)]);
    expect(applied).toMatchObject({ code: 0 });
    expect(a.project.read("a.txt")).toBe("one\ntwo\n");
    expect(a.project.read("b.txt")).toBe("new\n");
    await atRest(b);
    await b.until(() => b.project.git("worktree", "list").trim().split("\n").length === 1, {
      what: "the worktree there is removed",
    });
    expect(stands(b)).toEqual(before);
    a.project.git("reset", "--quiet", "--hard");
    a.project.git("clean", "--quiet", "--force");
  });

  test("a task that waits for a server is cancelled at once, and one that runs on another stops there", async () => {
    await served(a);
    const waiting = await launch(a, "translate it", { agent: "translator" });
    const isOffered = async () => (await taskOf(a, waiting.task)).waiting?.for === "server";
    await a.until(isOffered, { what: "it waits for a server" });
    expect((await cancel(waiting.task)).status).toBe(200);
    expect((await toldOnce(a, waiting.parent))?.visible).toContain("cancelled");
    expect((await taskOf(a, waiting.task)).server).toBeUndefined();

    fleet.model.when(inChild("run for ever"), hang());
    const runs = await launch(a, "run for ever");
    const there = await childOf(b, "run for ever");
    expect((await cancel(runs.task)).status).toBe(200);
    expect((await toldOnce(a, runs.parent))?.visible).toContain("cancelled");
    await atRest(b);
    expect(storedTasks(b).find(({ id }) => id === there)?.status).toBe("cancelled");
  });

  test("a fork, a task with a gate, and one whose commit is not pushed run at the origin, and the launch says why", async () => {
    const before = storedTasks(b).length;
    fleet.model.when((request) => lastUserText(request).endsWith("with the conversation"), text("Done here."));
    for (const prompt of ["with a gate", "not pushed"]) fleet.model.when(inChild(prompt), text("Done here."));
    const { parent, tasks, answers } = await launchBy(a, [
      launching("with the conversation", { fork: true }),
      launching("with a gate", { agent: "explore" }),
    ]);
    expect(answers[0]).toContain(
      "It runs here, not on another server: it begins with this conversation, which stays here.",
    );
    expect(answers[1]).toContain("It runs here, not on another server: its answers must pass a gate, which runs here.");
    a.project.commit();
    const unpushed = await launch(a, "not pushed");
    expect(unpushed.answer).toContain("It runs here, not on another server: the commit that is checked out is on no");
    await atRest(a);
    expect(await noticesIn(a, parent)).toHaveLength(2);
    expect(await noticesIn(a, unpushed.parent)).toHaveLength(1);
    for (const id of [...tasks, unpushed.task]) {
      const task = await taskOf(a, id);
      expect(task).toMatchObject({ status: "completed", result: "Done here." });
      expect([task.fleet, task.server]).toEqual([undefined, undefined]);
    }
    expect(storedTasks(b)).toHaveLength(before);
    a.project.git("reset", "--quiet", "--hard", "origin/main");
  });
});
