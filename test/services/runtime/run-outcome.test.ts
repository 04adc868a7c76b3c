import { expect, test } from "vitest";
import type { HostMessage } from "../../../src/services/host/messages.ts";
import { determineRunOutcome, isAnswer, type RunObservation } from "../../../src/services/runtime/run-outcome.ts";

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

const see = (given: Partial<RunObservation>) =>
  determineRunOutcome({
    messages: [user(PROMPT), assistant()],
    messageID: PROMPT,
    storedAt: 1,
    hostError: undefined,
    ...given,
  });

test("a finished assistant message that answers the prompt is the end", () => {
  expect(see({})).toEqual({ is: "answered", completedAt: 9, result: "done" });
});

test("an assistant message without an end is no answer", () => {
  expect(see({ messages: [user(PROMPT), assistant({ completedAt: undefined, finish: undefined })] })).toEqual({
    is: "unanswered",
  });
});

test.each(["tool-calls", "unknown"])("a message that finished with %s goes on", (finish) => {
  const step = assistant({ finish });
  expect(see({ messages: [user(PROMPT), step] })).toEqual({ is: "unanswered", lastStepAt: step.completedAt });
});

const ABORTED = assistant({ completedAt: 20, finish: undefined, error: { name: "MessageAbortedError", message: "" } });

test.each([
  [
    "the newest of several",
    [assistant({ finish: "tool-calls" }), assistant({ finish: "tool-calls", completedAt: 12 })],
    12,
  ],
  ["none that was aborted", [assistant({ finish: "tool-calls" }), ABORTED], 9],
  [
    "none that is under way",
    [assistant({ finish: "tool-calls" }), assistant({ completedAt: undefined, finish: undefined })],
    9,
  ],
  ["none that answers an earlier prompt", [assistant({ finish: "tool-calls", promptID: "msg_1" })], undefined],
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

test("a compaction's summary is no answer", () => {
  expect(see({ messages: [user(PROMPT), assistant({ isSummary: true })] })).toEqual({ is: "unanswered" });
});

test("a compaction's summary is not the result, though the answer has no text of its own", () => {
  const summary = assistant({ isSummary: true, text: "What was said so far." });
  const messages = [user(PROMPT), summary, assistant({ id: "msg_4", text: "" })];
  expect(see({ messages })).toEqual({ is: "answered", completedAt: 9, result: "" });
  expect(isAnswer(summary, { messages, messageID: PROMPT, storedAt: 1 })).toBe(false);
});

test("an answer is the end, though the conversation was compacted after it", () => {
  const messages = [user(PROMPT), assistant(), assistant({ id: "msg_4", isSummary: true, text: "What was said." })];
  expect(see({ messages })).toEqual({ is: "answered", completedAt: 9, result: "done" });
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

test("the result is the last text, also when the last message has none", () => {
  const messages = [user(PROMPT), assistant({ text: "I found it." }), assistant({ id: "msg_4", text: "" })];
  expect(see({ messages })).toMatchObject({ is: "answered", result: "I found it." });
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
const step = assistant({ id: "msg_4", finish: "tool-calls", completedAt: 4, text: "I have looked." });
const given = { ...user("msg_5"), createdAt: 5 };
const last = assistant({ id: "msg_6", promptID: "msg_5", createdAt: 6, completedAt: 8, text: "5 of them." });

test("an answer to the run's prompt from before the newest instruction leaves that unseen", () => {
  expect(instructed(step, given)).toEqual({ is: "unanswered", lastStepAt: 4 });
  expect(instructed(assistant({ id: "msg_4" }), given)).toEqual({ is: "unseen", lastStepAt: 9 });
});

test("an answer to the instruction is the answer of the run", () => {
  expect(instructed(step, given, last)).toEqual({ is: "answered", completedAt: 8, result: "5 of them." });
});

test("an answer to what came after the instruction has taken that in, too", () => {
  const later = { ...user("msg_7"), createdAt: 7 };
  const answer = { ...last, id: "msg_8", promptID: "msg_7", createdAt: 8 };
  expect(instructed(given, later, answer)).toMatchObject({ is: "answered", result: "5 of them." });
});

test("an answer to the instruction without words leaves what the agent said before it as the result", () => {
  expect(instructed(step, given, { ...last, text: "" })).toMatchObject({ is: "answered", result: "I have looked." });
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
    expect(see({ messages, modelLeftAt: 19 }).is).not.toBe("unanswered");
    expect(see({ messages, modelLeftAt: 20 })).toEqual({ is: "unanswered" });
    const hostError = { name: "UnknownError", message: "Model not found", refusal: "unknownModel" } as const;
    expect(see({ messages, modelLeftAt: 20, hostError })).toMatchObject({ is: "failed", error: hostError });
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
