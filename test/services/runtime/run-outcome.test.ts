import { describe, expect, test } from "vitest";
import type { HostMessage } from "../../../src/services/host/host.ts";
import { createIds } from "../../../src/services/platform/ids.ts";
import {
  createEarlierMessages,
  determineRunOutcome,
  isAborted,
  isAnswer,
  isWithoutCall,
  newestTakenIn,
  type RunObservation,
  STEPS_WITHOUT_END,
  storedAtOf,
} from "../../../src/services/runtime/run-outcome.ts";

const PROMPT = "msg_2";

const user = (id: string): HostMessage => ({
  id,
  role: "user",
  createdAt: 1,
  promptID: undefined,
  completedAt: undefined,
  finish: undefined,
  error: undefined,
  isSummary: false,
  text: "do it",
});

const assistant = (given: Partial<HostMessage> = {}): HostMessage => ({
  ...user("msg_3"),
  role: "assistant",
  promptID: PROMPT,
  completedAt: 9,
  finish: "stop",
  text: "done",
  ...given,
});

/** A step in which the model called a tool. */
const step = (given: Partial<HostMessage> = {}): HostMessage =>
  assistant({ finish: "tool-calls", tools: "called", ...given });

const see = (given: Partial<RunObservation>) =>
  determineRunOutcome({
    messages: [user(PROMPT), assistant()],
    messageID: PROMPT,
    storedAt: 1,
    earlier: new Set(),
    hostError: undefined,
    ...given,
  });

test("a finished assistant message that answers the prompt is the end", () => {
  expect(see({})).toEqual({ is: "answered", completedAt: 9, result: "done", isPromptKnown: true });
});

test("an assistant message without an end is no answer", () => {
  expect(see({ messages: [user(PROMPT), assistant({ completedAt: undefined, finish: undefined })] })).toEqual({
    is: "unanswered",
  });
});

test.each(["tool-calls", "unknown", "stop", "length"])(
  "a message with tool calls that finished with %s goes on",
  (finish) => {
    expect(see({ messages: [user(PROMPT), step({ finish })] })).toEqual({ is: "unanswered", lastStepAt: 9 });
  },
);

test("a message whose tool calls were all interrupted is the end where the host takes it for one", () => {
  expect(see({ messages: [user(PROMPT), assistant({ tools: "interrupted" })] }).is).toBe("answered");
  expect(see({ messages: [user(PROMPT), step({ tools: "interrupted" })] }).is).toBe("unanswered");
});

const ABORTED = assistant({ completedAt: 20, finish: undefined, error: { name: "MessageAbortedError", message: "" } });

test.each([
  ["the newest of several", [step(), step({ completedAt: 12 })], 12],
  ["none that was aborted", [step(), ABORTED], 9],
  ["none that is under way", [step(), assistant({ completedAt: undefined, finish: undefined })], 9],
  ["none that answers an earlier prompt", [step({ promptID: "msg_1" })], undefined],
  ["none of a compaction", [assistant({ finish: "stop", isSummary: true })], undefined],
  ["no message of a person", [user("msg_4")], undefined],
])("the last step of a run that was cut off is %s", (_, messages, lastStepAt) => {
  expect(see({ messages: [user(PROMPT), ...messages, ABORTED] })).toEqual({
    is: "aborted",
    completedAt: 20,
    lastStepAt,
  });
  const open = assistant({ completedAt: undefined, finish: undefined });
  expect(see({ messages: [user(PROMPT), ...messages, open] })).toEqual({ is: "unanswered", lastStepAt });
});

test("the answer to an earlier prompt is none to this one", () => {
  const earlier = assistant({ id: "msg_1b", promptID: "msg_1" });
  expect(see({ messages: [user("msg_1"), earlier] })).toEqual({ is: "unanswered" });
  expect(see({ messages: [user("msg_1"), earlier, user(PROMPT)] })).toEqual({ is: "unanswered" });
});

test("a run is not over while the newest message answers an earlier prompt", () => {
  const messages = [user("msg_1"), user(PROMPT), assistant(), assistant({ id: "msg_4", promptID: "msg_1" })];
  expect(see({ messages })).toEqual({ is: "unanswered", lastStepAt: 9 });
});

