import { describe, expect, test } from "vitest";
import * as jsonSchemas from "../../../src/services/typed-results/json-schema.ts";
import { createTypedResults } from "../../../src/services/typed-results/typed-results.ts";
import type { ResultSchema } from "../../../src/task.ts";

const FILES: ResultSchema = {
  type: "object",
  required: ["files"],
  properties: {
    files: { type: "array", items: { type: "string" } },
    kind: { enum: ["a", "b"] },
    version: { const: 2 },
  },
  additionalProperties: false,
};

const create = (agents: Record<string, ResultSchema> = {}) => createTypedResults({ agents }, async () => jsonSchemas);

describe("the JSON of an answer is", () => {
  const json = '{ "files": ["a.ts"] }';
  test.each([
    ["all of it", json],
    ["all of it but empty space", `\n ${json}\n\n`],
    ["a block of code", `Here you are:\n\`\`\`json\n${json}\n\`\`\`\nAnything else?`],
    ["a block of code without a language", `\`\`\`\n${json}\n\`\`\``],
    ["a block after another one", `\`\`\`ts\nconst a = 1;\n\`\`\`\nHere:\n\`\`\`json\n${json}\n\`\`\``],
    ["a block after an empty one", `\`\`\`\n\`\`\`\n\`\`\`json\n${json}\n\`\`\``],
    ["a block in a list, with a longer fence", `- so:\n  \`\`\`\`json\n  ${json}\n  \`\`\`\``],
    ["a block of which more is said than its language", `\`\`\`json title="files.json" {1}\n${json}\n\`\`\``],
    ["a block in tildes", `~~~json\n${json}\n~~~`],
    ["a block after one in tildes that shows another", `~~~md\n\`\`\`json\n{}\n\`\`\`\n~~~\n~~~~json\n${json}\n~~~~`],
    ["a block whose end is missing", `\`\`\`json\n{}\n\`\`\`\nOr:\n\`\`\`json\n${json}`],
    [
      "a block before one of another language whose end is missing",
      `\`\`\`json\n${json}\n\`\`\`\nThen:\n\`\`\`sh\nls -l`,
    ],
    [
      "a block after one with a longer fence that shows another block",
      `\`\`\`\`md\n\`\`\`json\n{}\n\`\`\`\n\`\`\`\`\n\`\`\`json\n${json}\n\`\`\``,
    ],
    ["a block after a line that begins and ends as one", `\`\`\`ts const a = 1;\`\`\`\n\`\`\`json\n${json}\n\`\`\``],
    ["a block after one that shows how a block begins", `\`\`\`md\n\`\`\`json\n\`\`\`\n\`\`\`json\n${json}\n\`\`\``],
    ["a block without a language whose end is missing", `\`\`\`\n{}\n\`\`\`\nOr:\n\`\`\`\n${json}`],
    [
      "a block before one of another language, though that holds JSON, too",
      `\`\`\`json\n${json}\n\`\`\`\n\`\`\`js\n[1]\n\`\`\``,
    ],
    ["the last block that is JSON", `\`\`\`json\n{}\n\`\`\`\n\`\`\`JSON\n${json}\n\`\`\`\n\`\`\`\nls -l\n\`\`\``],
  ])("%s", async (_, answer) => {
    expect(await create().read(FILES, answer)).toEqual({ json });
  });

  test("in lines that end as all others do, wherever they were written", async () => {
    expect(await create().read({}, "```\r\n[\r\n1]\r\n```")).toEqual({ json: "[\n1]" });
  });

  test("all lines of a block whose end is missing", async () => {
    expect(await create().read({}, "```json\n[1,\n2]")).toEqual({ json: "[1,\n2]" });
  });

  test("as it is written: numbers keep all their digits", async () => {
    expect(await create().read({}, "[12345678901234567890, 1.0]")).toEqual({ json: "[12345678901234567890, 1.0]" });
  });
});

