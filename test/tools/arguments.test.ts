import { tool } from "@opencode-ai/plugin";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { readArguments } from "../../src/tools/arguments.ts";

const { string, boolean, number, array, union, enum: oneOf } = tool.schema;

const SHAPE = {
  id: string(),
  note: string().optional(),
  flag: boolean().optional(),
  count: number().optional(),
  status: oneOf(["running", "completed"]).optional(),
  level: union([number(), oneOf(["low", "high"])], 'be a number, "low" or "high"').optional(),
  refs: array(string()).optional(),
};

const read = (sent: unknown, reading = {}) => readArguments(SHAPE, sent, reading);

describe("arguments as they are meant", () => {
  test.each([
    ["null is absent", { id: "a", note: null, flag: null, count: null }, { id: "a" }],
    ["so is a blank text where it may be left out", { id: "a", note: " ", flag: "", count: "" }, { id: "a" }],
    ["a blank text that is needed stays what it is", { id: "" }, { id: "" }],
    ["a boolean in a string", { id: "a", flag: "true" }, { id: "a", flag: true }],
    ["a false in a string is false", { id: "a", flag: " false " }, { id: "a", flag: false }],
    ["a number in a string", { id: "a", count: "-1.5" }, { id: "a", count: -1.5 }],
    ["also where a word would do", { id: "a", level: "7" }, { id: "a", level: 7 }],
    ["a text that looks like either stays a text", { id: "5", note: "true" }, { id: "5", note: "true" }],
  ])("%s", (_, sent, meant) => {
    expect(read(sent)).toEqual({ ok: true, value: meant });
  });

  test("no arguments are an empty object", () => {
    expect(readArguments({}, undefined)).toEqual({ ok: true, value: {} });
    expect(readArguments({}, null)).toEqual({ ok: true, value: {} });
  });
});

describe("wrong arguments: the error names the argument, what was given and what is expected", () => {
  test.each([
    [{}, "id is missing: it must be a string."],
    [{ id: null }, "id is missing: it must be a string."],
    [{ id: 5 }, "id is 5, but must be a string."],
    [{ id: { a: [1] } }, 'id is {"a":[1]}, but must be a string.'],
    [{ id: "a", flag: "yes" }, 'flag is "yes", but must be true or false.'],
    [{ id: "a", flag: 0 }, "flag is 0, but must be true or false."],
    [{ id: "a", count: "1e3" }, 'count is "1e3", but must be a number.'],
    [{ id: "a", count: Number.NaN }, "count is NaN, but must be a number."],
    [{ id: "a", status: "paused" }, 'status is "paused", but must be one of "running", "completed".'],
    [{ id: "a", level: "mid" }, 'level is "mid", but must be a number, "low" or "high".'],
    [{ id: "a", refs: "b" }, 'refs is "b", but must be a list.'],
    [{ id: "a", refs: ["b", 5] }, "refs[1] is 5, but must be a string."],
    [{ id: 5, flag: 5 }, "id is 5, but must be a string. flag is 5, but must be true or false."],
    [{ id: "a", Id: "b" }, 'There is no argument "Id". Arguments: id, note, flag, count, status, level, refs.'],
    [{ id: "a", Id: null }, 'There is no argument "Id". Arguments: id, note, flag, count, status, level, refs.'],
    [[1], "The arguments are [1], but must be an object."],
    ["all", 'The arguments are "all", but must be an object.'],
  ])("%j", (sent, reason) => {
    expect(read(sent)).toMatchObject({ ok: false, reason });
  });

  test("what is wrong is repeated on one line, and in short, however long and often", () => {
    const long = read({ id: ["\n\u202E".repeat(9_000)] });
    const many = read({ id: "a", refs: Array.from({ length: 9_000 }, () => 5) });
    const unknown = read(Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`x${index}`, 1])));
    for (const refusal of [long, many, unknown]) {
      const reason = refusal.ok ? "" : refusal.reason;
      expect(reason).toMatch(/./);
      expect(reason.length).toBeLessThan(300);
      expect(reason).not.toMatch(/[\p{Cc}\u202E]/u);
    }
  });

  test("__proto__ is a name like any other, and changes nothing", () => {
    expect(read(JSON.parse('{"id":"a","__proto__":{"flag":true}}'))).toMatchObject({
      reason: expect.stringContaining('no argument "__proto__"'),
    });
  });
});

test("a tool may ignore unknown names; where something else is wrong, they are named all the same", () => {
  expect(read({ id: "a", subagent_type: "x" }, { ignoresUnknown: true })).toEqual({ ok: true, value: { id: "a" } });
  expect(read({ ID: "a" }, { ignoresUnknown: true })).toMatchObject({
    reason: expect.stringMatching(/^id is missing: it must be a string\. There is no argument "ID"/),
  });
});

test("a tool may refuse blanks: null and an empty text are then no way to leave something out", () => {
  expect(read({ id: "a", note: null }, { refusesBlank: true })).toMatchObject({
    reason: "note is null, but must be a string.",
  });
  expect(read({ id: "a", note: "" }, { refusesBlank: true })).toEqual({ ok: true, value: { id: "a", note: "" } });
});

test("the schemas of tools are made with the zod that everything else is: a second one would be loaded with each start", () => {
  expect(tool.schema).toBe(z);
});