test("the answer to a prompt that a person added later counts: it was given with ours in sight", () => {
  const messages = [user(PROMPT), user("msg_4"), assistant({ id: "msg_5", promptID: "msg_4", text: "both" })];
  expect(see({ messages })).toMatchObject({ is: "answered", result: "both" });
});

test("the answer to a newer prompt is none to ours, as long as ours is not stored", () => {
  const messages = [user("msg_4"), assistant({ id: "msg_5", promptID: "msg_4", text: "to the person" })];
  expect(see({ messages, storedAt: undefined })).toEqual({ is: "unanswered" });
});

test("the answer to a newer prompt is none to ours when it began before ours was stored", () => {
  const answer = { id: "msg_5", promptID: "msg_4", text: "to the person" };
  const messages = (createdAt: number) => [{ ...user(PROMPT), createdAt: 5 }, assistant({ ...answer, createdAt })];
  expect(see({ messages: messages(4), storedAt: 5 })).toEqual({ is: "unanswered" });
  expect(see({ messages: messages(5), storedAt: 5 })).toMatchObject({ is: "answered" });
});

test("an aside behind the answer, which wants none itself, hides nothing", () => {
  expect(see({ messages: [user(PROMPT), assistant(), user("msg_4")] })).toMatchObject({
    is: "answered",
    result: "done",
  });
});

test("a step is without a tool call where it ended its turn, or the model is asked again though it called nothing", () => {
  expect(isWithoutCall(assistant())).toBe(true);
  expect(isWithoutCall(assistant({ finish: "unknown" }))).toBe(true);
  expect(isWithoutCall(step())).toBe(false);
  expect(isWithoutCall(assistant({ completedAt: undefined, finish: undefined }))).toBe(false);
});

test("a compaction's summary is no answer", () => {
  expect(see({ messages: [user(PROMPT), assistant({ isSummary: true })] })).toEqual({ is: "unanswered" });
});

test("a compaction's summary is not the result, though the answer has no text of its own", () => {
  const summary = assistant({ isSummary: true, text: "What was said so far." });
  const messages = [user(PROMPT), summary, assistant({ id: "msg_4", text: "" })];
  expect(see({ messages })).toEqual({ is: "answered", completedAt: 9, result: "", isPromptKnown: true });
  expect(isAnswer(summary, { messages, messageID: PROMPT, storedAt: 1, earlier: new Set() })).toBe(false);
});

test("an answer is the end, though the conversation was compacted after it", () => {
  const messages = [user(PROMPT), assistant(), assistant({ id: "msg_4", isSummary: true, text: "What was said." })];
  expect(see({ messages })).toMatchObject({ is: "answered", completedAt: 9, result: "done" });
});

test("a message that failed is a failure, in the host's words", () => {
  const error = { name: "APIError", message: "401" };
  expect(see({ messages: [user(PROMPT), assistant({ error, finish: undefined })] })).toEqual({
    is: "failed",
    completedAt: 9,
    error: { ...error, kind: "provider" },
  });
});

test("a message that was aborted is an abort", () => {
  const error = { name: "MessageAbortedError", message: "Aborted" };
  expect(see({ messages: [user(PROMPT), assistant({ error })] })).toEqual({ is: "aborted", completedAt: 9 });
});

test("a message that ended with neither a reason nor an error was aborted between two tries", () => {
  expect(see({ messages: [user(PROMPT), assistant({ finish: undefined, text: "" })] })).toEqual({
    is: "aborted",
    completedAt: 9,
  });
});

test("an error that the host told of counts when no message carries one", () => {
  const hostError = { name: "UnknownError", message: "agent not found" };
  expect(see({ messages: [], hostError })).toMatchObject({ is: "failed", error: hostError });
  expect(see({ messages: [], hostError: { name: "MessageAbortedError", message: "" } })).toMatchObject({
    is: "aborted",
  });
});

