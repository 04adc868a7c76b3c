import fc from "fast-check";
import { expect, test } from "vitest";
import { PATIENCE_MS } from "../../../patience.ts";
import { request, send } from "../raw.ts";
import { type Served, serve } from "../served.ts";

const errorOf = ({ body }: { body: string }) => JSON.parse(body.slice(body.indexOf("{"), body.lastIndexOf("}") + 1));

const post = (path: string, { server }: Served, headers: Record<string, string> = {}, body?: string) =>
  fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });

/** The routes that change a task, each with a body that it takes; undefined where it takes none. */
const CHANGES: Readonly<Record<string, object | undefined>> = {
  cancel: undefined,
  pause: undefined,
  continue: undefined,
  apply: undefined,
  discard: undefined,
  resume: { prompt: "Go." },
  retry: { prompt: "Go." },
  steer: { prompt: "Go." },
  answers: { requestId: "per_1", reply: "once" },
};

test("a Host that does not name this machine is refused; this machine's names are served", async () => {
  const { server } = await serve();
  for (const Host of [
    "evil.example",
    `evil.example:${server.port}`,
    "127.0.0.1.evil.example",
    "localhost.evil",
    "a b",
    "0.0.0.0",
  ]) {
    const answer = await send(server.port, request("GET", "/v1/tasks", { Host }));
    expect({ Host, refused: [400, 403].includes(answer.status) }).toEqual({ Host, refused: true });
    expect(answer.headers.get("access-control-allow-origin") ?? null).toBeNull();
    expect(errorOf(answer)).toMatchObject({ status: answer.status });
  }
  for (const Host of ["localhost", `LOCALHOST:${server.port}`, "127.0.0.1", "[::1]", `[::1]:${server.port}`]) {
    expect({ Host, ...(await send(server.port, request("GET", "/v1/health", { Host }))) }).toMatchObject({
      Host,
      status: 200,
    });
  }
});

test("a page of another origin is refused, for events too, unless it is allowed; a page of this machine is served", async () => {
  const { fetch } = await serve({ allowedOrigins: ["https://dash.example"] });
  const from = async (origin: string, path = "/v1/tasks") => (await fetch(path, { headers: { origin } })).status;
  for (const origin of ["https://evil.example", "null", "http://localhost.evil.example", "https://dash.example.evil"]) {
    expect({ origin, status: await from(origin) }).toEqual({ origin, status: 403 });
    expect(await from(origin, "/v1/events")).toBe(403);
    // Nor can it read that there is a server: neither the refusal, nor an answer that no route gives.
    const long = `/v1/tasks?search=${"a".repeat(20_000)}`;
    for (const init of [{}, { method: "POST" }, { method: "OPTIONS" }, { path: long }] as const) {
      const { path = "/v1/health", ...rest } = { path: undefined, ...init };
      const answer = await fetch(path ?? "/v1/health", { ...rest, headers: { origin } });
      expect({ init, cors: answer.headers.get("access-control-allow-origin") }).toEqual({ init, cors: null });
    }
  }
  for (const origin of ["http://localhost:3000", "http://127.0.0.1", "https://[::1]:8443", "https://dash.example"]) {
    expect({ origin, status: await from(origin) }).toEqual({ origin, status: 200 });
  }
});

test("the routes tested here are all that change a task", async () => {
  const { json } = await serve();
  const { paths } = await json("/v1/openapi.json");
  const posts = Object.entries(paths as Record<string, Record<string, { requestBody?: unknown }>>).flatMap(
    ([path, { post: route }]) => (route ? [[path, route.requestBody !== undefined]] : []),
  );
  expect(posts.toSorted()).toEqual(
    Object.entries(CHANGES)
      .map(([action, body]) => [`/v1/tasks/{id}/${action}`, body !== undefined])
      .toSorted(),
  );
});

