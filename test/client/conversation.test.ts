import fc from "fast-check";
import { expect, test } from "vitest";
import { messagesOf } from "../../src/client/conversation.ts";

const reading = (info: object, ...parts: object[]) => messagesOf([{ info, parts }])[0]?.parts ?? [];

test("a part is done when it has ended, or all of its message has", () => {
  const text = { type: "text", text: "Go" };
  const isDone = (info: object, part: object) => reading(info, part).map((read) => read.isDone);
  expect(isDone({ role: "assistant" }, text)).toEqual([false]);
  expect(isDone({ role: "assistant" }, { ...text, time: { start: 1, end: 2 } })).toEqual([true]);
  expect(isDone({ role: "assistant", time: { completed: 2 } }, text)).toEqual([true]);
  expect(isDone({ role: "assistant", error: { name: "APIError" } }, text)).toEqual([true]);
  expect(isDone({ role: "user" }, text)).toEqual([true]);
  expect(isDone({ role: "assistant" }, { type: "tool", state: { status: "running" } })).toEqual([false]);
  expect(isDone({ role: "assistant" }, { type: "tool", state: { status: "error" } })).toEqual([true]);
});

test("parts without an id of their own get different ones, and blank texts are left out", () => {
  const part = { type: "text", text: "Go" };
  const read = messagesOf([{ parts: [part, { type: "text", text: " \n" }, part] }, { parts: [part] }]);
  const ids = read.flatMap(({ parts }) => parts.map(({ id }) => id));
  expect(ids).toHaveLength(3);
  expect(new Set(ids).size).toBe(3);
});

test("whatever OpenCode may return is read without a fault", () => {
  fc.assert(
    fc.property(fc.array(fc.anything()), (logs) => {
      messagesOf(logs);
      messagesOf([{ info: logs[0], parts: logs }]);
    }),
  );
});
