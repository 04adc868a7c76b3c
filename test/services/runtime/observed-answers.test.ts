import { expect, test } from "vitest";
import type { MessageInfo } from "../../../src/machines/host-events.ts";
import { createObservedAnswers } from "../../../src/services/runtime/observed-runs.ts";

const SESSION = "ses_1";
const answer: MessageInfo = {
  ...{ id: "msg_2", role: "assistant", createdAt: 2, promptID: "msg_1", completedAt: 9, finish: "stop" },
  ...{ error: undefined, isSummary: false },
};

/** A session that has answered the prompt `msg_1` in three parts, and is idle. */
const observed = () => {
  const answers = createObservedAnswers();
  const message = (given: Partial<MessageInfo> = {}) =>
    answers.onHostEvent({ type: "message", sessionID: SESSION, message: { ...answer, ...given } });
  const text = (partID: string, words: string, messageID = "msg_2") =>
    answers.onHostEvent({ type: "text", sessionID: SESSION, messageID, partID, text: words });
  const say = (type: "busy" | "idle") => answers.onHostEvent({ type, sessionID: SESSION });
  message({ completedAt: undefined, finish: undefined });
  text("prt_b", "files");
  text("prt_c", "in it.");
  text("prt_a", "There are");
  text("prt_a", "There are 12");
  message();
  say("idle");
  return { answers, message, text, say, read: () => answers.answerOf(SESSION, "msg_1") };
};

test("a plain answer is read from the host's events: its parts in order, each as it was written last", () => {
  expect(observed().read()).toEqual({ completedAt: 9, result: "There are 12\nfiles\nin it." });
});

test("a session that works has not answered yet, and one of which nothing was heard is not known", () => {
  const { read, say, answers } = observed();
  const works = [
    () => say("busy"),
    () => answers.onHostEvent({ type: "retrying", sessionID: SESSION, attempt: 1, message: "slow down", until: 20 }),
  ];
  for (const begin of works) {
    begin();
    expect(read()).toBeUndefined();
    say("idle");
    expect(read()).toBeDefined();
  }
  expect(answers.answerOf("ses_2", "msg_1")).toBeUndefined();
  answers.onHostEvent({ type: "message", sessionID: "ses_2", message: answer });
  answers.onHostEvent({ type: "text", sessionID: "ses_2", messageID: "msg_2", partID: "prt_a", text: "12" });
  expect(answers.answerOf("ses_2", "msg_1")).toBeUndefined();
});

test("the answer to another prompt, and one without words, are left to the host to tell", () => {
  const { answers, read, message } = observed();
  expect(answers.answerOf(SESSION, "msg_0")).toBeUndefined();
  message({ id: "msg_3" });
  expect(read()).toBeUndefined();
});

test("a message that called a tool is no answer, whatever reason it gives for its end; the next one without calls is", () => {
  const { answers, read, message, text } = observed();
  answers.onHostEvent({ type: "toolCall", sessionID: SESSION, callID: "call_1", tool: "bash", stage: "stored" });
  expect(read()).toBeUndefined();
  message({ id: "msg_3" });
  text("prt_c", "Now there are 13.", "msg_3");
  expect(read()).toEqual({ completedAt: 9, result: "Now there are 13." });
});

test("a message that failed is no answer", () => {
  const { read, message } = observed();
  message({ finish: undefined, error: { name: "APIError", message: "401" } });
  expect(read()).toBeUndefined();
});

test("what comes late of an older message does not count", () => {
  const { read, message, text } = observed();
  message({ id: "msg_1", role: "user", promptID: undefined, completedAt: undefined, finish: undefined });
  text("prt_0", "do it", "msg_1");
  expect(read()).toEqual({ completedAt: 9, result: "There are 12\nfiles\nin it." });
});

test("a session is forgotten with its run", () => {
  const { answers, read } = observed();
  answers.forget(SESSION);
  expect(read()).toBeUndefined();
});
