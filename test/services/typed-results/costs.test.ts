import { expect, test } from "vitest";
import { schemaMisfits, schemaProblem } from "../../../src/services/typed-results/json-schema.ts";
import { COST, withCosts } from "../../../src/services/typed-results/schema-bounds.ts";
import type { ResultSchema } from "../../../src/task.ts";

const TOO_COSTLY = ["it cannot be checked: it takes more than 2000000 comparisons"];

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

test.each<[string, ResultSchema, number]>([
  ["nothing but itself", {}, 1],
  ["a keyword", { type: "string" }, 2],
  ["keywords, each with a schema", { items: { type: "string", minLength: 1 }, not: { const: "" } }, 3],
  ["a list of types", { type: ["string", "null"] }, 4],
  ["names that must be there", { required: ["a", "b", "c"] }, 5],
  ["schemas in a list", { anyOf: [{ type: "string" }, {}] }, 4],
  ["schemas by names", { properties: { a: {}, b: { type: "string" } } }, 4],
  ["values to compare with, each with all that is in it", { enum: ["a", ["b", "c"]] }, 6],
  ["one value to compare with, with all that is in it", { const: { a: [1] } }, 4],
])("one look at a schema that has %s costs that much", (_, schema, cost) => {
  expect(withCosts(schema)[COST]).toBe(cost);
});

test("each schema within has its own cost, and data has none", () => {
  expect(withCosts({ $defs: { a: { enum: [{}] } }, anyOf: [{ items: true }], default: { a: {} } })).toEqual({
    $defs: { a: { enum: [{}], [COST]: 3 } },
    anyOf: [{ items: true, [COST]: 2 }],
    default: { a: {} },
    [COST]: 7,
  });
});

// All 400 schemas look at the value: 402 for the outermost, 2 for each of 399 others, and 400 times as much as the value is wide.
test.each<[string, ResultSchema, unknown, unknown]>([
  ["characters, of which 8 count", { minLength: 1 }, "x".repeat(39_976), "x".repeat(39_977)],
  ["items", { minItems: 1 }, times(4_997, () => 1), times(4_998, () => 1)],
  [
    "names",
    { minProperties: 1 },
    Object.fromEntries(times(4_997, (i) => [`a${i}`, 1])),
    Object.fromEntries(times(4_998, (i) => [`a${i}`, 1])),
  ],
])("a check costs as much as the value has %s, and may cost 2,000,000", (_, schema, just, tooMuch) => {
  const many = { description: "many", allOf: times(399, () => schema) };
  expect(schemaMisfits(many, just)).toEqual([]);
  expect(schemaMisfits(many, tooMuch)).toEqual(TOO_COSTLY);
});

test("to find equal items costs as much as they have characters", () => {
  // 200 for the outermost, 100 for each of 100 others, and 100 times an eighth of 159,184 characters.
  const many = { allOf: times(100, () => ({ uniqueItems: true })) };
  const items = times(97, (i) => i);
  expect(schemaMisfits(many, [...items, "x".repeat(158_998)])).toEqual([]);
  expect(schemaMisfits(many, [...items, "x".repeat(158_999)])).toEqual(TOO_COSTLY);
});

test.each([
  ["a short one in a long text", "^a*$", 900_000, []],
  ["a long one in a short text", "^(a{1000})+$", 15_000, []],
  ["a long one in a longer text", "^(a{1000})+$", 20_000, TOO_COSTLY],
])("to look for a regular expression costs as much as both are long: %s", (_, pattern, length, misfits) => {
  expect(schemaMisfits({ pattern }, "a".repeat(length))).toEqual(misfits);
});

test("a check ends when more than 10,000 parts do not fit, and 50 of them are named", () => {
  const numbers = { items: { type: "string" } };
  const named = times(50, (i) => `/${i} must be string`);
  expect(
    schemaMisfits(
      numbers,
      times(10_000, () => 1),
    ),
  ).toEqual(named);
  expect(
    schemaMisfits(
      numbers,
      times(10_001, () => 1),
    ),
  ).toEqual(["it cannot be checked: more than 10000 of its parts do not fit", ...named]);
});

test("a schema that costs too much of items alone can be used: there may be none", () => {
  const twice = (i: number) => ({ allOf: times(2, () => ({ $ref: `#/$defs/d${i}` })) });
  const $defs = Object.fromEntries(times(40, (i) => [`d${i}`, i === 39 ? {} : twice(i + 1)]));
  const schema = { $defs, items: { $ref: "#/$defs/d0" } };
  expect(schemaProblem(schema)).toBeUndefined();
  expect(schemaMisfits(schema, [])).toEqual([]);
  expect(schemaMisfits(schema, [1])).toEqual(TOO_COSTLY);
});

test("of an answer whose schema cannot be used, only that is said", () => {
  expect(schemaMisfits({ type: "strng" }, 1)).toEqual([
    expect.stringMatching(/^it cannot be checked: schema is invalid: /),
  ]);
});
