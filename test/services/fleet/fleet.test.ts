import { describe, expect, test } from "vitest";
import { STEPS_WITHOUT_END } from "../../../src/services/runtime/run-outcome.ts";
import { waitText } from "../../../src/services/text/task-state.ts";
import { settled } from "../../fakes/virtual-clock.ts";
import { createFleet, enqueued, expectOnce, LEASE, runElsewhere, texts, workOf } from "./servers.ts";

describe("a task that is launched on one server", () => {
  test("runs on another, and its end is delivered once", async () => {
    const world = await runElsewhere(1);
    const { origin, worker, id, there, until } = world;
    expect(origin.task(id)).toMatchObject({ status: "running", server: { id: "srv_1" } });
    worker.host.finish(there, "It is in a.txt.");
    await until(() => expect(origin.task(id)).toMatchObject({ status: "completed", result: "It is in a.txt." }));
    await expectOnce(world, [worker], "It is in a.txt.");
    expect(origin.host.at(id).prompts).toHaveLength(0);
    expect(world.broker.jobs()).toBe(0);
  });

  test("reports what its result lacks: why it may be cut, or what was said before an empty answer", async () => {
    const cut = await runElsewhere(1);
    for (let step = 0; step < STEPS_WITHOUT_END; step += 1) {
      cut.worker.host.step(cut.there, { finish: "unknown", text: "It is in a.txt." });
      await settled();
    }
    await cut.until(() =>
      expect(cut.origin.task(cut.id)).toMatchObject({
        ...{ status: "completed", result: "It is in a.txt.", incomplete: "noStopReason" },
        receipt: { incomplete: "noStopReason" },
      }),
    );
    const empty = await runElsewhere(1);
    empty.worker.host.step(empty.there, { finish: "tool-calls", tools: "called", text: "I look." });
    empty.worker.host.finish(empty.there, "");
    await empty.until(() =>
      expect(empty.origin.task(empty.id)).toMatchObject({ status: "completed", result: "", earlierText: "I look." }),
    );
  });

  test("passes the gate of the server that works on it, before its agent begins as well, and the receipt says so where it was launched", async () => {
    const { add, until } = createFleet();
    const origin = add("srv_origin");
    const ranIn: string[] = [];
    const worker = add("srv_1", {
      work: 1,
      gate: { agents: { explore: { command: "npm test", before: true } }, tries: 0, timeout: 60_000 },
      runCommand: async ({ directory }) => {
        ranIn.push(directory);
        return { end: "exited", exit: ranIn.length === 1 ? 1 : 0, output: "" };
      },
      worktrees: { readFiles: async () => ({ fingerprint: "aa11" }) },
    });
    const id = await origin.launch({ agent: "explore", prompt: "Find it." });
    await until(() => expect(workOf(worker)).toHaveLength(1));
    const [there = ""] = workOf(worker);
    await until(() => expect(worker.task(there).state).toBe("running.active.working.busy"));
    const works = worker.task(there).worktree?.directory;
    worker.host.finish(there, "It is in a.txt.");
    await until(() => expect(origin.task(id).status).toBe("completed"));
    expect(ranIn).toEqual([works, works]);
    expect(origin.task(id).receipt?.gate).toMatchObject({
      ...{ exit: 0, before: { exit: 1, end: "exited" } },
      files: { fingerprint: "aa11", changedMeanwhile: false },
    });
    const read = await origin.call("output", { task_id: id });
    expect(read).toContain('gate passed: "npm test" (before the task began it failed, with exit code 1)');
  });

  test("is begun anew by another server when the one that works on it dies", async () => {
    const world = await runElsewhere();
    const { worker, other, until } = world;
    worker.life.die();
    await until(() => expect(workOf(other)).toHaveLength(1));
    const [again = ""] = workOf(other);
    other.host.finish(again, "found by the second");
    await expectOnce(world, [other], "found by the second");
    await worker.restart();
    await expectOnce(world, [worker, other], "found by the second");
  });

  test("stays with a server that starts again within the lease", async () => {
    const world = await runElsewhere();
    const { origin, worker, other, id, there, until, clock } = world;
    await worker.restart();
    await clock.advance(5_000);
    expect(workOf(worker)).toEqual([there]);
    await clock.advance(3 * LEASE);
    expect(workOf(other)).toEqual([]);
    worker.host.finish(there, "found after all");
    await until(() => expect(origin.task(id).status).toBe("completed"));
    await expectOnce(world, [worker, other], "found after all");
  });

  test("counts for the server that took it last: one that slept meanwhile stops, and tells nobody", async () => {
    const world = await runElsewhere();
    const { worker, other, there, until } = world;
    worker.life.pause();
    await until(() => expect(workOf(other)).toHaveLength(1));
    const [again = ""] = workOf(other);
    other.host.finish(again, "found by the second");
    worker.life.wake();
    await until(() => expect(worker.host.at(there).busy).toBe(false));
    await expectOnce(world, [worker, other], "found by the second");
  });

  test("is left to the one that has begun it by a server that slept between its lease and its claim", async () => {
    const world = createFleet();
    const { add, broker, clock, until } = world;
    const origin = add("srv_origin");
    let sleeps = true;
    const worker = add("srv_1", {
      work: 1,
      connect: () => {
        const connection = broker.connect();
        const acquire: typeof connection.acquire = async (...asked) => {
          const held = await connection.acquire(...asked);
          if (sleeps) worker.life.pause();
          sleeps = false;
          return held;
        };
        return { ...connection, acquire };
      },
    });
    const id = await origin.launch({ agent: "explore", prompt: "Find it." });
    await until(() => expect(worker.life.isPaused()).toBe(true));
    const other = add("srv_2", { work: 1 });
    await until(() => expect(workOf(other)).toHaveLength(1));
    const [there = ""] = workOf(other);
    worker.life.wake();
    await clock.advance(2 * LEASE);
    expect(workOf(worker)).toEqual([]);
    other.host.finish(there, "found by the second");
    await until(() => expect(origin.task(id).status).toBe("completed"));
    expect(origin.store.get(id)?.snapshot.context.remote?.attempts).toHaveLength(1);
  });

  test("stays with a server that slept, where nobody took it, however long that works on", async () => {
    const world = await runElsewhere(1, 2);
    const { origin, worker, id, there, clock, until } = world;
    worker.life.pause();
    await until(() => expect(origin.task(id).state).toBe("running.fleet.unclaimed.enqueued"));
    worker.life.wake();
    await until(() => expect(origin.task(id).state).toBe("running.fleet.claimed"));
    await clock.advance(1_500_000);
    expect(origin.task(id).state).toBe("running.fleet.claimed");
    expect(workOf(worker)).toEqual([there]);
    expect(worker.host.at(there).busy).toBe(true);
    worker.host.finish(there, "found late");
    await expectOnce(world, [worker], "found late");
  });

  test("is not taken for lost by an origin that slept, and saw only before and after that nobody held it", async () => {
    const world = await runElsewhere(1);
    const { origin, worker, id, there, clock, broker } = world;
    const isHeld = () => broker.leases().some((name) => name.startsWith("run."));
    worker.life.pause();
    await clock.advance(LEASE + 35_000);
    expect(isHeld()).toBe(false);
    origin.life.pause();
    worker.life.wake();
    await clock.advance(LEASE);
    expect(isHeld()).toBe(true);
    worker.life.pause();
    await clock.advance(LEASE);
    expect(isHeld()).toBe(false);
    origin.life.wake();
    await clock.advance(2_000);
    expect(origin.task(id).state).toBe("running.fleet.claimed");
    worker.life.wake();
    worker.host.finish(there, "Found it.");
    await expectOnce(world, [worker], "Found it.");
  });

  test("ends in an error when the servers that began it are gone as often as it may be begun", async () => {
    const world = await runElsewhere();
    const { origin, worker, other, id, until, add } = world;
    worker.life.die();
    await until(() => expect(workOf(other)).toHaveLength(1));
    other.life.die();
    const third = add("srv_3", { work: 1 });
    await until(() => expect(origin.task(id)).toMatchObject({ status: "error", error: { kind: "interrupted" } }));
    await expectOnce(world, [third], "as often as it may be begun");
  });

  test("is looked after by the next process of its server, which finds what happened meanwhile", async () => {
    const world = await runElsewhere(1);
    const { origin, worker, there } = world;
    origin.life.die();
    worker.host.finish(there, "found meanwhile");
    await world.clock.advance(5 * LEASE);
    expect(workOf(worker)).toEqual([there]);
    await origin.restart();
    await expectOnce(world, [worker], "found meanwhile");
  });
});

