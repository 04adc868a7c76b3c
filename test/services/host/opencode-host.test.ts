import { createOpencodeClient } from "@opencode-ai/sdk";
import { afterEach, describe, expect, test, vi } from "vitest";
import { planFork } from "../../../src/services/engine/launch/fork-plan.ts";
import { createSessionDirectories } from "../../../src/services/host/directories.ts";
import type { Host } from "../../../src/services/host/host.ts";
import { createOpencodeHost } from "../../../src/services/host/opencode-host.ts";
import { systemClock } from "../../../src/services/platform/clock.ts";

/** The adapter over a network in which `fetch` answers every request. */
const hostOver = (fetch: (request: Request) => Promise<Response>): Host =>
  createOpencodeHost({
    client: createOpencodeClient({ baseUrl: "http://127.0.0.1:1", fetch: fetch as typeof globalThis.fetch }),
    directory: "/project",
  });

const answering = (status: number, body: unknown) =>
  hostOver(async () => Response.json(body, { status, headers: { "content-type": "application/json" } }));

const prompt = { sessionID: "ses_1", messageID: "msg_1", parts: [], agent: "general", model: undefined };
const session = { parentID: "ses_1", title: "t", agent: "general", model: undefined, permission: [], metadata: {} };
const request = { id: "r", kind: "permission", what: "", since: 0 } as const;

const raw = { id: "prt_1", sessionID: "ses_1", messageID: "msg_1", type: "text", text: "long" };
const part = { id: "prt_1", kind: "text", text: "cut", uncuttableText: "", attachments: 0, raw } as const;

/** Every call that the plugin makes. */
const CALLS: Record<keyof Host, (host: Host) => Promise<{ ok: boolean }>> = {
  agents: (host) => host.agents(),
  models: (host) => host.models(),
  session: (host) => host.session("ses_1"),
  createSession: (host) => host.createSession(session),
  deleteSession: (host) => host.deleteSession("ses_1"),
  fork: (host) => host.fork("ses_1", "msg_1"),
  forkedMessages: (host) => host.forkedMessages("ses_1"),
  rewritePart: (host) => host.rewritePart("ses_1", "msg_1", part),
  deleteMessage: (host) => host.deleteMessage("ses_1", "msg_1"),
  moveSession: (host) => host.moveSession("ses_1", "/worktree"),
  closeDirectory: (host) => host.closeDirectory("/worktree"),
  updateSession: (host) => host.updateSession("ses_1", { title: "t", permission: [], metadata: {} }),
  children: (host) => host.children("ses_1"),
  prompt: (host) => host.prompt(prompt),
  storeMessage: (host) => host.storeMessage(prompt),
  abort: (host) => host.abort("ses_1"),
  busy: (host) => host.busy(),
  messages: (host) => host.messages("ses_1", 1),
  conversation: (host) => host.conversation("ses_1"),
  runEvents: (host) => host.runEvents("ses_1", "msg_1"),
  sessionsSince: (host) => host.sessionsSince(0),
  allSessions: (host) => host.allSessions(),
  rawMessages: (host) => host.rawMessages("ses_1"),
  toolCall: (host) => host.toolCall("ses_1", "call_1"),
  message: (host) => host.message("ses_1", "msg_1"),
  answerUserRequest: (host) => host.answerUserRequest(request, { reply: "once" }),
  rejectUserRequest: (host) => host.rejectUserRequest(request, "no"),
  toast: (host) => host.toast({ message: "", variant: "info" }),
};

describe.each(Object.entries(CALLS))("%s", (_, call) => {
  test("an { error } answer is a failure with the host's name and words", async () => {
    const refusing = answering(400, { name: "BadRequest", data: { message: "agent is not a string" } });
    expect(await call(refusing)).toEqual({
      ok: false,
      failure: { kind: "refused", name: "BadRequest", message: "agent is not a string" },
    });
  });

  test("an error that is no object is a failure all the same", async () => {
    expect(await call(answering(500, "boom"))).toMatchObject({ ok: false, failure: { kind: "unavailable" } });
  });

  test("404 says that it is not found", async () => {
    const gone = answering(404, { name: "NotFoundError", data: { message: "Session not found: ses_1" } });
    expect(await call(gone)).toMatchObject({ ok: false, failure: { kind: "notFound", name: "NotFoundError" } });
  });

  test("a network that throws is a failure, not a throw", async () => {
    const cut = hostOver(async () => {
      throw new TypeError("fetch failed");
    });
    expect(await call(cut)).toMatchObject({ ok: false, failure: { kind: "unavailable" } });
  });
});