describe("an answer does not fit", () => {
  test.each([
    ["that is empty", " ", ["it is empty"]],
    ["without JSON", "I found two files: a.ts and b.ts.", ["it is not JSON"]],
    ["whose block begins in the middle of a line", 'It is ```json\n{"files": []}', ["it is not JSON"]],
    ["with broken JSON", '{"files": [}', ["it is not JSON"]],
    [
      "that was cut in a block after one that is whole",
      '```json\n{ "files": [] }\n```\nOr:\n```json\n{ "files": ["a',
      ["it is not JSON"],
    ],
    ["of another type", "[]", ["the value must be object"]],
    [
      "in several places",
      '{"files": ["a.ts", 7], "kind": "c", "version": 1, "more": true}',
      [
        'the value must not have the property "more"',
        "/files/1 must be string",
        '/kind must be one of ["a","b"]',
        "/version must be 2",
      ],
    ],
    ["that lacks something", "{}", ["the value must have required property 'files'"]],
  ])("%s", async (_, answer, misfits) => {
    expect(await create().read(FILES, answer)).toEqual({ misfits });
  });

  test("with a date that is none", async () => {
    expect(await create().read({ type: "string", format: "date" }, '"tomorrow"')).toEqual({
      misfits: ['the value must match format "date"'],
    });
  });
});

