import { expect, test } from "vitest";
import {
  instructionsReport,
  instructionsSummary,
  missedInShort,
  missedSentences,
  missedToast,
} from "../../../src/services/text/instruction-text.ts";
import type { GivenInstruction } from "../../../src/task.ts";

const given = (text: string, fate: GivenInstruction["fate"], from: GivenInstruction["from"] = "agent") => ({
  ...{ text, fate, from },
  givenAt: "2026-11-27T10:00:00.000Z",
});

test("of each instruction is said who gave it, and what became of it", () => {
  const instructions = [given("faster", "seen"), given("only the tests", "waiting", "user")];
  expect(instructionsSummary({ instructions })).toBe('"faster" (agent): seen, "only the tests" (user): not seen yet');
  expect(instructionsReport({ instructions })).toBe(
    'Instructions: "faster" (agent): seen, "only the tests" (user): not seen yet.',
  );
});

test("of many instructions the newest are named, and the others counted", () => {
  const instructions = ["1", "2", "3", "4", "5", "6", "7"].map((text) => given(text, "seen"));
  expect(instructionsSummary({ instructions })).toMatch(/^2 older ones, "3" \(agent\): seen, .*"7" \(agent\): seen$/);
});

test("a long instruction is quoted by its beginning", () => {
  const missed = [given("only the tests ".repeat(20), "missed")];
  expect(missedSentences(missed, undefined)?.length).toBeLessThan(250);
});

test("where instructions were missed, what helps is said: a retry with them, or a new task where no retry would do", () => {
  const one = [given("only the tests", "missed")];
  expect(missedSentences(one, undefined)).toBe(
    'Its agent never saw the instruction "only the tests" (agent): the run ended first. If it still matters, retry the task with it in the prompt.',
  );
  const two = [...one, given("faster", "missed", "user")];
  expect(missedSentences(two, { name: "SessionGone", kind: "sessionGone", message: "deleted" })).toBe(
    'Its agent never saw 2 instructions: "only the tests" (agent), "faster" (user): the run ended first. If they still matter, launch a new task with them in the prompt.',
  );
  expect(missedSentences([], undefined)).toBeUndefined();
});

test("in a list they are counted", () => {
  expect([undefined, 0, 1, 2].map(missedInShort)).toEqual([
    undefined,
    undefined,
    "1 instruction missed",
    "2 instructions missed",
  ]);
});

test("a person is told of their own that were missed, and of no others", () => {
  const task = { description: "count files", error: undefined };
  const toast = (...instructions: GivenInstruction[]) => missedToast({ ...task, instructions });
  expect(toast(given("faster", "missed"), given("only the tests", "seen", "user"))).toBeUndefined();
  expect(toast(given("faster", "missed"), given("only the tests", "missed", "user"))).toBe(
    'The agent of "count files" never saw your instruction "only the tests": its run ended first. If it still matters, retry the task with it in the prompt.',
  );
  expect(toast(given("faster", "missed", "user"), given("now", "missed", "user"))).toContain(
    'never saw 2 of your instructions: "faster", "now"',
  );
});