test("a task says where it runs, and to those who list it", async () => {
  const { origin, id } = await runElsewhere(1);
  const at = "its agent, which is at work on server srv_1";
  expect(waitText(origin.task(id), origin.clock.now())).toContain(at);
  expect(origin.engine.list({})[0]).toMatchObject({ server: { label: "srv_1" } });
  expect(await origin.call("output", { task_id: id })).toContain(at);
});

test("a task that another server had and that runs here in the end names no other server, and can be resumed", async () => {
  const { origin, worker, broker, id, until, clock } = await runElsewhere(1);
  worker.life.die();
  broker.wipe();
  await until(() => expect(origin.task(id).state).toBe("running.fleet.unclaimed.enqueued"));
  await clock.advance(900_000);
  await until(() => expect(origin.task(id).state).toBe("running.active.working.busy"));
  expect(origin.task(id).server).toBeUndefined();
  origin.host.finish(id, "found here");
  await until(() => expect(texts(origin)).toHaveLength(1));
  await origin.call("task", { resume: id, prompt: "And b.txt?" });
  expect(origin.task(id).status).toBe("resumed");
});

describe("a broker of the fleet", () => {
  test("that is unreachable at the launch keeps nothing from going on: the job is sent when it is back", async () => {
    const { add, broker, clock, until } = createFleet();
    broker.cutOff();
    const [origin, worker] = [add("srv_origin"), add("srv_1", { work: 1 })];
    const id = await origin.launch({ agent: "explore" });
    expect(origin.task(id).state).toMatch(/^running\.fleet\.unclaimed\.(enqueuing|pausing)$/);
    await clock.advance(10_000);
    broker.bringBack();
    await until(() => expect(workOf(worker)).toHaveLength(1));
  });

  test("that stays unreachable is done without: the task runs here", async () => {
    const { add, broker, until } = createFleet();
    broker.cutOff();
    const origin = add("srv_origin");
    const id = await origin.launch({ agent: "explore" });
    await until(() => expect(origin.task(id).state).toBe("running.active.working.busy"));
    origin.host.finish(id, "found here");
    await until(() => expect(texts(origin)).toHaveLength(1));
  });

  test("that is unreachable meanwhile keeps nobody from working: the end is delivered when it is back", async () => {
    const world = await runElsewhere(1);
    world.broker.cutOff();
    world.worker.host.finish(world.there, "found meanwhile");
    await world.clock.advance(3 * LEASE);
    expect(world.origin.task(world.id).status).toBe("running");
    world.broker.bringBack();
    await expectOnce(world, [world.worker], "found meanwhile");
  });

  test.each(["append", "enqueue", "acquire", "read", "take"] as const)(
    "whose answers to %s are lost has every end delivered once",
    async (call) => {
      const { add, broker, until, clock } = createFleet();
      const [origin, worker] = [add("srv_origin"), add("srv_1", { work: 1 })];
      broker.loseAnswer(call, 3);
      await origin.launch({ agent: "explore" });
      await until(() => expect(workOf(worker)).toHaveLength(1));
      broker.loseAnswer(call, 3);
      worker.host.finish(workOf(worker)[0] ?? "", "found");
      await expectOnce({ origin, until, clock }, [worker], "found");
    },
  );
});

