import { expect, test } from "vitest";
import { describeWithNats } from "../fakes/nats-server.ts";
import { atRest, expectJournals, type Fleet, launch, type Server, startFleet, toldOnce } from "./fleet-servers.ts";
import { hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { storedTasks } from "./stored.ts";
import { childOf, inChild, noticesIn } from "./tasks-and-notices.ts";

/** Milliseconds. Longer than any restart takes: whoever is back has lost nothing. */
const LEASE = 60_000;

describeWithNats("While a task is on another server", () => {
  let fleet: Fleet;
  let a: Server;
  let b: Server;

  setUp(async () => {
    fleet = await startFleet(LEASE);
    [a, b] = await Promise.all([fleet.add("laptop", { fleet: { offer: ["general"] } }), fleet.addWorker("desk")]);
    return () => fleet?.stop();
  });

  /** A task is under way on the other server, where its agent waits for its model. */
  const underWay = async (prompt: string) => {
    const answer = hang();
    fleet.model.when(inChild(prompt), answer);
    const { parent, task } = await launch(a, prompt);
    const there = await childOf(b, prompt);
    return { parent, task, there, answer };
  };

  const untilWritten = (task: string) =>
    b.until(async () => (await fleet.logOf(a, task)).ended, { what: "the end is written" });

  test("that server is restarted: it goes on in the same session, and the end is delivered once", async () => {
    const { parent, task, there } = await underWay("outlive it");
    await b.opencode.kill();
    fleet.model.when(inChild("outlive it"), text("after the restart"));
    await b.restart();
    expect((await toldOnce(a, parent))?.hidden).toContain("after the restart");
    await atRest(b);
    expect(storedTasks(b)).toMatchObject([{ id: there, status: "completed" }]);
    expect((await fleet.logOf(a, task)).claims).toHaveLength(1);
    await expectJournals(b);
  });

  test("its own server dies, before the end or as soon as that is written, and is restarted: each end is delivered once", async () => {
    const [early, late] = [await underWay("end at once"), await underWay("end later")];
    early.answer.release(text("before it died"));
    await untilWritten(early.task);
    await a.opencode.kill();
    late.answer.release(text("while it was away"));
    await untilWritten(late.task);
    await a.restart();
    expect((await toldOnce(a, early.parent))?.hidden).toContain("before it died");
    expect((await toldOnce(a, late.parent))?.hidden).toContain("while it was away");
    await atRest(b);
    expect(await noticesIn(a, early.parent)).toHaveLength(1);
    await expectJournals(a);
  });
});
