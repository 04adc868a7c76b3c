import { describe, expect, test } from "vitest";
import { runElsewhere, type Server, texts, workOf } from "./servers.ts";

const PATIENCE = 900_000;

/** A task that another server works on, and what is asked of it here. */
const begun = async () => {
  const world = await runElsewhere(2);
  const { origin, id, until } = world;
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
  const retry = (prompt?: string) => meanwhile(origin.call("task", { retry: id, ...(prompt ? { prompt } : {}) }));
  return { ...world, retry, meanwhile };
};

/** The same once it has failed there, and that was delivered. */
const failed = async () => {
  const world = await begun();
  const { origin, worker, there, until } = world;
  worker.host.fail(there, { name: "APIError", message: "400: too many words" });
  await until(() => expect(texts(origin)).toHaveLength(1));
  await until(() => expect(workOf(worker)).toEqual([]));
  return world;
};

const newestPrompt = (server: Server, id: string): string =>
  server.host
    .at(id)
    .prompts.at(-1)
    ?.parts.map(({ text }) => text)
    .join("\n") ?? "";

describe("a task that failed on another server", () => {
  test("is retried there, in its own conversation, and its end is delivered once", async () => {
    const { origin, worker, other, id, there, until, retry } = await failed();
    expect(await retry("Use fewer words.")).toContain("was retried in the background");
    await until(() => expect(workOf(worker)).toEqual([there]));
    expect(origin.task(id)).toMatchObject({ status: "resumed", resumeCount: 1, isRetry: true });
    await until(() => expect(newestPrompt(worker, there)).toContain("Use fewer words."));
    const told = newestPrompt(worker, there);
    expect(told).toContain("> 400: too many words");
    expect(told.match(/You were stopped/g)).toHaveLength(1);
    worker.host.finish(there, "It is in a.txt.");
    await until(() => expect(texts(origin)).toHaveLength(2));
    expect(texts(origin)[1]).toContain("Retry #1 completed");
    expect(texts(origin)[1]).toContain("It is in a.txt.");
    expect(workOf(other)).toEqual([]);
    expect(origin.host.at(id).prompts).toHaveLength(0);
  });

  test("is not retried while that server is unreachable, or has not its conversation any more, and the refusal says so", async () => {
    const { origin, worker, id, there, retry } = await failed();
    worker.life.die();
    await expect(retry()).rejects.toThrow(
      /^Task ses_\w+ cannot be retried now: server "srv_\d", where it ran, does not answer/,
    );
    await worker.restart();
    worker.host.delete(there);
    await expect(retry()).rejects.toThrow(/cannot be retried: .* says "its conversation is not there any more"/);
    expect(origin.task(id)).toMatchObject({ status: "error", resumeCount: 0 });
  });
});

test("a task that was cancelled on another server goes on there", async () => {
  const { origin, worker, id, there, until, retry, meanwhile } = await begun();
  await meanwhile(origin.call("cancel", { task_id: id }));
  await until(() => expect(texts(origin)).toHaveLength(1));
  await until(() => expect(workOf(worker)).toEqual([]));
  await retry();
  await until(() => expect(workOf(worker)).toEqual([there]));
  await until(() => expect(newestPrompt(worker, there)).toContain("your task was cancelled"));
  worker.host.finish(there, "It is in a.txt.");
  await until(() => expect(origin.task(id)).toMatchObject({ status: "completed", result: "It is in a.txt." }));
});

test("a follow-up prompt that its server never got is given to it by the retry", async () => {
  const { origin, worker, id, there, broker, until, clock, retry, meanwhile } = await begun();
  worker.host.finish(there, "It is in a.txt.");
  await until(() => expect(texts(origin)).toHaveLength(1));
  await until(() => expect(workOf(worker)).toEqual([]));
  broker.lose("claimed", 99);
  await meanwhile(origin.call("task", { resume: id, prompt: "And b.txt?" }));
  worker.life.die();
  await clock.advance(PATIENCE);
  await until(() => expect(origin.task(id)).toMatchObject({ status: "error", error: { name: "ServerAway" } }));
  await until(() => expect(texts(origin)).toHaveLength(2));
  broker.lose("claimed", 0);
  await worker.restart();
  await retry();
  await until(() => expect(workOf(worker)).toEqual([there]));
  await until(() => expect(newestPrompt(worker, there)).toBe("And b.txt?"));
  worker.host.finish(there, "b.txt has it, too.");
  await until(() => expect(texts(origin)).toHaveLength(3));
  expect(texts(origin)[2]).toContain("Retry #2 completed");
});
