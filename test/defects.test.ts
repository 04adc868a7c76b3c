import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOpencodeClient } from "@opencode-ai/sdk";
import { expect, test } from "vitest";
import { planFork } from "../src/services/fork.ts";
import { readEvent } from "../src/services/opencode-events.ts";
import { createOpencodeHost, type OpencodeEvent } from "../src/services/opencode-host.ts";
import { openStore } from "../src/services/store/open-store.ts";
import { thisProcess } from "../src/services/store/ownership.ts";
import { tasksToolset } from "../src/tools/tasks/toolset.ts";
import { createDisk } from "./fakes/disk.ts";
import { refused, unavailable } from "./fakes/fake-host.ts";
import { serve } from "./fakes/served.ts";
import { createStage, PARENT, type Stage } from "./fakes/stage.ts";
import { settled } from "./fakes/virtual-clock.ts";

/** An event just as OpenCode publishes it, through the same reader that the plugin uses. */
const publish = (stage: Stage, event: { type: string; properties: unknown }) => {
  const told = readEvent({ id: "evt_1", ...event } as OpencodeEvent, stage.clock.now());
  if (told) stage.engine.onHostEvent(told);
};

test("defect 1: a new session, our own included, leaves running tasks alone", async () => {
  const stage = createStage();
  const first = await stage.launch();
  const created = { info: { id: "ses_new", parentID: PARENT }, sessionID: "ses_new" };
  publish(stage, { type: "session.created", properties: created });
  const second = await stage.launch();
  const ours = { info: { id: second, parentID: PARENT }, sessionID: second };
  publish(stage, { type: "session.created", properties: ours });
  await settled();
  expect([first, second].map((id) => stage.task(id).status)).toEqual(["running", "running"]);
  expect(stage.host.calls).not.toContain("abort");
});

test("defect 2: switching the session, clearing the prompt and Esc forget no task", async () => {
  const stage = createStage();
  const id = await stage.launch();
  publish(stage, { type: "tui.session.select", properties: { sessionID: "ses_other" } });
  publish(stage, { type: "tui.command.execute", properties: { command: "prompt.clear" } });
  stage.host.abortByPerson(PARENT);
  await settled();
  expect(stage.task(id).status).toBe("running");
  stage.host.finish(id, "done");
  await stage.clock.advance(1_000);
  expect(stage.notices()).toHaveLength(1);
});

test("defect 2: deleting one parent clears its tasks and nobody else's", async () => {
  const stage = createStage();
  stage.host.addSession("ses_other");
  const running = await stage.launch();
  const ended = await stage.launch();
  stage.host.finish(ended, "done");
  const theirs = await stage.launch({}, { sessionID: "ses_other" });
  stage.host.delete(PARENT);
  await settled();
  expect(stage.engine.get(running)).toBeUndefined();
  expect(stage.engine.get(ended)).toBeUndefined();
  expect(stage.host.at(running).busy).toBe(false);
  expect(stage.task(theirs).status).toBe("running");
});

test("defect 3: a provider's failure ends the task in error, with its name and message", async () => {
  const stage = createStage();
  const id = await stage.launch();
  stage.host.fail(id, { name: "APIError", message: "401 invalid key" });
  await settled();
  expect(stage.task(id).error).toEqual({ name: "APIError", kind: "provider", message: "401 invalid key" });
});

test("defect 3: an error without any idle ends the task too", async () => {
  const stage = createStage();
  stage.host.childHabits("reject");
  const id = await stage.launch();
  await stage.clock.advance(1_000);
  expect(stage.task(id)).toMatchObject({ status: "error", error: { message: "agent not found" } });
});

test("defect 3: an { error } answer to the launch prompt ends the task in error", async () => {
  const stage = createStage();
  stage.host.failNext("prompt", refused);
  const id = await stage.launch();
  expect(stage.task(id)).toMatchObject({ status: "error", error: { name: "BadRequest", kind: "host" } });
});

test("defect 4: idle with some text, but without a finished answer, is no completion", async () => {
  const stage = createStage();
  const id = await stage.launch();
  const child = stage.host.at(id);
  const started = child.messages.at(-1);
  if (started) child.messages[child.messages.length - 1] = { ...started, text: "Let me look" };
  child.busy = false;
  stage.host.emit({ type: "idle", sessionID: id });
  await settled();
  expect(stage.task(id).status).toBe("running");
  child.busy = true;
  stage.host.finish(id, "Found it.");
  await settled();
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "Found it." });
});

