import { expect, test } from "vitest";
import { beyondBudget, tookTooLong, tooManyRepeats } from "../../../src/services/text/limit-text.ts";

const NONE = { toolCalls: undefined, tokens: undefined, cost: undefined };
const used = { toolCalls: 41, tokens: 12_345, cost: 0.6, tasks: 0 };

test("without a budget nothing is beyond it, nor is what uses it up exactly", () => {
  expect(beyondBudget(used, NONE)).toBeUndefined();
  expect(beyondBudget(used, { toolCalls: 41, tokens: 12_345, cost: 0.6 })).toBeUndefined();
  // Three times 0.2 dollars is a little more than 0.6 in floating-point numbers.
  expect(beyondBudget({ ...used, cost: 0.2 + 0.2 + 0.2 }, { ...NONE, cost: 0.6 })).toBeUndefined();
});

test("an amount that is beyond a budget by less than a cent is written as another one", () => {
  expect(beyondBudget({ ...used, cost: 0.0504 }, { ...NONE, cost: 0.05 })?.message).toMatch(
    /^It used \$0\.0504 of \$0\.05, /,
  );
});

test.each([
  [{ toolCalls: 40 }, 0, "It used 41 of 40 tool calls, and", "budget.toolCalls"],
  [{ tokens: 12_000 }, 1, "It used 12,345 of 12,000 tokens, its 1 task included, and", "budget.tokens"],
  [{ cost: 0.05 }, 2, "It used $0.60 of $0.05, its 2 tasks included, and", "budget.cost"],
])("what is beyond %j says by how much, with whom, and which option to raise", (budget, tasks, words, option) => {
  const error = beyondBudget({ ...used, tasks }, { ...NONE, ...budget });
  expect(error).toMatchObject({ name: "BudgetExceeded", kind: "budget" });
  expect(error?.message).toContain(words);
  expect(error?.message).toMatch(
    new RegExp(`was stopped\\. A retry goes on from there with a new budget\\. .* raise the option ${option}\\.$`),
  );
});

test("a loop and a run that takes too long say what to do as well", () => {
  expect(tooManyRepeats({ tool: "bash", times: 20 }).message).toMatch(
    /the tool bash 20 times in a row .* loop\.repeat\.$/,
  );
  expect(tookTooLong(65_000, 60_000).message).toMatch(/^It ran for 1m 5s of at most 1m, .* timeouts\.run\.$/);
});
