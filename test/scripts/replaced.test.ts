import { expect, test } from "vitest";
import { replaced } from "../../scripts/replaced.ts";

const replacement = { file: "src/a.ts", code: "a + b", mistake: "$& - b" };

test("a mistake stands where the text was, as it was given", () => {
  expect(replaced("return a + b;", replacement)).toBe("return $& - b;");
});

test.each([
  ["is not there", "return a;", 0],
  ["is there twice", "return a + b + (a + b);", 2],
])("a text that %s is not replaced, and the error says how often it is there", (_, source, times) => {
  expect(() => replaced(source, replacement)).toThrow(
    `src/a.ts has this text ${times} times, and not once, so it cannot be replaced: a + b`,
  );
});
