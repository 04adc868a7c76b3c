import { expect, test } from "vitest";
import { PATIENCE_MS } from "../../../patience.ts";
import { startChild } from "../child.ts";
import { type Served, serve, temporaryFolder } from "../served.ts";

const post = (path: string, { server }: Served, body: unknown = {}) =>
  fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });

const answerOf = async (response: Response) => ({ status: response.status, body: await response.json() });

test("a command that the task's state forbids is a 409, one that OpenCode refuses a 502, and one that takes too long a 504", async () => {
  const served = await serve();
  const { source, clock } = served;
  const { sessionID } = source.launch();
  const resume = () => post(`/v1/tasks/${sessionID}/resume`, served, { prompt: "Go." });
  source.refusal = "only completed tasks can be resumed";
  expect(await answerOf(await resume())).toEqual({ status: 409, body: { status: 409, error: source.refusal } });
  source.refusedBy = "host";
  source.refusal = "OpenCode did not find the task's session: no answer within 15000 ms. Try again.";
  expect(await answerOf(await resume())).toEqual({ status: 502, body: { status: 502, error: source.refusal } });
  source.refusal = undefined;
  source.isBusy = true;
  const late = resume();
  let answered = false;
  void late.finally(() => {
    answered = true;
  });
  while (!answered) await clock.advance(1_000);
  expect(await answerOf(await late)).toEqual({
    status: 504,
    body: { status: 504, error: expect.stringContaining("has not answered within 15 s") },
  });
});

test("a running task is given an instruction; one without words is a 400, and one that the task refuses a 409", async () => {
  const served = await serve();
  const { source } = served;
  const { sessionID } = source.launch();
  const steer = (prompt: string) => post(`/v1/tasks/${sessionID}/steer`, served, { prompt });
  expect(await answerOf(await steer(" Only the tests. "))).toMatchObject({ status: 200, body: { sessionID } });
  expect(source.asked).toEqual([`steer with "Only the tests." ${sessionID}`]);
  expect((await steer(" ")).status).toBe(400);
  source.refusal = "it has already finished (completed): use resume";
  expect(await answerOf(await steer("Faster."))).toEqual({ status: 409, body: { status: 409, error: source.refusal } });
});

test("a task is retried with a prompt or without; an empty body and none are the same, and a refusal is a 409", async () => {
  const served = await serve();
  const { source } = served;
  const { sessionID } = source.launch();
  const retry = (body?: unknown) => post(`/v1/tasks/${sessionID}/retry`, served, body);
  expect(await answerOf(await retry({ prompt: " The key is renewed. " }))).toMatchObject({
    status: 200,
    body: { sessionID },
  });
  expect((await retry({})).status).toBe(200);
  const { url, token } = served.server;
  const bare = await fetch(`${url}/v1/tasks/${sessionID}/retry`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
  });
  expect(bare.status).toBe(200);
  expect(source.asked).toEqual([
    `retry with "The key is renewed." ${sessionID}`,
    ...[1, 2].map(() => `retry with "" ${sessionID}`),
  ]);
  expect((await retry({ prompt: 5 })).status).toBe(400);
  source.refusal = "it still runs: use steer";
  expect(await answerOf(await retry())).toEqual({ status: 409, body: { status: 409, error: source.refusal } });
});

test("a command for a task whose directory is not open is refused at once, naming the directory; its requests are not shown", async () => {
  const served = await serve();
  const { source, clock, json } = served;
  const request = { id: "per_1", kind: "permission" as const, what: "bash: ls", since: "2026-01-01T00:00:00.000Z" };
  const attention = { kind: "permission" as const, what: "bash: ls", since: request.since, requests: [request] };
  const { sessionID } = source.launch({ directory: "/home/me/shop", attention });
  const path = `/v1/tasks/${sessionID}`;
  expect(await json(path)).toMatchObject({ attention: { requests: [request] } });
  source.store.isAttended = () => false;
  const before = clock.now();
  for (const [action, body] of [
    ["cancel", {}],
    ["resume", { prompt: "Go." }],
    ["steer", { prompt: "Faster." }],
    ["answers", { requestId: "per_1", reply: "once" }],
  ] as const) {
    expect({ action, ...(await answerOf(await post(`${path}/${action}`, served, body))) }).toEqual({
      action,
      status: 409,
      body: {
        status: 409,
        error: "No OpenCode has the task's directory open. Open /home/me/shop in OpenCode, and try again.",
      },
    });
  }
  expect(clock.now()).toBe(before);
  expect(source.asked).toEqual([]);
  expect(await json(path)).not.toHaveProperty("attention");
  expect((await json("/v1/tasks")).tasks).toEqual([expect.not.objectContaining({ attention: expect.anything() })]);
});

test("the beginning of an id is enough if it is unambiguous; otherwise the candidates are listed", async () => {
  const served = await serve();
  const { source, json } = served;
  for (const sessionID of ["ses_ab1", "ses_ab2", "ses_abc", "ses_c", "ses_cc"]) source.launch({ sessionID });
  expect(await json("/v1/tasks/ses_ab2")).toMatchObject({ sessionID: "ses_ab2" });
  // A complete id wins, even if other ids begin with it.
  expect(await json("/v1/tasks/ses_c")).toMatchObject({ sessionID: "ses_c" });
  source.launch({ sessionID: "ses_d123456" });
  expect(await json("/v1/tasks/ses_d")).toMatchObject({ sessionID: "ses_d123456" });
  expect(await json("/v1/tasks/ses_d/logs")).toEqual([]);
  expect(await json("/v1/tasks/ses_d/events")).toHaveLength(2);
  expect((await post("/v1/tasks/ses_d/cancel", served)).status).toBe(200);
  expect(source.asked).toEqual(["cancel ses_d123456"]);
  for (const path of ["/v1/tasks/ses_ab", "/v1/tasks/ses_ab/logs", "/v1/tasks/ses_ab/events"]) {
    expect(await json(path, 409)).toEqual({
      status: 409,
      error: '"ses_ab" begins the ids of several tasks: ses_ab1, ses_ab2, ses_abc. Give more of it.',
    });
  }
  expect((await post("/v1/tasks/ses_ab/cancel", served)).status).toBe(409);
  expect((await json("/v1/tasks/s", 409)).error).toContain("ses_ab1, ses_ab2, ses_abc, ses_c, ses_cc and more.");
  expect(await json("/v1/tasks/ses_x", 404)).toMatchObject({ error: 'There is no task "ses_x".' });
  expect(source.asked).toHaveLength(1);
});

test("a request that is pending when OpenCode shuts down gets an error that says so, and the process exits all the same", async () => {
  const child = await startChild({ folder: temporaryFolder(), slowLogs: true });
  const answer = fetch(`${child.url}/v1/tasks/ses_0001/logs`);
  await child.said("logs are asked for");
  const ended = child.kill("SIGTERM");
  expect(await answerOf(await answer)).toEqual({
    status: 503,
    body: { status: 503, error: expect.stringContaining("OpenCode is shutting down before the response is ready") },
  });
  expect(await ended).toEqual({ code: null, signal: "SIGTERM" });
});