describe("a cancellation", () => {
  test("of a task that no server has begun takes effect at once", async () => {
    const { add, clock, origin, id } = await enqueued();
    await origin.call("cancel", { task_id: id });
    expect(origin.task(id).status).toBe("cancelled");
    const late = add("srv_1", { work: 1 });
    await clock.advance(5 * LEASE);
    expect(workOf(late)).toEqual([]);
  });

  test("stops the server that works on the task, and ends when that has stopped", async () => {
    const { origin, worker, id, there, until } = await runElsewhere(1);
    const cancelling = origin.call("cancel", { task_id: id });
    await until(() => expect(origin.task(id).status).toBe("cancelled"));
    await cancelling;
    expect(origin.task(id).error).toBeUndefined();
    expect(worker.host.at(there).busy).toBe(false);
    await until(() => expect(workOf(worker)).toEqual([]));
  });

  test("ends without the server that is gone, which stops when it is back", async () => {
    const { origin, worker, id, there, until } = await runElsewhere(1);
    worker.life.pause();
    const cancelling = origin.call("cancel", { task_id: id });
    await until(() => expect(origin.task(id).status).toBe("cancelled"));
    await cancelling;
    expect(worker.host.at(there).busy).toBe(true);
    worker.life.wake();
    await until(() => expect(worker.host.at(there).busy).toBe(false));
    await until(() => expect(workOf(worker)).toEqual([]));
  });

  test("has no other server begin the task anew where the one that worked on it is gone, though its origin is off too", async () => {
    const world = await runElsewhere();
    const { origin, worker, other, id, until } = world;
    worker.life.die();
    const cancelling = origin.call("cancel", { task_id: id });
    await until(() => expect(origin.task(id).state).toBe("running.fleet.stopping.requesting"));
    origin.life.pause();
    await until(() => expect(world.broker.jobs()).toBe(0));
    expect(other.store.list({})).toEqual([]);
    origin.life.wake();
    await until(() => expect(origin.task(id).status).toBe("cancelled"));
    await cancelling;
    await worker.restart();
    await until(() => expect(workOf(worker)).toEqual([]));
  });

  test("that no broker took is heard of by the server that works on, once its origin reaches the broker again", async () => {
    const { origin, worker, broker, id, there, until } = await runElsewhere(1);
    worker.life.pause();
    broker.cutOff();
    void origin.call("cancel", { task_id: id });
    await until(() => expect(origin.task(id).status).toBe("cancelled"));
    broker.bringBack();
    worker.life.wake();
    await until(() => expect(worker.host.at(there).busy).toBe(false));
    expect(origin.task(id).status).toBe("cancelled");
  });

  test("that no broker takes ends after a while, and says so", async () => {
    const { origin, id, broker, until } = await runElsewhere(1);
    broker.cutOff();
    const cancelling = origin.call("cancel", { task_id: id });
    await until(() => expect(origin.task(id)).toMatchObject({ status: "cancelled", error: { kind: "fleet" } }));
    await cancelling;
  });
});

