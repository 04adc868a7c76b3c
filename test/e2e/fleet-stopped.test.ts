import { expect, test } from "vitest";
import { describeWithNats } from "../fakes/nats-server.ts";
import {
  atRest,
  expectJournals,
  type Fleet,
  launch,
  type Server,
  startFleet,
  taskOf,
  toldOnce,
} from "./fleet-servers.ts";
import { hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { storedTasks } from "./stored.ts";
import { inChild, noticesIn } from "./tasks-and-notices.ts";

/** Milliseconds after which a server that is not heard of is taken for dead. */
const LEASE = 5_000;

const signal = ({ opencode }: Server, name: NodeJS.Signals) => void process.kill(opencode.pid, name);

describeWithNats("A server that works for another", () => {
  let fleet: Fleet;
  let origin: Server;
  let workers: Server[];

  setUp(async () => {
    fleet = await startFleet(LEASE);
    workers = [];
    // On a busy machine a server may be taken for dead, which costs an attempt.
    const offering = fleet.add("laptop", { fleet: { offer: ["general"], retries: 5 } });
    [origin] = await Promise.all([offering, addWorker("desk")]);
    return () => fleet?.stop();
  });

  const addWorker = async (name: string) => void workers.push(await fleet.addWorker(name));

  /** The first test wants one worker, the others want another one beside it. */
  const haveTwoWorkers = async () => {
    if (workers.length < 2) await addWorker("tower");
  };

  const workOn = (server: Server, prompt: string) => storedTasks(server).filter((task) => task.prompt === prompt);

  /** A task is under way on one of the workers, where its agent waits for its model. */
  const underWay = async (prompt: string) => {
    const answer = hang();
    fleet.model.when(inChild(prompt), answer);
    const { parent, task } = await launch(origin, prompt);
    const { sessionID: there } = await fleet.model.waitFor(inChild(prompt));
    const isThere = (server: Server) => workOn(server, prompt).some(({ id }) => id === there);
    const worker = workers.find(isThere) as Server;
    const other = workers.find((server) => server !== worker) as Server;
    /** Whoever begins with the task from now on says this, but in that session. */
    const say = (said: string) =>
      fleet.model.when((request) => inChild(prompt)(request) && request.sessionID !== there, text(said));
    return { parent, task, there, answer, say, worker, other };
  };

  test("stands still for longer than the lease, and nobody else is there: it goes on in the same session, and its end counts", async () => {
    const { parent, task, there, answer, worker } = await underWay("wait for it");
    signal(worker, "SIGSTOP");
    const isOffered = async () => (await taskOf(origin, task)).waiting?.for === "server";
    await origin.until(isOffered, { what: "it is offered to others again" });
    signal(worker, "SIGCONT");
    answer.release(text("from the sleeper"));
    expect((await toldOnce(origin, parent))?.hidden).toContain("from the sleeper");
    await atRest(worker);
    expect(workOn(worker, "wait for it")).toMatchObject([{ id: there, status: "completed" }]);
  });

  test("stands still for longer than the lease: another ends its task, and what it says when it goes on does not count", async () => {
    await haveTwoWorkers();
    const { parent, answer, say, worker, other } = await underWay("take it over");
    signal(worker, "SIGSTOP");
    say("from the other");
    expect((await toldOnce(origin, parent))?.hidden).toContain("from the other");
    answer.release(text("from the sleeper"));
    signal(worker, "SIGCONT");
    await atRest(worker, "it gives the task up");
    await atRest(other);
    expect(workOn(other, "take it over")).toMatchObject([{ status: "completed" }]);
    const notices = await noticesIn(origin, parent);
    expect(notices).toHaveLength(1);
    expect(notices[0]?.hidden).not.toContain("from the sleeper");
  });

  test("dies: another begins its task anew, the end is delivered once, and it gives the task up when it is back", async () => {
    await haveTwoWorkers();
    const { parent, there, say, worker, other } = await underWay("begin it anew");
    await worker.opencode.kill();
    say("from the other");
    expect((await toldOnce(origin, parent))?.hidden).toContain("from the other");
    await worker.restart();
    await atRest(worker, "it gives the task up");
    await atRest(other);
    expect(workOn(worker, "begin it anew")).toMatchObject([{ id: there, status: "cancelled" }]);
    expect(workOn(other, "begin it anew")).toMatchObject([{ status: "completed" }]);
    expect(await noticesIn(origin, parent)).toHaveLength(1);
    for (const server of [origin, ...workers]) await expectJournals(server);
  });
});