test("a model without a variant, of which the host says that it is the default one, has none", async () => {
  const model = { providerID: "p", id: "m", variant: "default" };
  const read = await answering(200, { id: "ses_1", title: "", model }).session("ses_1");
  expect(read).toMatchObject({ ok: true, value: { model: { providerID: "p", modelID: "m" } } });
  expect(read.ok && read.value.model).not.toHaveProperty("variant");
});

test("what the host leaves out, it says as null too: neither is passed on", async () => {
  const bodies: unknown[] = [];
  const host = hostOver(async (sent) => {
    const path = new URL(sent.url).pathname;
    if (path === "/session") bodies.push(await sent.json());
    if (path === "/session") return Response.json({ id: "ses_2" });
    return Response.json([
      { name: "lost", hidden: null, model: { providerID: "p", modelID: "m" }, variant: null },
      { name: "quick", model: { providerID: "p", modelID: "m" }, variant: "low" },
      { name: "title", hidden: true },
    ]);
  });
  const agents = await host.agents();
  expect(agents).toEqual({
    ok: true,
    value: [
      { name: "lost", hidden: false, model: { providerID: "p", modelID: "m" } },
      { name: "quick", hidden: false, model: { providerID: "p", modelID: "m", variant: "low" } },
      { name: "title", hidden: true, model: undefined },
    ],
  });
  await host.createSession({ ...session, model: { providerID: "p", modelID: "m" } });
  expect(bodies).toEqual([expect.objectContaining({ model: { id: "m", providerID: "p" } })]);
});

