import { expect, test } from "vitest";
import { type OpencodeEvent, readEvent } from "../../../src/services/host/opencode-events.ts";

const AT = 7;
const read = (type: string, properties: unknown) => readEvent({ id: "evt", type, properties } as OpencodeEvent, AT);

const DENIED = { permission: "bash", pattern: "*", action: "deny" } as const;
const SESSION = { id: "s", parentID: undefined, agent: undefined, model: undefined, permission: [], title: "t" };

test.each([
  ["session.idle", { sessionID: "s" }, { type: "idle", sessionID: "s" }],
  ["session.status", { sessionID: "s", status: { type: "busy" } }, { type: "busy", sessionID: "s" }],
  [
    "session.status",
    { sessionID: "s", status: { type: "retry", attempt: 1, message: "slow down", next: 9 } },
    { type: "retrying", sessionID: "s", attempt: 1, message: "slow down", until: 9 },
  ],
  ["session.deleted", { sessionID: "s", info: { id: "s" } }, { type: "deleted", sessionID: "s" }],
  [
    "session.error",
    { sessionID: "s", error: { name: "APIError", data: { message: "401" } } },
    { type: "error", sessionID: "s", error: { name: "APIError", message: "401" } },
  ],
  [
    "session.error",
    { sessionID: "s" },
    {
      type: "error",
      sessionID: "s",
      error: { name: "UnknownError", message: "no details were given", fault: "unknown" },
    },
  ],
  [
    "message.updated",
    {
      sessionID: "s",
      info: {
        id: "m",
        role: "assistant",
        sessionID: "s",
        parentID: "msg_1",
        time: { created: 1, completed: 2 },
        finish: "stop",
        error: { name: "APIError", data: { message: "401" } },
        providerID: "fake",
        modelID: "m1",
      },
    },
    {
      type: "message",
      sessionID: "s",
      message: {
        id: "m",
        role: "assistant",
        createdAt: 1,
        promptID: "msg_1",
        completedAt: 2,
        finish: "stop",
        error: { name: "APIError", message: "401" },
        isSummary: false,
        model: { providerID: "fake", modelID: "m1" },
      },
    },
  ],
  [
    "message.part.updated",
    { sessionID: "s", part: { type: "text", id: "p", messageID: "m", text: "12" } },
    { type: "text", sessionID: "s", messageID: "m", partID: "p", text: "12" },
  ],
  [
    "permission.asked",
    { id: "p", sessionID: "s", permission: "bash", patterns: ["rm *", "ls"], always: ["rm *"] },
    {
      type: "asked",
      sessionID: "s",
      request: { id: "p", kind: "permission", what: "bash: rm *, ls", since: AT, always: ["rm *"] },
    },
  ],
  [
    "question.asked",
    {
      id: "q",
      sessionID: "s",
      questions: [
        { question: "Tea?", options: [{ label: "Yes", description: "y" }], multiple: true },
        { question: "Milk?", options: [], custom: false },
      ],
    },
    {
      type: "asked",
      sessionID: "s",
      request: {
        id: "q",
        kind: "question",
        what: "Tea? Milk?",
        since: AT,
        questions: [
          { question: "Tea?", options: ["Yes"], multiple: true, custom: true },
          { question: "Milk?", options: [], multiple: false, custom: false },
        ],
      },
    },
  ],
  [
    "session.updated",
    { info: { id: "s", parentID: "p", title: "t" } },
    { type: "session", sessionID: "s", session: { ...SESSION, parentID: "p" }, isNew: false },
  ],
  [
    "session.created",
    {
      info: {
        id: "s",
        title: "t",
        agent: "plan",
        model: { providerID: "p", id: "m", variant: "default" },
        permission: [DENIED],
      },
    },
    {
      type: "session",
      sessionID: "s",
      session: { ...SESSION, agent: "plan", model: { providerID: "p", modelID: "m" }, permission: [DENIED] },
      isNew: true,
    },
  ],
  ["session.compacted", { sessionID: "s" }, { type: "compacted", sessionID: "s" }],
  [
    "permission.replied",
    { sessionID: "s", requestID: "p", reply: "once" },
    { type: "replied", sessionID: "s", requestID: "p" },
  ],
  ["question.rejected", { sessionID: "s", requestID: "q" }, { type: "replied", sessionID: "s", requestID: "q" }],
  [
    "message.part.updated",
    {
      sessionID: "s",
      part: { type: "step-finish", id: "prt", cost: 0.5, tokens: { input: 1, output: 2, reasoning: 3 } },
    },
    { type: "step", sessionID: "s", partID: "prt", tokens: 6, cost: 0.5 },
  ],
  [
    "message.part.updated",
    { sessionID: "s", part: { type: "step-start", id: "prt" } },
    { type: "answering", sessionID: "s" },
  ],
])("%s %j", (type, properties, expected) => {
  expect(read(type, properties)).toEqual(expected);
});

test.each([
  ["pending", "begun"],
  ["running", "begun"],
  ["completed", "stored"],
  ["error", "failed"],
])("a tool part that is %s is %s", (status, stage) => {
  const part = { type: "tool", callID: "c", tool: "read", state: { status } };
  expect(read("message.part.updated", { sessionID: "s", part })).toMatchObject({
    type: "toolCall",
    sessionID: "s",
    callID: "c",
    tool: "read",
    stage,
  });
});

const inputOf = (input: unknown, status = "running") => {
  const part = { type: "tool", callID: "c", tool: "read", state: { status, input } };
  const event = read("message.part.updated", { sessionID: "s", part });
  return event?.type === "toolCall" ? event.input : "none";
};

test("a tool call has a short digest of its arguments, equal for equal ones, once the model has written them", () => {
  expect(inputOf({}, "pending")).toBeUndefined();
  const [path, lines] = ["a.ts", [1, { from: 2, to: 3 }]];
  expect(inputOf({ path, lines })).toBe(inputOf({ lines: [1, { to: 3, from: 2 }], path }, "completed"));
  expect(inputOf({ path: "x".repeat(100_000) })).toHaveLength(22);
  const others = [{ path }, { path, lines: [] }, { path, lines: [{ from: 2, to: 3 }, 1] }, {}].map((args) =>
    inputOf(args),
  );
  expect(new Set([inputOf({ path, lines }), ...others]).size).toBe(5);
});

test.each([
  ["an idle status: session.idle says it too", "session.status", { sessionID: "s", status: { type: "idle" } }],
  ["an error of no session, as of a plugin that does not load", "session.error", { error: { name: "X" } }],
  ["a text that a machine added", "message.part.updated", { sessionID: "s", part: { type: "text", synthetic: true } }],
  ["a reasoning part", "message.part.updated", { sessionID: "s", part: { type: "reasoning", text: "hm" } }],
  ["a kind of event that is not known yet", "session.teleported", {}],
])("%s means nothing to us", (_, type, properties) => {
  expect(read(type, properties)).toBeUndefined();
});