test("defect 12: a notice that could not be sent is sent again, the same to the letter", async () => {
  const stage = createStage();
  const id = await stage.launch();
  stage.host.failNext("prompt", unavailable, 3);
  stage.host.finish(id, "done");
  await settled();
  expect(stage.notices()).toHaveLength(0);
  expect(stage.store.get(id)?.snapshot.value).toMatchObject({ notice: "sending" });
  await stage.clock.advance(60_000);
  expect(stage.notices()).toHaveLength(1);
  const attempts = stage.host.attempts.filter(({ sessionID }) => sessionID === PARENT);
  expect(attempts).toHaveLength(4);
  expect(new Set(attempts.map((prompt) => JSON.stringify(prompt))).size).toBe(1);
  expect(stage.host.at(PARENT).messages.filter(({ role }) => role === "user")).toHaveLength(1);
  expect(stage.store.get(id)?.snapshot.value).toMatchObject({ notice: "none" });
});

test("defect 12: one prompt at a time goes to a parent, with all that is owed by then", async () => {
  const stage = createStage();
  const tasks = [await stage.launch(), await stage.launch(), await stage.launch()];
  const hold = stage.host.holdNext("prompt");
  for (const id of tasks) {
    stage.host.finish(id, `answer of ${id}`);
    await settled();
  }
  expect(stage.host.calls.filter((call) => call === "prompt")).toHaveLength(tasks.length + 1);
  hold.release();
  await settled();
  expect(stage.notices().map((parts) => parts.length)).toEqual([2, 4]);
});

test("defect 15: cancel waits until the session has stopped, is stored, and is told", async () => {
  const stage = createStage();
  const id = await stage.launch();
  const hold = stage.host.holdNext("abort");
  let answered = false;
  const answer = stage.call("cancel", { task_id: id }).then((text) => {
    answered = true;
    return text;
  });
  await settled();
  expect(answered).toBe(false);
  expect(stage.task(id).state).toBe("running.stopping.aborting");
  hold.release();
  expect(await answer).toContain("is cancelled");
  expect(stage.store.get(id)?.task.status).toBe("cancelled");
  await settled();
  expect(stage.notices()[0]?.[0]?.text).toContain("⊘");
});

test("defect 5: a resume that takes longer than any poll is not called completed, nor given up", async () => {
  const stage = createStage();
  const id = await stage.complete("There are 12.");
  await stage.call("task", { resume: id, prompt: "And the tests?" });
  await stage.clock.advance(3 * 3_600_000);
  expect(stage.task(id)).toMatchObject({ status: "resumed", result: "There are 12." });
  stage.host.finish(id, "5 of them.");
  await settled();
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "5 of them." });
});

test("defect 6: a resume that is answered with yes is done; one that cannot be is refused, not put off", async () => {
  const stage = createStage();
  const id = await stage.complete("There are 12.");
  expect(await stage.call("task", { resume: id, prompt: "first" })).toContain("is resumed");
  await settled();
  expect(stage.host.at(id).prompts.at(-1)?.parts[0]?.text).toBe("first");
  await expect(stage.call("task", { resume: id, prompt: "second" })).rejects.toThrow(/currently being resumed/);
  stage.host.finish(id, "done");
  await stage.clock.advance(60_000);
  expect(stage.host.at(id).prompts.map(({ parts }) => parts[0]?.text)).toEqual(["Find it.", "first"]);
});

test("defect 16: a fork is cut where the host keeps tool results, and a fork that fails is said and logged", async () => {
  const raw = {
    id: "prt_1",
    sessionID: "ses_1",
    messageID: "msg_1",
    type: "tool",
    callID: "call_1",
    tool: "read",
    state: { status: "completed", input: { path: "a.ts" }, output: "x".repeat(4_000), title: "", metadata: {} },
  };
  const info = { id: "msg_1", role: "assistant", sessionID: "ses_1", parentID: "msg_0", time: { created: 1 } };
  const written: unknown[] = [];
  const fetch = async (request: Request) => {
    if (request.method === "GET") return Response.json([{ info, parts: [raw] }]);
    written.push(await request.json());
    return Response.json({});
  };
  const host = createOpencodeHost({
    client: createOpencodeClient({ baseUrl: "http://127.0.0.1:1", fetch: fetch as typeof globalThis.fetch }),
    directory: "/project",
  });
  const history = await host.inherited("ses_1");
  const plan = planFork(history.ok ? history.value : [], { maxToolResultChars: 1_500, maxTokens: 100_000 });
  for (const { messageID, part } of plan.cuts) await host.rewrite("ses_1", messageID, part);
  const output = `${"x".repeat(1_500)}\n[Truncated: 4000 characters originally]`;
  expect(written).toEqual([{ ...raw, state: { ...raw.state, output } }]);

  const stage = createStage();
  stage.host.failNext("fork", refused);
  const answer = await stage.call("task", { description: "go on", prompt: "Go on.", agent: "general", fork: true });
  expect(answer).toContain("could not fork this conversation");
  expect(stage.logged.join("\n")).toContain("the host could not fork");
});