test("nothing changes without the token, or with a wrong one", async () => {
  const served = await serve();
  const { source, server } = served;
  const { sessionID } = source.launch();
  const wrong = [
    "",
    "Bearer",
    "Bearer ",
    `Basic ${server.token}`,
    server.token,
    `Bearer ${server.token}x`,
    `Bearer ${server.token.slice(1)}`,
    `Bearer ${server.token.slice(0, -1)}`,
    `Bearer ${server.token[0]}`,
  ];
  for (const authorization of wrong) {
    for (const [action, body = {}] of Object.entries(CHANGES)) {
      const path = `/v1/tasks/${sessionID}/${action}`;
      const answer = await post(path, served, { authorization }, JSON.stringify(body));
      expect({ action, authorization, status: answer.status }).toEqual({ action, authorization, status: 401 });
      expect(await answer.json()).toMatchObject({ status: 401, error: expect.stringContaining("server.json") });
    }
  }
  expect(source.asked).toEqual([]);
});

test("with the token a task is cancelled and resumed; errors say what is wrong", async () => {
  const served = await serve();
  const { source } = served;
  const task = source.launch();
  const path = `/v1/tasks/${task.sessionID}`;
  expect(await (await post(`${path}/cancel`, served)).json()).toEqual(task);
  expect(await (await post(`${path}/resume`, served, {}, '{"prompt":"Go on."}')).json()).toEqual(task);
  expect(source.asked).toEqual([`cancel ${task.sessionID}`, `resume with "Go on." ${task.sessionID}`]);

  const faults = [
    ["{}", 400, "prompt"],
    ['{"prompt":"  "}', 400, "prompt: must have some text"],
    ['{"prompt":7}', 400, "prompt"],
    ["{", 400, "JSON"],
    [`{"prompt":"${"a".repeat(1_048_577)}"}`, 413, "too long"],
  ] as const;
  for (const [body, status, words] of faults) {
    const answer = await post(`${path}/resume`, served, {}, body);
    expect(await answer.json()).toEqual({ status, error: expect.stringContaining(words) });
    expect(answer.status).toBe(status);
  }
  expect((await post(`${path}/resume`, served, { "content-type": "text/plain" }, "hi")).status).toBe(415);
  expect((await post("/v1/tasks/ses_9999/cancel", served)).status).toBe(404);
  expect((await post("/v1/tasks/ses_9999/resume", served, {}, '{"prompt":"Go."}')).status).toBe(404);
  source.refusal = "only completed tasks can be resumed (this one is running)";
  const refused = await post(`${path}/resume`, served, {}, '{"prompt":"Go."}');
  expect(await refused.json()).toEqual({ status: 409, error: source.refusal });
  expect((await post(`${path}/cancel`, served)).status).toBe(409);
  expect(served.errors).toEqual([]);
});

test("with the token a task's request is answered; errors say what is wrong", async () => {
  const served = await serve();
  const { source } = served;
  const { sessionID } = source.launch();
  const path = `/v1/tasks/${sessionID}/answers`;
  const good = ['{"requestId":"per_1","reply":"once"}', '{"requestId":"que_1","answers":[["a.ts"],["1","2"]]}'];
  for (const body of good) expect((await post(path, served, {}, body)).status).toBe(200);
  expect(source.asked).toEqual(good.map((body) => `answer ${body} ${sessionID}`));

  const faults = [
    ['{"reply":"once"}', "requestId"],
    ['{"requestId":"per_1"}', "give reply or answers, and not both"],
    ['{"requestId":"per_1","reply":"once","answers":[["a"]]}', "give reply or answers, and not both"],
    ['{"requestId":"per_1","reply":"yes"}', "reply"],
    ['{"requestId":"per_1","reply":"once","message":"no"}', "message: goes with reject only"],
    ['{"requestId":"per_1","answers":[]}', "answers"],
    ['{"requestId":"per_1","answers":[[""]]}', "answers.0.0"],
    ['{"requestId":"per_1","answers":["a"]}', "answers.0"],
    ['{"requestId":"","reply":"once"}', "requestId"],
    ['{"requestId":"per_1","reply":"once","all":true}', "all"],
    ["[1]", "expected object"],
    ["{", "JSON"],
  ] as const;
  for (const [body, words] of faults) {
    const answer = await post(path, served, {}, body);
    expect({ body, answer: await answer.json() }).toEqual({
      body,
      answer: { status: 400, error: expect.stringContaining(words) },
    });
  }
  expect((await post("/v1/tasks/ses_9999/answers", served, {}, '{"requestId":"per_1","reply":"once"}')).status).toBe(
    404,
  );
  source.refusal = "Request que_1 of task ses_0001 is not open: it was answered, or the task went on.";
  const refused = await post(path, served, {}, '{"requestId":"per_1","reply":"once"}');
  expect(await refused.json()).toEqual({ status: 409, error: source.refusal });
  expect(source.asked).toHaveLength(3);
  expect(served.errors).toEqual([]);
});