test("where the last message has no text there is no result, and what was said before goes by a name of its own", () => {
  const messages = [
    user(PROMPT),
    step({ text: "Let me look." }),
    step({ text: "" }),
    assistant({ id: "msg_4", text: "" }),
  ];
  expect(see({ messages })).toMatchObject({ is: "answered", result: "", earlierText: "Let me look." });
  expect(see({ messages: [user(PROMPT), step({ text: "" }), assistant({ text: "" })] })).not.toHaveProperty(
    "earlierText",
  );
  expect(see({ messages: [user(PROMPT), step({ text: "Let me look." }), assistant()] })).not.toHaveProperty(
    "earlierText",
  );
});

test("a prompt with an older id that was stored later is behind ours", () => {
  const messages = [user(PROMPT), { ...user("msg_1"), createdAt: 2 }, assistant({ promptID: "msg_1", createdAt: 3 })];
  expect(see({ messages })).toMatchObject({ is: "answered", result: "done" });
  const earlier = [{ ...user("msg_1"), createdAt: 0 }, user(PROMPT), assistant({ promptID: "msg_1", createdAt: 3 })];
  expect(see({ messages: earlier })).toEqual({ is: "unanswered" });
});

const INSTRUCTION = { messageID: "msg_5", storedAt: 5 };
const instructed = (...messages: HostMessage[]) =>
  see({ messages: [user(PROMPT), ...messages], instruction: INSTRUCTION });
const looked = step({ id: "msg_4", completedAt: 4, text: "I have looked." });
const given = { ...user("msg_5"), createdAt: 5 };
const last = assistant({ id: "msg_6", promptID: "msg_5", createdAt: 6, completedAt: 8, text: "5 of them." });

test("an answer to the run's prompt from before the newest instruction leaves that unseen", () => {
  expect(instructed(looked, given)).toEqual({ is: "unanswered", lastStepAt: 4 });
  expect(instructed(assistant({ id: "msg_4" }), given)).toEqual({ is: "unseen", lastStepAt: 9 });
});

test("an answer to the instruction is the answer of the run", () => {
  expect(instructed(looked, given, last)).toMatchObject({ is: "answered", completedAt: 8, result: "5 of them." });
});

test("an answer to what came after the instruction has taken that in, too", () => {
  const later = { ...user("msg_7"), createdAt: 7 };
  const answer = { ...last, id: "msg_8", promptID: "msg_7", createdAt: 8 };
  expect(instructed(given, later, answer)).toMatchObject({ is: "answered", result: "5 of them." });
});

test("an answer to the instruction without words is no result, whatever the agent said before it", () => {
  expect(instructed(looked, given, { ...last, text: "" })).toMatchObject({
    is: "answered",
    result: "",
    earlierText: "I have looked.",
  });
});

test("a run that failed or was aborted did so, whether its model had seen the instruction or not", () => {
  const error = { name: "APIError", message: "overloaded" };
  expect(instructed(assistant({ id: "msg_4", error }), given)).toMatchObject({ is: "failed" });
  expect(instructed({ ...ABORTED, id: "msg_4" }, given)).toMatchObject({ is: "aborted" });
});

test("an instruction that the host has lost is unseen", () => {
  const instruction = { ...INSTRUCTION, storedAt: undefined };
  expect(see({ messages: [user(PROMPT), assistant()], instruction })).toMatchObject({ is: "unseen" });
});

test("what ended when the run left its model says nothing of the next one, but an error that is reported since then does", () => {
  const refused = assistant({ completedAt: 20, finish: undefined, error: { name: "APIError", message: "no credit" } });
  const cutOff = assistant({ completedAt: 20, finish: undefined });
  for (const message of [refused, cutOff, ABORTED]) {
    const messages = [user(PROMPT), message];
    expect(see({ messages, earlierUntil: 19 }).is).not.toBe("unanswered");
    expect(see({ messages, earlierUntil: 20 })).toEqual({ is: "unanswered" });
    const hostError = { name: "UnknownError", message: "Model not found", refusal: "unknownModel" } as const;
    expect(see({ messages, earlierUntil: 20, hostError })).toMatchObject({ is: "failed", error: hostError });
  }
});