describe("a task is worked on where it was launched", () => {
  test("when no server has begun it in time", async () => {
    const { add, until, clock, origin, id } = await enqueued();
    await clock.advance(900_000);
    expect(origin.task(id).state).toBe("running.active.working.busy");
    const late = add("srv_1", { work: 1 });
    await clock.advance(5 * LEASE);
    expect(workOf(late)).toEqual([]);
    origin.host.finish(id, "found here");
    await until(() => expect(texts(origin)).toHaveLength(1));
  });

  test("when its commit is on no remote branch, which the answer to its launch says, or its agent's tasks are for nobody else", async () => {
    const { add } = createFleet();
    const origin = add("srv_origin", { toolsets: ["tasks", "elisha"] });
    origin.project.write({ "b.txt": "two\n" });
    origin.project.commit();
    const task = { description: "look", title: "look", prompt: "Look.", agent: "explore" };
    const words =
      "It runs here, not on another server: the commit that is checked out is on no branch of a remote, so that no other server can have it.";
    const { title: _, ...asked } = task;
    expect(await origin.call("task", asked)).toContain(`\n${words}\n`);
    expect(await origin.call("task", { ...asked, agent: "general" })).not.toContain("runs here");
    const { description: __, ...wanted } = task;
    const answer = JSON.parse(await origin.call("elisha_task", { ...wanted, async: true }));
    expect(answer).toMatchObject({ status: "running", error: words });
    expect(
      JSON.parse(await origin.call("elisha_task", { ...wanted, agent: "general", async: true })),
    ).not.toHaveProperty("error");
    const tasks = origin.store.list({}).map(({ sessionID }) => origin.task(sessionID));
    expect(tasks.map(({ state }) => state)).toEqual(Array(4).fill("running.active.working.busy"));
    expect(tasks.flatMap(({ fleet }) => fleet ?? [])).toEqual([]);
  });
});