test("defect 17: what the tools' texts say of defaults and required arguments is what the code does", async () => {
  const stage = createStage();
  const { asyncagents_task: task, asyncagents_output: output } = tasksToolset({
    engine: stage.engine,
    clock: stage.clock,
    prefix: "asyncagents",
    isHeadless: false,
  });
  const required = (args: Record<string, unknown> = {}) =>
    Object.entries(args).flatMap(([name, schema]) => ((schema as { isOptional(): boolean }).isOptional() ? [] : name));
  // A resume needs its id and a prompt only, so nothing that it ignores may be required.
  expect(required(task?.args)).toEqual(["prompt"]);
  expect(required(output?.args)).toEqual([]);
  const described = (args: Record<string, unknown> = {}, name: string) =>
    (args[name] as { description?: string }).description;
  expect(described(output?.args, "block")).toContain("default false");
  expect(described(output?.args, "timeout")).toMatch(/default 60000, max 600000/);
  expect(described(output?.args, "message_limit")).toContain("default 50");
  const id = await stage.launch();
  expect(await stage.call("output", { task_id: id })).toContain("Status: running");
});

test("defect 7: after a restart agent, batch and prompt are what they were, and a running task goes on to its end", async () => {
  const disk = createDisk();
  const stage = createStage({ openStore: disk.boot });
  const id = await stage.launch({ prompt: "Find it all.", batch_id: "release" }, { agent: "plan" });
  await stage.restart();
  await stage.clock.advance(100);
  const { parentAgent, author, batchId, prompt, status } = stage.task(id);
  expect({ parentAgent, author, batchId, prompt, status }).toEqual({
    parentAgent: "plan",
    author: "plan",
    batchId: "release",
    prompt: "Find it all.",
    status: "running",
  });
  stage.host.finish(id, "12");
  await settled();
  expect(stage.task(id).status).toBe("completed");
  disk.remove();
});

test("defect 13: running tasks are polled every 5 s, by one call for all of them, and no message is read", async () => {
  const stage = createStage();
  for (let launched = 0; launched < 10; launched += 1) await stage.launch();
  stage.host.calls.length = 0;
  await stage.clock.advance(60_000);
  expect(stage.host.calls).toEqual(Array.from({ length: 12 }, () => "busy"));
});

test("defect 14: when no event comes any more, a task still completes within the interval, and is told", async () => {
  const stage = createStage();
  const id = await stage.launch();
  stage.host.listen(() => undefined);
  stage.host.finish(id, "12");
  await stage.clock.advance(5_000);
  expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  expect(stage.notices()).toHaveLength(1);
});

test("defect 8: the status API lists what is stored, tasks from before a restart included", async () => {
  const disk = createDisk();
  const stage = createStage({ openStore: disk.boot });
  const id = await stage.complete("12");
  await stage.clock.advance(1_000);
  await stage.restart();
  const api = await serve(stage);
  expect((await api.get("/v1/tasks")).body).toMatchObject({ total: 1, tasks: [{ sessionID: id, result: "12" }] });
  expect((await api.get("/v1/stats")).body).toMatchObject({ totalTasks: 1, activeTasks: 0 });
  await api.stop();
  disk.remove();
});

test("defect 9: a damaged file is set aside as it is, and never written over", async () => {
  const folder = await mkdtemp(join(tmpdir(), "taskchart-defect-"));
  await writeFile(join(folder, "tasks.db"), "{ this was JSON once");
  const said: string[] = [];
  const log = { info: () => undefined, error: (message: string) => said.push(message) };
  const store = await openStore({ folder, owner: thisProcess("me", "/project"), log });
  store.close();
  const aside = (await readdir(folder)).find((name) => name.includes("damaged"));
  expect(aside && (await readFile(join(folder, aside), "utf8"))).toBe("{ this was JSON once");
  expect(said).toEqual([expect.stringContaining("set aside")]);
  await rm(folder, { recursive: true });
});
