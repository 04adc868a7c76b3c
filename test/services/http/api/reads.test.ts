import { expect, test } from "vitest";
import { z } from "zod";
import { SourceUnavailable } from "../../../../src/services/http/contract/api-task.ts";
import { noProgress } from "../../../../src/task.ts";
import { serve } from "../served.ts";

test("an invalid parameter is a 400 that names it and says what is wrong", async () => {
  const { json } = await serve();
  for (const [query, name] of [
    ["limit=ten", "limit"],
    ["limit=-1", "limit"],
    ["limit=1.5", "limit"],
    ["limit=", "limit"],
    ["limit=1&limit=2", "limit"],
    ["offset=-5", "offset"],
    ["offset=1e3", "offset"],
    ["offset=99999999999999999999", "offset"],
    ["status=sleeping", "status"],
    ["status=", "status"],
  ] as const) {
    const body = await json(`/v1/tasks?${query}`, 400);
    expect({ query, ...body }).toEqual({ query, status: 400, error: expect.stringContaining(`${name}: `) });
  }
});

test("a limit above 200 counts as 200, and directory, parent and batch are filters too", async () => {
  const { json, source } = await serve();
  for (let launched = 0; launched < 210; launched += 1) source.launch();
  source.launch({ directory: "/elsewhere", batchId: "release" });
  const { tasks, ...page } = await json("/v1/tasks?limit=1000");
  expect({ ...page, shown: (tasks as unknown[]).length }).toEqual({ total: 211, limit: 200, offset: 0, shown: 200 });
  expect(await json("/v1/tasks?directory=/elsewhere")).toMatchObject({ total: 1 });
  expect(await json("/v1/tasks?batch=release")).toMatchObject({ total: 1 });
  const { sessionID: lead } = source.launch({ parentSessionID: "ses_talk", batchId: "talk" });
  source.launch({ parentSessionID: lead, parentTaskId: lead, batchId: "talk" });
  expect(await json("/v1/tasks?parent=ses_talk")).toMatchObject({ total: 1, tasks: [{ sessionID: lead }] });
  expect(await json(`/v1/tasks?parent=${lead}&batch=talk`)).toMatchObject({ total: 1 });
  expect(await json("/v1/tasks?parent=ses_talk&batch=release")).toMatchObject({ total: 0 });
  expect(await json("/v1/tasks?batch=release&directory=/project")).toMatchObject({ total: 0 });
});

test("nothing is cached between requests", async () => {
  const { json, source } = await serve();
  const { sessionID } = source.launch();
  expect(await json(`/v1/tasks/${sessionID}`)).toMatchObject({ status: "running" });
  source.end(sessionID, "completed", { elsewhere: true });
  expect(await json(`/v1/tasks/${sessionID}`)).toMatchObject({
    status: "completed",
    allowed: ["RESUME", "RESULT_READ"],
  });
  expect(await json("/v1/tasks?status=completed")).toMatchObject({ total: 1 });
});

test("the journal and the charts can be read; anything that does not exist is a 404", async () => {
  const { json, source } = await serve();
  const { sessionID } = source.launch();
  expect(await json(`/v1/tasks/${sessionID}/events`)).toEqual([
    { type: "SLOT_GRANTED", at: 1 },
    { type: "PROMPT_ACCEPTED", at: 2 },
  ]);
  expect(await json(`/v1/tasks/${sessionID}/way`)).toMatchObject({
    passed: ["run.queued", "run.active.prompting.sending", "run.active.prompting"],
    arrivals: { "run.active.working.busy": "run.active.prompting.sending:PROMPT_ACCEPTED:2" },
  });
  expect(await json("/v1/machines")).toEqual(source.machines());
  expect(await json("/v1/machines/outbox")).toEqual(source.machines().outbox);
  for (const path of [
    "/v1/tasks/ses_9/events",
    "/v1/tasks/ses_9/way",
    "/v1/machines/toString",
    "/v1/machines/nothing",
    "/v2/tasks",
  ]) {
    expect(await json(path, 404)).toMatchObject({ status: 404 });
  }
});

test("launches are shown that have led to no task: those carried out here, and those that are only stored", async () => {
  const { json, source } = await serve();
  expect(await json("/v1/launches")).toEqual({ launches: [] });
  const states = ["preparing.makingWorktree"];
  const here = { parentSessionID: "ses_parent", directory: "/project", states, way: { passed: [], arrivals: {} } };
  source.launching = [{ id: "msg_1", description: "Mend it", agent: "build", ...here }];
  for (const messageID of ["msg_1", "msg_2"])
    source.store.beginLaunch({ messageID, parentSessionID: "ses_parent", at: 1, fork: false });
  expect((await json("/v1/launches")).launches).toMatchObject([
    { id: "msg_1", description: "Mend it", states, why: expect.stringMatching(/A worktree is made for the task\.$/) },
    { id: "msg_2", states: ["leftToNext"], why: expect.stringContaining("the next process looks again") },
  ]);
});

test("an unsupported method is a 405 that lists the supported ones, and HEAD has no body", async () => {
  const { fetch, json } = await serve();
  for (const [method, path, allowed] of [
    ["POST", "/v1/tasks", "GET, HEAD, OPTIONS"],
    ["DELETE", "/v1/tasks/ses_1", "GET, HEAD, OPTIONS"],
    ["GET", "/v1/tasks/ses_1/cancel", "POST, OPTIONS"],
    ["PUT", "/v1/openapi.json", "GET, HEAD, OPTIONS"],
    ["POST", "/v1/events", "GET, OPTIONS"],
  ] as const) {
    const body = await json(path, 405, { method });
    expect(body.error).toContain(allowed);
    expect((await fetch(path, { method })).headers.get("allow")).toBe(allowed);
  }
  const head = await fetch("/v1/tasks", { method: "HEAD" });
  expect({ status: head.status, body: await head.text() }).toEqual({ status: 200, body: "" });
  expect((await fetch("/v1/events", { method: "HEAD" })).status).toBe(405);
});