test("a failure names the model that was asked, where a message shows it", () => {
  const [error, model] = [
    { name: "APIError", message: "401" },
    { providerID: "fake", modelID: "m2" },
  ] as const;
  const outcome = see({ messages: [user(PROMPT), assistant({ error, model })] });
  expect(outcome).toEqual({ is: "failed", completedAt: 9, error: { ...error, kind: "provider" }, model });
});

test("the failure of an answer is no step after which the run goes on", () => {
  const error = { name: "APIError", message: "401" };
  const outcome = see({ messages: [user(PROMPT), step(), assistant({ completedAt: 20, finish: undefined, error })] });
  expect(outcome).toEqual({ is: "failed", completedAt: 20, error: { ...error, kind: "provider" } });
});

test.each<[boolean, string, Partial<HostMessage>]>([
  [true, "an abort is recorded of", { error: { name: "MessageAbortedError", message: "" } }],
  [true, "has no reason for its end", { finish: undefined }],
  [false, "failed otherwise", { finish: undefined, error: { name: "APIError", message: "401" } }],
  [false, "ended by itself", {}],
  [false, "is under way", { finish: undefined, completedAt: undefined }],
])("it is %s that somebody stopped a message that %s", (expected, _, given) => {
  expect(isAborted(assistant(given))).toBe(expected);
});

test("when a message was stored is known of those that were read", () => {
  const messages = [user("msg_1"), { ...user(PROMPT), createdAt: 5 }];
  expect([PROMPT, "msg_1", "msg_9"].map((id) => storedAtOf(id, messages))).toEqual([5, 1, undefined]);
});

test("a prompt is known that is ours, or that was read", () => {
  const answer = assistant({ id: "msg_5", promptID: "msg_4" });
  expect(see({ messages: [user(PROMPT), user("msg_4"), answer] })).toMatchObject({ isPromptKnown: true });
  expect(see({ messages: [user(PROMPT), answer] })).toMatchObject({ isPromptKnown: false });
});

describe("how the answer ended", () => {
  test.each([
    ["stop", {}, undefined],
    ["length", {}, "length"],
    ["length", { text: "" }, "length"],
    ["length", { text: "", reasons: true }, "reasoning"],
    ["length", { reasons: true }, "length"],
    ["other", {}, "noStopReason"],
    ["error", {}, "noStopReason"],
  ])("with %s, and %j, makes it incomplete: %s", (finish, given, incomplete) => {
    const outcome = see({ messages: [user(PROMPT), assistant({ finish, ...given })] });
    expect(outcome).toMatchObject({ is: "answered" });
    expect("incomplete" in outcome ? outcome.incomplete : undefined).toBe(incomplete);
  });

  test.each([
    ["an error of the host", { name: "ContentFilterError", message: "blocked" }],
    ["no error", undefined],
  ])("by the content filter, with %s, is a failure that keeps what was written", (_, error) => {
    const cut = assistant({ finish: "content-filter", error, text: "At first" });
    expect(see({ messages: [user(PROMPT), step({ text: "I look." }), cut] })).toMatchObject({
      is: "failed",
      error: { name: "ContentFilterError", kind: "provider" },
      said: "At first",
    });
    expect(see({ messages: [user(PROMPT), { ...cut, text: "" }] })).not.toHaveProperty("said");
    const message = error?.message ?? "The response was blocked by the provider's content filter";
    expect(see({ messages: [user(PROMPT), cut] })).toMatchObject({ error: { message } });
  });
});