describe("a schema", () => {
  test("is that of the launch, or else the agent's, or none", async () => {
    const results = create({ explore: FILES });
    expect(await results.schemaFor("explore", { type: "array" })).toEqual({ ok: true, value: { type: "array" } });
    expect(await results.schemaFor("explore", undefined)).toEqual({ ok: true, value: FILES });
    expect(await results.schemaFor("general", undefined)).toEqual({ ok: true, value: undefined });
    expect(await results.schemaFor("toString", undefined)).toEqual({ ok: true, value: undefined });
  });

  test("that is empty is none: models send it for an argument that they leave out", async () => {
    expect(await create({ explore: FILES }).schemaFor("explore", {})).toEqual({ ok: true, value: FILES });
  });

  test("is read as the draft that it names", async () => {
    const tuple = { items: [{ type: "string" }] };
    expect(await create().schemaFor("explore", tuple)).toMatchObject({ ok: false });
    const older = { $schema: "http://json-schema.org/draft-07/schema#", ...tuple };
    expect(await create().schemaFor("explore", older)).toMatchObject({ ok: true });
    expect(await create().read(older, "[1]")).toEqual({ misfits: ["/0 must be string"] });
    const newest = { $schema: "https://json-schema.org/draft/2020-12/schema", prefixItems: [{ type: "string" }] };
    expect(await create().read(newest, "[1]")).toEqual({ misfits: ["/0 must be string"] });
  });

  test.each<[string, ResultSchema, RegExp]>([
    ["with a misspelt keyword", { typ: "object" }, /unknown keyword: \\"typ\\"/],
    ["with a type that is none", { type: "strng" }, /schema is invalid: data\/type/],
    ["that is checked later", { $async: true, type: "object" }, /\$async is not supported/],
    [
      "of a draft that is not known",
      { $schema: "http://json-schema.org/draft-04/schema#" },
      /no schema with key or ref/,
    ],
  ])("%s cannot be used, and the reason is said", async (_, schema, reason) => {
    const named = await create().schemaFor("explore", schema);
    expect(named).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
    const configured = await create({ explore: schema }).schemaFor("explore", undefined);
    expect(configured).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
    expect(configured).toMatchObject({ reason: expect.stringContaining("schema.agents has no usable JSON Schema") });
  });

  test.each<[string, ResultSchema, RegExp]>([
    ["lies elsewhere", { $ref: "http://127.0.0.1/x.json" }, /can't resolve reference/],
    ["never ends", { allOf: [{ $ref: "#" }] }, /Maximum call stack|too much recursion/],
  ])("of the options that %s cannot be used, and the reason is said", async (_, schema, reason) => {
    const configured = await create({ explore: schema }).schemaFor("explore", undefined);
    expect(configured).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
  });

  test("that a model wrote has no keyword that can take for ever, and is not larger than 20,000 characters", async () => {
    const pattern = { properties: { name: { type: "string", pattern: "^(a+)+$" } } };
    expect(await create().schemaFor("explore", pattern)).toEqual({
      ok: false,
      reason: 'The schema has the keyword "pattern", which only schemas in the options may have. Leave it out.',
      cause: undefined,
    });
    const doubling = { $defs: { a: { allOf: [{ $ref: "#/$defs/b" }, { $ref: "#/$defs/b" }] }, b: {} } };
    expect(await create().schemaFor("explore", doubling)).toMatchObject({ reason: expect.stringContaining('"$ref"') });
    const named = { properties: { pattern: { enum: [{ pattern: 1 }] } }, required: ["pattern"] };
    expect(await create().schemaFor("explore", named)).toEqual({ ok: true, value: named });
    expect(await create({ explore: pattern }).schemaFor("explore", undefined)).toMatchObject({ ok: true });
    const large = { description: "x".repeat(20_000) };
    expect(await create().schemaFor("explore", large)).toMatchObject({
      reason: "The schema has 20018 characters of JSON, and at most 20000 are taken. Nothing was launched.",
    });
  });
});

describe("bounds", () => {
  const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
  const nested = (depth: number, wrap: (inner: unknown) => unknown, innermost: unknown): unknown =>
    times(depth, () => 0).reduce<unknown>((inner) => wrap(inner), innermost);
  const alike = (count: number, schema: unknown = { type: "string" }) => times(count, () => schema);
  const numbers = JSON.stringify(times(12_000, () => 1));

  /** What of an answer does not fit a schema of the options. */
  const misfitsOf = async (schema: ResultSchema, answer: string): Promise<string[]> => {
    const read = await create().read(schema, answer);
    return "misfits" in read ? read.misfits : [];
  };

  test.each<[string, ResultSchema, string]>([
    ["has an error for each of many items and schemas", { items: { allOf: alike(480) } }, numbers],
    ["has alternatives that fail for each item", { items: { anyOf: alike(480) } }, numbers],
    ["has alternatives of which the last one fits", { items: { anyOf: [...alike(480), { type: "number" }] } }, numbers],
    ["looks for an item that is not there", { contains: { anyOf: alike(480) } }, numbers],
    [
      "misses many names in each item",
      { items: { required: times(1_900, (i) => `a${i}`) } },
      numbers.replaceAll("1", "{}"),
    ],
    ["compares each item with many values", { items: { enum: times(3_000, (i) => `x${i}`) } }, numbers],
    [
      "compares all items often",
      { allOf: alike(480, { uniqueItems: true }) },
      JSON.stringify(times(9_000, (i) => [i])),
    ],
    [
      "takes many turns by its references",
      {
        $defs: { t: { anyOf: [{ items: { $ref: "#/$defs/t" } }, { items: { $ref: "#/$defs/t" } }], minItems: 2 } },
        $ref: "#/$defs/t",
      },
      JSON.stringify(nested(60, (inner) => [inner], [])),
    ],
    [
      "allows no names, which are many",
      {
        patternProperties: Object.fromEntries(times(480, (i) => [`^a*k${i}`, false])),
      },
      JSON.stringify(Object.fromEntries(times(3_000, (i) => [`aaak${i}`, 1]))),
    ],
  ])("end a check that %s", async (_, schema, answer) => {
    const before = process.memoryUsage().rss;
    const misfits = await misfitsOf(schema, answer);
    expect(misfits[0]).toMatch(
      /^it cannot be checked: (it takes more than 2000000 comparisons|more than 10000 of its parts do not fit)$/,
    );
    expect(misfits.length).toBeLessThanOrEqual(51);
    // Without them each of these takes gigabytes, or minutes.
    expect(process.memoryUsage().rss - before).toBeLessThan(600_000_000);
  });

  test("let an answer of a million characters be read", async () => {
    const answer = `"${"x".repeat(999_998)}"`;
    expect(await create().read({}, answer)).toEqual({ json: answer });
  });

  test("leave room for an answer of half a million characters", async () => {
    const schema = { items: { anyOf: [{ type: "number" }, FILES] } };
    const answer = JSON.stringify(
      times(10_000, (i) => (i % 2 ? i : { files: ["src/a.ts", "src/b.ts", "src/c.ts"], version: 2 })),
    );
    expect(await create().read(schema, answer)).toEqual({ json: answer });
  });

  test.each<[string, ResultSchema, RegExp]>([
    ["is nested too deeply", { not: nested(5_000, (not) => ({ not }), {}) }, /nested more than 64 levels deep/],
    [
      "has too many schemas",
      { anyOf: alike(501) },
      /it has 502 schemas and dependent names within, and at most 500 are taken/,
    ],
    ["has too many schemas that are false", { anyOf: alike(2_000, false) }, /it has 2001 schemas/],
    [
      "makes too many names depend on one",
      { dependentRequired: { a: times(2_500, (i) => `b${i}`) } },
      /2503 schemas and dependent names/,
    ],
  ])("refuse a schema that %s, of a model and of the options", async (_, schema, reason) => {
    for (const results of [
      create().schemaFor("explore", schema),
      create({ explore: schema }).schemaFor("explore", undefined),
    ]) {
      expect(await results).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
    }
  });

  test.each<[string, ResultSchema, RegExp]>([
    [
      "is too long",
      { description: "x".repeat(100_000) },
      /has 100018 characters of JSON, and at most 100000 are taken/,
    ],
    [
      "doubles with each reference",
      {
        $defs: Object.fromEntries(
          times(40, (i) => [
            `d${i}`,
            i === 39 ? { type: "string" } : { allOf: alike(2, { $ref: `#/$defs/d${i + 1}` }) },
          ]),
        ),
        $ref: "#/$defs/d0",
      },
      /even of a small value (it takes|more than)/,
    ],
    [
      "has a regular expression that takes more than linear time",
      { pattern: "^(a)\\1$" },
      /the pattern .* cannot be used: .*invalid/,
    ],
    [
      "has a regular expression that becomes too large",
      { pattern: "((a{100}){100}){100}" },
      /the pattern .* cannot be used: .*invalid repeat count/,
    ],
  ])("refuse a schema of the options that %s", async (_, schema, reason) => {
    expect(await create({ explore: schema }).schemaFor("explore", undefined)).toMatchObject({
      ok: false,
      reason: expect.stringMatching(reason),
    });
  });

  test("keep the reason short why a schema of a model is none", async () => {
    const schema = { properties: Object.fromEntries(times(1_900, (i) => [`p${i}`, 1])) };
    const refused = await create().schemaFor("explore", schema);
    expect(refused.ok ? "" : refused.reason).toMatch(/schema is invalid/);
    expect(refused.ok ? 0 : refused.reason.length).toBeLessThan(1_200);
  });

  test("keep a regular expression of the options from taking for ever", async () => {
    expect(await misfitsOf({ pattern: "^(a+)+$" }, `"${"a".repeat(30_000)}!"`)).toHaveLength(1);
    expect(await misfitsOf({ pattern: "^\\d{4}-\\u00e4\\p{L}+$" }, '"2026-äß"')).toEqual([]);
  });

  test.each([
    ["is too long", `"${"x".repeat(999_999)}"`, "it has 1000001 characters, and at most 1000000 are read"],
    [
      "is nested too deeply",
      JSON.stringify(nested(65, (inner) => [inner], 1)),
      "it cannot be checked: it is nested more than 64 levels deep",
    ],
    [
      "has names that are too long",
      JSON.stringify({ ["~".repeat(1_001)]: 1 }),
      "it cannot be checked: the names that lead to one of its values have more than 1000 characters",
    ],
  ])("refuse an answer that %s", async (_, answer, misfit) => {
    expect(await misfitsOf({}, answer)).toEqual([misfit]);
  });

  test("keep a line that looks like the end of a block of code from taking for ever", async () => {
    expect(await misfitsOf({}, `\`\`\`${" ".repeat(300_000)}x y`)).toEqual(["it is not JSON"]);
  });

  test("keep equal items apart from others, whatever the order of their names", async () => {
    const unique = { uniqueItems: true };
    expect(await misfitsOf(unique, '[{"a":1,"b":[2]},{"b":[2],"a":1}]')).toEqual([
      "the value must not have equal items",
    ]);
    expect(await misfitsOf(unique, '[{"a":1},{"a":"1"},{"0":1},[1],["1"],1,"1",null,"null",true]')).toEqual([]);
    expect(await misfitsOf({ uniqueItems: false }, "[1,1]")).toEqual([]);
  });

  test("are not for the schema to set", async () => {
    const [misfit] = await misfitsOf({ items: { anyOf: alike(480), taskchartCost: -1_000_000 } }, numbers);
    expect(misfit).toMatch(/^it cannot be checked/);
  });
});