test("every route that takes a body refuses one without Content-Length, and one that is too long", async () => {
  const served = await serve();
  const { server, source } = served;
  const { sessionID } = source.launch();
  const headers = { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" };
  for (const [action, body] of Object.entries(CHANGES)) {
    if (body === undefined) continue;
    const path = `/v1/tasks/${sessionID}/${action}`;
    const text = JSON.stringify(body);
    const chunked = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
    const unmeasured = await send(
      server.port,
      request("POST", path, { ...headers, "Transfer-Encoding": "chunked" }) + chunked,
    );
    expect({ action, status: unmeasured.status, ...errorOf(unmeasured) }).toMatchObject({ action, status: 411 });
    const long = await post(path, served, {}, JSON.stringify({ ...body, prompt: "a".repeat(1_048_577) }));
    expect({ action, status: long.status }).toEqual({ action, status: 413 });
  }
  expect(source.asked).toEqual([]);
});

test("even with the right token, nothing changes for a foreign host, origin or page", async () => {
  const served = await serve({ allowedOrigins: ["https://dash.example"] });
  const { server, source } = served;
  const { sessionID } = source.launch();
  const cancel = async (headers: Record<string, string>) => {
    const all = { Authorization: `Bearer ${server.token}`, "Content-Length": "0", ...headers };
    return (await send(server.port, request("POST", `/v1/tasks/${sessionID}/cancel`, all))).status;
  };
  const foreign = [
    { Host: "evil.example" },
    { Host: "127.0.0.1.evil.example" },
    { Origin: "https://evil.example" },
    { Origin: "null" },
    { "Sec-Fetch-Site": "cross-site" },
  ];
  for (const headers of foreign) expect({ headers, status: await cancel(headers) }).toEqual({ headers, status: 403 });
  expect(source.asked).toEqual([]);
  expect(await cancel({ Origin: "https://dash.example" })).toBe(200);
  expect(source.asked).toEqual([`cancel ${sessionID}`]);
});

test("path tricks are a 404, and a query of 1 MB is refused", async () => {
  const { server, source } = await serve();
  source.launch();
  const targets = [
    "/v1/tasks/../../../../etc/passwd",
    "/v1/tasks/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "/v1/tasks/..%5c..%5cwindows",
    "/v1/tasks/ses_0001%00",
    "/v1/tasks/ses_0001%2flogs",
    "/v1/tasks/%ff%fe",
    "/v1/tasks/%",
    "/v1/machines/__proto__",
    "/v1/machines/constructor",
    "/v1/task-groups/%E0%A4%A",
    "//evil.example/v1/tasks",
    "/V1/TASKS",
    "/v1/tasks/",
    "/",
  ];
  for (const target of targets) {
    const answer = await send(server.port, request("GET", target));
    expect({ target, status: answer.status, ...errorOf(answer) }).toMatchObject({ target, status: 404 });
  }
  const long = await send(server.port, request("GET", `/v1/tasks?search=${"a".repeat(1_048_576)}`));
  expect([414, 431]).toContain(long.status);
  const tooLong = await send(server.port, request("GET", `/v1/tasks?search=${"a".repeat(9_000)}`));
  expect(errorOf(tooLong)).toMatchObject({ status: 414 });
});

test("no request leads to a 5xx, and errors contain their status", async () => {
  const { server, source } = await serve();
  source.end(source.launch().sessionID);
  const known = [
    "v1",
    "tasks",
    "task-groups",
    "machines",
    "task",
    "ses_0001",
    "logs",
    "events",
    "stats",
    "msg_turn",
    "openapi.json",
    "cancel",
    "resume",
    "..",
    "%2e",
    "",
  ];
  const visible = fc.string({ maxLength: 20 }).map((text) => encodeURIComponent(text.toWellFormed()));
  const messy = fc.string({ unit: fc.constantFrom(..."abc%/\\.:;@~^`{}|'\"<>=&+-_0"), maxLength: 20 });
  const parts = fc.array(fc.oneof(fc.constantFrom(...known), visible, messy), { maxLength: 6 });
  const routes = ["/v1/tasks", "/v1/stats", "/v1/tasks/ses_0001", "/v1/tasks/ses_0001/resume", "/v1/machines/task"];
  const path = fc.oneof(
    fc.constantFrom(...routes),
    parts.map((given) => `/v1/${given.join("/")}`),
    parts.map((given) => `/${given.join("/")}`),
  );
  const parameter = fc.tuple(
    fc.oneof(
      fc.constantFrom("limit", "offset", "status", "agent", "search", "directory", "batch", "__proto__"),
      visible,
    ),
    fc.oneof(fc.constantFrom("-1", "0", "1e9", "999999999999999999999", "NaN", "running", "", "%"), visible, messy),
  );
  const query = fc.array(parameter, { maxLength: 5 }).map((pairs) => pairs.map((pair) => pair.join("=")).join("&"));
  const method = fc.constantFrom(
    "GET",
    "GET",
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "PATCH",
    "OPTIONS",
    "TRACE",
    "PURGE",
  );
  const header = fc.tuple(
    fc.constantFrom(
      "Accept",
      "Authorization",
      "Content-Type",
      "Content-Length",
      "Range",
      "If-None-Match",
      "Last-Event-ID",
      "X-A",
      "Expect",
      "Origin",
      "Host",
      "Upgrade",
    ),
    fc.oneof(
      fc.constantFrom("0", "localhost", "application/json", `Bearer ${server.token}`, "bytes=0-1"),
      fc.string({ maxLength: 20, unit: fc.constantFrom(...'abc019/;=,. -*%"') }),
    ),
  );
  const seen = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(method, path, query, fc.array(header, { maxLength: 3 }), async (verb, target, given, headers) => {
      const whole = given === "" ? target : `${target}?${given}`;
      // A stream of events does not end.
      fc.pre(!/^\/+v1\/+events(?:[?/]|$)/.test(whole));
      const { status, body } = await send(server.port, request(verb, whole, Object.fromEntries(headers)));
      seen.set(status, (seen.get(status) ?? 0) + 1);
      expect(status).toBeGreaterThanOrEqual(200);
      expect(status).toBeLessThan(500);
      if (status >= 400 && body !== "") expect(errorOf({ body })).toMatchObject({ status });
    }),
    { numRuns: 600 },
  );
  // Without this variety, the absence of a 5xx would mean little.
  expect([...seen.keys()]).toEqual(expect.arrayContaining([200, 204, 400, 403, 404, 405]));
  expect(await (await fetch(`${server.url}/v1/health`)).json()).toMatchObject({ status: "ok" });
  console.log(
    `answers by status: ${[...seen]
      .toSorted()
      .map((pair) => pair.join(": "))
      .join(", ")}`,
  );
});