describe("steps without a tool call and without an end", () => {
  const open = (given: Partial<HostMessage> = {}) => assistant({ finish: "unknown", ...given });
  const many = (count: number, given: Partial<HostMessage> = {}) => Array.from({ length: count }, () => open(given));
  const seen = (...messages: HostMessage[]) => see({ messages: [user(PROMPT), ...messages] });

  test.each(["unknown", "tool-calls"])("that finished with %s are the end when there are enough of them", (finish) => {
    expect(seen(...many(STEPS_WITHOUT_END - 1, { finish }))).toEqual({ is: "unanswered", lastStepAt: 9 });
    expect(seen(...many(STEPS_WITHOUT_END, { finish }))).toEqual({
      ...{ is: "answered", completedAt: 9, result: "done", incomplete: "noStopReason", isPromptKnown: true },
    });
  });

  test("have all that they said for a result, each text once, in its order", () => {
    const texts = ["There are 12.", "", "There are 12.", "Anything else?"];
    const said = texts.map((text, index) => open({ text, completedAt: 9 + index }));
    expect(seen(...said)).toMatchObject({ result: "There are 12.\n\nAnything else?", completedAt: 12 });
  });

  test("in which nothing was said are a loop, and what was said before them is kept", () => {
    const silent = many(STEPS_WITHOUT_END, { text: "" });
    expect(seen(step({ text: "I look." }), ...silent)).toMatchObject({
      ...{ is: "failed", completedAt: 9, said: "I look." },
      error: { kind: "loop", name: "NoStopReason" },
    });
    expect(seen(...silent)).not.toHaveProperty("said");
  });

  test.each([
    ["aborted", ABORTED],
    ["under way", assistant({ completedAt: undefined, finish: undefined })],
    ["cut off between two tries", assistant({ finish: undefined })],
  ])("count though one more after them was %s", (_, cutOff) => {
    expect(seen(...many(STEPS_WITHOUT_END), cutOff)).toMatchObject({ is: "answered", completedAt: 9 });
    expect(seen(...many(STEPS_WITHOUT_END - 1), cutOff).is).not.toBe("answered");
  });

  test("begin anew after a tool call, and with another message that they answer", () => {
    const few = many(STEPS_WITHOUT_END - 1);
    expect(seen(...few, step(), ...few).is).toBe("unanswered");
    expect(seen(...few, user("msg_4"), ...many(STEPS_WITHOUT_END - 1, { promptID: "msg_4" })).is).toBe("unanswered");
    expect(seen(...few, assistant({ text: "all of it" }))).toMatchObject({ is: "answered", result: "all of it" });
  });

  test("count once they have ended: one that says how it ends, and goes on, does not; one that failed never does", () => {
    const few = many(STEPS_WITHOUT_END - 1);
    expect(seen(...few, open({ completedAt: undefined }))).toEqual({ is: "unanswered", lastStepAt: undefined });
    const error = { name: "APIError", message: "overloaded" };
    expect(seen(...few, open({ error })).is).toBe("failed");
  });

  test("leave an instruction unseen that came after them", () => {
    expect(instructed(...many(STEPS_WITHOUT_END), given)).toEqual({ is: "unseen", lastStepAt: 9 });
  });
});

describe("where a person writes to the agent while it works", () => {
  const remark = { ...user("msg_4"), text: "how many so far?", createdAt: 4 };
  const reply = assistant({ id: "msg_5", promptID: "msg_4", createdAt: 5, completedAt: 20, text: "4 so far." });
  const seen = (...messages: HostMessage[]) => see({ messages: [user(PROMPT), ...messages] });

  test("the finished answer to us is the result, not that to the person", () => {
    expect(seen(assistant(), remark, reply)).toMatchObject({ is: "answered", completedAt: 9, result: "done" });
    expect(seen(assistant(), remark, reply)).not.toHaveProperty("incomplete");
  });

  test("where that answer has no words, what was said to us before it counts as said before, not what the person was told", () => {
    expect(seen(step({ text: "I look." }), assistant({ text: "" }), remark, reply)).toMatchObject({
      ...{ is: "answered", result: "", earlierText: "I look." },
    });
  });

  test("and what becomes of the turn of that person does not matter once we are answered", () => {
    for (const becomes of [
      { ...ABORTED, id: "msg_5", promptID: "msg_4" },
      { ...reply, error: { name: "APIError", message: "" } },
    ])
      expect(seen(assistant(), remark, becomes)).toMatchObject({ is: "answered", result: "done" });
  });

  test("in the middle of a turn, the only answer is the result, and is said to be one to the person", () => {
    expect(seen(step(), remark, reply)).toMatchObject({ is: "answered", result: "4 so far.", incomplete: "remark" });
    expect(seen(step(), remark, step({ ...reply, finish: "tool-calls", tools: "called" })).is).toBe("unanswered");
  });

  test("before an instruction, only an answer that has taken that in is one to us", () => {
    const answer = { ...reply, id: "msg_8", promptID: "msg_7", createdAt: 8 };
    const later = { ...remark, id: "msg_7", createdAt: 7 };
    expect(instructed(assistant(), given, later, answer)).toMatchObject({ result: "4 so far.", incomplete: "remark" });
    expect(instructed(given, last, later, answer)).toMatchObject({ result: "5 of them." });
  });

  test("what this plugin or the host writes to the agent is no remark: its answer is the newest", () => {
    const clock = { now: () => 1, after: () => () => undefined };
    const notice = { ...remark, id: createIds(clock).message() };
    const ofHost = { ...remark, text: "" };
    for (const message of [notice, ofHost])
      expect(seen(assistant(), message, { ...reply, promptID: message.id })).toMatchObject({ result: "4 so far." });
  });

  test("an answer to what was not read may be one to a person", () => {
    expect(see({ messages: [reply], storedAt: 1 })).toMatchObject({ is: "answered", isPromptKnown: false });
  });
});