test("a host that returns no messages is a 502 with its reason; a source that throws is a 500 without one", async () => {
  const { json, source, errors } = await serve();
  const { sessionID } = source.launch();
  source.refusal = "connection refused";
  const body = await json(`/v1/tasks/${sessionID}/logs`, 502);
  expect(body).toEqual({ status: 502, error: "OpenCode does not return the messages: connection refused" });
  source.stats = () => {
    throw new Error("/home/me/tasks.db is damaged");
  };
  expect(JSON.stringify(await json("/v1/stats", 500))).not.toContain("damaged");
  expect(errors.join()).toContain("/home/me/tasks.db is damaged");
});

test("an unavailable source is a 503 with its reason, on the stream too", async () => {
  const { json, source } = await serve();
  const failing = () => {
    throw new SourceUnavailable("OpenCode is ending.");
  };
  source.stats = failing;
  source.latestChange = failing;
  for (const path of ["/v1/stats", "/v1/health", "/v1/events"]) {
    expect(await json(path, 503)).toEqual({ status: 503, error: "OpenCode is ending." });
  }
});

test("a response of the wrong shape is sent all the same, and logged", async () => {
  const { json, source, errors } = await serve();
  const task = source.launch();
  const { sessionID } = task;
  source.comparedTask = async () => ({ ...task, startedAt: "yesterday" });
  expect(await json(`/v1/tasks/${sessionID}`)).toMatchObject({ startedAt: "yesterday" });
  expect(errors.join()).toContain("startedAt");
});

test("openapi.json describes every route with the schemas of its responses", async () => {
  const { json, fetch, source } = await serve();
  source.launch();
  const { paths, components, openapi } = z
    .object({
      openapi: z.string(),
      paths: z.record(z.string(), z.record(z.string(), z.object({ responses: z.record(z.string(), z.unknown()) }))),
      components: z.object({ schemas: z.record(z.string(), z.looseObject({})) }),
    })
    .parse(await json("/v1/openapi.json"));
  expect(openapi).toBe("3.1.0");
  expect(Object.keys(paths).toSorted()).toEqual([
    "/v1/events",
    "/v1/fleet",
    "/v1/health",
    "/v1/launches",
    "/v1/machines",
    "/v1/machines/{name}",
    "/v1/servers",
    "/v1/stats",
    "/v1/task-groups/{id}",
    "/v1/tasks",
    "/v1/tasks/{id}",
    "/v1/tasks/{id}/answers",
    "/v1/tasks/{id}/apply",
    "/v1/tasks/{id}/cancel",
    "/v1/tasks/{id}/changes",
    "/v1/tasks/{id}/continue",
    "/v1/tasks/{id}/discard",
    "/v1/tasks/{id}/events",
    "/v1/tasks/{id}/logs",
    "/v1/tasks/{id}/pause",
    "/v1/tasks/{id}/resume",
    "/v1/tasks/{id}/retry",
    "/v1/tasks/{id}/steer",
    "/v1/tasks/{id}/way",
  ]);
  expect(JSON.stringify(paths["/v1/tasks/{id}"])).toContain("#/components/schemas/Task");
  expect(Object.keys(components.schemas).toSorted()).toEqual(expect.arrayContaining(["Error", "Stats", "Task"]));
  for (const path of Object.keys(paths)) {
    const method = paths[path]?.get ? "DELETE" : "PUT";
    expect((await fetch(path.replace(/\{\w+\}/, "ses_0001"), { method })).status).toBe(405);
  }
});

const used = (tokens: number, cost: number) => ({ ...noProgress("2026-01-01T00:00:00.000Z"), tokens, cost });

test("what tasks used is shown with the tasks below them; of a batch and of all, each is counted once", async () => {
  const { json, source } = await serve();
  source.launch({ sessionID: "ses_lead", batchId: "deep", progress: used(10, 0.1) });
  source.launch({ sessionID: "ses_inner", parentTaskId: "ses_lead", progress: used(20, 0.2) });
  source.launch({ sessionID: "ses_deep", parentTaskId: "ses_inner", batchId: "deep", progress: used(40, 0.4) });
  source.launch({ sessionID: "ses_else", progress: used(80, 0.8) });
  expect(await json("/v1/tasks/ses_lead")).toMatchObject({
    usage: { tokens: 70, cost: 0.7 },
    progress: { tokens: 10, cost: 0.1 },
    childTaskIds: ["ses_inner"],
  });
  const { tasks } = await json("/v1/tasks");
  expect((tasks as { usage: unknown }[]).map(({ usage }) => usage)).toEqual([
    { tokens: 80, cost: 0.8 },
    { tokens: 40, cost: 0.4 },
    { tokens: 60, cost: 0.6 },
    { tokens: 70, cost: 0.7 },
  ]);
  expect(await json("/v1/task-groups/deep")).toMatchObject({ total: 2, usage: { tokens: 70, cost: 0.7 } });
  expect(await json("/v1/stats")).toMatchObject({ usage: { tokens: 150, cost: 1.5 } });
  source.clear("ses_deep");
  expect(await json("/v1/tasks/ses_lead")).toMatchObject({ usage: { tokens: 30, cost: 0.3 } });
  expect(await json("/v1/stats")).toMatchObject({ usage: { tokens: 110, cost: 1.1 } });
});
