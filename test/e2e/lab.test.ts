import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { toolNames, toolResults } from "./lab/model-request.ts";
import { calls, cut, failure, hang, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";

/** A plugin with one tool, in the shape that OpenCode takes without any package. */
const greeter = `
export const greeter = async () => ({
  tool: {
    greet: {
      description: "Greets",
      args: { who: { type: "string" } },
      execute: async ({ who }) => "Hello " + who,
    },
  },
});`;

let folder: string;
let lab: Lab;

setUp(async () => {
  folder = await mkdtemp(join(tmpdir(), "taskchart-greeter-"));
  const file = join(folder, "greeter.js");
  await writeFile(file, greeter);
  lab = await startLab({ plugin: pathToFileURL(file).href });
  return async () => {
    await lab.stop();
    await rm(folder, { recursive: true });
  };
});

describe("the lab's OpenCode and its scripted model", () => {
  test("a prompt is answered with the scripted text", async () => {
    lab.model.when("capital of France", text("Paris it is.", { chunkDelayMs: 1 }));
    const session = await lab.session();
    const messages = await lab.ask(session, "What is the capital of France?");
    expect(messages.map((message) => message.info.role)).toEqual(["user", "assistant"]);
    expect(await lab.texts(session)).toEqual(["user: What is the capital of France?", "assistant: Paris it is."]);
    expect(lab.model.requests.filter((request) => request.sessionID === session)).toHaveLength(1);
  });

  test("scripted tool calls reach the plugin, and their results come back in the next model request", async () => {
    const greetings = [
      { name: "greet", args: { who: "Ada" } },
      { name: "greet", args: { who: "Grace" } },
    ];
    lab.model.when("greet them", [calls(greetings, { text: "At once." }), text("Done.")]);
    const session = await lab.session();
    await lab.ask(session, "Please greet them");
    const [first, second] = lab.model.requests.filter((request) => request.sessionID === session);
    expect(first && toolNames(first)).toContain("greet");
    expect(second && toolResults(second)).toMatchObject([
      { name: "greet", output: "Hello Ada" },
      { name: "greet", output: "Hello Grace" },
    ]);
    expect(second?.at).toBeGreaterThan(first?.answeredAt ?? Number.POSITIVE_INFINITY);
    expect(await lab.texts(session)).toEqual([
      "user: Please greet them",
      "assistant: At once.",
      "tool greet: Hello Ada",
      "tool greet: Hello Grace",
      "assistant: Done.",
    ]);
  });

  test("a reply can be made from the request", async () => {
    lab.model.when(
      (request) => request.messages.some((message) => message.content === "count"),
      (request) => text(`${request.messages.filter((message) => message.role === "user").length} so far`),
    );
    const session = await lab.session();
    await lab.ask(session, "count");
    await lab.ask(session, "count");
    expect((await lab.texts(session)).at(-1)).toBe("assistant: 2 so far");
  });

  test("HTTP 401 becomes a session error, and the next prompt is answered", async () => {
    lab.model.when("who am I", [failure(401, "no such key"), text("Better now.")]);
    const session = await lab.session();
    await lab.ask(session, "who am I?");
    const event = await lab.events.waitFor("session.error", { sessionID: session });
    expect(event.properties.error).toMatchObject({ name: "APIError", data: { statusCode: 401, isRetryable: false } });
    expect((await lab.texts(session)).at(-1)).toBe("assistant failed: APIError: no such key");
    await lab.ask(session, "who am I now?");
    expect((await lab.texts(session)).at(-1)).toBe("assistant: Better now.");
  });

  test("a broken connection is tried again", async () => {
    lab.model.when("hold the line", [cut(), text("Here again.")]);
    const session = await lab.session();
    await lab.ask(session, "hold the line");
    const [broken, whole] = lab.model.requests.filter((request) => request.sessionID === session);
    expect(broken).not.toHaveProperty("answeredAt");
    expect(whole).toHaveProperty("answeredAt");
    expect((await lab.texts(session)).at(-1)).toBe("assistant: Here again.");
  });

  test("a hanging answer can be aborted", async () => {
    lab.model.when("think forever", hang());
    const session = await lab.session();
    await lab.prompt(session, "think forever");
    await lab.model.waitFor("think forever");
    await lab.client.session.abort({ sessionID: session });
    await lab.idle(session);
    expect((await lab.texts(session)).at(-1)).toMatch(/^assistant failed: MessageAbortedError/);
  });

  test("a hanging answer can be released, and others are served meanwhile", async () => {
    const held = hang();
    lab.model.when("wait for it", held);
    const [waiting, other] = [await lab.session(), await lab.session()];
    await lab.prompt(waiting, "wait for it");
    await lab.model.waitFor("wait for it");
    await lab.ask(other, "anything");
    expect((await lab.texts(other)).at(-1)).toBe("assistant: ok");
    held.release(text("There."));
    await lab.idle(waiting);
    expect((await lab.texts(waiting)).at(-1)).toBe("assistant: There.");
  });

  test("a wait that is given up says what was seen instead", async () => {
    const session = await lab.session();
    await lab.ask(session, "something else");
    await expect(lab.model.waitFor("never asked", { timeoutMs: 20 })).rejects.toThrow(
      new RegExp(`no matching model request within 20 ms.*${session}, 0 tool results, user: something else`, "s"),
    );
  });
});

test("sessions are there again after a crash and a restart", async () => {
  const session = await lab.session({ title: "remembered" });
  await lab.ask(session, "remember this");
  const before = lab.opencode.pid;
  await lab.opencode.kill();
  await lab.restart();
  expect(lab.opencode.pid).not.toBe(before);
  expect(await lab.texts(session)).toEqual(["user: remember this", "assistant: ok"]);
  await lab.ask(session, "and go on");
  expect(await lab.texts(session)).toHaveLength(4);
});
