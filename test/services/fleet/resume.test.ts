import { describe, expect, test } from "vitest";
import type { UserRequest } from "../../../src/machines/task/events.ts";
import { LEASE, runElsewhere, type Server, texts, workOf } from "./servers.ts";

const PATIENCE = 900_000;

/** A task that has ended on another server, and whose result was delivered. */
const ended = async (answer = "It is in a.txt.") => {
  const world = await runElsewhere(2);
  const { origin, worker, id, there, until } = world;
  worker.host.finish(there, answer);
  await until(() => expect(texts(origin)).toHaveLength(1));
  await until(() => expect(workOf(worker)).toEqual([]));
  const resume = (prompt = "And b.txt?") => origin.call("task", { resume: id, prompt });
  /** Advances time while a call goes on. */
  const meanwhile = async <T>(called: Promise<T>): Promise<T> => {
    let isOver = false;
    const over = called.finally(() => {
      isOver = true;
    });
    over.catch(() => undefined);
    await until(() => expect(isOver).toBe(true));
    return over;
  };
  return { ...world, resume, meanwhile };
};

const prompts = (server: Server, id: string): string[] =>
  server.host.at(id).prompts.map(({ parts }) => parts.map(({ text }) => text).join("\n"));

describe("a task that ran on another server", () => {
  test("is resumed there, in its own conversation, as often as one wants, and each end is delivered once", async () => {
    const { origin, worker, other, id, there, until, clock, resume, meanwhile, broker } = await ended();
    expect(await meanwhile(resume())).toContain("was resumed in the background");
    await until(() => expect(origin.task(id).state).toBe("resumed.fleet.claimed"));
    expect(origin.task(id)).toMatchObject({
      resumeCount: 1,
      server: { id: expect.stringMatching(/^srv_\d/) },
    });
    await until(() => expect(prompts(worker, there).at(-1)).toContain("And b.txt?"));
    expect(workOf(worker)).toEqual([there]);
    worker.host.finish(there, "b.txt has it, too.");
    await until(() => expect(texts(origin)).toHaveLength(2));
    expect(texts(origin)[1]).toContain("b.txt has it, too.");
    expect(origin.task(id)).toMatchObject({ status: "completed", result: "b.txt has it, too." });
    await until(() => expect(workOf(worker)).toEqual([]));
    await meanwhile(resume("And c.txt?"));
    await until(() => expect(workOf(worker)).toEqual([there]));
    worker.host.finish(there, "c.txt has not.");
    await until(() => expect(texts(origin)[2]).toContain("c.txt has not."));
    await until(() => expect(workOf(worker)).toEqual([]));
    await clock.advance(10 * LEASE);
    expect(texts(origin)).toHaveLength(3);
    expect(workOf(other)).toEqual([]);
    expect([broker.jobs(), broker.leases()]).toEqual([0, []]);
    expect(origin.host.at(id).prompts).toHaveLength(0);
  });

  test("gets the answer to what it asks after it was resumed", async () => {
    const { origin, worker, id, there, until, resume, meanwhile } = await ended();
    await meanwhile(resume());
    await until(() => expect(workOf(worker)).toEqual([there]));
    const request: UserRequest = { id: "per_1", kind: "permission", what: "bash: make", since: 0, always: ["make"] };
    worker.host.emit({ type: "asked", sessionID: there, request });
    await until(() => expect(origin.task(id).attention).toMatchObject({ what: "bash: make" }));
    await origin.engine.answer(id, { requestId: "per_1", reply: "once" });
    await until(() => expect(worker.host.answers).toEqual([{ id: "per_1", reply: "once" }]));
  });

  test("is not resumed while that server is unreachable, and the refusal says so: it can be when the server is back", async () => {
    const { origin, worker, id, there, until, resume, meanwhile } = await ended();
    worker.life.die();
    await expect(meanwhile(resume())).rejects.toThrow(
      /^Task ses_\w+ cannot be resumed now: server "srv_\d", where it ran, does not answer. Try again when it is back.$/,
    );
    expect(origin.task(id).status).toBe("completed");
    await worker.restart();
    await meanwhile(resume());
    await until(() => expect(workOf(worker)).toEqual([there]));
  });

  test.each<[string, (world: Awaited<ReturnType<typeof ended>>) => unknown, RegExp]>([
    ["while the broker is unreachable", ({ broker }) => broker.cutOff(), /resumed now: "no broker". Try again later.$/],
    [
      "where its conversation was deleted",
      ({ worker, there }) => worker.host.delete(there),
      /says "its conversation is not there any more". Launch a new task.$/,
    ],
    [
      "at a server that takes no more jobs",
      ({ broker, clock }) => {
        broker.drain(["srv_1", "srv_2"]);
        return clock.advance(LEASE);
      },
      /it takes no more jobs/,
    ],
  ])("is not resumed %s, and the refusal says so", async (_, happen, refusal) => {
    const world = await ended();
    await happen(world);
    await expect(world.meanwhile(world.resume())).rejects.toThrow(refusal);
    expect(world.origin.task(world.id).status).toBe("completed");
  });

  test("ends in an error where its server goes before it has begun again, and does not come back in time", async () => {
    const { origin, worker, id, broker, until, clock, resume, meanwhile } = await ended();
    broker.lose("claimed", 99);
    await meanwhile(resume());
    worker.life.die();
    await clock.advance(PATIENCE);
    await until(() => expect(origin.task(id)).toMatchObject({ status: "error", error: { name: "ServerAway" } }));
    await until(() => expect(texts(origin)).toHaveLength(2));
    await worker.restart();
    await clock.advance(5 * LEASE);
    expect(workOf(worker)).toEqual([]);
    expect(texts(origin)).toHaveLength(2);
  });

  test("goes on with the same run where its server starts again, even long after the lease", async () => {
    const { origin, worker, id, there, until, clock, resume, meanwhile } = await ended();
    await meanwhile(resume());
    await until(() => expect(origin.task(id).state).toBe("resumed.fleet.claimed"));
    worker.life.die();
    await until(() => expect(origin.task(id).state).toBe("resumed.fleet.unclaimed.enqueued"));
    await worker.restart();
    await until(() => expect(origin.task(id).state).toBe("resumed.fleet.claimed"));
    await clock.advance(3 * LEASE);
    expect(workOf(worker)).toEqual([there]);
    worker.host.finish(there, "found after all");
    await until(() => expect(texts(origin)).toHaveLength(2));
    expect(texts(origin)[1]).toContain("found after all");
  });

  test("is not begun twice by a server that dies as it begins, and is offered the run before it looks after it again", async () => {
    const { origin, worker, id, there, until, clock, resume, meanwhile } = await ended();
    await meanwhile(resume());
    await until(() => expect(worker.task(there).status).toBe("resumed"));
    worker.life.die();
    await clock.advance(LEASE);
    await worker.restart();
    await clock.advance(LEASE);
    expect(origin.task(id)).toMatchObject({ status: "resumed" });
    expect(workOf(worker)).toEqual([there]);
    worker.host.finish(there, "found after all");
    await until(() => expect(texts(origin)[1]).toContain("found after all"));
  });

  test("is stopped there when it is cancelled", async () => {
    const { origin, worker, id, there, until, resume, meanwhile } = await ended();
    await meanwhile(resume());
    await until(() => expect(origin.task(id).state).toBe("resumed.fleet.claimed"));
    await meanwhile(origin.call("cancel", { task_id: id }));
    await until(() => expect(origin.task(id).status).toBe("cancelled"));
    expect(worker.host.at(there).busy).toBe(false);
    await until(() => expect(workOf(worker)).toEqual([]));
  });

  test("is looked after by the next process of its origin, which delivers its end once", async () => {
    const { origin, worker, there, until, clock, resume, meanwhile } = await ended();
    await meanwhile(resume());
    await until(() => expect(workOf(worker)).toEqual([there]));
    origin.life.die();
    worker.host.finish(there, "found meanwhile");
    await clock.advance(5 * LEASE);
    await origin.restart();
    await until(() => expect(texts(origin)).toHaveLength(2));
    await until(() => expect(workOf(worker)).toEqual([]));
    await clock.advance(5 * LEASE);
    expect(texts(origin)).toHaveLength(2);
  });

  test("whose server a person works with waits for that person", async () => {
    const { origin, worker, id, there, until, resume, meanwhile } = await ended();
    const [parentSessionID = ""] = [worker.task(there).parentSessionID];
    await worker.call("task", { resume: there, prompt: "A question of mine." }, { sessionID: parentSessionID });
    expect(worker.task(there).status).toBe("resumed");
    await meanwhile(resume());
    await until(() => expect(origin.task(id).state).toBe("resumed.fleet.unclaimed.enqueued"));
    worker.host.finish(there, "An answer for that person.");
    await until(() => expect(origin.task(id).state).toBe("resumed.fleet.claimed"));
    await until(() => expect(prompts(worker, there).at(-1)).toContain("And b.txt?"));
    worker.host.finish(there, "An answer for origin.");
    await until(() => expect(texts(origin)).toHaveLength(2));
    expect(texts(origin)[1]).toContain("An answer for origin.");
  });
});