test("a fork is cut where the host keeps tool results", async () => {
  const long = {
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
  const host = hostOver(async (sent) => {
    if (sent.method === "GET") return Response.json([{ info, parts: [long] }]);
    written.push(await sent.json());
    return Response.json({});
  });
  const history = await host.forkedMessages("ses_1");
  const plan = planFork(history.ok ? history.value : [], { maxToolResultChars: 1_500, maxTokens: 100_000 });
  for (const { messageID, part } of plan.cuts) await host.rewritePart("ses_1", messageID, part);
  const output = `${"x".repeat(1_500)}\n[Truncated: 4000 characters originally]`;
  expect(written).toEqual([{ ...long, state: { ...long.state, output } }]);
});

describe("a call has its own time", () => {
  /** In so many steps it passes. */
  const STEPS = 15;

  afterEach(() => vi.restoreAllMocks());

  const limits: Partial<Record<keyof Host, number>> = {
    agents: 60_000,
    models: 60_000,
    createSession: 60_000,
    fork: 300_000,
  };

  test.each(Object.entries(CALLS))("%s", async (name, call) => {
    const timers = vi.spyOn(systemClock, "after");
    await call(answering(404, {}));
    expect(timers.mock.calls.map(([ms]) => ms * STEPS)).toEqual([limits[name as keyof Host] ?? 15_000]);
  });

  test("in which time does not count that this process could not run in: the answer may be there, and is taken", async () => {
    const timers = vi.spyOn(systemClock, "after").mockReturnValue(() => undefined);
    const answer = Promise.withResolvers<Response>();
    const read = hostOver(() => answer.promise).agents();
    // A stopped process wakes: however long it was, one of its timers is due.
    timers.mock.calls[0]?.[1]();
    answer.resolve(Response.json([{ name: "general", hidden: false }]));
    expect(await read).toMatchObject({ ok: true, value: [{ name: "general" }] });
  });

  test("whose timer is cancelled once there is an answer", async () => {
    const cancel = vi.fn();
    vi.spyOn(systemClock, "after").mockReturnValue(cancel);
    await answering(200, []).agents();
    expect(cancel).toHaveBeenCalledOnce();
  });

  test("and without an answer in it, nobody knows what was done", async () => {
    const timers = vi.spyOn(systemClock, "after").mockReturnValue(() => undefined);
    const signals: AbortSignal[] = [];
    const created = hostOver((request) => {
      signals.push(request.signal);
      return new Promise(() => undefined);
    }).createSession(session);
    for (const [, fire] of timers.mock.calls) fire();
    expect(await created).toMatchObject({
      ok: false,
      failure: { kind: "unavailable", message: "no answer within 60000 ms" },
    });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });
});

test("a message that nobody is to answer is stored before the host says so, a prompt after it", async () => {
  const sent: [string, unknown][] = [];
  const host = hostOver(async (request) => {
    sent.push([new URL(request.url).pathname, await request.json()]);
    return Response.json({ info: {}, parts: [] });
  });
  await host.storeMessage(prompt);
  await host.prompt(prompt);
  expect(sent).toEqual([
    ["/session/ses_1/message", { messageID: "msg_1", agent: "general", noReply: true, parts: [] }],
    ["/session/ses_1/prompt_async", { messageID: "msg_1", agent: "general", parts: [] }],
  ]);
});

test("a message is read with the ids of the parts that are stored", async () => {
  const info = { id: "msg_1", sessionID: "ses_1", role: "user", time: { created: 1 } };
  const read = await answering(200, { info, parts: [{ ...raw, synthetic: true }] }).message("ses_1", "msg_1");
  expect(read).toMatchObject({ ok: true, value: { id: "msg_1", text: "", partIDs: ["prt_1"] } });
});

test("a conversation has the calls of its agent, each with what it gave", async () => {
  const info = { id: "msg_1", sessionID: "ses_1", role: "assistant", time: { created: 1 } };
  const called = (state: unknown) => ({ ...raw, type: "tool", tool: "read", callID: "call_1", state });
  const input = { path: "a.ts" };
  const parts = [
    { ...raw, text: "Let me look." },
    called({ status: "completed", input, output: "12 lines" }),
    called({ status: "error", input, error: "no such file" }),
    called({ status: "running", input }),
    { ...raw, ignored: true },
  ];
  expect(await answering(200, [{ info, parts }]).conversation("ses_1")).toEqual({
    ok: true,
    value: [
      {
        id: "msg_1",
        role: "assistant",
        parts: [
          { kind: "text", text: "Let me look." },
          { kind: "tool", name: "read", params: input, result: "12 lines" },
          { kind: "tool", name: "read", params: input, result: "no such file" },
          { kind: "tool", name: "read", params: input, result: undefined },
        ],
      },
    ],
  });
});

test("a client without a configuration is refused with a reason", () => {
  expect(() => createOpencodeHost({ client: {} as never, directory: "/project" })).toThrow(/Is this version supported/);
});

describe("where tasks work in other directories too", () => {
  const sessionDirectories = createSessionDirectories();
  sessionDirectories.enter("ses_there", "/tree");
  const requests: string[] = [];
  const host = (answer: (directory: string, path: string) => Response) =>
    createOpencodeHost(
      {
        client: createOpencodeClient({
          baseUrl: "http://127.0.0.1:1",
          fetch: (async (request: Request) => {
            const url = new URL(request.url);
            const directory = url.searchParams.get("directory") ?? "";
            requests.push(`${request.method} ${url.pathname} ${directory}`);
            return answer(directory, url.pathname);
          }) as typeof globalThis.fetch,
        }),
        directory: "/project",
      },
      sessionDirectories,
    );
  afterEach(() => {
    requests.length = 0;
  });

  test("what is busy is asked of each; in a worktree that does not answer all count as busy", async () => {
    const busy = host((directory) => Response.json(directory === "/tree" ? { ses_there: { type: "busy" } } : {}));
    expect(await busy.busy()).toEqual({ ok: true, value: new Set(["ses_there"]) });
    const mute = host((directory) => Response.json({}, { status: directory === "/tree" ? 503 : 200 }));
    expect(await mute.busy()).toEqual({ ok: true, value: new Set(["ses_there"]) });
    const failing = host((directory) => Response.json({}, { status: directory === "/tree" ? 200 : 503 }));
    expect(await failing.busy()).toMatchObject({ ok: false, failure: { kind: "unavailable" } });
  });

  test("a request that is not open here is answered where it is", async () => {
    const open = host((directory) => Response.json(true, { status: directory === "/tree" ? 200 : 404 }));
    expect(await open.answerUserRequest(request, { reply: "once" })).toEqual({ ok: true, value: undefined });
    expect(await open.rejectUserRequest({ ...request, kind: "question" }, "no")).toEqual({
      ok: true,
      value: undefined,
    });
    const nowhere = host(() => Response.json({}, { status: 404 }));
    expect(await nowhere.rejectUserRequest(request, "no")).toMatchObject({ failure: { kind: "notFound" } });
  });

  test("one that is answered here is asked of nobody else", async () => {
    await host(() => Response.json(true)).answerUserRequest(request, { reply: "once" });
    expect(requests).toHaveLength(1);
  });

  test("an abort names the session's directory, and a session is created in the one that is wanted", async () => {
    const any = host(() => Response.json({ id: "ses_new" }));
    await any.abort("ses_there");
    await any.createSession({ ...session, directory: "/tree" });
    expect(requests).toEqual(["POST /session/ses_there/abort /tree", "POST /session /tree"]);
  });
});