describe("a server that works for others", () => {
  test("keeps what it took while it prepares a worktree for longer than a lease", async () => {
    const { add, broker, until, clock } = createFleet();
    const [origin, worker] = [add("srv_origin"), add("srv_1", { work: 1 })];
    const preparing = worker.host.holdNext("createSession");
    const id = await origin.launch({ agent: "explore" });
    await until(() => expect(origin.task(id).state).toBe("running.fleet.claimed"));
    const other = add("srv_2", { work: 1 });
    await clock.advance(3 * LEASE);
    expect(workOf(other)).toEqual([]);
    preparing.release();
    await until(() => expect(workOf(worker)).toHaveLength(1));
    expect(broker.jobs()).toBe(1);
  });

  test("keeps an end until its origin has it, which hears of it though it died when it had the end stored", async () => {
    const world = await runElsewhere(1);
    const { origin, worker, there, until, broker } = world;
    // The origin has the end stored, and dies before it can say so.
    broker.lose("received", 3);
    worker.host.finish(there, "found");
    await until(() => expect(texts(origin)).toHaveLength(1));
    expect(workOf(worker)).toEqual([there]);
    await origin.restart();
    await expectOnce(world, [worker], "found");
  });

  test("counts the levels of tasks there to its own", async () => {
    const { add, until } = createFleet();
    const [origin, worker] = [add("srv_origin"), add("srv_1", { work: 1, maxDepth: 2 })];
    await origin.launch({ agent: "explore" }, { sessionID: await origin.launch() });
    await until(() => expect(workOf(worker)).toHaveLength(1));
    const [there = ""] = workOf(worker);
    expect(worker.task(there).job).toMatchObject({ depth: 2 });
    await expect(worker.launch({}, { sessionID: there })).rejects.toThrow("3 levels deep");
  });

  test("takes any number of jobs, though a session of its own may have no more tasks", async () => {
    const { add, until } = createFleet();
    const [origin, worker] = [add("srv_origin"), add("srv_1", { work: 1, budget: { tasksPerParent: 1 } })];
    for (const answer of ["first", "second"]) {
      const id = await origin.launch({ agent: "explore" });
      await until(() => expect(workOf(worker)).toHaveLength(1));
      worker.host.finish(workOf(worker)[0] ?? "", answer);
      await until(() => expect(origin.task(id)).toMatchObject({ status: "completed", result: answer }));
      await until(() => expect(workOf(worker)).toEqual([]));
    }
  });

  test("opens another session for an origin when somebody has deleted the one that was there", async () => {
    const world = await runElsewhere(1);
    const { origin, worker, there, until } = world;
    worker.host.finish(there, "first");
    await expectOnce(world, [worker], "first");
    worker.host.delete(worker.task(there).parentSessionID);
    const id = await origin.launch({ agent: "explore" });
    await until(() => expect(workOf(worker)).toHaveLength(1));
    worker.host.finish(workOf(worker)[0] ?? "", "second");
    await until(() => expect(origin.task(id)).toMatchObject({ status: "completed", result: "second" }));
  });

  test("takes a job soon after its host answers again, though it could not look at it for a while", async () => {
    const { add, until, clock } = createFleet();
    const [origin, worker] = [add("srv_origin"), add("srv_1", { work: 1 })];
    // The host is asked six times, within 31 s; then the job is put back for half a lease.
    worker.host.failNext("agents", { kind: "unavailable", name: "Busy", message: "not now" }, 6);
    const id = await origin.launch({ agent: "explore" });
    await until(() => expect(worker.logged.join()).toContain("this server cannot work on a job"));
    const soon = clock.now() + LEASE;
    await until(() => expect(origin.task(id).state).toBe("running.fleet.claimed"));
    expect(clock.now()).toBeLessThan(soon);
  });

  test("looks again at a job whose commit it could not fetch, as where the remote was unreachable", async () => {
    const { add, clock, until } = createFleet();
    const [origin, worker] = [add("srv_origin"), add("srv_1", { work: 1 })];
    const remote = worker.project.git("remote", "get-url", "origin").trim();
    origin.project.commit();
    origin.project.git("push", "--quiet", "origin", "HEAD:refs/heads/more");
    worker.project.git("remote", "set-url", "origin", `${remote}-away`);
    const id = await origin.launch({ agent: "explore" });
    await until(() => expect(worker.logged.join()).toContain("this server cannot work on a job"));
    worker.project.git("remote", "set-url", "origin", remote);
    await clock.advance(6 * LEASE);
    await until(() => expect(origin.task(id).state).toBe("running.fleet.claimed"));
  });

  test("takes no job above its slots when it starts again: it looks first what the process before it has begun", async () => {
    const { origin, worker, there, broker, clock, until } = await runElsewhere(1);
    await origin.launch({ agent: "explore", prompt: "Wait." });
    await until(() => expect(broker.jobs()).toBe(2));
    await worker.restart();
    const later = clock.now() + 2 * LEASE;
    // Worktrees are made in real time: a second task needs some to begin.
    await until(() => expect(clock.now()).toBeGreaterThan(later));
    expect(workOf(worker)).toEqual([there]);
    worker.host.finish(there, "found");
    await until(() => expect(workOf(worker).filter((id) => id !== there)).toHaveLength(1));
  });

  test("does not begin what it works on a second time when it has slept for longer than the lease", async () => {
    const { add, until, clock } = createFleet();
    const [origin, worker] = [add("srv_origin"), add("srv_1", { work: 2 })];
    const id = await origin.launch({ agent: "explore" });
    await until(() => expect(workOf(worker)).toHaveLength(1));
    const [there = ""] = workOf(worker);
    worker.life.pause();
    await clock.advance(1.2 * LEASE);
    // The topic for this one is the first thing that it hears on waking; before it in the queue is the one that it works on.
    await origin.launch({ agent: "explore" });
    const second = origin.store.list({}).find(({ sessionID }) => sessionID !== id)?.sessionID;
    worker.life.wake();
    await until(() => expect(workOf(worker)).toHaveLength(2));
    await clock.advance(2 * LEASE);
    const begun = worker.store.list({}).map(({ sessionID }) => worker.task(sessionID).job?.task);
    expect(begun.toSorted()).toEqual([id, second].toSorted());
    worker.host.finish(there, "found");
    await until(() => expect(origin.task(id)).toMatchObject({ status: "completed", result: "found" }));
  });
});