describe("a fault of the host", () => {
  const locked = { name: "UnknownError", message: "Failed to execute statement", fault: "host" } as const;
  const seen = (...messages: HostMessage[]) => see({ messages: [user(PROMPT), ...messages] });

  test.each([
    ["host", "host"],
    ["unknown", "provider"],
  ] as const)("interrupts the run: of the kind %s, it is an error of the kind %s in the end", (fault, kind) => {
    const { name, message } = locked;
    expect(seen(step(), assistant({ error: { ...locked, fault }, finish: undefined, completedAt: 12 }))).toEqual({
      ...{ is: "faulted", completedAt: 12, error: { name, message, kind }, lastStepAt: 9 },
    });
  });

  test.each([
    ["no message at all", [], undefined],
    ["a step under way", [assistant({ completedAt: undefined, finish: undefined })], undefined],
    ["a step that ended without a reason", [assistant({ finish: undefined })], 9],
  ])("that the host reported interrupts it, though the messages show %s", (_, messages, completedAt) => {
    expect(see({ messages: [user(PROMPT), ...messages], hostError: locked })).toMatchObject({
      is: "faulted",
      completedAt,
    });
  });

  test("says nothing where the run was answered after it", () => {
    expect(see({ hostError: locked })).toMatchObject({ is: "answered" });
  });
});

