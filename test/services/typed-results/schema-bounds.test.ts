import { describe, expect, test } from "vitest";
import { schemaMisfits, schemaProblem } from "../../../src/services/typed-results/json-schema.ts";
import {
  modelSchemaRefusal,
  schemaBoundsProblem,
  shapeProblem,
} from "../../../src/services/typed-results/schema-bounds.ts";
import type { ResultSchema } from "../../../src/task.ts";

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const levels = (count: number): unknown => times(count - 1, () => 0).reduce<unknown>((inner) => [inner], []);
const named = (length: number) => ({ ["x".repeat(length)]: 1 });

test.each([null, true, 1, "a"])("JSON that is %s alone has a shape that can be worked on", (json) => {
  expect(shapeProblem(json)).toBeUndefined();
});

test.each<[string, (size: number) => unknown, number, RegExp]>([
  ["64 levels", levels, 64, /nested more than 64 levels deep/],
  ["names of 1,000 characters, with the slash before each", named, 999, /have more than 1000 characters/],
  ["such names in a list, too", (size) => [named(size)], 998, /have more than 1000 characters/],
  ["such names one in the other, too", (size) => ({ ab: named(size) }), 996, /have more than 1000 characters/],
])("JSON has at most %s", (_, make, most, problem) => {
  expect(shapeProblem(make(most))).toBeUndefined();
  expect(shapeProblem(make(most + 1))).toMatch(problem);
});

describe("a schema has at most", () => {
  test.each<[string, (size: number) => ResultSchema, number, string]>([
    [
      "100,000 characters",
      (size) => ({ description: "x".repeat(size) }),
      99_982,
      "it has 100001 characters of JSON, and at most 100000 are taken",
    ],
    [
      "500 schemas",
      (size) => ({ anyOf: times(size, () => ({})) }),
      499,
      "it has 501 schemas and dependent names within, and at most 500 are taken",
    ],
    [
      "500 schemas, true and false among them",
      (size) => ({ properties: Object.fromEntries(times(size, (i) => [`a${i}`, i % 2 === 0])) }),
      499,
      "it has 501 schemas and dependent names within, and at most 500 are taken",
    ],
    [
      "500 names and lists of what depends on others, in the keyword of older drafts, too",
      (size) => ({ dependencies: { a: times(size, (i) => `b${i}`) } }),
      497,
      "it has 501 schemas and dependent names within, and at most 500 are taken",
    ],
  ])("%s", (_, make, most, problem) => {
    expect(schemaBoundsProblem(make(most))).toBeUndefined();
    expect(schemaBoundsProblem(make(most + 1))).toBe(problem);
  });

  test("20,000 characters, if a model wrote it", () => {
    expect(modelSchemaRefusal({ description: "x".repeat(19_982) })).toBeUndefined();
    expect(modelSchemaRefusal({ description: "x".repeat(19_983) })).toBe(
      "The schema has 20001 characters of JSON, and at most 20000 are taken. Nothing was launched.",
    );
  });
});

test.each(["pattern", "patternProperties", "$ref", "$dynamicRef", "$recursiveRef"])(
  "a model may not write the keyword %s, at whatever depth",
  (keyword) => {
    expect(modelSchemaRefusal({ items: { anyOf: [{ [keyword]: {} }] } })).toBe(
      `The schema has the keyword "${keyword}", which only schemas in the options may have. Leave it out.`,
    );
  },
);

test.each(["properties", "$defs", "definitions", "dependentSchemas", "dependencies"])(
  "a name in %s is no keyword",
  (keyword) => {
    const schema = { [keyword]: { pattern: { type: "string" } } };
    expect(modelSchemaRefusal(schema)).toBeUndefined();
    expect(schemaProblem(schema)).toBeUndefined();
  },
);

describe("data is no schema:", () => {
  const pattern = { pattern: "(", items: { $ref: "" } };

  test.each<ResultSchema>([
    { enum: [pattern] },
    { const: pattern },
    { default: pattern },
    { examples: [pattern] },
    { dependentRequired: { pattern: ["items"] } },
    { $vocabulary: { "https://json-schema.org/draft/2020-12/vocab/core": true } },
    { const: null },
    { examples: times(600, () => true) },
  ])("%j", (schema) => {
    expect(modelSchemaRefusal(schema)).toBeUndefined();
    expect(schemaProblem(schema)).toBeUndefined();
  });

  test("an answer is compared with it as it is", () => {
    expect(schemaMisfits({ const: { a: { b: 1 } } }, { a: { b: 1 } })).toEqual([]);
    expect(schemaMisfits({ enum: [{ a: 1 }] }, { a: 1 })).toEqual([]);
  });
});