test("a server whose end comes when its origin has given the run up is told that it was received", async () => {
  const { origin, worker, broker, id, there, clock, until } = await runElsewhere(1);
  broker.cutOff();
  void origin.call("cancel", { task_id: id });
  worker.host.finish(there, "found too late");
  await until(() => expect(origin.task(id).status).toBe("cancelled"));
  broker.bringBack();
  await clock.advance(2 * LEASE);
  await until(() => expect(workOf(worker)).toEqual([]));
});

describe("an instruction for a task on another server", () => {
  test("is refused where it was launched, and taken where it runs: the person there is told that it was missed", async () => {
    const world = await runElsewhere(1);
    const { origin, worker, id, there, until } = world;
    await expect(origin.call("task", { steer: id, prompt: "Only the tests." })).rejects.toThrow(
      /works on another server, where it takes no further instructions/,
    );
    const { parentSessionID } = worker.task(there);
    const steered = worker.engine.steer({ parentSessionID, taskId: there, prompt: "Only the tests.", from: "user" });
    expect(steered.ok).toBe(true);
    await settled();
    const cancelled = origin.call("cancel", { task_id: id });
    await until(() => expect(origin.task(id).status).toBe("cancelled"));
    await cancelled;
    expect(origin.task(id)).not.toHaveProperty("instructions");
    expect(worker.host.toasts.map(({ message }) => message).join()).toContain(
      'never saw your instruction "Only the tests."',
    );
  });
});