describe("where the clock was set back, which sorts what is new before what is old,", () => {
  const [before, now] = [5_000, 500];
  const old = { createdAt: before, completedAt: before + 1 };
  const seeAt = (readAt: number, { messages, ...given }: Partial<RunObservation> & Pick<RunObservation, "messages">) =>
    see({ messages, ...given, earlier: createEarlierMessages()(messages, readAt) });

  test("an answer of before is none to a prompt of now", () => {
    const messages = [
      { ...user("msg_4"), createdAt: now },
      { ...user(PROMPT), createdAt: before },
      assistant({ ...old, text: "of the run before" }),
    ];
    const seen = { messages, messageID: "msg_4", storedAt: now };
    expect(seeAt(now + 1, seen)).toEqual({ is: "unanswered" });
    // Nor is it later, when the clock shows that time again.
    expect(seeAt(before + 20, { ...seen, storedAt: before + 10 })).toEqual({ is: "unanswered" });
  });

  test("an answer that was of the future once stays one of before when the clock has caught up", () => {
    const earlierOf = createEarlierMessages();
    const messages = [
      { ...user("msg_4"), createdAt: now },
      { ...user(PROMPT), createdAt: before - 1 },
      assistant({ ...old, text: "of the run before" }),
    ];
    earlierOf(messages, now + 1);
    const earlier = earlierOf(messages, before + 20);
    expect(see({ messages, messageID: "msg_4", storedAt: now, earlier })).toEqual({ is: "unanswered" });
  });

  test("an answer of now to the prompt of before is the end", () => {
    const messages = [
      assistant({ createdAt: now, completedAt: now + 1, text: "after the tools" }),
      { ...user(PROMPT), createdAt: before },
      step({ ...old, id: "msg_4" }),
    ];
    expect(seeAt(now + 2, { messages, storedAt: before })).toMatchObject({
      is: "answered",
      result: "after the tools",
    });
  });

  test("a message that was stored in the very moment of the read is one of now", () => {
    const messages = [{ ...user(PROMPT), createdAt: now }, assistant({ createdAt: now, completedAt: now })];
    expect(seeAt(now, { messages, storedAt: now })).toMatchObject({ is: "answered", result: "done" });
    expect([...createEarlierMessages()(messages, now)]).toEqual([]);
  });

  test("each message counts once: fewer steps without an end than it takes are still no end", () => {
    const open = Array.from({ length: STEPS_WITHOUT_END - 1 }, (_, index) =>
      assistant({ id: `msg_${index + 5}`, createdAt: now, completedAt: now, finish: "unknown" }),
    );
    const messages = [...open, { ...user(PROMPT), createdAt: before }];
    expect(seeAt(now + 1, { messages, storedAt: before }).is).toBe("unanswered");
  });

  test("of answers that the host asked for again and again, the newest one is the result, though its turn was aborted", () => {
    const again = ["first", "second", "third"].map((text, index) =>
      assistant({ id: `msg_${index + 5}`, createdAt: now + index, completedAt: now + index, text }),
    );
    const cutOff = assistant({ id: "msg_8", createdAt: now + 3, completedAt: now + 4, finish: undefined, text: "" });
    const messages = [...again, cutOff, { ...user(PROMPT), createdAt: before }, step({ ...old, id: "msg_4" })];
    expect(seeAt(now + 5, { messages, storedAt: before })).toMatchObject({ is: "answered", result: "third" });
  });
});

describe("the newest instruction with which a model was asked", () => {
  const told = (id: string, createdAt: number) => ({ ...user(id), createdAt });
  const step = (promptID: string, createdAt: number, more: Partial<HostMessage> = {}) =>
    assistant({ id: `msg_s${createdAt}`, promptID, createdAt, ...more });
  const taken = (ids: string[], messages: HostMessage[]) => newestTakenIn(ids, messages, new Set());

  test("is none where the step had begun before, or names what was there before", () => {
    expect(taken(["msg_5"], [told(PROMPT, 1), step(PROMPT, 2), told("msg_5", 3)])).toBeUndefined();
    expect(taken(["msg_5"], [told(PROMPT, 1), told("msg_5", 3), step(PROMPT, 4)])).toBeUndefined();
  });

  test("is the one that the step names, or that was stored before what it names", () => {
    const conversation = [told(PROMPT, 1), told("msg_5", 3), told("msg_6", 4)];
    expect(taken(["msg_5", "msg_6"], [...conversation, step("msg_5", 5)])).toBe("msg_5");
    expect(taken(["msg_5", "msg_6"], [...conversation, step("msg_6", 5)])).toBe("msg_6");
    expect(taken(["msg_5", "msg_6"], [...conversation, told("msg_9", 6), step("msg_9", 7)])).toBe("msg_6");
  });

  test("is not the one that was stored after what the step names, though its id is older", () => {
    expect(taken(["msg_5"], [told(PROMPT, 1), told("msg_9", 3), told("msg_5", 4), step("msg_9", 5)])).toBeUndefined();
  });

  test("is not the one that only a summary was made of", () => {
    expect(taken(["msg_5"], [told("msg_5", 3), step("msg_6", 4, { isSummary: true })])).toBeUndefined();
  });

  test("is one whose time is not known only where the step names it", () => {
    expect(taken(["msg_5"], [step("msg_9", 5)])).toBeUndefined();
    expect(taken(["msg_5"], [step("msg_5", 5)])).toBe("msg_5");
  });
});
